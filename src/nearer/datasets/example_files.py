"""The example study as the files that a laboratory would have."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from nearer.datasets.example import CARELESS, CATCH, COLUMNS, INSTRUMENTS, LATER, UNDECIDED, later_rows, study_rows

_README = f"""\
An example study: which of three musical instruments is the odd one out?

All of it is simulated. No person was asked, and nothing is copied from anybody's data.
The sizes are rough ones, for a map to be coloured by.

answers.csv       24 people, 80 questions each, a row for each answer
attributes.csv    what is known about the instruments: family and size
new-answers.csv   4 more people, who answered later
new-object.csv    what the same 4 people answered about an accordion, which was not in the study

Columns of the answers

participant           who answered
group                 listener (plays nothing) or musician
trial                 number of the question, for each person
item1, item2, item3   the instruments shown, from left to right
odd                   the one that was named, or "{UNDECIDED}"
rt                    response time in milliseconds
catch                 1 for a catch question, which hardly anybody who looks gets wrong; else 0

What is planted

- Two dimensions: how the sound is made (blown, bowed, plucked, struck), and size.
- People slip in one answer in fifty, and choose at random the more, the closer the call is.
- {CARELESS} does not look: a third for each of the three instruments, in less than half a second.
- Listeners see flute and saxophone with the brass, and the organ with the piano. Musicians see them with the
  woodwinds. The other 21 instruments are where they are for both.
- 100 questions were put to four or five people each, so that it can be known how far people differ.
- Right answers of the catch questions:
{{catch}}
"""


def write_example(folder: str | PathLike[str]) -> list[str]:
    """Write the example study into a folder, and return the names of the files.

    Nothing is written over: a file that is there already is an error.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_example(folder)
    ['answers.csv', 'attributes.csv', 'new-answers.csv', 'new-object.csv', 'README.txt']
    """
    return write_files({name: text.encode() for name, text in example_files().items()}, Path(folder))


def write_files(files: Mapping[str, bytes], folder: Path) -> list[str]:
    """Write files, and return their names; one that is there already is an error."""
    for name in files:
        if (folder / name).exists():
            raise ValueError(f"{folder / name} is there already, and nothing is written over; name another folder")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return list(files)


def example_files() -> dict[str, str]:
    """Return the texts of the files by their names."""
    new, placed = later_rows()
    attributes = [(name, each.family, each.size_cm) for name, each in (INSTRUMENTS | LATER).items()]
    catch = "\n".join(f"    {first}, {second}, {odd}: {odd}" for first, second, odd in CATCH)
    return {
        "answers.csv": csv_text(COLUMNS, study_rows()),
        "attributes.csv": csv_text(("object", "family", "size_cm"), attributes),
        "new-answers.csv": csv_text(COLUMNS, new),
        "new-object.csv": csv_text(COLUMNS, placed),
        "README.txt": _README.format(catch=catch),
    }


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]], delimiter: str = ",", end: str = "\n") -> str:
    """Return a table as text."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
