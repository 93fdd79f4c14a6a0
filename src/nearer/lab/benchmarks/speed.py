"""Seconds, error and memory of a fit beside those of cblearn, both in one run on one machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nearer.lab.benchmarks.measure import Task
from nearer.lab.benchmarks.session import Session
from nearer.lab.benchmarks.triplets import Size, check_size
from nearer.lab.common.programs import Program, nearer_program
from nearer.lab.common.records import Record

LOSSES = ("GNMDS", "STE", "TSTE", "CKL", "SOE")
SIZES = (Size(1000, 100_000), Size(2000, 200_000), Size(10_000, 200_000))
#: A fit of the peer that takes longer than this is not repeated.
LONG = 120.0


def check_losses(losses: Sequence[str]) -> None:
    """Refuse names that are no estimators.

    Examples
    --------
    >>> check_losses(["GNMDS", "MDS"])
    Traceback (most recent call last):
    ValueError: loss MDS is not known; choose from GNMDS, ...
    """
    from nearer import embedding

    known = [loss for loss in LOSSES if hasattr(embedding, loss)]
    unknown = [loss for loss in losses if loss not in known]
    if unknown or not losses:
        raise ValueError(f"loss {', '.join(unknown)} is not known; choose from {', '.join(known)}")


@dataclass(frozen=True)
class Speed:
    """The comparison with a peer, checked before it starts.

    Parameters
    ----------
    folder : Path
        Gets ``measurements.jsonl``; made if it is not there.
    peer : Program or None
        None measures nearer alone.
    losses, sizes : sequences
    repeats : int
    peer_repeats : int, optional
        If left out: as many as `repeats`, but one where the first took longer than `LONG` seconds.
    dimension, seed : int
    peer_timeout : float
        Seconds after which a fit of the peer is ended.
    """

    folder: Path
    peer: Program | None
    losses: Sequence[str] = LOSSES
    sizes: Sequence[Size] = SIZES
    repeats: int = 3
    peer_repeats: int | None = None
    dimension: int = 5
    seed: int = 0
    peer_timeout: float = 3600.0

    def __post_init__(self) -> None:
        check_losses(self.losses)
        for size in self.sizes:
            check_size(size)

    @property
    def path(self) -> Path:
        """The file of records."""
        return self.folder / "measurements.jsonl"

    def execute(self) -> list[Record]:
        """Measure what is left to measure and return all records, those of one loss and size side by side.

        Raises
        ------
        Interrupted
            On Ctrl-C. What was finished is on file.
        """
        ours = nearer_program()
        most = self.repeats if self.peer_repeats is None else self.peer_repeats
        each = self.repeats + (most if self.peer else 0)
        records = []
        with Session(self.path, each * len(self.losses) * len(self.sizes), "speed") as session:
            # Small sizes first: they tell the most in the least time.
            for size in sorted(set(self.sizes), key=lambda size: size.objects * size.comparisons):
                for loss in self.losses:
                    # Programs take turns, so that a slow spell of the machine meets both.
                    peer_left = most if self.peer else 0
                    for repeat in range(max(self.repeats, peer_left)):
                        task = Task(loss, size, self.dimension, self.seed, repeat)
                        if repeat < self.repeats:
                            records.append(_succeeded(session.run(task, ours)))
                        if self.peer and repeat < peer_left:
                            record = session.run(task, self.peer, self.peer_timeout)
                            records.append(record)
                            if self._is_enough(record):
                                session.skip(peer_left - repeat - 1)
                                peer_left = repeat + 1
        return records

    def _is_enough(self, record: Record) -> bool:
        if "seconds" not in record:
            return True
        return self.peer_repeats is None and bool(record["seconds"] > LONG)


def _succeeded(record: Record) -> Record:
    """Return the record of a fit of our own, whose failure is the end of the benchmark."""
    if "failure" in record:
        raise ValueError(f"{record['failure']} (size {record['size']}); finished measurements are kept")
    return record
