"""Parts of a collection of comparisons, each checked where it is loaded, and dask collections cut into such parts.

A *recipe* is a lazy dask object that makes one part: it is kept, so that a part which is lost with its worker can be
made again. A *part* holds indices of 32 bits in the layout of the compiled loops; the frame that they came from is let
go in the same task.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nearer.data.block_files import NUMBERING, Block, columns_among
from nearer.data.labels import read_answers
from nearer.data.row_checks import Extent, check_block
from nearer.data.rows import Rows

Read: TypeAlias = Callable[[str, Any], Block]  # a partition, and what to call it, into a block


class Loader(NamedTuple):
    """A part that a worker can load by itself, such as one file of many.

    Attributes
    ----------
    title : str
        What to call it in messages.
    blocks : callable
        Returns its rows as they stand there, some at a time. It is sent to a worker, and so must be picklable.
    """

    title: str
    blocks: Callable[[], Iterable[Block]]


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that have passed all checks, what is known of them, and what is wrong with them where they have not."""

    blocks: list[Rows]
    extent: Extent
    fault: str | None = None

    def __sizeof__(self) -> int:
        # dask goes by it. Of a list of rows it would try a few entries, and the length of rows is not that of a tuple.
        return sum(column.nbytes for block in self.blocks for column in block)


def checked_part(title: str, blocks: Iterable[Block], n_objects: int | None) -> Part:
    """Return a part as the loops take it.

    A fault is returned and not raised: of several parts with faults, the first is to be told, whichever worker is
    fastest.
    """
    kept: list[Rows] = []
    extent = Extent()
    try:
        for block in blocks:
            passed = check_block(*block, name=title, offset=extent.n_rows, n_objects=n_objects)
            if passed.n_rows:
                extent = Extent.over((extent, passed))
                kept.append(_packed(block))
    except ValueError as error:
        return Part([], Extent(), str(error))
    return Part(kept, extent)


def _packed(block: Block) -> Rows:
    objects, answers, weights = block
    if answers is not None and answers.dtype.kind == "b":
        answers = read_answers(answers, len(answers))
    return Rows.of(objects.astype(np.int32, copy=False), answers, weights)


def recipes_of_loaders(loaders: Sequence[Loader], n_objects: int | None) -> list[Any]:
    """Return one recipe for each part that workers load by themselves."""
    return _recipes([partial(_load, loader, n_objects) for loader in loaders], [()] * len(loaders))


def recipes_of_collection(X: Any, columns: Sequence[str] | None, n_objects: int | None) -> list[Any]:
    """Return one recipe for each partition of a dask array or dataframe, whose kind is checked first."""
    read, partitions = _of_array(X, columns) if hasattr(type(X), "chunks") else _of_frame(X, columns)
    checks = [
        partial(_check, f"partition {number}", read=read, n_objects=n_objects) for number in range(len(partitions))
    ]
    return _recipes(checks, [(partition,) for partition in partitions])


def _recipes(functions: Sequence[Callable[..., Part]], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    from dask import delayed

    # A key of its own for each: the same collection may be there twice, with another number of objects.
    name = f"nearer-part-{uuid.uuid4().hex}"
    calls = zip(functions, arguments, strict=True)
    return [
        delayed(function, name=f"nearer-check-{number}", traverse=False, pure=False)(
            *given, dask_key_name=f"{name}-{number}"
        )
        for number, (function, given) in enumerate(calls)
    ]


def _load(loader: Loader, n_objects: int | None) -> Part:
    return checked_part(loader.title, loader.blocks(), n_objects)


def _check(title: str, partition: Any, read: Read, n_objects: int | None) -> Part:
    def blocks() -> Iterator[Block]:
        yield read(title, partition)

    return checked_part(title, blocks(), n_objects)


def _of_array(X: Any, columns: Sequence[str] | None) -> tuple[Read, list[Any]]:
    if columns is not None:
        raise ValueError(f"columns={columns!r}: a dask array has no names for its columns; leave columns out")
    if X.dtype.kind not in "iu":
        raise ValueError(f"the dask array holds {X.dtype}, not indices 0..n-1; {NUMBERING}")
    if X.ndim != 2 or X.shape[1] not in (3, 4):
        wanted = "(m, 3) for triplets or (m, 4) for quadruplets"
        raise ValueError(f"the dask array has the shape {X.shape}; it must be {wanted}")
    whole = X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})  # a part has whole rows
    return _block_of_array, list(whole.to_delayed().ravel())


def _of_frame(X: Any, columns: Sequence[str] | None) -> tuple[Read, list[Any]]:
    if not hasattr(type(X), "columns") or X.ndim != 2:
        raise ValueError(f"a {type(X).__name__} is neither a dask array nor a dask dataframe; turn it into one of them")
    from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

    kinds = dict(X.dtypes)
    chosen = columns_among("the dask dataframe", list(kinds), columns)
    for name in chosen:
        if not is_integer_dtype(kinds[name]):
            raise ValueError(
                f"the dask dataframe: column {name!r} holds {kinds[name]}, not indices 0..n-1; {NUMBERING}"
            )
    others = tuple(name for name in ("answer", "weight") if name in kinds and name not in chosen)
    for name in others:
        if not is_numeric_dtype(kinds[name]) or (name == "weight" and is_bool_dtype(kinds[name])):
            raise ValueError(f"the dask dataframe: column {name!r} holds {kinds[name]}, not numbers; convert it")
    # Only these columns are read where the frame comes from files.
    return partial(_block_of_frame, chosen, others), list(X[[*chosen, *others]].to_delayed())


def _block_of_array(title: str, partition: Any) -> Block:
    rows = np.asarray(partition)
    if rows.dtype.kind not in "iu":  # which the collection may not know of itself
        raise ValueError(f"{title} holds {rows.dtype}, not indices 0..n-1; {NUMBERING}")
    return Block(rows)


def _block_of_frame(columns: tuple[str, ...], others: tuple[str, ...], title: str, frame: Any) -> Block:
    for name in (*columns, *others):
        missing = frame[name].isna().to_numpy()
        if missing.any():
            raise ValueError(f"{title}: row {int(np.flatnonzero(missing)[0])}: {name!r} is missing; drop such rows")
    series = [frame[name].to_numpy() for name in columns]
    for name, column in zip(columns, series, strict=True):
        # The kind of a partition may differ from what the collection says of itself, as of files with missing entries.
        if column.dtype.kind not in "iu":
            raise ValueError(f"{title}: column {name!r} holds {column.dtype}, not indices 0..n-1; {NUMBERING}")
    narrow = all(np.can_cast(column.dtype, np.int32) for column in series)
    objects = np.empty((len(frame), len(columns)), np.int32 if narrow else np.int64)
    for position, column in enumerate(series):
        objects[:, position] = column
    found = {name: frame[name].to_numpy() for name in others}
    return Block(objects, found.get("answer"), found.get("weight"))
