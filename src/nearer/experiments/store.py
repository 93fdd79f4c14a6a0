"""Records on disk: one line of JSON for each finished unit, appended as soon as it is finished.

A run that was stopped, even in the middle of a line, leaves a file that the next one can go on from.
"""

from __future__ import annotations

import json
from pathlib import Path

from nearer.experiments.tuning import Record


def read_records(path: Path) -> list[Record]:
    """Return the complete records of a file, none if there is no file.

    A last line without a line feed was cut off while it was written, and does not count.

    Raises
    ------
    ValueError
        When another line is not a record: somebody changed the file.

    Examples
    --------
    >>> read_records(Path("no such file"))
    []
    """
    if not path.exists():
        return []
    *complete, _ = path.read_text(encoding="utf-8").split("\n")
    records = []
    for number, line in enumerate(complete, start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            record = None
        if not isinstance(record, dict) or not {"size", "trial", "method", "seed", "fingerprint"} <= record.keys():
            raise ValueError(f"{path}, line {number} is not a record; remove that line and run again")
        records.append(record)
    return records


def cut_partial_line(path: Path) -> None:
    """Remove what follows the last line feed; make the file, and its folder, if there is none.

    This is also how a run finds out, before hours of work, that it cannot write there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)


def append_record(path: Path, record: Record) -> None:
    """Add one record, flushed to the file before this returns."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
