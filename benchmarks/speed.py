"""Seconds, error and memory of a fit against those of cblearn, both in one run on one machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypedDict

from benchmarks.programs import Program, machine, nearer_program
from benchmarks.records import Record
from benchmarks.session import Session, Task
from benchmarks.triplets import Size, check_size

LOSSES = ("GNMDS", "STE", "TSTE", "CKL", "SOE")
SIZES = (Size(1000, 100_000), Size(2000, 200_000), Size(10_000, 200_000))
#: A fit of the peer that takes longer than this is not repeated.
LONG = 120.0
_HEAD = """\
                              ------- seconds of a fit -------   -- held-out error --   -- peak memory, MB --
  objects  comparisons  loss    nearer  cblearn         ratio      nearer    cblearn      nearer    cblearn"""


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


class SpeedRow(TypedDict):
    """Medians over the repeats of one loss at one size; None where there is no such figure."""

    objects: int
    comparisons: int
    loss: str
    seconds: float
    peer_seconds: float | None
    ratio: float | None
    ratio_is_lower_bound: bool
    error: float
    peer_error: float | None
    peak_memory_mb: float
    peer_peak_memory_mb: float | None
    iterations: float
    peer_iterations: float | None
    warnings: str
    peer_warnings: str
    repeats: int
    peer_repeats: int
    peer_failure: str | None


def speed_rows(records: Iterable[Record]) -> list[SpeedRow]:
    """Summarize records by size and loss, in the order they come in.

    The ratio is that of the medians, the peer's divided by ours: above 1 the peer is slower. Of a peer that ran out of
    time only a lower bound is known.
    """
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record["size"], record["method"]), []).append(record)
    return [_row(size, loss, group) for (size, loss), group in groups.items()]


def _row(size: str, loss: str, records: Sequence[Record]) -> SpeedRow:
    ours = [record for record in records if record["program"] == "nearer"]
    peer = [record for record in records if record["program"] != "nearer"]
    fitted = [record for record in peer if "seconds" in record]
    failures = [record["failure"] for record in peer if "failure" in record]
    # A fit that was ended counts with the time it had: the median of such times is a lower bound.
    waited = [record["seconds" if "seconds" in record else "timeout"] for record in peer if "failure" not in record]
    seconds = _median(ours, "seconds")
    peer_seconds = float(median(waited)) if waited else None
    objects, comparisons = map(int, size.split("x"))
    return SpeedRow(
        objects=objects,
        comparisons=comparisons,
        loss=loss,
        seconds=seconds,
        peer_seconds=peer_seconds,
        ratio=None if peer_seconds is None else peer_seconds / seconds,
        ratio_is_lower_bound=any("timeout" in record for record in peer),
        error=_median(ours, "error"),
        peer_error=_median(fitted, "error") if fitted else None,
        peak_memory_mb=_median(ours, "peak_memory") / 1e6,
        peer_peak_memory_mb=_median(fitted, "peak_memory") / 1e6 if fitted else None,
        iterations=_median(ours, "n_iter"),
        peer_iterations=_median(fitted, "n_iter") if fitted else None,
        warnings=_warnings(ours),
        peer_warnings=_warnings(fitted),
        repeats=len(ours),
        peer_repeats=len(peer),
        peer_failure=failures[0] if failures else None,
    )


def _warnings(records: Sequence[Record]) -> str:
    """Return what fits warned of, each message once."""
    messages = dict.fromkeys(message for record in records for message in record["warnings"])
    return " | ".join(" ".join(message.split()) for message in messages)


def _median(records: Sequence[Record], name: str) -> float:
    return float(median(record[name] for record in records))


def speed_text(speed: Speed, rows: Sequence[SpeedRow]) -> str:
    """Return the table for people, with a note on how it was measured."""
    return "\n".join([_HEAD, *map(_line, rows), "", *speed_notes(speed, rows)]) + "\n"


def _line(row: SpeedRow) -> str:
    bound = ">" if row["ratio_is_lower_bound"] else ""
    ratio = "-" if row["ratio"] is None else f"{bound} {row['ratio']:.1f}".strip()
    waited = "-" if row["peer_seconds"] is None else f"{bound} {row['peer_seconds']:.2f}".strip()
    peer_error = "-" if row["peer_error"] is None else f"{row['peer_error']:.4f}"
    peer_memory = "-" if row["peer_peak_memory_mb"] is None else f"{row['peer_peak_memory_mb']:.0f}"
    return (
        f"{row['objects']:9d}{row['comparisons']:13d}  {row['loss']:<6}{row['seconds']:8.2f}{waited:>9}{ratio:>14}"
        f"{row['error']:12.4f}{peer_error:>11}{row['peak_memory_mb']:12.0f}{peer_memory:>11}"
    )


def speed_notes(speed: Speed, rows: Sequence[SpeedRow]) -> list[str]:
    """Return what a reader must know to judge the table, a sentence each."""
    notes = [
        f"{machine()}; {speed.dimension}-D; noise-free triplets of Gaussian points; seed {speed.seed}.",
        f"Each fit in a new process, after an untimed fit of tiny data; medians of {speed.repeats}. Seconds are those "
        "of fit(rows) alone, checks of the rows included.",
        "Error: share of held-out triplets that the map has the wrong way round, ties counted half.",
    ]
    if speed.peer is None:
        return [*notes, "cblearn was not measured (--no-peer).", *_warned("nearer", [row["warnings"] for row in rows])]
    notes.append(
        f"Ratio: cblearn {speed.peer.version} (SciPy backend, its defaults; SOE with n_init=1: one start, as here) "
        "divided by nearer.\nEach stops by its own rule: compare the errors too."
    )
    if any(row["peer_repeats"] < min(speed.repeats, speed.peer_repeats or speed.repeats) for row in rows):
        fewer = [f"{row['loss']} {row['objects']}x{row['comparisons']}" for row in rows if row["peer_repeats"] == 1]
        notes.append(f"cblearn once, where that took more than {LONG:.0f} s or did not end: {', '.join(fewer)}.")
    if any(row["ratio_is_lower_bound"] for row in rows):
        notes.append("> : cblearn was ended after so many seconds; the ratio is at least that.")
    notes += [row["peer_failure"] + "." for row in rows if row["peer_failure"]]
    return (
        notes
        + _warned("nearer", [row["warnings"] for row in rows])
        + _warned(speed.peer.name, [row["peer_warnings"] for row in rows])
    )


def _warned(program: str, messages: Iterable[str]) -> list[str]:
    return [f"{program} warned: {message}" for message in dict.fromkeys(messages) if message]
