"""Every layout is read as its definition says, in any order of rows, columns and options, or refused in a sentence."""

import csv
import json
import re
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from helpers import layouts

from nearer.formats import read_answers

LAYOUTS = layouts.LAYOUTS


def shuffled(layout, rng):
    """Return trials in another order, with the options of each in another order.

    All places that were chosen still are, and no others: what tells a coding stays told.
    """
    trials = [layout.trials[at] for at in rng.permutation(len(layout.trials))]
    if layout.kind == "ranking":
        return trials
    chosen = {trial.place for trial in layout.trials}
    while True:
        orders = [rng.permutation(len(trial.shown)) for trial in trials]
        turned = [
            replace(trial, shown=tuple(trial.shown[place] for place in order))
            for trial, order in zip(trials, orders, strict=True)
        ]
        if {trial.place for trial in turned} == chosen:
            return turned


def table(layout, trials, folder, rng=None):
    """Return a file, or a dict of columns, with rows and columns in the order written or in another."""
    rows = layout.write(trials)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if rng is not None:
        names = [names[at] for at in rng.permutation(len(names))]
        if not layout.fixed:
            rows = [rows[at] for at in rng.permutation(len(rows))]
    if layout.form == "frame":
        return {name: [row.get(name) for row in rows] for name in names}
    path = folder / f"answers.{layout.form}"
    if layout.form in ("json", "jsonl"):
        rows = [{name: row[name] for name in names if name in row} for row in rows]
        path.write_text(json.dumps(rows) if layout.form == "json" else "\n".join(map(json.dumps, rows)))
        return path
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, delimiter="\t" if layout.form == "tsv" else ",", restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def by_answer(answers):
    """Return what every answer says, as a set of comparisons, and check that it counts once."""
    comparisons = answers.comparisons
    rows = comparisons.objects[comparisons.oriented].astype(str)
    weights = np.ones(len(rows)) if comparisons.weights is None else comparisons.weights
    np.testing.assert_allclose(np.bincount(answers.answer_of, weights), 1)
    said = [set() for _ in range(len(answers))]
    for answer, row in zip(answers.answer_of.tolist(), rows.tolist(), strict=True):
        said[answer].add(tuple(row))
    return Counter(map(frozenset, said))


def expected(layout, trials):
    return Counter(
        frozenset(tuple(layout.label(each) for each in row) for row in trial.says(layout.kind)) for trial in trials
    )


def test_there_are_enough_layouts():
    assert len(LAYOUTS) >= 40
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_layout(layout, tmp_path):
    orders = [(layout.trials, None)]
    for seed in range(2):
        rng = np.random.default_rng(seed)
        orders.append((shuffled(layout, rng), rng))
    for trials, rng in orders:
        source = table(layout, trials, tmp_path, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            if layout.refused is not None:
                with pytest.raises(ValueError, match=layout.refused):
                    read_answers(source, **layout.options)
                continue
            answers = read_answers(source, **layout.options)
        assert by_answer(answers) == expected(layout, trials)
        assert answers.kind == layout.kind
        assert len(answers.notes) == len(layout.notes), answers.notes
        assert all(re.search(note, said) for note, said in zip(layout.notes, answers.notes, strict=True)), answers.notes
        assert not layout.places or rng is not None or answers.places is None or answers.places[0] == trials[0].place
