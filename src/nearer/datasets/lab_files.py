"""A study as a lab has it on the disk: a file for each of 40 participants, and none of it tidy.

Who answered, and how, is simulated as in `nearer.datasets.example`. There are two groups. *Novices* see the instruments
where the musicians of that study do. For *experts* every third instrument lies elsewhere, half of the spread away in a
direction of its own; the spread is the root mean square distance of the instruments from their mean.

Everybody answers 4 practice questions, which nobody is careful about, 60 questions of the study and 6 catch questions,
whose right answer is written beside them. The person stands in the name of the file alone.
"""

from __future__ import annotations

from itertools import combinations
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearer._common.randomness import stream
from nearer._common.tables import csv_text
from nearer.datasets.example import CATCH, INSTRUMENTS, Person, Row, object_table, people, places, shuffled, write_files

GROUPS = ("novice", "expert")
GUESSING = ("p13", "p28")
TEST = "TEST"
COLUMNS = ("group", "block", "trial", "item1", "item2", "item3", "odd", "rt", "catch")
_SEED = 40
_N_PEOPLE, _N_PRACTICE, _N_MAIN, _N_CATCH = 40, 4, 60, 6
_BOM, _SEMICOLONS, _REORDERED, _CRLF = ("p05", "p17"), ("p09", "p22"), ("p12", "p30"), ("p02", "p36")
_EMPTY_FILE = "p41"
_GOLDEN_ANGLE = np.pi * (3 - 5**0.5)  # radians between directions that never repeat
_README = f"""\
A study as it lies on a lab's disk. All of it is simulated; no person was asked.

data/             a file for each participant: which of three musical instruments is the odd one out?
attributes.csv    what is known about the instruments: family and size

Columns of the answers

group                 novice or expert
block                 practice or main
trial                 number of the question
item1, item2, item3   the instruments shown, from left to right
odd                   the one that was named, or "can't tell"
rt                    response time in milliseconds
catch                 the right answer of a catch question; empty for all others

What is planted

- The person stands in the name of the file alone.
- Excel has been at some files: {", ".join(_SEMICOLONS)} have semicolons, {", ".join(_BOM)} begin with a byte order
  mark, {", ".join(_CRLF)} have line ends of Windows, {", ".join(_REORDERED)} another order of columns.
- {TEST}.csv is somebody of the lab trying the program out. {_EMPTY_FILE}.csv is empty.
- {" and ".join(GUESSING)} guess, at once.
- Nobody is careful in the practice block.
- Experts see eight of the 24 instruments half of the spread away from where novices see them:
  {", ".join(list(INSTRUMENTS)[1:13:3])},
  {", ".join(list(INSTRUMENTS)[13::3])}.
"""


def lab_positions() -> dict[str, NDArray[np.float64]]:
    """Return where each group sees the instruments, (24, 2), by group."""
    usual = places("musician", INSTRUMENTS)
    spread = np.sqrt(usual.var(axis=0).sum())
    moved = usual.copy()
    angles = _GOLDEN_ANGLE * np.arange(len(usual[1::3]))
    moved[1::3] += 0.5 * spread * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return dict(zip(GROUPS, (usual, moved), strict=True))


def write_lab(folder: str | PathLike[str]) -> list[str]:
    """Write the messy study into a folder, and return the names of the files."""
    return write_files(lab_files(), Path(folder))


def lab_files(seed: int = _SEED) -> dict[str, bytes]:
    """Return the contents of the files by their names."""
    files = {f"data/{name}.csv": _encoded_file(name, rows) for name, rows in lab_rows(seed).items()}
    return files | {
        f"data/{_EMPTY_FILE}.csv": b"",
        "data/README.txt": _README.encode(),
        "attributes.csv": object_table(INSTRUMENTS).encode(),
    }


def lab_rows(seed: int = _SEED) -> dict[str, list[Row]]:
    """Return the rows of each file, with the columns COLUMNS, by who answered."""
    rng, names, positions = stream(seed, "triplets"), list(INSTRUMENTS), lab_positions()
    catch = [tuple(sorted(map(names.index, question))) for question in CATCH]
    others: list[tuple[int, ...]] = [each for each in combinations(range(len(names)), 3) if each not in catch]
    right = {frozenset(question): question[2] for question in CATCH}
    files = {}
    everybody = people(1, _N_PEOPLE, stream(seed, "answers"), GUESSING, GROUPS)
    for person in (*everybody, Person(TEST, GROUPS[1], 1, 1, True)):
        asked = [(question, 0) for question in shuffled(others, rng)[: _N_PRACTICE + _N_MAIN]]
        practice, main = asked[:_N_PRACTICE], asked[_N_PRACTICE:]
        main += [(question, 1) for question in shuffled(catch, rng)[:_N_CATCH]]
        hasty = Person(person.name, person.group, person.sharpness / 4, person.slowness)
        rows: list[Row] = []
        for block, who, questions in (("practice", hasty, practice), ("main", person, shuffled(main, rng))):
            some = questions[:6] if person.name == TEST else questions
            for _, *shown, odd, rt, is_catch in who.choices(some, names, positions[person.group], rng):
                expected = right[frozenset(map(str, shown))] if is_catch else ""
                rows.append((person.group, block, len(rows) + 1, *shown, odd, rt, expected))
        files[person.name] = rows
    return files


def _encoded_file(name: str, rows: list[Row]) -> bytes:
    """Return a file of one person, as one program or another has left it."""
    columns = [2, 1, 8, 6, 3, 4, 5, 7, 0] if name in _REORDERED else range(len(COLUMNS))
    table = [[row[at] for at in columns] for row in (COLUMNS, *rows)]
    delimiter, line_end = ";" if name in _SEMICOLONS else ",", "\r\n" if name in _CRLF else "\n"
    text = csv_text(table, delimiter=delimiter, line_end=line_end)
    return text.encode("utf-8-sig" if name in _BOM else "utf-8")
