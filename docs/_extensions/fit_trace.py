"""Which files a fit passes through: ``python docs/_extensions/fit_trace.py`` draws docs/fit-trace.png.

The trace is that of the calls of a fit of STE: a step to the right for each time that one file calls into another for
the first time, a row for each file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import nearer

ROOT = Path(nearer.__file__).parent
PICTURE = Path(__file__).parents[1] / "fit-trace.png"


def walk(run: Callable[[], object]) -> list[str]:
    """Return the files of the package that a call passes through: one entry for each first hand-over to a file."""
    found: list[str] = []
    seen: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event != "call" or frame.f_code.co_name == "<module>" or not path.startswith(str(ROOT)):
            return
        file = Path(path).relative_to(ROOT).as_posix()
        step = (found[-1] if found else "", file)
        if step[0] != file and step not in seen:
            seen.add(step)
            found.append(file)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def draw(files: list[str], path: Path) -> None:
    """Draw the hand-overs from file to file."""
    from matplotlib.figure import Figure

    rows = list(dict.fromkeys(files))
    figure = Figure(figsize=(7.5, 0.27 * len(rows) + 0.8), layout="constrained", dpi=150)
    axes = figure.subplots()
    steps = range(1, len(files) + 1)
    axes.plot(steps, [rows.index(file) for file in files], "-o", color="#3b6ea5", markersize=4, linewidth=1)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("hand-over")
    axes.grid(axis="y", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


if __name__ == "__main__":
    from nearer.datasets import make_gaussian, sample_triplets
    from nearer.embedding import STE

    judgments = sample_triplets(make_gaussian(20, 2, random_state=0), 400, random_state=0)
    STE(2, random_state=0).fit(judgments)  # imports are no part of the walk
    files = walk(lambda: STE(2, random_state=0).fit(judgments))
    print("\n".join(dict.fromkeys(files)))
    print(len(set(files)), "files,", len(files), "hand-overs")
    draw(files, PICTURE)
