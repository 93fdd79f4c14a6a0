"""One fit in one of several ways, in a process of its own: seconds, gradients, error, memory and energy.

    python -m benchmarks.scale.measuring '{"way": "threads:2", "folder": ..., ...}'

prints one line of JSON. The ways are ``threads:K``, in memory; ``npy`` and ``parquet``, from files, a block at a time;
``workers:K``, a cluster of K processes on this machine with one thread each; and a device of PyTorch, such as ``cuda``.
The rows lie in the folder, so that all ways fit the same ones.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from benchmarks.worker import peak_memory

_COUNTERS = "/sys/class/powercap"
_EVERY = 0.1  # seconds between two readings of the GPU


@dataclass
class Energy:
    """Joules of the processor and of the GPU; None where nothing tells."""

    processor: float | None = None
    gpu: float | None = None


@contextmanager
def energy_of(gpu: bool = False) -> Iterator[Energy]:
    """Measure the work inside: the whole machine's energy, not that of one process.

    Examples
    --------
    >>> with energy_of() as energy:
    ...     pass
    >>> energy.gpu is None
    True
    """
    energy = Energy()
    before = _processor()
    meter = _Meter() if gpu and shutil.which("nvidia-smi") else None
    if meter is not None:
        meter.start()
    try:
        yield energy
    finally:
        after = _processor()
        if before is not None and after is not None and after >= before:  # the counters wrap around now and then
            energy.processor = after - before
        if meter is not None:
            energy.gpu = meter.stop()


def _processor() -> float | None:
    """Return the joules that all processors have counted, None if they are not to be read."""
    try:
        found = [
            int((folder / "energy_uj").read_text()) for folder in Path(_COUNTERS).glob("*-rapl:*") if _whole(folder)
        ]
    except (OSError, ValueError):
        return None
    return sum(found) / 1e6 if found else None


def _whole(folder: Path) -> bool:
    """Whether a counter is of a whole processor, not of a part that its own counter has already."""
    return folder.name.count(":") == 1


@dataclass
class _Meter:
    """Asks for the power of the first GPU again and again, in a thread."""

    watts: list[float] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        self.began = time.perf_counter()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def stop(self) -> float | None:
        self.done.set()
        self.thread.join()
        return sum(self.watts) / len(self.watts) * (time.perf_counter() - self.began) if self.watts else None

    def _read(self) -> None:
        ask = ["nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits", "--id=0"]
        while not self.done.wait(_EVERY):
            reading = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()
            try:
                self.watts.append(float(reading))
            except ValueError:
                return


_FEW = 1000  # comparisons, whose gradient costs nothing but its way there and back


class Request(TypedDict):
    """What to fit, and how."""

    way: str
    folder: str
    loss: str
    objects: int
    comparisons: int
    dimension: int
    max_iter: int


class Result(TypedDict):
    """What one fit took; ``overhead`` and ``transfer`` are of a gradient on a cluster, None elsewhere.

    ``reading`` are the seconds until the rows were checked and where they are fitted; ``seconds`` those of the fit;
    ``gradients`` counts those of the descent; the start makes eight passes more. ``gradient`` are the seconds of one:
    the median, or on a device, where nobody waits for a single one, those of the whole fit divided by their number.
    """

    reading: float
    seconds: float
    gradients: int
    gradient: float
    iterations: int
    objective: float
    error: float
    memory_mb: float
    worker_memory_mb: float | None
    device_memory_mb: float | None
    joules: float | None
    gpu_joules: float | None
    overhead: float | None
    transfer: float | None


def measure(request: Request) -> Result:
    """Fit in this process, and in those of its cluster."""
    import numpy as np

    from nearer import embedding
    from nearer.evaluation.metrics import comparison_error
    from nearer.optimize import Factored

    kind, _, count = request["way"].partition(":")
    device = None if kind in ("threads", "npy", "parquet", "workers") else request["way"]
    settings: dict[str, Any] = {"max_iter": request["max_iter"]}
    if kind == "threads":
        settings["n_threads"] = int(count)
    model = getattr(embedding, request["loss"])(
        request["dimension"],
        solver=Factored(**settings),
        n_objects=request["objects"],
        random_state=0,
        **({} if device is None else {"device": device}),
    )
    folder = Path(request["folder"])
    model.set_params(n_objects=None).fit(np.load(folder / "warm-up.npy"))
    model.set_params(n_objects=request["objects"])
    with _cluster(int(count)) if kind == "workers" else nullcontext() as client:
        start = time.perf_counter()
        rows = _rows(kind, folder, request)
        reading = time.perf_counter() - start
        with _counted_passes() as passes, energy_of(gpu=device is not None) as energy:
            start = time.perf_counter()
            model.fit(rows)
            seconds = time.perf_counter() - start
        ways = (None, None) if client is None else _ways(client, request)
        workers = None if client is None else max(client.run(peak_memory).values()) / 1e6
    gradients = len(passes) if device is None else model.n_iter_
    return Result(
        reading=reading,
        seconds=seconds,
        gradients=gradients,
        gradient=float(np.median(passes)) if device is None else seconds / gradients,
        iterations=model.n_iter_,
        objective=model.history_[-1].objective,
        error=comparison_error(np.load(folder / "test.npy"), model.embedding_),
        memory_mb=peak_memory() / 1e6,
        worker_memory_mb=workers,
        device_memory_mb=_device_memory(device),
        joules=energy.processor,
        gpu_joules=energy.gpu,
        overhead=ways[0],
        transfer=ways[1],
    )


def _rows(kind: str, folder: Path, request: Request) -> Any:
    """Return the rows, checked, where they are fitted."""
    import numpy as np

    from nearer import Comparisons, ComparisonsFile

    n_objects = request["objects"]
    if kind == "npy":
        return ComparisonsFile(folder / "rows.npy", n_objects=n_objects)
    if kind == "parquet":
        return ComparisonsFile(folder / "parquet", n_objects=n_objects)
    if kind == "workers":
        import dask.dataframe

        from nearer.data.cluster import ComparisonsOnCluster

        return ComparisonsOnCluster(dask.dataframe.read_parquet(folder / "parquet"), n_objects=n_objects)
    return Comparisons.from_triplets(np.load(folder / "rows.npy"), n_objects=n_objects)


@contextmanager
def _cluster(n_workers: int) -> Iterator[Any]:
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def _counted_passes() -> Iterator[list[float]]:
    """Note the seconds of every pass over all comparisons."""
    from nearer.optimize.problems.points import FactoredProblem

    passes: list[float] = []
    plain = FactoredProblem.loss_and_gradient

    def timed(self: FactoredProblem, points: Any) -> Any:
        start = time.perf_counter()
        try:
            return plain(self, points)
        finally:
            passes.append(time.perf_counter() - start)

    FactoredProblem.loss_and_gradient = timed  # type: ignore[method-assign]
    try:
        yield passes
    finally:
        FactoredProblem.loss_and_gradient = plain  # type: ignore[method-assign]


def _ways(client: Any, request: Request) -> tuple[float, float]:
    """Return the seconds of a gradient of next to no comparisons: of few objects, and what the points add to that."""
    import dask.array
    import numpy as np

    from nearer.data.cluster import ComparisonsOnCluster
    from nearer.model import Logistic
    from nearer.optimize.problems.sources import as_source

    rows = np.random.default_rng(0).permuted(np.tile(np.arange(50), (_FEW, 1)), axis=1)[:, :3]
    n_workers = len(client.scheduler_info()["workers"])
    collection = dask.array.from_array(rows, chunks=(-(-_FEW // n_workers), 3))
    found = []
    for n_objects in (50, request["objects"]):
        source = as_source(ComparisonsOnCluster(collection, n_objects=n_objects))
        points = np.zeros((n_objects, request["dimension"]))
        found.append(_median_seconds(lambda: source.evaluate(Logistic().compiled, points)))  # noqa: B023
    return found[0], max(found[1] - found[0], 0.0)


def _median_seconds(work: Callable[[], object], repeats: int = 15) -> float:
    import numpy as np

    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def _device_memory(device: str | None) -> float | None:
    """Return the most memory that was taken on a GPU, in MB."""
    if device is None or not device.startswith("cuda"):
        return None
    import torch

    return float(torch.cuda.max_memory_allocated(device) / 1e6)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(json.loads(sys.argv[1]))) + "\n")
