"""Files of all formats as tables: what a file is, is told by its bytes, and by its name where those leave it open."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from nearer._common.files import printable
from nearer.io.delimited import delimited_table, without_end, without_preamble
from nearer.io.frames import frame_table, parquet_table
from nearer.io.json_records import json_table
from nearer.io.numpy_files import columns_of, is_matrix, is_npz, read_arrays
from nearer.io.table import Table
from nearer.io.text import as_utf8, read_bytes

_BEGINNING = 2**17  # bytes that are looked at to see what a column that is not used holds


class Opened(NamedTuple):
    """A table, the labels that its integers stand for, and the kind that an npz file says it holds."""

    table: Table
    names: list[Any] | None = None
    kind: str | None = None


def open_table(source: Any, kind: str | None, notes: list[str]) -> Opened:
    """Return the table in a file, a frame or a dict of columns.

    Parameters
    ----------
    source : path, data frame or dict of columns
    kind : str, optional
        How people were asked, which names the columns of a matrix.
    notes : list of str
        Gets what a reader of the file should know.
    """
    if not isinstance(source, str | PathLike):
        return Opened(frame_table(source))
    path = Path(source)
    name = printable(path.name or str(path))
    data = read_bytes(path)
    if data[:4] == b"PAR1":
        return Opened(parquet_table(data, name))
    if is_npz(data):
        arrays = read_arrays(data, name)
        own = str(arrays["nearer_kind"]) if "nearer_kind" in arrays else None
        by_name, labels = columns_of(arrays, kind, name)
        if not by_name:
            raise ValueError(f"{name} holds no table of indices, such as triplets (m, 3); it has {sorted(arrays)[:20]}")
        table = replace(frame_table(by_name), source=name, positional=is_matrix(arrays), indices=labels is None)
        return Opened(table, _distinct(labels, name, notes), own)
    data = without_end(without_preamble(as_utf8(data, name, notes), name, notes))
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    looks_like_json = data.lstrip()[:1] in (b"{", b"[") and not {".csv", ".tsv"} & set(suffixes)
    if looks_like_json or {".json", ".jsonl", ".ndjson"} & set(suffixes):
        return Opened(json_table(data, name))
    table = delimited_table(data, name)
    if len(data) > _BEGINNING:
        beginning = data[: data.rfind(b"\n", 0, _BEGINNING) + 1]
        table = replace(table, peek=lambda wanted: delimited_table(beginning, name).load(wanted))
    return Opened(table)


def _distinct(labels: NDArray[Any] | None, source: str, notes: list[str]) -> list[Any] | None:
    if labels is None:
        return None
    listed: list[Any] = labels.tolist()
    if len(set(listed)) < len(listed) or labels.dtype.kind not in "iuU":
        notes.append(f"{source}: the names of the objects are not distinct, so that objects keep their numbers")
        return None
    return listed
