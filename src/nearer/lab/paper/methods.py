"""The methods of the comparison, and the settings each may choose from.

Settings are in units that carry over from one sample to the next (see `nearer.Penalty`), so that one grid serves all
sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from nearer.embedding import CKL, DMOE, GNMDS, SOE, STE, TSTE
from nearer.embedding.base import OrdinalEmbedding
from nearer.problems.penalty import Penalty

Settings: TypeAlias = dict[str, Any]

# The paper's competitors are the descents over Gram matrices of rank p; those over points have an X.
METHODS: dict[str, Callable[..., OrdinalEmbedding]] = {
    "DMOE": DMOE,
    "GNMDS": partial(GNMDS, solver="projected"),
    "STE": partial(STE, solver="projected"),
    "TSTE": partial(TSTE, solver="projected"),
    "GNMDS-X": GNMDS,
    "STE-X": STE,
    "TSTE-X": TSTE,
    "CKL-X": CKL,
    "SOE-X": SOE,
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
        if n_comparisons < 5 * n_objects:
            return _few()
        return _few() + _many() if n_comparisons < 30 * n_objects else _plenty()
    if method.endswith("-X"):
        return _over_points(method)
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


def _plenty() -> list[Settings]:
    """Return settings of DMOE for many comparisons an object, where the dimension is what has to be used.

    A high power weighs the comparisons that are hardest to satisfy, as the tail of a likelihood does; 2 and 4 are worse
    by 0.001 and 0.0003 at 100 comparisons an object.
    """
    return [
        {"penalty": Penalty(trace, ridge=0.0), "solver": "factored", "nu": 0.0, "power": 12}
        for trace in (0.001, 0.002, 0.003, 0.005, 0.01)
    ]


def _over_points(method: str) -> list[Settings]:
    """Return settings of the descents over points: a path of penalties, and what shape the loss can take."""
    traces = [0.0, 0.001, 0.002, 0.004, 0.01, 0.03, 0.1]
    if method == "SOE-X":
        traces = [trace / 30 for trace in traces]
    settings: list[Settings] = [{"trace": trace} for trace in traces]
    if method == "TSTE-X":
        settings += [{"trace": trace, "alpha": alpha} for trace in (0.001, 0.01) for alpha in (1.0, 30.0)]
    return settings
