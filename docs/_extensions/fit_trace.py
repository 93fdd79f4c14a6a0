"""Which files a fit passes through: ``python docs/_extensions/fit_trace.py`` draws docs/fit-trace.png.

Each file stands where it is first entered: below the file that calls it, with the function that is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import nearer

ROOT = Path(nearer.__file__).parent
PICTURE = Path(__file__).parents[1] / "fit-trace.png"


class Entry(NamedTuple):
    """A file, the function by which it was first entered, and the file that called it, or None."""

    file: str
    function: str
    caller: str | None


def trace(run: Callable[[], object]) -> list[Entry]:
    """Return the files of the package that a call passes through, in the order in which they are entered."""
    found: dict[str, Entry] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if event != "call" or frame.f_code.co_name == "<module>" or not path.startswith(str(ROOT)):
            return
        file = Path(path).relative_to(ROOT).as_posix()
        if file in found:
            return
        caller = frame.f_back
        while caller and not caller.f_code.co_filename.startswith(str(ROOT)):
            caller = caller.f_back
        by = Path(caller.f_code.co_filename).relative_to(ROOT).as_posix() if caller else None
        found[file] = Entry(file, frame.f_code.co_qualname, by)

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return list(found.values())


def draw(entries: list[Entry], path: Path) -> None:
    """Draw the tree of first calls."""
    from matplotlib.figure import Figure

    called = {entry.file: [each for each in entries if each.caller == entry.file] for entry in entries}
    rows: list[tuple[int, Entry]] = []

    def descend(entry: Entry, depth: int) -> None:
        rows.append((depth, entry))
        for each in called[entry.file]:
            descend(each, depth + 1)

    for entry in entries:
        if entry.caller is None:
            descend(entry, 0)
    figure = Figure(figsize=(7.5, 0.26 * len(rows) + 0.2), layout="constrained", dpi=150)
    axes = figure.subplots()
    at = {entry.file: (depth, row) for row, (depth, entry) in enumerate(rows)}
    for depth, entry in rows:
        row = at[entry.file][1]
        if entry.caller is not None:
            left, top = at[entry.caller]
            axes.plot([left + 0.15, left + 0.15, depth - 0.1], [top + 0.35, row, row], color="0.7", linewidth=1)
        axes.text(depth, row, entry.file, va="center", fontsize=8.5, family="monospace")
        name = entry.function.replace("<genexpr>", "").strip(".").replace(".<locals>", "")
        axes.text(8.6, row, name, va="center", fontsize=8, color="#3b6ea5", family="monospace")
    axes.set_xlim(-0.1, 13)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.axis("off")
    figure.savefig(path)


if __name__ == "__main__":
    from nearer.datasets import make_gaussian, sample_triplets
    from nearer.embedding import STE

    judgments = sample_triplets(make_gaussian(20, 2, random_state=0), 400, random_state=0)
    model = STE(2, random_state=0).fit(judgments)  # imports are no part of the trace
    draw(trace(lambda: model.fit(judgments)), PICTURE)
