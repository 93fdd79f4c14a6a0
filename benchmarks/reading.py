"""Reading files of many answers: seconds and memory, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from benchmarks.programs import environment

KINDS = ("csv", "parquet")
_COLUMNS = ("anchor", "near", "far", "annotator")
_N_OBJECTS, _N_PEOPLE = 300, 2000
_BLOCK = 500_000


class Result(TypedDict):
    """What reading one file took; seconds are those of the clock and of the processor."""

    kind: str
    rows: int
    file_mb: float
    seconds: float
    processor_seconds: float
    peak_memory_mb: float


def drawn_blocks(rows: int, seed: int) -> Iterator[list[NDArray[Any]]]:
    """Draw triplets of named objects, and who answered, a block of columns at a time."""
    names = np.array([f"picture {k:03d}.png" for k in range(_N_OBJECTS)])
    people = np.array([f"person {k}" for k in range(_N_PEOPLE)])
    rng = np.random.default_rng(seed)
    for start in range(0, rows, _BLOCK):
        m = min(_BLOCK, rows - start)
        anchor = rng.integers(_N_OBJECTS, size=m)
        near = anchor + rng.integers(1, _N_OBJECTS // 2, size=m)
        far = near + rng.integers(1, _N_OBJECTS // 2, size=m)  # at most n - 2 on from the anchor
        yield [*(names[each % _N_OBJECTS] for each in (anchor, near, far)), people[rng.integers(_N_PEOPLE, size=m)]]


def write_csv(path: Path, rows: int, seed: int) -> None:
    """Write drawn answers as CSV, every cell in quotes."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(f'"{name}"' for name in _COLUMNS) + "\n")
        for columns in drawn_blocks(rows, seed):
            cells = zip(*(column.tolist() for column in columns), strict=True)
            file.writelines('"' + '","'.join(row) + '"\n' for row in cells)


def write_parquet(path: Path, rows: int, seed: int) -> None:
    """Write drawn answers as Parquet."""
    import pyarrow as arrow
    from pyarrow.parquet import ParquetWriter

    with ParquetWriter(path, arrow.schema([(name, arrow.string()) for name in _COLUMNS])) as writer:
        for columns in drawn_blocks(rows, seed):
            writer.write_table(arrow.table(dict(zip(_COLUMNS, columns, strict=True))))


def measure_reading(path: Path) -> Result:
    """Read a file in this process, and tell what it took.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_csv(Path(folder) / "answers.csv", 200, seed=0)
    ...     measure_reading(Path(folder) / "answers.csv")["rows"]
    200
    """
    from benchmarks.worker import peak_memory
    from nearer.io import read_answers

    start, processor = time.perf_counter(), time.process_time()
    answers = read_answers(path)
    return Result(
        kind=path.suffix[1:],
        rows=len(answers),
        file_mb=path.stat().st_size / 1e6,
        seconds=time.perf_counter() - start,
        processor_seconds=time.process_time() - processor,
        peak_memory_mb=peak_memory() / 1e6,
    )


def run_reading(rows: int, seed: int) -> list[Result]:
    """Write a file of each kind and read it in a new process."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            path = Path(folder) / f"answers.{kind}"
            (write_csv if kind == "csv" else write_parquet)(path, rows, seed)
            command = [sys.executable, "-m", "benchmarks.reading", str(path)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment())
            if done.returncode != 0:
                raise ValueError(f"reading {rows} rows of {kind} ended with exit status {done.returncode}")
            results.append(json.loads(done.stdout.splitlines()[-1]))
            path.unlink()
    return results


def reading_text(results: list[Result]) -> str:
    """Return the figures for people."""
    return "".join(
        f"{result['rows']} rows of {result['kind']} ({result['file_mb']:.0f} MB): {result['seconds']:.1f} s "
        f"({result['processor_seconds']:.1f} s of the processor), peak memory {result['peak_memory_mb']:.0f} MB\n"
        for result in results
    )


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure_reading(Path(sys.argv[1]))) + "\n")
