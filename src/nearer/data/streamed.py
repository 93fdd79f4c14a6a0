"""Comparisons that no single process holds all at once: what files and clusters of them have in common.

``fit`` takes them in place of a `Comparisons`. Everything else needs rows in memory and says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer.data.comparisons import Comparisons
from nearer.data.rows import Rows


class StreamedComparisons(ABC):
    """Comparisons that were checked once, where they are, and are given out a block at a time."""

    n_objects: int

    @property
    @abstractmethod
    def title(self) -> str:
        """What to call them in a sentence, such as the name of their file."""

    @property
    @abstractmethod
    def is_triplets(self) -> bool:
        """Whether the comparisons are triplets."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of comparisons."""

    @abstractmethod
    def blocks(self, rng: np.random.Generator | None = None) -> Iterator[Rows]:
        """Return all comparisons, a block at a time; in random order if ``rng`` is given."""

    @property
    def objects(self) -> NDArray[np.intp]:
        """The indices 0..n-1, which stand for labels."""
        return np.arange(self.n_objects)

    def __repr__(self) -> str:
        kind = ("triplet" if self.is_triplets else "quadruplet") + ("s" if len(self) != 1 else "")
        return f"{type(self).__name__}({self.title!r}, {len(self)} {kind} over {self.n_objects} objects)"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} is read a block at a time, and only fit takes it; "
            "load the rows that you need, for example np.load('rows.npy', mmap_mode='r')[:1000]"
        )


Judgments: TypeAlias = Comparisons | StreamedComparisons  # in memory, or elsewhere
