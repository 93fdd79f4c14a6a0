"""One fit at one large size, in a process of its own: its time and its memory.

Triplets are drawn a block at a time, as 32-bit integers, so that the data take little more than their own size.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from typing import TypedDict

from benchmarks.programs import environment
from benchmarks.triplets import Size


class Result(TypedDict):
    """Seconds of each stage, peak memory before and after the fit in MB, and the error of the map."""

    loss: str
    objects: int
    comparisons: int
    dimension: int
    seed: int
    generation_seconds: float
    wrapping_seconds: float
    fit_seconds: float
    iterations: int
    error: float
    memory_before_fit_mb: float
    peak_memory_mb: float
    warnings: list[str]


def measure_large(loss: str, size: Size, dimension: int, seed: int) -> Result:
    """Draw, wrap, fit and judge, in this process.

    Examples
    --------
    >>> measure_large("GNMDS", Size(20, 500), dimension=2, seed=0)["error"] < 0.2
    True
    """
    from benchmarks.session import WARM_UP
    from benchmarks.triplets import N_TEST, draw_blocks, make_data, start_seeds
    from benchmarks.worker import peak_memory
    from nearer import embedding
    from nearer._common.randomness import stream
    from nearer.data.comparisons import Comparisons
    from nearer.datasets import make_gaussian
    from nearer.evaluation.metrics import comparison_error

    estimator = getattr(embedding, loss)
    model = estimator(n_components=dimension, random_state=start_seeds(seed, 1)[0])
    warm_up = make_data(WARM_UP, dimension, seed).train.astype("int32")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(warm_up)

    start = time.perf_counter()
    points = make_gaussian(size.objects, dimension, random_state=seed)
    rng = stream(seed, "triplets")
    rows = draw_blocks(points, size.comparisons, rng)
    generated = time.perf_counter()
    comparisons = Comparisons.from_triplets(rows, n_objects=size.objects)
    wrapped = time.perf_counter()
    before = peak_memory()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_start = time.perf_counter()
        model.fit(comparisons)
        fitted = time.perf_counter()
    peak = peak_memory()
    test = draw_blocks(points, N_TEST, rng)
    return Result(
        loss=loss,
        objects=size.objects,
        comparisons=size.comparisons,
        dimension=dimension,
        seed=seed,
        generation_seconds=generated - start,
        wrapping_seconds=wrapped - generated,
        fit_seconds=fitted - fit_start,
        iterations=model.n_iter_,
        error=comparison_error(test, model.embedding_),
        memory_before_fit_mb=before / 1e6,
        peak_memory_mb=peak / 1e6,
        warnings=[str(warning.message) for warning in caught],
    )


def run_large(loss: str, size: Size, dimension: int, seed: int) -> Result:
    """Return what `measure_large` finds in a new process; its progress bars come through.

    Raises
    ------
    ValueError
        When the process fails, with the last line of its output.
    """
    from benchmarks.speed import check_losses

    check_losses([loss])
    if size.objects < 3 or size.comparisons < 1 or dimension < 1:
        raise ValueError(
            "a fit needs 3 objects, 1 comparison and 1 dimension or more; "
            f"got {size.objects}, {size.comparisons} and {dimension}"
        )
    request = json.dumps([loss, size.objects, size.comparisons, dimension, seed])
    command = [sys.executable, "-m", "benchmarks.large", request]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment())
    if done.returncode != 0:
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
        lack = ", most likely for lack of memory; try fewer comparisons" if done.returncode == -9 else ""
        raise ValueError(f"the fit of {loss} at size {size} ended with {how}{lack}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def large_text(result: Result) -> str:
    """Return the figures for people."""
    lines = [
        f"{result['loss']}, {result['objects']} objects, {result['comparisons']} comparisons, "
        f"{result['dimension']}-D, seed {result['seed']}",
        f"  drawing triplets        {result['generation_seconds']:10.2f} s",
        f"  wrapping in Comparisons {result['wrapping_seconds']:10.2f} s",
        f"  fit                     {result['fit_seconds']:10.2f} s in {result['iterations']} iterations",
        f"  held-out error          {result['error']:10.4f}",
        f"  peak memory before fit  {result['memory_before_fit_mb']:10.0f} MB",
        f"  peak memory at the end  {result['peak_memory_mb']:10.0f} MB",
        *(f"  warning: {message}" for message in result["warnings"]),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    _loss, _objects, _comparisons, _dimension, _seed = json.loads(sys.argv[1])
    sys.stdout.write(json.dumps(measure_large(_loss, Size(_objects, _comparisons), _dimension, _seed)) + "\n")
