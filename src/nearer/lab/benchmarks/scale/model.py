"""What a gradient would take on a cluster that is not here, from what one took on this machine.

    seconds(W) = m c / W + o + 2 W b / r

m comparisons on W workers of one thread each; c, the seconds of one comparison on one thread; o, what a round of tasks
takes whatever their size; b, the bytes of the points (or of the gradient), which go to every worker and come back over
the one connection of the client, at r bytes a second. c, o and r are measured: c by the fit on one worker, o and r by
gradients of next to no comparisons on a cluster of this machine. Between machines r is that of their network.
"""

from __future__ import annotations

from typing import NamedTuple

#: A network of 10 gigabits, in bytes a second.
NETWORK = 1.25e9
WORKERS = (1, 2, 8, 16, 32, 64)


class Cost(NamedTuple):
    """Work of one comparison in p dimensions, counted in the loops: triplets, float64."""

    flops: int
    bytes: int

    @classmethod
    def of(cls, dimension: int) -> Cost:
        """Return the operations of a triplet, and the bytes that it reads and writes, from the cache or from memory.

        Two distances (3 p each), two differences times a slope (2 p each), four sums (p each), and about twenty for
        the loss. Three indices; three points, read; three rows of the gradient, read and written.

        Examples
        --------
        >>> Cost.of(10)
        Cost(flops=160, bytes=732)
        """
        return cls(14 * dimension + 20, 12 + 3 * 3 * 8 * dimension)


class ClusterModel(NamedTuple):
    """The constants of the formula.

    Examples
    --------
    >>> model = ClusterModel(per_comparison=2e-8, overhead=0.01, rate=1e9)
    >>> round(model.gradient_seconds(10**9, 10**6, 5, workers=1), 2), round(model.best_workers(10**9, 10**6, 5))
    (20.09, 16)
    """

    per_comparison: float
    overhead: float
    rate: float

    def gradient_seconds(self, comparisons: int, objects: int, dimension: int, workers: int) -> float:
        """Return the seconds of one gradient."""
        sent = 2 * workers * 8 * objects * dimension
        return comparisons * self.per_comparison / workers + self.overhead + sent / self.rate

    def best_workers(self, comparisons: int, objects: int, dimension: int) -> float:
        """Return the number of workers beyond which sending the points takes more than their help saves."""
        both = comparisons * self.per_comparison * self.rate / (16 * objects * dimension)
        return float(max(1.0, both**0.5))

    def on_network(self) -> ClusterModel:
        """Return the same between machines: no faster than their network."""
        return self._replace(rate=min(self.rate, NETWORK))
