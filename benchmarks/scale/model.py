"""What a gradient would take on a cluster that is not here, from what one took on this machine.

    seconds(W) = m c / W + o L + 2 b h / r

m comparisons on W workers of one thread each; c, the seconds of one comparison on one thread; o, what a request takes
from one to the next of the L levels of the tree that it travels down; b, the bytes of the points (or of the gradient),
which are sent h times one after the other, and come back as often, at r bytes a second. c, o and r are measured: c by
the fit on one worker, o and r by gradients of next to no comparisons on a cluster of this machine. Between machines r
is that of their network.
"""

from __future__ import annotations

from typing import NamedTuple

from nearer.data.worker_pool import FAN_OUT

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


class Hops(NamedTuple):
    """The way of a request to all workers: levels of the tree, and messages that one sender sends after another."""

    levels: int
    messages: int

    @classmethod
    def to(cls, workers: int) -> Hops:
        """Return the way to so many workers, each of which passes on to at most `FAN_OUT` others.

        Examples
        --------
        >>> [tuple(Hops.to(workers)) for workers in (1, 4, 5, 20, 64)]
        [(1, 1), (1, 4), (2, 5), (2, 8), (3, 11)]
        """
        levels, messages, reached, width = 0, 0, 0, FAN_OUT
        while reached < workers:
            here = min(width, workers - reached)
            levels, messages = levels + 1, messages + -(-here * FAN_OUT // width)
            reached, width = reached + here, width * FAN_OUT
        return cls(levels, messages)


class ClusterModel(NamedTuple):
    """The constants of the formula.

    Examples
    --------
    >>> model = ClusterModel(per_comparison=2e-8, overhead=0.01, rate=1e9)
    >>> round(model.gradient_seconds(10**9, 10**6, 5, workers=1), 2)
    20.09
    """

    per_comparison: float
    overhead: float
    rate: float

    def gradient_seconds(self, comparisons: int, objects: int, dimension: int, workers: int) -> float:
        """Return the seconds of one gradient."""
        levels, messages = Hops.to(workers)
        sent = 2 * messages * 8 * objects * dimension
        return comparisons * self.per_comparison / workers + levels * self.overhead + sent / self.rate

    def on_network(self) -> ClusterModel:
        """Return the same between machines: no faster than their network."""
        return self._replace(rate=min(self.rate, NETWORK))
