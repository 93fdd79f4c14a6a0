"""What `python -m benchmarks scale` says: measurements, how they scale, and what the model predicts of them."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.programs import machine
from benchmarks.records import Record
from benchmarks.scale.model import WORKERS, ClusterModel, Cost
from benchmarks.scale.run import Scale
from benchmarks.triplets import Size

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
