"""Tables on file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    r"""Return rows of the same columns as CSV, for programs.

    Examples
    --------
    >>> csv_text([{"loss": "STE", "ratio": 2.5}, {"loss": "CKL", "ratio": None}])
    'loss,ratio\nSTE,2.5\nCKL,\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_tables(folder: Path, text: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write ``table.txt`` for people and ``table.csv`` for programs."""
    (folder / "table.txt").write_text(text, encoding="utf-8")
    (folder / "table.csv").write_text(csv_text(rows), encoding="utf-8")
