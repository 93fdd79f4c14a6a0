"""Sizes of data as an option of benchmarks."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import TYPE_CHECKING

from nearer.cli.values import positive
from nearer.common.words import name

if TYPE_CHECKING:
    from nearer.lab.benchmarks.triplets import Size


def sizes(text: str) -> tuple[Size, ...]:
    """Return numbers of objects and comparisons, such as ``1000x100000,2000x200000``."""
    from nearer.lab.benchmarks.triplets import Size

    both = [size.split("x") for size in text.lower().split(",")]
    if any(len(pair) != 2 for pair in both):
        raise ArgumentTypeError(f"sizes such as 1000x100000,2000x200000 are needed, not {name(text)}")
    return tuple(Size(positive(objects), positive(comparisons)) for objects, comparisons in both)
