"""Comparisons on a cluster: a dask collection whose partitions stay on their workers.

`ComparisonsOnCluster` has every row checked once, by the worker that loads it. Only what is small comes here: how many
rows there are, the largest index, and then, with every request of a fit, sums over all rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

from nearer._common.arrays import is_dask
from nearer.data.block_files import Block
from nearer.data.file import ComparisonsFile
from nearer.data.held_shards import HeldShards
from nearer.data.partitions import Loader, recipes_of_collection, recipes_of_loaders
from nearer.data.parts import FilePart
from nearer.data.row_checks import Extent
from nearer.data.rows import Rows, read_n_objects, sample_places
from nearer.data.streamed import StreamedComparisons

__all__ = ["ComparisonsOnCluster"]

ResultT = TypeVar("ResultT")
_PARTS_PER_THREAD = 4  # of files: enough to share them out evenly


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
        The number of objects; the largest index plus one if left out.
    columns : sequence of str, optional
        Names of the three or four columns of a dataframe that hold objects; ``anchor, near, far`` or ``i, j, l, k``
        (near pair, far pair) if left out.
    client : distributed.Client, optional
        The one that was started last if left out.

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
    >>> from nearer.embedding import STE
    >>> rows = sample_triplets(make_gaussian(20, 2, random_state=0), 800, random_state=0).rows
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"):  # on one machine
    ...     judgments = ComparisonsOnCluster(da.from_array(rows, chunks=(300, 3)))
    ...     print(judgments)
    ...     print(STE().fit(judgments).embedding_.shape)
    ComparisonsOnCluster('3 partitions', 800 triplets over 20 objects)
    (20, 2)
    """

    def __init__(
        self, X: Any, *, n_objects: int | None = None, columns: Sequence[str] | None = None, client: Any = None
    ) -> None:
        if not is_dask(X):
            raise ValueError(f"X must be a dask array or dataframe, got {type(X).__name__}; fit takes it as it is")
        known = None if n_objects is None else read_n_objects(n_objects)
        recipes = recipes_of_collection(X, columns, known)
        self._hold(recipes, known, f"{len(recipes)} partition{'s' if len(recipes) != 1 else ''}", client)

    @classmethod
    def from_loaders(
        cls, loaders: Sequence[Loader], title: str, *, n_objects: int | None = None, client: Any = None
    ) -> Self:
        """Return comparisons whose parts workers load by themselves, such as the files of a folder that all can read.

        Parameters
        ----------
        loaders : sequence of Loader
            One for each part, in order.
        title : str
            What to call all of them in messages.
        n_objects, client
            As for the class.
        """
        made = cls.__new__(cls)
        known = None if n_objects is None else read_n_objects(n_objects)
        made._hold(recipes_of_loaders(loaders, known), known, title, client)
        return made

    def _hold(self, recipes: Sequence[Any], n_objects: int | None, title: str, client: Any) -> None:
        self._title = title
        held = HeldShards(running_client() if client is None else client, recipes, title)
        faults = [report.fault for report in held.reports if report.fault is not None]
        if faults:
            raise ValueError(faults[0])
        if len({report.columns for report in held.reports} - {None}) > 1:
            raise ValueError(
                f"{title}: its parts differ in their columns, of objects, answers or weights; write all with the same"
            )
        extent = Extent.over(report.extent for report in held.reports)
        self.n_objects = extent.n_objects(n_objects, title)
        self._length, self._width = extent.n_rows, extent.width
        self._held: HeldShards | None = held

    def __len__(self) -> int:
        return self._length

    def __getstate__(self) -> dict[str, Any]:
        # A model that was fitted to it can be saved and copied; its rows stay where they are.
        return {**self.__dict__, "_held": None}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} stays on its cluster, and only fit takes it; load the rows that you need, for "
            "example frame.head(1000) or array[:1000].compute()"
        )

    @property
    def title(self) -> str:
        """The number of partitions, or what its maker called it."""
        return self._title

    @property
    def is_triplets(self) -> bool:
        """Whether the comparisons are triplets."""
        return self._width == 3

    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Refuse: the rows stay on their workers."""
        self.refuse_blocks()

    def refuse_blocks(self) -> NoReturn:
        """Say that what needs the rows themselves cannot have them."""
        raise ValueError(
            f"the comparisons of {self.title} stay on the workers of a cluster, and only solver='factored' works "
            "there; leave solver out, or fit a ComparisonsFile"
        )

    def reduce(
        self, each: Callable[..., ResultT], together: Callable[[ResultT, ResultT], ResultT], *arguments: Any
    ) -> ResultT:
        """Return a function of blocks of all comparisons, worked out by the workers that hold them.

        Parameters
        ----------
        each : callable
            ``each(blocks, *arguments)`` returns the result of a list of `Rows`, which may be empty. Several threads
            call it at a time.
        together : callable
            ``together(one, other)`` joins two results, and may change the first.
        *arguments
            Sent to each worker.
        """
        result: ResultT = self._shards.reduce(each, together, *arguments)
        return result

    def sample(self, n_rows: int) -> Rows:
        """Return at most so many comparisons: those that would be taken in memory."""
        places = [np.arange(run.start, run.stop, run.step) for run in sample_places(len(self), n_rows)]
        found = self._shards.at(np.concatenate(places)[:n_rows])
        return Rows.of(*(np.concatenate(columns) for columns in zip(*found, strict=True)))

    @property
    def _shards(self) -> HeldShards:
        if self._held is None:
            raise RuntimeError(f"this copy of {self.title} has left its rows on the cluster; make it again there")
        return self._held


def on_running_cluster(file: ComparisonsFile) -> ComparisonsOnCluster | None:
    """Return the comparisons of files on the workers of the running client, who read them; None if there is none.

    A client without workers is none, and so is that of a task: it would wait for the thread that it occupies itself.

    Parameters
    ----------
    file : ComparisonsFile
        Of files that the workers can read, by the same names.
    """
    if "distributed" not in sys.modules:  # whoever has started a client has loaded it
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
    parts = file.parts(max(-(-len(file) // (_PARTS_PER_THREAD * threads)), file.block_rows // 4))
    loaders = [Loader(part.title, partial(_blocks_of, part, file.block_rows)) for part in parts]
    return ComparisonsOnCluster.from_loaders(loaders, file.title, n_objects=file.n_objects, client=client)


def _blocks_of(part: FilePart, block_rows: int) -> Iterator[Block]:
    for objects, answers, weights in part.blocks(block_rows):
        yield Block(objects, answers if answers.size else None, weights if weights.size else None)


def running_client() -> Any:
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
