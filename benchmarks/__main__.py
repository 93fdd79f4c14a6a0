"""``python -m benchmarks COMMAND``: the experiments of the paper, and measurements of time, memory and accuracy."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nearer.cli.main import Program
from nearer.cli.main import main as run

_MEASUREMENTS = (
    "speed", "scaling", "large", "accuracy", "features", "people", "coverage", "reading", "convex", "active", "survey",
    "scale",
)  # fmt: skip
PROGRAM = Program(
    "python -m benchmarks",
    "The experiments of the paper, and measurements of time, memory and accuracy.",
    {"reproduce": "benchmarks.commands.reproduce"} | dict.fromkeys(_MEASUREMENTS, "benchmarks.commands.bench"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status."""
    return run(arguments, PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
