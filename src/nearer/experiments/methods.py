"""The methods of the comparison, and the settings each may choose from.

Settings are in units that carry over from one sample to the next (see `nearer.Penalty`), so that one grid serves all
sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from nearer.embedding import DMOE, GNMDS, STE, TSTE
from nearer.embedding.base import OrdinalEmbedding
from nearer.penalty import Penalty

Settings: TypeAlias = dict[str, Any]

# The paper's competitors are the descents over Gram matrices of rank p.
METHODS: dict[str, Callable[..., OrdinalEmbedding]] = {
    "DMOE": DMOE,
    "GNMDS": partial(GNMDS, solver="projected"),
    "STE": partial(STE, solver="projected"),
    "TSTE": partial(TSTE, solver="projected"),
}


def candidates(method: str, n_comparisons: int, n_objects: int) -> list[Settings]:
    """Return the settings that a method is tuned over.

    Parameters
    ----------
    method : str
        A key of `METHODS`.
    n_comparisons, n_objects : int
        The training comparisons m and the objects n.

    Examples
    --------
    >>> candidates("STE", 200, 100)[1]
    {'trace': 0.03}
    """
    if method == "DMOE":
        return _few() if n_comparisons < 5 * n_objects else _few() + _many()
    if method == "GNMDS":
        return [{"trace": trace} for trace in [0.0, 0.03, 0.1, 0.2]] + [{"trace": 0.1, "power": 1}]
    if method == "STE":
        return [{"trace": trace} for trace in [0.0, 0.03, 0.1, 0.3]]
    if method == "TSTE":
        # alpha = p - 1 is the default of its authors.
        return [{"trace": trace} for trace in [0.0, 0.01, 0.03, 0.1]] + [{"trace": 0.03, "alpha": 1.0}]
    raise ValueError(f"method {method!r} is not known; choose from {', '.join(METHODS)}")


def _few() -> list[Settings]:
    """Return settings of DMOE that can win at any number of comparisons: strong ridges.

    Kept short: on 200 comparisons cross-validation cannot tell neighbours apart, and each of them adds noise to the
    choice.
    """
    return [
        {"penalty": Penalty(trace=0.05, ridge=3.0)},
        {"penalty": Penalty(trace=0.05, ridge=3.0, diagonal=0.7)},
        {"penalty": Penalty(trace=0.05, ridge=3.0, diagonal=0.4)},
        {"penalty": Penalty(trace=0.0, ridge=10.0, specificity=20.0)},
        {"penalty": Penalty(trace=0.0, ridge=10.0), "solver": "closed"},
    ]


def _many() -> list[Settings]:
    """Return settings of DMOE that need several comparisons an object: weak ridges, and no price above the target."""
    return [
        {"penalty": Penalty(trace=0.15, ridge=0.3, specificity=20.0)},
        {"penalty": Penalty(trace=0.15, ridge=1.0, specificity=20.0)},
        {"penalty": Penalty(trace=0.0, ridge=3.0, diagonal=0.6)},
        {"penalty": Penalty(trace=0.06, ridge=0.1), "nu": 0.1},
        {"penalty": Penalty(trace=0.06, ridge=0.01), "nu": 0.0},
    ]
