"""Whether the distances of a posterior have converged, as papers report it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from nearer._common.formatting import intcomma, percent, pluralize
from nearer._common.results import Amount, Bounds, Result
from nearer.sampling.summaries import Diagnosis

_Positive = Annotated[int, Bounds(1)]


@dataclass(frozen=True)
class Convergence(Result):
    """Convergence of the distances between objects, and the rule by which drawing ended.

    Attributes
    ----------
    n_chains, n_draws, n_distances : int
        Chains, draws that were kept of all of them, and distances that were diagnosed: all, or some at random.
    rhat, bulk, tail : float
        The largest rank-normalized split R-hat, and the smallest bulk and tail effective sample size (Vehtari et al.
        2021).
    max_rhat, min_effective : float or None
        Draws were to be taken until all distances were below the first and above the second; None where no such rule
        was asked for.
    tolerance : float or None
        Draws were to be taken until more of them would correct at most this share of predictions; None for a sampler
        without that rule.
    is_met : bool
        Whether the rules were met.

    Examples
    --------
    >>> print(Convergence(4, 1512, 435, 1.0075, 839.0, 1090.0, 1.01, 400.0, 0.0002))
    4 chains drew until R-hat of all 435 distances was below 1.01, and their bulk and tail effective sample sizes above
    400 (at most 1.0075, at least 839 and 1,090, of 1,512 draws; Vehtari et al. 2021)
    """

    n_chains: _Positive
    n_draws: _Positive
    n_distances: _Positive
    rhat: float
    bulk: Amount
    tail: Amount
    max_rhat: Amount | None = None
    min_effective: Amount | None = None
    tolerance: Amount | None = None
    is_met: bool = True

    @property
    def worst(self) -> Diagnosis:
        """The three figures."""
        return Diagnosis(self.rhat, self.bulk, self.tail)

    def summary(self) -> str:
        """Return the rule that was met, or was not, with the figures."""
        chains, distances = pluralize(self.n_chains, "chain"), pluralize(self.n_distances, "distance")
        drew = "drew until" if self.is_met else "did not draw until"
        figures = (
            f"at most {self.rhat:.4f}, at least {self.bulk:,.0f} and {self.tail:,.0f}, "
            f"of {intcomma(self.n_draws)} draws; Vehtari et al. 2021"
        )
        if self.max_rhat is not None:
            return (
                f"{chains} {drew} R-hat of all {distances} was below {self.max_rhat:g}, and their bulk and tail "
                f"effective sample sizes above {self.min_effective:g} ({figures})"
            )
        rule = f"{chains} gave {pluralize(self.n_draws, 'draw')}"
        if self.tolerance is not None:
            rule = f"{chains} {drew} more draws would correct at most {percent(self.tolerance)} of predictions"
        return f"{rule}; R-hat, and bulk and tail effective sample sizes, of {distances} were {figures}"
