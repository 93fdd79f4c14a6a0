"""The measurements of `python -m benchmarks scale`: the same rows, the same tolerance, one way after the other.

Strong scaling keeps the comparisons and adds threads or workers; weak scaling gives every worker as many as the one
had. Each fit runs in a process of its own and is kept as soon as it is done.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks.programs import environment, machine, nearer_program, reason
from benchmarks.records import Interrupted, Record, RecordFile
from benchmarks.scale.measuring import Request, Result
from benchmarks.session import WARM_UP
from benchmarks.triplets import N_TEST, Size, draw_blocks
from nearer._common.randomness import stream
from nearer.datasets import make_gaussian

DEFAULT_WAYS = ("threads:1", "threads:2", "npy", "parquet", "workers:1", "workers:2")
DEFAULT_SIZE = Size(50_000, 5_000_000)
_FILES = 8


@dataclass(frozen=True)
class Scale:
    """Fits of one problem in several ways.

    Parameters
    ----------
    folder : Path
        Gets ``measurements.jsonl``.
    ways : sequence of str
        See `benchmarks.scale.measuring`.
    loss : str
    size : Size
    dimension, repeats, seed : int
    max_iter : int
        The most iterations; a few are enough to time gradients of hundreds of millions of comparisons.
    data : Path, optional
        Folder for the rows, tens of bytes a comparison; a temporary one if left out.
    """

    folder: Path
    ways: Sequence[str] = DEFAULT_WAYS
    loss: str = "STE"
    size: Size = DEFAULT_SIZE
    dimension: int = 10
    repeats: int = 3
    seed: int = 0
    max_iter: int = 1000
    data: Path | None = None

    def __post_init__(self) -> None:
        from benchmarks.speed import check_losses

        check_losses([self.loss])
        for way in self.ways:
            kind, colon, count = way.partition(":")
            if kind in ("threads", "workers") and not (count.isdigit() and int(count) > 0):
                raise ValueError(f"{way!r} must say how many, such as {kind}:2")
            if kind in ("npy", "parquet") and colon:
                raise ValueError(f"{way!r} takes no number; write {kind}")

    def tasks(self) -> list[tuple[str, Size]]:
        """Return ways and sizes: all at the whole size, and workers also at their share, for weak scaling."""
        counts = [int(way.partition(":")[2]) for way in self.ways if way.startswith("workers")]
        most = max(counts, default=1)
        shares = [(f"workers:{count}", self.size.comparisons * count // most) for count in counts if count < most]
        return [
            *((way, self.size) for way in self.ways),
            *((way, Size(self.size.objects, share)) for way, share in shares),
        ]

    def execute(self) -> list[Record]:
        """Measure what is left to measure and return the table.

        Raises
        ------
        Interrupted
            On Ctrl-C. What was finished is on file.
        """
        file = RecordFile(self.folder / "measurements.jsonl")
        file.prepare()
        known: dict[str, Record] = {record["fingerprint"]: record for record in file.read()}
        with (
            TemporaryDirectory(prefix="nearer-scale-") as temporary,
            tqdm(total=self.repeats * len(self.tasks()), desc="scale", unit="fit", disable=None) as bar,
        ):
            place = self.data or Path(temporary)
            rows = []
            try:
                for way, size in self.tasks():
                    records = []
                    for repeat in range(self.repeats):
                        bar.set_postfix_str(f"{way} {size}, repeat {repeat + 1}")
                        record = known.get(self._fingerprint(way, size, repeat)) or self._record(
                            way, size, repeat, place, file
                        )
                        records.append(record)
                        bar.update()
                    rows.append(_row(way, size, records))
            except KeyboardInterrupt:
                raise Interrupted(f"stopped; what is done is in {file.path}; the same command goes on") from None
        return rows

    def _fingerprint(self, way: str, size: Size, repeat: int) -> str:
        what = [way, size, repeat, self.loss, self.dimension, self.seed, self.max_iter, nearer_program(), machine()]
        return hashlib.sha256(repr(what).encode()).hexdigest()[:12]

    def _record(self, way: str, size: Size, repeat: int, place: Path, file: RecordFile) -> Record:
        folder = place / str(size)
        write_data(folder, size, self.dimension, self.seed, parquet=way == "parquet" or way.startswith("workers"))
        request = Request(
            way=way, folder=str(folder), loss=self.loss, objects=size.objects, comparisons=size.comparisons,
            dimension=self.dimension, max_iter=self.max_iter,
        )  # fmt: skip
        command = [sys.executable, "-m", "benchmarks.scale.measuring", json.dumps(request)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
        if done.returncode != 0:
            return {"failure": reason(done)}
        record: Record = {
            "method": self.loss, "way": way, "size": str(size), "trial": repeat, "seed": self.seed,
            "fingerprint": self._fingerprint(way, size, repeat), **json.loads(done.stdout.splitlines()[-1]),
        }  # fmt: skip
        file.append(record)
        return record


def write_data(folder: Path, size: Size, dimension: int, seed: int, *, parquet: bool) -> None:
    """Write the rows of a size, and those held out, unless they are there: ``rows.npy``, and a folder ``parquet``."""
    folder.mkdir(parents=True, exist_ok=True)
    points, rng = make_gaussian(size.objects, dimension, random_state=seed), stream(seed, "triplets")
    if not (folder / "warm-up.npy").exists():
        np.save(folder / "test.npy", draw_blocks(points, N_TEST, rng))
        rows = np.lib.format.open_memmap(folder / "rows.npy", mode="w+", dtype=np.int32, shape=(size.comparisons, 3))
        for start in range(0, size.comparisons, 2**22):
            rows[start : start + 2**22] = draw_blocks(points, min(2**22, size.comparisons - start), rng)
        rows.flush()
        few = make_gaussian(WARM_UP.objects, dimension, random_state=seed)
        np.save(folder / "warm-up.npy", draw_blocks(few, WARM_UP.comparisons, rng))
    if parquet and not (folder / "parquet").exists():
        _write_parquet(np.load(folder / "rows.npy", mmap_mode="r"), folder / "parquet")


def _write_parquet(rows: np.ndarray[Any, Any], folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    folder.mkdir()
    count = max(_FILES, -(-len(rows) // 2**24))
    for number in range(count):
        part = rows[len(rows) * number // count : len(rows) * (number + 1) // count]
        table = pyarrow.table({name: part[:, at] for at, name in enumerate(("anchor", "near", "far"))})
        parquet.write_table(table, folder / f"part-{number:03d}.parquet", row_group_size=2**20)


def _row(way: str, size: Size, records: Sequence[Record]) -> Record:
    """Return medians over the repeats of one way; ``failure`` where it cannot be had here."""
    good = [record for record in records if "failure" not in record]

    def middle(name: str) -> float | None:
        values = [record[name] for record in good if record[name] is not None]
        return median(values) if values else None

    return {
        "way": way,
        **size._asdict(),
        **{name: middle(name) for name in Result.__annotations__},
        "failure": None if good else records[0]["failure"],
    }
