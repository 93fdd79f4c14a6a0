"""The penalty of DMOE, in units that carry over from one set of comparisons to the next.

A trace penalty that suits 200 comparisons of 30 objects says nothing about 10,000 of 100. Measured against the value
at which the map vanishes, and a ridge against one comparison, the same numbers serve both. Weights count comparisons:
scaled to a sum of 1 they stand for a single one, and every ridge is then strong.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import NamedTuple

import numpy as np

from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.points import FactoredProblem


class Settled(NamedTuple):
    """A penalty of which nothing is open."""

    trace: float
    ridge: float
    diagonal: float
    specificity: float


@dataclass(frozen=True)
class Penalty:
    r"""What keeps a map simple: :math:`\lambda \,\mathrm{tr}\, G + \frac{\kappa}{2} \lVert G \rVert_F^2`, and more.

    A value of None is open: `DMOE` chooses it from the comparisons.

    Parameters
    ----------
    trace : float >= 0 or None, default 0.1
        Prefers few dimensions. As a share of the smallest lambda at which the map is a point, so that 1 is too much.
    ridge : float >= 0 or None, default 1
        Prefers maps whose distances differ little; any above 0 makes the solution unique. In units of one comparison:
        kappa is this number divided by the total weight.
    diagonal : float >= 0 or None, default 1
        How much an object's distance from the centre adds to its distance from everything. 1 is the Euclidean
        distance of the paper; people's judgments of many objects are often predicted better by 0.3 to 0.6.
    specificity : float > 0 or None, default infinity
        Price of the specificities s_i that are added to the squared distances of each object (Winsberg and Carroll
        1989), in units of one comparison. Infinity means none; 10 to 100 helps when comparisons are few.

    Examples
    --------
    >>> Penalty(trace=0.2).ridge
    1.0
    >>> Penalty(trace=None, ridge=0.0).filled(Penalty(trace=0.3, ridge=5.0))
    Penalty(trace=0.3, ridge=0.0, diagonal=1.0, specificity=inf)
    """

    trace: float | None = 0.1
    ridge: float | None = 1.0
    diagonal: float | None = 1.0
    specificity: float | None = np.inf

    def __post_init__(self) -> None:
        for name in ("trace", "ridge", "diagonal"):
            value = getattr(self, name)
            if value is not None and (not _is_number(value) or not 0 <= value < np.inf):
                raise ValueError(f"{name} must be a finite number >= 0, or None to have it chosen, got {value!r}")
        if self.specificity is not None and (not _is_number(self.specificity) or not self.specificity > 0):
            raise ValueError(
                f"specificity must be above 0 (infinity for none), or None to have it chosen, got {self.specificity!r}"
            )

    @classmethod
    def open(cls) -> Penalty:
        """Return the penalty of which nothing is settled."""
        return cls(None, None, None, None)

    @property
    def is_open(self) -> bool:
        """Whether some value is left to be chosen."""
        return None in self._values()

    def filled(self, other: Penalty) -> Penalty:
        """Return this penalty with what is open taken from another."""
        pairs = zip(fields(self), self._values(), other._values(), strict=True)
        return Penalty(**{field.name: theirs if own is None else own for field, own, theirs in pairs})

    def over_gram_matrices(self, problem: Problem) -> Problem:
        """Return the problem with this penalty, in its own units."""
        trace, ridge, diagonal, specificity = self.settled()
        if problem.margins.diagonal != diagonal:
            problem = replace(problem, margins=replace(problem.margins, diagonal=diagonal))
        return replace(
            problem,
            trace=trace * problem.vanishing_trace,
            ridge=ridge / problem.total_weight,
            specificity=specificity / problem.total_weight,
        )

    def over_points(self, problem: FactoredProblem, largest_pull: float) -> FactoredProblem:
        """Return the problem over points with this penalty, given the largest eigenvalue of the pull A^T c."""
        trace, ridge, diagonal, specificity = self.settled()
        if diagonal != 1 or specificity < np.inf:
            raise ValueError(
                f"diagonal={diagonal} and specificity={specificity} need a Gram matrix, which a solver over "
                "points does not make; leave them out, or use solver='admm'"
            )
        return replace(
            problem,
            trace=trace * problem.loss.pull_of_zero * max(largest_pull, 0.0),
            ridge=ridge / problem.total_weight,
        )

    def _values(self) -> tuple[float | None, ...]:
        return self.trace, self.ridge, self.diagonal, self.specificity

    def settled(self) -> Settled:
        """Return all values, or raise ValueError if some are open."""
        if self.trace is None or self.ridge is None or self.diagonal is None or self.specificity is None:
            raise ValueError(f"{self} has open values, which only DMOE chooses; give all of them")
        return Settled(self.trace, self.ridge, self.diagonal, self.specificity)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
