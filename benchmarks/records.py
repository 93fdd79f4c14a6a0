"""Records on disk, one line of JSON for each finished unit; the tables made of them; the end of a run that is stopped.

A record is appended as soon as its unit is finished. A run that was stopped, even in the middle of a line, leaves a
file that the next one can go on from. What identifies a record is looked at in every line; its figures are looked at
when they are used, by `RecordFile.usable`: lines of older versions, which no run asks for, may hold others.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import joblib

from benchmarks.schema_checks import HINT, Check, maybe, number, record, string, whole
from nearer._common.json_files import parse_json

Record: TypeAlias = dict[str, Any]

SHARE, AMOUNT = number(0, 1), number(0)


def _size(value: object, place: str) -> None:
    """Want a number of comparisons, or the name of a size, such as 1000x100000."""
    (string if isinstance(value, str) else maybe(whole(1)))(value, place)


_IDENTITY: dict[str, Check] = {
    "size": _size, "trial": maybe(whole()), "method": string, "seed": whole(), "fingerprint": string,
}  # fmt: skip


@dataclass(frozen=True)
class RecordFile:
    """A file of records.

    Examples
    --------
    >>> RecordFile(Path("no such file")).read()
    []
    """

    path: Path

    def prepare(self) -> None:
        """Remove what follows the last line feed; make the file, and its folder, if there is none.

        This is also how a run finds out, before hours of work, that it cannot write there.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)

    def append(self, record: Record) -> None:
        """Add one record, flushed to the file before this returns."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

    def read(self, identity: Mapping[str, Check] | None = None) -> list[Record]:
        """Return the complete records of a file, none if there is no file.

        A last line without a line feed was cut off while it was written, and does not count.

        Parameters
        ----------
        identity : mapping from name to check, optional
            What identifies a record besides size, trial, method, seed and fingerprint.

        Raises
        ------
        ValueError
            When another line is not a record: somebody changed the file, or it was damaged.
        """
        if not self.path.exists():
            return []
        *complete, _ = self.path.read_bytes().split(b"\n")
        check, records = record({**_IDENTITY, **(identity or {})}), []
        for line_number, line in enumerate(complete, start=1):
            try:
                found = parse_json(line)
                check(found, "it")
            except ValueError as error:
                why = str(error).removesuffix(HINT)
                raise ValueError(
                    f"{self.path}, line {line_number} is not a record: {why}; remove that line and run again"
                ) from error
            records.append(found)
        return records

    def usable(self, found: Record, wanted: Mapping[str, Check]) -> Record:
        """Return a record whose figures can be used, or say which cannot.

        Examples
        --------
        >>> line = {"size": 200, "trial": 3, "method": "STE", "seed": 0, "fingerprint": "fa1", "error": 1.5}
        >>> RecordFile(Path("trials.jsonl")).usable(line, {"error": SHARE})
        Traceback (most recent call last):
        ValueError: trials.jsonl: the record fa1 (STE, size 200, trial 3) cannot be used: its error must be a number from 0 to 1; got 1.5; remove that line and run again
        """  # noqa: E501
        try:
            record(wanted)(found, "its")
        except ValueError as error:
            why = str(error).removesuffix(HINT).replace("its.", "its ").replace("its lacks", "it lacks")
            what = f"{found['fingerprint']} ({found['method']}, size {found['size']}, trial {found['trial']})"
            raise ValueError(
                f"{self.path}: the record {what} cannot be used: {why}; remove that line and run again"
            ) from error
        return found


class Interrupted(Exception):
    """A run was stopped from outside; the message says what is kept and how to go on."""


def side_by_side(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], n_jobs: int) -> Iterator[Any]:
    """Call a function with each tuple of arguments, in several processes, and yield results as they come.

    Examples
    --------
    >>> list(side_by_side(pow, [(2, 3), (3, 2)], n_jobs=1))
    [8, 9]
    """
    parallel = joblib.Parallel(n_jobs=min(n_jobs, max(len(calls), 1)), return_as="generator_unordered")
    results: Iterator[Any] = parallel(joblib.delayed(function)(*arguments) for arguments in calls)
    return results


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
