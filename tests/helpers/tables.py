"""Small tables of answers in the forms that people have them, and what answers say."""

import json

import numpy as np
import pytest


def table(rows, names):
    """Return rows as columns."""
    return dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True))


def saved(table, form, folder):
    """Return a table as a source of some form."""
    if form == "frame":
        return pytest.importorskip("pandas").DataFrame(table)
    path = folder / f"answers.{form}"
    if form == "csv":
        rows = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
        path.write_text("\n".join([",".join(table), *rows]))
    elif form == "json":
        path.write_text(json.dumps([dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]))
    elif form == "npz":
        np.savez(path, **{name: np.array(column) for name, column in table.items()})
    return table if form == "dict" else path


def labeled_rows(answers):
    """Return comparisons as labels of the near and the far pair."""
    return [tuple(row) for row in answers.comparisons.objects[answers.comparisons.oriented].tolist()]


def triplets_said(answers):
    """Return comparisons as labels of anchor, near and far."""
    return [(anchor, near, far) for anchor, near, _, far in labeled_rows(answers)]
