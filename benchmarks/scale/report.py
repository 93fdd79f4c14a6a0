"""The report of `python -m benchmarks scale`: measurements, how they scale, and what a model predicts from them.

    seconds(W) = m c / W + o L + 2 b h / r

m comparisons on W workers of one thread each; c, the seconds of one comparison on one thread; o, what a request takes
from one to the next of the L levels of the tree that it travels down; b, the bytes of the points (or of the gradient),
which are sent h times one after the other, and come back as often, at r bytes a second. c, o and r are measured: c by
the fit on one worker, o and r by gradients of next to no comparisons on a cluster of this machine. Between machines r
is that of their network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.programs import machine
from benchmarks.records import Record
from benchmarks.scale.run import Scale
from benchmarks.triplets import Size
from nearer.data.worker_pool import FAN_OUT

#: A network of 10 gigabits, in bytes a second.
NETWORK = 1.25e9
WORKERS = (1, 2, 8, 16, 32, 64)


class Cost(NamedTuple):
    """Work of one comparison in p dimensions, counted in the loops: triplets, float64."""

    flops: int
    bytes: int

    @classmethod
    def of(cls, dimension: int) -> Cost:
        """Return the operations of a triplet, and the bytes that it reads and writes, from the cache or from memory.

        Two distances (3 p each), two differences times a slope (2 p each), four sums (p each), and about twenty for
        the loss. Three indices; three points, read; three rows of the gradient, read and written.

        Examples
        --------
        >>> Cost.of(10)
        Cost(flops=160, bytes=732)
        """
        return cls(14 * dimension + 20, 12 + 3 * 3 * 8 * dimension)


class Hops(NamedTuple):
    """The way of a request to all workers: levels of the tree, and messages that one sender sends after another."""

    levels: int
    messages: int

    @classmethod
    def to(cls, workers: int) -> Hops:
        """Return the way to so many workers, each of which passes on to at most `FAN_OUT` others.

        Examples
        --------
        >>> [tuple(Hops.to(workers)) for workers in (1, 4, 5, 20, 64)]
        [(1, 1), (1, 4), (2, 5), (2, 8), (3, 11)]
        """
        levels, messages, reached, width = 0, 0, 0, FAN_OUT
        while reached < workers:
            here = min(width, workers - reached)
            levels, messages = levels + 1, messages + -(-here * FAN_OUT // width)
            reached, width = reached + here, width * FAN_OUT
        return cls(levels, messages)


class ClusterModel(NamedTuple):
    """The constants of the formula.

    Examples
    --------
    >>> model = ClusterModel(per_comparison=2e-8, overhead=0.01, rate=1e9)
    >>> round(model.gradient_seconds(10**9, 10**6, 5, workers=1), 2)
    20.09
    """

    per_comparison: float
    overhead: float
    rate: float

    def gradient_seconds(self, comparisons: int, objects: int, dimension: int, workers: int) -> float:
        """Return the seconds of one gradient."""
        levels, messages = Hops.to(workers)
        sent = 2 * messages * 8 * objects * dimension
        return comparisons * self.per_comparison / workers + levels * self.overhead + sent / self.rate

    def on_network(self) -> ClusterModel:
        """Return the same between machines: no faster than their network."""
        return self._replace(rate=min(self.rate, NETWORK))


#: What the model is asked about besides the size that was measured.
BILLION = Size(1_000_000, 1_000_000_000)


def cluster_model(rows: Sequence[Record], dimension: int) -> ClusterModel | None:
    """Return the constants of the model, if a fit on one worker was measured."""
    for row in rows:
        if row["way"] == "workers:1" and row["gradient"] and row["overhead"] is not None and row["transfer"]:
            spent = row["gradient"] - row["overhead"] - row["transfer"]
            rate = 2 * 8 * row["objects"] * dimension / row["transfer"]
            return ClusterModel(max(spent, 0.0) / row["comparisons"], row["overhead"], rate)
    return None


_HEAD = (
    "  way         comparisons  reading, s    fit, s  gradients  ms a gradient     error   objective"
    "  memory, MB  a worker, MB  device, MB   joules"
)


def scale_text(scale: Scale, rows: Sequence[Record]) -> str:
    """Return the tables for people: measurements, scaling, and what the model predicts."""
    lines = [f"{scale.loss}, {scale.size.objects} objects, {scale.dimension}-D", _HEAD]
    lines += [_line(row) for row in rows]
    lines += ["", *_scaling_lines(rows), "", *_model_lines(scale, rows), ""]
    lines.append(
        f"{machine()}; noise-free triplets of Gaussian points; seed {scale.seed}; medians of {scale.repeats}, each fit "
        "in a new process."
    )
    return "\n".join(lines) + "\n"


def _line(row: Record) -> str:
    start = f"  {row['way']:<11}{row['comparisons']:>12}"
    if row["failure"] is not None:
        return f"{start}  not measured: {row['failure']}"
    joules = [value for value in (row["joules"], row["gpu_joules"]) if value is not None]
    cells = [
        f"{row['reading']:12.2f}", f"{row['seconds']:10.2f}", f"{row['gradients']:11.0f}",
        f"{1e3 * (row['gradient'] or 0):15.1f}", f"{row['error']:10.4f}", f"{row['objective']:12.6f}",
        f"{row['memory_mb']:12.0f}", *(f"{'-' if row[name] is None else f'{row[name]:.0f}':>{width}}" for name, width in
        (("worker_memory_mb", 14), ("device_memory_mb", 12))), f"{sum(joules):9.0f}" if joules else f"{'-':>9}",
    ]  # fmt: skip
    return start + "".join(cells)


def _scaling_lines(rows: Sequence[Record]) -> list[str]:
    """Return how much faster a gradient is on more threads or workers."""
    at = {(row["way"], row["comparisons"]): row["gradient"] for row in rows if row["gradient"]}
    lines = []
    for (way, comparisons), seconds in at.items():
        kind, _, count = way.partition(":")
        one = at.get((f"{kind}:1", comparisons))
        if count and int(count) > 1 and one:
            lines.append(f"  strong scaling, {way}: a gradient is {one / seconds:.2f} times as fast as on one")
            share = at.get((f"{kind}:1", comparisons // int(count)))
            if share:
                lines.append(
                    f"  weak scaling, {way}: {count} times the comparisons take {seconds / share:.2f} times as long"
                )
    return lines


def _model_lines(scale: Scale, rows: Sequence[Record]) -> list[str]:
    model = cluster_model(rows, scale.dimension)
    if model is None:
        return []
    cost, model = Cost.of(scale.dimension), model.on_network()
    lines = [
        f"  a comparison: {cost.flops} operations, {cost.bytes} bytes, {1e9 * model.per_comparison:.1f} ns on a thread",
        f"  a round of tasks: {1e3 * model.overhead:.1f} ms; points and gradients: {model.rate / 1e6:.0f} MB a second",
        "  predicted seconds of a gradient, on workers of one thread each behind a network of 10 gigabits",
        "      workers" + "".join(f"{workers:>9}" for workers in WORKERS),
    ]
    for size in (scale.size, BILLION):
        dimension = scale.dimension
        seconds = [model.gradient_seconds(size.comparisons, size.objects, dimension, workers) for workers in WORKERS]
        lines.append(f"  {size!s:>20}" + "".join(f"{value:9.2f}" for value in seconds))
    return lines
