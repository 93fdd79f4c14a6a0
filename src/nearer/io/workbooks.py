"""Sheets of Excel and OpenDocument workbooks, as the text that a spreadsheet would save of them.

A sheet becomes tab-separated text, a line for each of its rows, so that everything that reads text reads workbooks, and
rows have the numbers that the spreadsheet shows. A merged cell holds its value everywhere; a title above the table is
left out; a header of two rows, whose first spans columns of the second, becomes one.
"""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from nearer._common.findings import Finding
from nearer._common.formatting import pluralize, quote, quote_all
from nearer.io.messages import note
from nearer.io.table import cell

_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_OPEN_DOCUMENT = b"application/vnd.oasis.opendocument.spreadsheet"
_CELL_END = str.maketrans({"\t": " ", "\n": " ", "\r": " "})


def is_workbook(data: bytes) -> bool:
    """Whether a file is a workbook of Excel (.xlsx, .xlsb, .xls) or of LibreOffice (.ods)."""
    if data[:4] == _OLD_EXCEL:
        return True
    is_excel = b"xl/workbook" in data[-65536:] or b"xl/" in data[:4096]  # where its directory, at the end, is cut off
    return data[:4] == b"PK\x03\x04" and (is_excel or _OPEN_DOCUMENT in data[:200])


def unpacked_size(data: bytes, source: str) -> int:
    """Return how many bytes the parts of a workbook take once they are unpacked."""
    if data[:4] == _OLD_EXCEL:
        return len(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return sum(entry.file_size for entry in archive.infolist())
    except zipfile.BadZipFile as error:
        raise _damaged(source, error) from error


def sheet_text(data: bytes, source: str, sheet: str | None = None) -> tuple[bytes, tuple[Finding, ...]]:
    """Return a sheet as tab-separated text in UTF-8, and findings; of several, the one that is named."""
    try:
        from python_calamine import CalamineError, CalamineWorkbook, SheetVisibleEnum
    except ModuleNotFoundError as error:
        raise ValueError(
            f"{source} is a workbook; reading it needs python-calamine: pip install python-calamine, or save the sheet "
            "as CSV (UTF-8)"
        ) from error
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        if sheet is not None and sheet not in book.sheet_names:
            raise ValueError(f"{source} has no sheet {quote(sheet)}; it has {quote_all(book.sheet_names, 20)}")
        visible = [each.name for each in book.sheets_metadata if each.visible == SheetVisibleEnum.Visible]
        names = [sheet] if sheet is not None else visible or book.sheet_names
        tables = {name: book.get_sheet_by_name(name) for name in names}
        filled = {name: _filled(each) for name, each in tables.items() if each.end is not None}
    except (CalamineError, zipfile.BadZipFile) as error:
        raise _damaged(source, error) from error
    if not filled:
        raise ValueError(f"{source} holds no table: {'the sheet is' if len(names) == 1 else 'its sheets are'} empty")
    if len(filled) > 1:
        first = max(filled, key=lambda name: len(filled[name][0]))
        sizes = ", ".join(f"{quote(name)} ({pluralize(len(rows), 'row')})" for name, (rows, _) in filled.items())
        option = f"--sheet '{first}'" if " " in first else f"--sheet {first}"
        raise ValueError(f"{source} has several sheets: {sizes}; say which to read, such as {option} (sheet={first!r})")
    return _as_text(*next(iter(filled.values())), source)


def _filled(sheet: Any) -> tuple[list[list[str]], list[tuple[int, int, int, int]]]:
    """Return the cells of a sheet as text, merged ones filled, and the ranges (row, column, to row, to column)."""
    rows = [[_text(value) for value in row] for row in sheet.to_python(skip_empty_area=False)]
    ranges = [(*first, *last) for first, last in sheet.merged_cell_ranges or ()]
    for top, left, bottom, right in ranges:
        for row in rows[top : bottom + 1]:
            row[left : right + 1] = [rows[top][left]] * len(row[left : right + 1])
    return rows, ranges


def _text(value: Any) -> str:
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return str(cell(value)).translate(_CELL_END).strip()


def _as_text(
    rows: list[list[str]], ranges: Sequence[tuple[int, int, int, int]], source: str
) -> tuple[bytes, tuple[Finding, ...]]:
    """Return rows as text; those above the header, and empty ones, as blank lines."""
    used = [column for column in range(max(map(len, rows))) if any(row[column] for row in rows)]
    titles = [*takewhile(lambda row: len({text for text in row if text}) < min(2, len(used)), rows)]
    header = len(titles) if len(titles) < len(rows) else 0
    n_titles = sum(any(row) for row in titles[:header])
    # A range over several columns of the header, but not over all of it, has the names of these columns below.
    if header + 1 < len(rows) and any(top == header and right > left for top, left, _, right in ranges):
        pairs = zip(rows[header], rows[header + 1], strict=True)
        rows[header + 1] = [one if one == other else f"{one} {other}".strip() for one, other in pairs]
        header += 1
    lines = ["\t".join(row[column] for column in used) if any(row) else "" for row in rows]
    text = "\n".join([*[""] * header, *lines[header:]]) + "\n"
    findings = (note("title-rows", source, n_rows=n_titles),) if n_titles else ()
    return text.encode(), findings


def _damaged(source: str, error: Exception) -> ValueError:
    return ValueError(f"{source} is not a whole workbook: {error}; open it, and save it again")
