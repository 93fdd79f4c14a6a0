"""Comparisons on a cluster: a dask collection whose partitions stay on their workers.

Every row is checked once, by the worker that loads it. A *recipe* is a lazy dask object that makes one partition: it is
kept, so that a partition that is lost with its worker can be made again. A *partition* holds 32-bit indices in the
layout of the compiled loops; the frame that they came from is released in the same task.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias, TypeVar

import numpy as np

from nearer._common.arrays import is_dask
from nearer.data.files import NUMBERING_ADVICE, WANTED_SHAPES, Block, choose_columns, stack_columns
from nearer.data.rows import Extent, Rows, check_block, read_n_objects, sample_ranges
from nearer.data.streamed import ComparisonsFile, FilePart, StreamedComparisons, pack_block
from nearer.data.worker_pool import Partition, Report, WorkerPool

__all__ = ["ComparisonsOnCluster"]

ResultT = TypeVar("ResultT")
N_PARTS_PER_THREAD = 4  # of files: enough to share them out evenly


class ComparisonsOnCluster(StreamedComparisons):
    """Comparisons that the workers of a dask cluster hold in their memory.

    ``fit`` takes it in place of a `Comparisons`, and makes one itself from a dask collection. Making one has all rows
    loaded and checked, so one that is made first serves many fits. The workers let go of the rows with it.

    Parameters
    ----------
    X : dask array or dataframe
        An array of integers, shape (m, 3) or (m, 4), or a dataframe with three or four columns of integers. A dataframe
        may have a column ``answer`` (+1 and -1, or bool) and one ``weight``.
    n_objects : int, optional
        The number of objects; by default the largest index plus one.
    columns : sequence of str, optional
        Names of the three or four columns of a dataframe that hold objects; by default ``anchor, near, far`` or
        ``i, j, l, k`` (near pair, far pair).
    client : distributed.Client, optional
        By default the one that was started last.

    Attributes
    ----------
    n_objects : int
    objects : ndarray, shape (n_objects,)
        The indices 0..n-1, which stand for labels.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> rows = sample_triplets(make_gaussian(20, 2, random_state=0), 800, random_state=0).rows
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"):  # on one machine
    ...     ComparisonsOnCluster(da.from_array(rows, chunks=(300, 3)))
    ComparisonsOnCluster('3 partitions', 800 triplets over 20 objects)
    """

    def __init__(
        self, X: Any, *, n_objects: int | None = None, columns: Sequence[str] | None = None, client: Any = None
    ) -> None:
        if not is_dask(X):
            raise ValueError(f"X must be a dask array or dataframe, got {type(X).__name__}; fit takes it as it is")
        known = None if n_objects is None else read_n_objects(n_objects)
        read, partitions = _array_reader(X, columns) if hasattr(type(X), "chunks") else _frame_reader(X, columns)
        recipes = _recipes(
            [partial(_check, f"partition {number}", read, known) for number in range(len(partitions))], partitions
        )
        self._load_all(recipes, known, f"{len(recipes)} partition{'s' if len(recipes) != 1 else ''}", client)

    @classmethod
    def from_loaders(
        cls, loaders: Sequence[Loader], title: str, *, n_objects: int | None = None, client: Any = None
    ) -> Self:
        """Return comparisons whose parts are loaded by the workers, such as files that all of them can read."""
        made = cls.__new__(cls)
        known = None if n_objects is None else read_n_objects(n_objects)
        made._load_all(_recipes([partial(_load, loader, known) for loader in loaders]), known, title, client)
        return made

    def _load_all(self, recipes: Sequence[Any], n_objects: int | None, title: str, client: Any) -> None:
        self._title = title
        pool = WorkerPool(current_client() if client is None else client, recipes, title)
        faults = [report.fault for report in pool.reports if report.fault is not None]
        if faults:
            raise ValueError(faults[0])
        if len({report.columns for report in pool.reports} - {None}) > 1:
            raise ValueError(
                f"{title}: its parts differ in their columns, of objects, answers or weights; write all with the same"
            )
        extent = Extent.merge(report.extent for report in pool.reports)
        self.n_objects = extent.n_objects(n_objects, title)
        self._length, self._width = extent.n_rows, extent.width
        self._pool: WorkerPool | None = pool

    def __getstate__(self) -> dict[str, Any]:
        # A model that was fitted to it can be saved and copied; its rows stay where they are.
        return {**self.__dict__, "_pool": None}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} stays on its cluster, and only fit takes it; load the rows that you need, for "
            "example frame.head(1000) or array[:1000].compute()"
        )

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Refuse: the rows stay on their workers."""
        self.raise_for_blocks()

    def raise_for_blocks(self) -> NoReturn:
        """Say that what needs the rows themselves cannot have them."""
        raise ValueError(
            f"the comparisons of {self.title} stay on the workers of a cluster, and only solver='factored' works "
            "there; leave solver out, or fit a ComparisonsFile"
        )

    def reduce(
        self, work: Callable[..., ResultT], combine: Callable[[ResultT, ResultT], ResultT], *arguments: Any
    ) -> ResultT:
        """Return a function of blocks of all comparisons, worked out by the workers that hold them."""
        return self._shards.reduce(work, combine, *arguments)

    def sample(self, n_rows: int) -> Rows:
        """Return at most ``n_rows`` comparisons, those that would be taken in memory."""
        places = [np.arange(run.start, run.stop, run.step) for run in sample_ranges(len(self), n_rows)]
        return Rows.join(self._shards.at(np.concatenate(places)[:n_rows]))

    @property
    def _shards(self) -> WorkerPool:
        if self._pool is None:
            raise RuntimeError(f"this copy of {self.title} has left its rows on the cluster; make it again there")
        return self._pool


def load_on_cluster(file: ComparisonsFile) -> ComparisonsOnCluster | None:
    """Return the comparisons of files on the workers of the running client, who read them; None if there is none."""
    # A client without workers is none, and so is that of a task: it would wait for the thread that it occupies itself.
    if "distributed" not in sys.modules:  # a client is started from it
        return None
    from distributed import Client, get_worker

    with suppress(ValueError):
        get_worker()
        return None
    try:
        client = Client.current()
    except ValueError:
        return None
    threads = sum(client.nthreads().values())
    if not threads:
        return None
    parts = file.parts(max(-(-len(file) // (N_PARTS_PER_THREAD * threads)), file.block_rows // 4))
    loaders = [Loader(part.title, partial(_part_blocks, part, file.block_rows)) for part in parts]
    return ComparisonsOnCluster.from_loaders(loaders, file.title, n_objects=file.n_objects, client=client)


def _part_blocks(part: FilePart, block_rows: int) -> Iterator[Block]:
    for objects, answers, weights in part.blocks(block_rows):
        yield Block(objects, answers if answers.size else None, weights if weights.size else None)


def current_client() -> Any:
    """Return the dask client that was started last."""
    try:
        from distributed import get_client
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "fits on a cluster need dask.distributed: pip install 'dask[array,dataframe,distributed]'"
        ) from error
    try:
        return get_client()
    except ValueError as error:
        raise RuntimeError(
            "a dask collection is fitted by the workers of a cluster, and no client is running; start one with "
            "from dask.distributed import Client; client = Client(), which takes the cores of this machine"
        ) from error


Read: TypeAlias = Callable[[str, Any], Block]  # a partition, and what to call it, into a block


class Loader(NamedTuple):
    """A part that a worker can load, such as one file of many."""

    title: str  # what to call it in messages
    # returns its rows as they stand there, some at a time. It is sent to a worker, and so must be picklable
    blocks: Callable[[], Iterable[Block]]


def _load(loader: Loader, n_objects: int | None) -> Partition:
    """Return a part as the loops take it."""
    # A fault is returned and not raised: of several the first is reported, whichever worker is fastest.
    kept: list[Rows] = []
    extent = Extent()
    try:
        for block in loader.blocks():
            passed = check_block(*block, name=loader.title, offset=extent.n_rows, n_objects=n_objects)
            if passed.n_rows:
                extent = Extent.merge((extent, passed))
                kept.append(pack_block(block))
    except ValueError as error:
        return Partition([], Report(Extent(), str(error), None))
    columns = None
    if kept:
        objects, answers, weights = kept[0]
        columns = (objects.shape[1], answers.size > 0, weights.size > 0)
    return Partition(kept, Report(extent, None, columns))


def _check(title: str, read: Read, n_objects: int | None, partition: Any) -> Partition:
    return _load(Loader(title, lambda: (read(title, each) for each in (partition,))), n_objects)


def _recipes(functions: Sequence[Callable[..., Partition]], arguments: Sequence[Any] | None = None) -> list[Any]:
    """Return one recipe for each function, of one argument each or of none."""
    from dask import delayed

    # A key of its own for each: the same collection may be there twice, with another number of objects.
    name, recipes = f"nearer-part-{uuid.uuid4().hex}", []
    for number, function in enumerate(functions):
        call = delayed(function, name=f"nearer-check-{number}", traverse=False, pure=False)
        given = () if arguments is None else (arguments[number],)
        recipes.append(call(*given, dask_key_name=f"{name}-{number}"))
    return recipes


def _array_reader(X: Any, columns: Sequence[str] | None) -> tuple[Read, list[Any]]:
    if columns is not None:
        raise ValueError(f"columns={columns!r}: a dask array has no names for its columns; leave columns out")
    if X.dtype.kind not in "iu":
        raise ValueError(f"the dask array holds {X.dtype}, not indices 0..n-1; {NUMBERING_ADVICE}")
    if X.ndim != 2 or X.shape[1] not in (3, 4):
        raise ValueError(f"the dask array has the shape {X.shape}; it must be {WANTED_SHAPES}")
    whole = X if len(X.chunks[1]) == 1 else X.rechunk({1: -1})  # a part has whole rows
    return _array_block, list(whole.to_delayed().ravel())


def _frame_reader(X: Any, columns: Sequence[str] | None) -> tuple[Read, list[Any]]:
    if not hasattr(type(X), "columns") or X.ndim != 2:
        raise ValueError(f"a {type(X).__name__} is neither a dask array nor a dask dataframe; turn it into one of them")
    from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

    def is_number(kind: Any) -> bool:
        return is_numeric_dtype(kind) and not is_bool_dtype(kind)

    chosen, others = choose_columns(
        "the dask dataframe", dict(X.dtypes), columns, is_integer_dtype, is_number, is_bool_dtype
    )
    # Only these columns are read where the frame comes from files.
    return partial(_frame_block, chosen, others), list(X[[*chosen, *others]].to_delayed())


def _array_block(title: str, partition: Any) -> Block:
    rows = np.asarray(partition)
    if rows.dtype.kind not in "iu":  # which the collection may not report
        raise ValueError(f"{title} holds {rows.dtype}, not indices 0..n-1; {NUMBERING_ADVICE}")
    return Block(rows)


def _frame_block(columns: tuple[str, ...], others: tuple[str, ...], title: str, frame: Any) -> Block:
    for name in (*columns, *others):
        missing = frame[name].isna().to_numpy()
        if missing.any():
            raise ValueError(f"{title}: row {int(np.flatnonzero(missing)[0])}: {name!r} is missing; drop such rows")
    series = [frame[name].to_numpy() for name in columns]
    for name, column in zip(columns, series, strict=True):
        # The kind of a partition may differ from what the collection reports, as of files with missing entries.
        if column.dtype.kind not in "iu":
            raise ValueError(f"{title}: column {name!r} holds {column.dtype}, not indices 0..n-1; {NUMBERING_ADVICE}")
    narrow = all(np.can_cast(column.dtype, np.int32) for column in series)
    found = {name: frame[name].to_numpy() for name in others}
    objects = stack_columns(series, np.int32 if narrow else np.int64)
    return Block(objects, found.get("answer"), found.get("weight"))
