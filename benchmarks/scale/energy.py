"""Energy that a piece of work took, where the machine tells: the processor's counters, and the GPU's power."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

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
            said = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()
            try:
                self.watts.append(float(said))
            except ValueError:
                return
