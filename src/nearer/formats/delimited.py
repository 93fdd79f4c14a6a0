"""CSV, TSV and the like.

Two readers of the same files. The fast one, `cut_cells`, is used only where it cannot be wrong about lines: quotes
stand around whole cells, and every line is a row. The exact one follows Python's csv module row by row; it knows the
line of every row across quoted newlines and blank lines, and which rows have too few or too many cells.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from tqdm import tqdm

from nearer.formats.answers import BadRow
from nearer.formats.cells import Read, cut_cells, wrong_width
from nearer.formats.table import MOST_BAD_ROWS_KEPT, Encoder, Loaded, Table

_DELIMITERS = (",", ";", "\t", "|")
_BLOCK_ROWS = 50_000


def delimited_table(data: bytes, source: str, own: bool | None = None) -> Table:
    """Return the table in UTF-8 text.

    Parameters
    ----------
    data : bytes
    source : str
    own : bool, optional
        Whether cells are to be kept to the last space; if left out, the header tells.
    """
    delimiter = _sniffed(data)
    names, first_row = _header(data, delimiter, source)
    keep_spaces = "nearer_kind" in names if own is None else own

    def load(wanted: Sequence[str]) -> Loaded:
        positions = [names.index(name) for name in wanted]
        loaded = cut_cells(data, delimiter, len(names), positions, source, keep_spaces) if first_row == 2 else None
        if loaded is None:
            loaded = _exact(data, delimiter, len(names), positions, source, keep_spaces)
        columns, lines, bad_rows, n_bad = loaded
        return Loaded(dict(zip(wanted, columns, strict=True)), lines, bad_rows, n_bad)

    return Table(source, tuple(names), load, delimited=True)


def without_preamble(data: bytes, source: str, notes: list[str]) -> bytes:
    """Return text with blank lines in place of "sep=;", which Excel puts at the top, and of comments before the header.

    A line that begins with # and has as many cells as the next is the header itself.
    """
    lines: list[bytes] = []
    rest = data
    while True:
        line, end, after = rest.partition(b"\n")
        is_sep = not lines and re.fullmatch(rb'"?sep=(.|\\t)"?\s*', line) is not None
        if not end or not (is_sep or line.startswith(b"#")):
            break
        lines.append(line)
        rest = after
    if lines and lines[-1].startswith(b"#"):
        following = rest.partition(b"\n")[0]
        cells = [(lines[-1].count(each.encode()), following.count(each.encode())) for each in _DELIMITERS]
        if any(one == other > 0 for one, other in cells):
            rest = lines.pop() + b"\n" + rest
    n_comments = sum(line.startswith(b"#") for line in lines)
    if n_comments:
        what = "1 line of comments was" if n_comments == 1 else f"{n_comments} lines of comments were"
        notes.append(f"{source}: {what} passed over")
    return b"\n" * len(lines) + rest if lines else data


def _rows(data: bytes, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Return the line that each row begins on, and its cells; blank lines are left out."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="surrogateescape", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    line = 1
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(
                f"{source}:{line}: {error}; a cell that long is most often a quote that was never closed"
            ) from error
        if row and not (len(row) == 1 and not row[0].strip()):
            yield line, row
        line = reader.line_num + 1


def _sniffed(data: bytes) -> str:
    """Return the delimiter that cuts the first lines into the most columns alike."""
    best, highest = ",", (0, 0)
    head = data[: 2**16]
    if len(data) > len(head) and b"\n" in head:
        head = head[: head.rindex(b"\n") + 1]
    for delimiter in _DELIMITERS:
        try:
            rows = [row for _, row in islice(_rows(head, delimiter, ""), 20)]
        except ValueError:
            continue
        width = len(rows[0]) if rows else 0
        score = (sum(len(row) == width for row in rows), width) if width > 1 else (0, 0)
        if score > highest:
            best, highest = delimiter, score
    return best


def _header(data: bytes, delimiter: str, source: str) -> tuple[list[str], int]:
    """Return the names of the columns and the line after them."""
    rows = _rows(data, delimiter, source)
    try:
        line, names = next(rows)
    except StopIteration:
        raise ValueError(f"{source} is empty; save the answers as CSV with a line of column names") from None
    names = [name.strip() or f"column {position}" for position, name in enumerate(names, 1)]
    while len(names) > 1 and names[-1] == f"column {len(names)}":
        names.pop()  # delimiters at the end of every line
    try:
        after, _ = next(rows)
    except StopIteration:
        raise ValueError(f"{source} has a header ({', '.join(names)[:200]}) and no rows below it") from None
    return names, after if line == 1 else 0


def _exact(data: bytes, delimiter: str, width: int, positions: Sequence[int], source: str, keep_spaces: bool) -> Read:
    encoders = {position: Encoder() for position in positions}
    lines: list[Any] = []
    bad_rows: list[BadRow] = []
    n_bad = 0
    rows = _rows(data, delimiter, source)
    next(rows)
    with tqdm(total=None, desc="read", unit="row", unit_scale=True, delay=1, disable=None, leave=False) as bar:
        while block := list(islice(rows, _BLOCK_ROWS)):
            bar.update(len(block))
            wrong = [len(row) != width and (len(row) < width or any(row[width:])) for _, row in block]
            if any(wrong):
                for (line, row), is_wrong in zip(block, wrong, strict=True):
                    if is_wrong:
                        n_bad += 1
                        if len(bad_rows) < MOST_BAD_ROWS_KEPT:
                            bad_rows.append(wrong_width(source, line, len(row), width))
                block = [entry for entry, is_wrong in zip(block, wrong, strict=True) if not is_wrong]
            lines.append(np.fromiter((line for line, _ in block), np.int64, len(block)))
            for position, encoder in encoders.items():
                encoder.add([row[position] for _, row in block])
    columns = {position: encoder.column(strip=not keep_spaces) for position, encoder in encoders.items()}
    return (
        [columns[position] for position in positions],
        np.concatenate(lines or [np.empty(0, np.int64)]),
        bad_rows,
        n_bad,
    )
