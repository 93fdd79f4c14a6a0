"""CSV, TSV and the like, from bytes to tables.

A fast and an exact reader agree: `cut_cells` cuts columns by whole arrays where every line is a row and quotes stand
around whole cells; `parse_rows` follows Python's csv module. Both work in the calling thread: the CSV readers of
pyarrow leave work to threads that outlive them, and abort the process if it is about to end. What a file is, its first
bytes tell and not its name. Answers become 5 to 15 times larger when they are decompressed; a file made to fill the
memory, up to 1000 times.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearer._common.files import refuse_special_file
from nearer._common.findings import Finding, Source
from nearer._common.progress import progress_bar
from nearer._common.tables import unescape_formula
from nearer.io.messages import note
from nearer.io.table import MAX_BAD_ROWS, Encoder, LoadedRows, RowSources, Table, encode_cells
from nearer.io.workbooks import is_workbook, sheet_text, unpacked_size

_PIECE_BYTES = 2**24
_QUOTE, _NEWLINE = ord('"'), ord("\n")
_DELIMITERS = (",", ";", "\t", "|")
_END, _END_BYTES = re.compile(rb'(?<=\n)"?END OF FILE"?[,;\t\s"]*\Z'), 2000
_BLOCK_ROWS = 50_000
_WHOLE, MIN_NUMBERS_A_LINE = re.compile(r"[+-]?\d+(\.0+)?"), 3
MIN_USUAL_LINES = 0.9  # share of lines


class NoRows(ValueError):
    """A file that holds no table, or a header alone."""


def cut_cells(
    data: bytes, delimiter: str, names: Sequence[str], wanted: Sequence[str], source: str, keep_spaces: bool
) -> LoadedRows | None:
    """Return the columns wanted below a header of one line, and rows of a wrong width among the bad rows.

    Returns None without pyarrow, and where anything is odd: quotes inside cells, cells over several lines, blank lines,
    line ends of old, or empty cells beyond the last column.
    """
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        return None
    width = len(names)
    if width < 2 or data.count(b"\r") != data.count(b"\r\n") or not _plainly_quoted(data, delimiter):
        return None
    encoders = {name: Encoder() for name in wanted}
    lines: list[NDArray[np.int64]] = []
    bad_rows: list[Finding] = []
    n_bad, line = 0, 2
    n_lines = data.count(b"\n") + (not data.endswith(b"\n"))
    with progress_bar("read", n_lines, unit="row", unit_scale=True) as bar:
        for piece in _pieces(data):
            cut = _cut(piece, delimiter)
            if cut is None:
                return None
            offsets, first = cut
            widths = np.diff(first)
            right, wrong = np.flatnonzero(widths == width), np.flatnonzero(widths != width)
            rows = (piece[offsets[first[at]] : offsets[first[at + 1]]].tobytes() for at in wrong)
            if any(map(_is_harmless, rows, widths[wrong] - width, repeat(delimiter.encode()))):
                return None
            try:
                cells = pa.StringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(piece))
                for name, encoder in encoders.items():
                    position = names.index(name)
                    column = cells.take(pa.array(first[right] + position)).dictionary_encode()
                    values: list[str] = column.dictionary.to_pylist()
                    ends = (value.rstrip("\r\n") if position == width - 1 else value[:-1] for value in values)
                    encoder.add_coded(column.indices.to_numpy(), [value.strip('"') for value in ends])
            except (pa.ArrowException, UnicodeDecodeError):  # no UTF-8
                return None
            for at in wrong[: MAX_BAD_ROWS - len(bad_rows)].tolist():
                bad_rows.append(_wrong_width(source, line + at, int(widths[at]), width))
            n_bad += len(wrong)
            lines.append(right + line)
            line += len(widths)
            bar.update(len(widths))
    columns = {name: encoder.column(strip=not keep_spaces) for name, encoder in encoders.items()}
    return LoadedRows(columns, RowSources(source, np.concatenate(lines)), bad_rows, n_bad)


def _pieces(data: bytes) -> Iterator[NDArray[np.uint8]]:
    """Return the lines below the first, many at a time."""
    start = data.index(b"\n") + 1
    while start < len(data):
        end = data.find(b"\n", start + _PIECE_BYTES) + 1 or len(data)
        yield np.frombuffer(data, np.uint8, end - start, start)
        start = end


def _cut(piece: NDArray[np.uint8], delimiter: str) -> tuple[NDArray[np.int32], NDArray[np.intp]] | None:
    """Return where cells begin, each up to its end, and the number of the first cell of every row.

    Both go one beyond the last. Returns None if a cell goes over several lines, or a line over two gigabytes.
    """
    if len(piece) > np.iinfo(np.int32).max:
        return None
    newlines = piece == _NEWLINE
    ends = np.flatnonzero(newlines | (piece == ord(delimiter)))
    ends_row = newlines[ends]
    quotes = piece == _QUOTE
    if quotes.any():
        inside = np.cumsum(quotes, dtype=np.uint8)[ends] % 2 == 1
        if (inside & ends_row).any():
            return None
        ends, ends_row = ends[~inside], ends_row[~inside]
    if not newlines[-1]:  # the last line of the file
        ends, ends_row = np.append(ends, len(piece) - 1), np.append(ends_row, True)
    offsets = np.zeros(len(ends) + 1, np.int32)
    np.add(ends, 1, out=offsets[1:], casting="same_kind")
    return offsets, np.append(0, np.flatnonzero(ends_row) + 1)


def _is_harmless(row: bytes, n_more: int, delimiter: bytes) -> bool:
    """Whether a row of a wrong width is blank, or has only empty cells too many: such rows do no harm."""
    bare = row.replace(b'"', b"").rstrip(b"\r\n ")
    return not row.strip() or (n_more > 0 and bare.endswith(delimiter * n_more))


def _plainly_quoted(data: bytes, delimiter: str) -> bool:
    """Whether every quote stands at the very beginning or end of a cell, by turns."""
    if b'"' not in data:
        return True
    whole = np.frombuffer(data, np.uint8)
    before = np.isin(np.arange(256), [ord(delimiter), _NEWLINE])
    after = np.isin(np.arange(256), [ord(delimiter), _NEWLINE, ord("\r")])
    opening = True
    for start in range(0, len(whole), _PIECE_BYTES):
        quotes = np.flatnonzero(whole[start : start + _PIECE_BYTES] == _QUOTE) + start
        first, last = quotes[1 - opening :: 2], quotes[opening::2]
        if not (before[whole[first - 1]] | (first == 0)).all():
            return False
        if not (after[whole[np.minimum(last + 1, len(whole) - 1)]] | (last == len(whole) - 1)).all():
            return False
        opening ^= len(quotes) % 2 == 1
    return opening


def delimited_table(data: bytes, source: str) -> Table:
    """Return the table in UTF-8 text."""
    data = _commas_for_spaces(data)
    delimiter = _find_delimiter(data)
    names, first_row = _header(data, delimiter, source)
    shift = 0  # from lines of the text below to those of the file
    if _is_row(names):  # as np.savetxt writes it: columns go by their numbers
        rows = data.lstrip(b"\r\n")
        shift = data[: len(data) - len(rows)].count(b"\n") - 1
        names, first_row = [str(at) for at in range(1, len(names) + 1)], 2
        data = delimiter.join(names).encode() + b"\n" + rows
    keep_spaces = "nearer_kind" in names

    def load(wanted: Sequence[str]) -> LoadedRows:
        loaded = cut_cells(data, delimiter, names, wanted, source, keep_spaces) if first_row == 2 else None
        if loaded is None:
            loaded = parse_rows(data, delimiter, names, wanted, source, keep_spaces)
        bad_rows = [replace(row, source=Source(source, row.row + shift)) for row in loaded.bad_rows]
        return replace(loaded, sources=RowSources(source, loaded.sources.lines + shift), bad_rows=bad_rows)

    def ragged(wanted: Sequence[str]) -> LoadedRows:
        rows = [
            each for each in islice(_rows(data, delimiter, source), 1, None) if _has_wrong_width(each[1], len(names))
        ]
        cells = [[*row, *[""] * len(names)] for _, row in rows]
        columns = {name: encode_cells([row[names.index(name)] for row in cells], not keep_spaces) for name in wanted}
        return LoadedRows(columns, RowSources(source, np.array([line + shift for line, _ in rows], np.int64)))

    return Table(source, tuple(names), load, delimited=True, ragged=ragged)


def _is_row(names: list[str]) -> bool:
    """Whether what stands where columns are named is a row of numbers; 0, 1, 2, ... are what pandas calls columns."""
    numbers = list(map(str, range(len(names) + 1)))
    return len(names) > 2 and all(map(_WHOLE.fullmatch, names)) and names not in (numbers[:-1], numbers[1:])


def _commas_for_spaces(data: bytes) -> bytes:
    """Return text in which numbers that only spaces separate, three or more in nearly every line, have commas there."""
    head = data[: 2**12].strip().splitlines()
    head = head[:-1] if len(data) > 2**12 else head
    cells = [line.split() for line in head]
    usual = sum(len(row) == len(cells[0]) for row in cells)
    if not cells or len(cells[0]) < MIN_NUMBERS_A_LINE or usual < MIN_USUAL_LINES * len(cells):
        return data
    if not all(_WHOLE.fullmatch(cell.decode("utf-8", "replace")) for row in cells for cell in row):
        return data
    if not any(each in data for each in (b"\t", b"  ", b" \n", b"\n ", b" \r")) and data[:1] + data[-1:] != b"  ":
        return data.replace(b" ", b",").strip(b",")  # a tenth of the time that patterns take
    return re.sub(rb"[ \t]+", b",", re.sub(rb"(?m)^[ \t]+|[ \t]+$", b"", data))


def without_preamble(data: bytes, source: str) -> tuple[bytes, tuple[Finding, ...]]:
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
        cells = [(lines[-1].count(each.encode()), line.count(each.encode())) for each in _DELIMITERS]
        if any(one == other > 0 for one, other in cells):
            rest = lines.pop() + b"\n" + rest
    n_comments = sum(line.startswith(b"#") for line in lines)
    findings = (note("comments", source, n_lines=n_comments),) if n_comments else ()
    return (b"\n" * len(lines) + rest if lines else data), findings


def without_end(data: bytes) -> bytes:
    r"""Return text without the last line of an export of Gorilla, which says that it is the last."""
    found = _END.search(data, max(len(data) - _END_BYTES, 0))
    return data[: found.start()] if found else data


def _rows(data: bytes, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
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


def _find_delimiter(data: bytes) -> str:
    best, highest = ",", (0, 0)
    head = data[: 2**16]
    if len(data) > len(head) and b"\n" in head:
        head = head[: head.rindex(b"\n") + 1]
    for delimiter in _DELIMITERS:
        with suppress(ValueError):
            widths = [len(row) for _, row in islice(_rows(head, delimiter, ""), 20)]
            score = (widths.count(widths[0]), widths[0]) if widths and widths[0] > 1 else (0, 0)
            if score > highest:
                best, highest = delimiter, score
    return best


def _header(data: bytes, delimiter: str, source: str) -> tuple[list[str], int]:
    """Return the names of the columns and the line after them."""
    rows = _rows(data, delimiter, source)
    try:
        line, names = next(rows)
    except StopIteration:
        raise NoRows(f"{source} is empty; save the answers as CSV with a line of column names") from None
    names = [name.strip() or f"column {position}" for position, name in enumerate(names, 1)]
    while len(names) > 1 and names[-1] == f"column {len(names)}":
        names.pop()  # delimiters at the end of every line
    try:
        after, _ = next(rows)
    except StopIteration:
        raise NoRows(f"{source} has a header ({', '.join(names)[:200]}) and no rows below it") from None
    return names, after if line == 1 else 0


def _has_wrong_width(row: Sequence[str], width: int) -> bool:
    """Whether a row has too few cells, or too many that are not empty."""
    return len(row) < width or any(row[width:])


def _wrong_width(source: str, line: int, n_cells: int, width: int) -> Finding:
    return Finding("cells", "error", Source(source, line), {"n_cells": n_cells, "width": width})


def parse_rows(
    data: bytes, delimiter: str, names: Sequence[str], wanted: Sequence[str], source: str, keep_spaces: bool
) -> LoadedRows:
    """Return the columns wanted of any text, read row by row, and rows of a wrong width among the bad rows."""
    encoders = {name: Encoder() for name in wanted}
    lines: list[int] = []
    wrong: list[Finding] = []
    n_bad = 0
    rows = _rows(data, delimiter, source)
    next(rows)
    with progress_bar("read", unit="row", unit_scale=True) as bar:
        while block := list(islice(rows, _BLOCK_ROWS)):
            bar.update(len(block))
            whole = []
            for line, row in block:
                if not _has_wrong_width(row, len(names)):
                    lines.append(line)
                    whole.append(row)
                    continue
                n_bad += 1
                if n_bad <= MAX_BAD_ROWS:
                    wrong.append(_wrong_width(source, line, len(row), len(names)))
            for name, encoder in encoders.items():
                position = names.index(name)
                encoder.add([row[position] for row in whole])
    columns = {name: encoder.column(strip=not keep_spaces) for name, encoder in encoders.items()}
    return LoadedRows(columns, RowSources(source, np.array(lines, np.int64)), wrong, n_bad)


ALLOWED_BYTES, MAX_COMPRESSION_RATIO = 2**24, 200
MAX_BYTES = 2**32
_CHUNK_BYTES = 2**22
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_READABLE = "save the answers as CSV, TSV, Parquet, JSON lines or npz"


class GrowsTooLarge(ValueError):
    """A compressed file that would fill the memory."""


def _gunzip(data: bytes, source: str) -> bytes:
    unpacked = io.BytesIO()
    try:
        packed = io.BytesIO(data)
        with gzip.open(packed) as file:
            while piece := file.read(_CHUNK_BYTES):
                unpacked.write(piece)
                refuse_growth(unpacked.tell(), packed.tell(), source)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{source} is a gzip file that is not whole: {error}; copy or download it again") from error
    if unpacked.getvalue()[:2] in (b"PK", _GZIP):
        raise ValueError(f"{source} is packed twice; unpack it once")
    return unpacked.getvalue()


def members(data: bytes, ending: str, source: str) -> Iterator[tuple[str, bytes]]:
    """Return names and contents of the files in a zip archive whose names have that ending."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [entry for entry in archive.infolist() if entry.filename.endswith(ending)]
        # Together: members may share their packed bytes.
        refuse_growth(sum(entry.file_size for entry in entries), len(data), source)
        for entry in entries:
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{entry.filename} is packed in a way that np.savez never uses")
            with archive.open(entry) as file:
                # By the size: without one, read() unpacks all there is before it looks at what was claimed.
                yield entry.filename.removesuffix(ending), file.read(entry.file_size)


def refuse_growth(n_unpacked: int, n_packed: int, source: str) -> None:
    """Refuse bytes that become more than any file of answers would."""
    if n_unpacked <= max(ALLOWED_BYTES, n_packed):
        return
    remedy = "unpack it first, or save it as Parquet"
    if n_unpacked > MAX_COMPRESSION_RATIO * n_packed:
        raise GrowsTooLarge(
            f"{source} grows to more than {MAX_COMPRESSION_RATIO} times its size when it is unpacked, as no file of "
            f"answers does, and was left alone; if it is one, {remedy}"
        )
    if n_unpacked > MAX_BYTES:
        raise GrowsTooLarge(f"{source} unpacks to more than 4 GB; {remedy}")


_OTHER_FORMATS = (
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF", "a PDF document"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "a Feather file"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x80\x04\x95", "a pickle, which is never opened"),
)


def read_bytes(path: Path) -> bytes:
    """Return what a file holds, uncompressed if it is a gzip file."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the file of answers in it")
    refuse_special_file(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist; check the name and the folder") from None
    except OSError as error:
        raise OSError(f"{path} cannot be read: {error.strerror or error}") from error
    data = _gunzip(data, path.name) if data.startswith(_GZIP) else data
    if not data.strip(b" \t\r\n\xef\xbb\xbf"):
        raise ValueError(f"{path} is empty; {_READABLE}")
    return data


def as_text(data: bytes, source: str, sheet: str | None = None) -> str:
    """Return the text that bytes are, or say why they are none."""
    return as_utf8(data, source, sheet)[0].decode("utf-8")


def as_utf8(data: bytes, source: str, sheet: str | None = None) -> tuple[bytes, tuple[Finding, ...]]:
    """Return text in UTF-8 without a byte order mark, and findings, or say why the bytes are none.

    Of a workbook, it is the text of a sheet.
    """
    if is_workbook(data):
        refuse_growth(unpacked_size(data, source), len(data), source)
        return sheet_text(data, source, sheet)
    if sheet is not None:
        raise ValueError(f"{source} is no workbook and has no sheet {sheet!r}; leave the sheet out")
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        raise ValueError(f"{source} is a zip archive, not text; unpack it, and name the files in it")
    for start, what in _OTHER_FORMATS:
        if data.startswith(start):
            raise ValueError(f"{source} is {what}, not a table of answers; {_READABLE}")
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_marked(data[len(mark) :], encoding, source), ()
    if (at := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise ValueError(f"{source}:{line}: holds a NUL byte, so this is no text file or a damaged one; {_READABLE}")
    sample = data[:4096]
    if len(re.findall(rb"[\x01-\x08\x0b\x0c\x0e-\x1f]", sample)) > len(sample) // 20:
        raise ValueError(f"{source} holds bytes that are no text; {_READABLE}")
    try:
        decoder, view = codecs.getincrementaldecoder("utf-8")(), memoryview(data)
        for at in range(0, len(data), _PIECE_BYTES):  # a file of 500 MB is not to be in memory three times
            decoder.decode(view[at : at + _PIECE_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:  # five bytes mean nothing in Windows-1252
            text = data.decode("latin-1")
        return text.encode("utf-8"), (note("encoding", source),)
    return data, ()


def _decode_marked(data: bytes, encoding: str, source: str) -> bytes:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{source} begins as {encoding.upper()} text but is not: {error.reason} at byte {error.start}; "
            "save it as CSV UTF-8"
        ) from error
    if "\0" in text:
        raise ValueError(f"{source} holds NUL characters and is no text file; {_READABLE}")
    if not text.strip():
        raise ValueError(f"{source} is empty; {_READABLE}")
    return text.encode("utf-8")


def unescape_columns(loaded: LoadedRows) -> LoadedRows:
    """Return columns with all their labels as they were before formulas were made inert."""
    return loaded.with_columns(
        {name: column.replace_values(unescape_formula) for name, column in loaded.columns.items()}
    )
