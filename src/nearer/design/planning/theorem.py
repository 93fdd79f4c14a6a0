r"""Theorem 1 of the paper: how many comparisons make the learned risk provably near the best one.

Let the true Gram matrix and the learned one lie in :math:`\{G \succeq 0 : |g_{ab}| \le \mu\}` with rank at most p, and
let m comparisons be drawn uniformly. Then with probability at least 1 - delta

.. math:: R(\hat G) - R(G^*) \le 4 \mu L \sqrt{\frac{32\, n p \log n}{m}} + 8 \mu L \sqrt{\frac{2 \log (2 / \delta)}{m}}

where R is the expected loss, with the target margin 1, and an upper bound of the error. The paper states it for the
two-sided hinge, L = 1 + nu. Its proof needs a Lipschitz constant over the margins that can occur, those in
[-4 mu, 4 mu]; for the squared loss that is L = 2 max(1 + 4 mu, nu (4 mu - 1)). For mu < 1/4 no margin reaches the
target of 1, which makes mu = 1/4 the most generous value.
"""

from __future__ import annotations

import math
from typing import Literal

MOST_GENEROUS_MU = 0.25


def theorem_bound(
    n_objects: int,
    n_components: int,
    excess: float,
    *,
    mu: float = MOST_GENEROUS_MU,
    nu: float = 1.0,
    power: Literal[1, 2] = 1,
    delta: float = 0.05,
) -> float:
    """Return the number of comparisons from which theorem 1 keeps the excess risk below a given value.

    It is far beyond any study: it grows as n p log n, but its constants are those of a worst case.

    Parameters
    ----------
    n_objects, n_components, excess : int >= 2, int, float > 0
        n, p, and how far the expected loss of the learned Gram matrix may lie above that of the true one.
    mu : float > 0
        Bound on the entries of the Gram matrix, where the target margin is 1.
    nu, power : float >= 0, {1, 2}
        Price of margins above the target, and exponent of the two-sided hinge. The paper's theorem is that of 1.
    delta : float in (0, 1)
        Probability that the bound fails.

    Examples
    --------
    >>> f"{theorem_bound(100, 2, excess=0.05):.2g}"
    '5e+07'
    >>> theorem_excess(100, 2, theorem_bound(100, 2, excess=0.05)) <= 0.05
    True
    """
    if not (math.isfinite(excess) and excess > 0):
        raise ValueError(f"excess={excess} must be positive and finite")
    first = theorem_excess(n_objects, n_components, 1, mu=mu, nu=nu, power=power, delta=delta)
    return float(math.ceil((first / excess) ** 2))


def theorem_excess(
    n_objects: int,
    n_components: int,
    n_comparisons: float,
    *,
    mu: float = MOST_GENEROUS_MU,
    nu: float = 1.0,
    power: Literal[1, 2] = 1,
    delta: float = 0.05,
) -> float:
    """Return the excess risk that theorem 1 allows after a number of comparisons; parameters as in `theorem_bound`.

    The loss of a map of one point is 1, so that values above 1 guarantee nothing.

    Examples
    --------
    >>> round(theorem_excess(100, 2, 10_000), 2)
    3.54
    """
    if n_objects < 2 or n_components < 1 or n_comparisons < 1:
        raise ValueError(
            f"n_objects={n_objects}, n_components={n_components} and n_comparisons={n_comparisons}: theorem 1 needs "
            "two objects, one dimension and one comparison, or more"
        )
    if not (mu > 0 and nu >= 0 and 0 < delta < 1 and power in (1, 2)):
        raise ValueError(
            f"mu={mu}, nu={nu}, delta={delta}, power={power}: wanted mu > 0, nu >= 0, 0 < delta < 1, 1 or 2"
        )
    steepness = 1 + nu if power == 1 else 2 * max(1 + 4 * mu, nu * (4 * mu - 1))
    complexity = 4 * math.sqrt(32 * n_objects * n_components * math.log(n_objects))
    confidence = 8 * math.sqrt(2 * math.log(2 / delta))
    return mu * steepness * (complexity + confidence) / math.sqrt(n_comparisons)
