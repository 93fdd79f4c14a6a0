"""The methods of the comparison, and the settings each may choose from.

Settings are in units that carry over from one sample to the next: ``trace`` as a fraction of the value at which the
map vanishes, ``ridge`` and ``specificity`` as numbers to be divided by the number of comparisons. `resolve` turns
them into what an estimator takes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, TypeAlias

from sklearn.base import clone

from nearer.comparisons import Comparisons
from nearer.embedding import DMOE, GNMDS, STE, TSTE
from nearer.embedding.base import OrdinalEmbedding

Settings: TypeAlias = dict[str, Any]

METHODS: dict[str, Callable[..., OrdinalEmbedding]] = {"DMOE": DMOE, "GNMDS": GNMDS, "STE": STE, "TSTE": TSTE}


def candidates(method: str, n_comparisons: int, n_objects: int, n_components: int) -> list[Settings]:
    """Return the settings that a method is tuned over, in units that carry over.

    Parameters
    ----------
    method : str
        A key of `METHODS`.
    n_comparisons, n_objects, n_components : int
        The training comparisons m, the objects n and the dimension p of the map.

    Examples
    --------
    >>> candidates("STE", 200, 100, 10)[1]
    {'trace': 0.03}
    """
    if method == "DMOE":
        penalties = [(0.05, 3.0), (0.15, 1.0), (0.0, 3.0)]
        prices = [1.0]
        # With fewer than five comparisons an object, weak ridges and a free upper side never win: they would only add
        # noise to the choice.
        if n_comparisons >= 5 * n_objects:
            penalties += [(0.15, 0.3), (0.05, 0.1)]
            prices += [0.0]
        return [
            {"trace": trace, "ridge": ridge, "specificity": specificity, "nu": nu}
            for (trace, ridge), specificity, nu in product(penalties, [20.0, None], prices)
        ]
    if method == "GNMDS":
        return [{"power": power, "trace": trace} for power, trace in product([2, 1], [0.0, 0.03, 0.1, 0.2, 0.4])]
    if method == "STE":
        return [{"trace": trace} for trace in [0.0, 0.03, 0.1, 0.3, 0.5]]
    if method == "TSTE":
        freedoms = [max(n_components - 1.0, 1.0), 1.0]
        return [{"alpha": alpha, "trace": trace} for alpha, trace in product(freedoms, [0.0, 0.01, 0.03, 0.1])]
    raise ValueError(f"method {method!r} is not known; choose from {', '.join(METHODS)}")


def resolve(estimator: OrdinalEmbedding, settings: Settings, train: Comparisons) -> Settings:
    """Return the parameters that settings stand for on these training comparisons.

    Examples
    --------
    >>> train = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]])
    >>> resolve(DMOE(), {"trace": 0.0, "ridge": 3.0, "specificity": None}, train)
    {'trace': 0.0, 'ridge': 1.5, 'specificity': None}
    """
    parameters = dict(settings)
    # The value at which the map vanishes depends on the shape of the loss, so that comes first.
    shape = {name: value for name, value in settings.items() if name in ("power", "alpha")}
    parameters["trace"] = settings["trace"] * clone(estimator).set_params(**shape).vanishing_trace(train)
    for name in ("ridge", "specificity"):
        if settings.get(name) is not None:
            parameters[name] = settings[name] / len(train)
    return parameters
