"""The convex problem of DMOE, default loss, in the form that scs takes.

With x = (svec G, ...) scs minimizes x^T P x / 2 + c^T x subject to A x + s = b, s in a cone. svec takes the lower
triangle by columns, off-diagonal entries times sqrt(2), so that inner products are kept. The squared two-sided hinge
at nu = 1 is (1 - margin)^2, and can be stated in three ways, none of which is best for every solver:

    hinges       a shortfall and an excess for each comparison, at least 0: the form that serves any nu
    residuals    one free residual for each comparison
    eliminated   svec G alone, with the comparisons in a dense P
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.model import TwoSidedHinge
from nearer.optimize import nearest_psd
from nearer.optimize.problems.gram import Problem
from nearer.optimize.problems.margins import MarginMap


@dataclass(frozen=True, eq=False)
class Model:
    """What scs is given, and how its answer becomes a Gram matrix.

    Examples
    --------
    >>> from nearer.optimize.problems.margins import MarginMap
    >>> margins = MarginMap.from_quadruplets(np.array([[0, 1, 0, 2]]), n_objects=3)
    >>> model = build_model(Problem(margins, TwoSidedHinge(), np.array([1.0]), trace=0.1, ridge=1.0), "residuals")
    >>> model.data["A"].shape, model.cone
    ((7, 7), {'z': 1, 's': 3})
    """

    data: dict[str, Any]
    cone: dict[str, int]
    n_objects: int

    def gram(self, x: FloatArray) -> FloatArray:
        """Return the nearest matrix in the cone to the one that a solution holds."""
        rows, columns = _triangle(self.n_objects)
        entries = x[: len(rows)] / np.where(rows == columns, 1.0, np.sqrt(2))
        gram = np.zeros((self.n_objects, self.n_objects))
        gram[rows, columns] = gram[columns, rows] = entries
        return nearest_psd(gram)


def build_model(problem: Problem, form: str) -> Model:
    """State a problem without specificities, with the loss TwoSidedHinge(nu=1, power=2), in one of `FORMS`."""
    if problem.loss != TwoSidedHinge() or problem.has_specificities or problem.margins.diagonal != 1:
        raise ValueError("this form is for the default loss of DMOE, without specificities or diagonal weight")
    return FORMS[form](problem)


def _triangle(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    columns, rows = np.triu_indices(n)  # the upper triangle by rows is the lower one by columns
    return rows, columns


def _design(margins: MarginMap) -> Any:
    """Return the (m, n(n+1)/2) matrix that sends svec G to margins."""
    n, m = margins.n_objects, len(margins)
    rows, columns = _triangle(n)
    place = np.empty((n, n), dtype=np.intp)
    place[rows, columns] = place[columns, rows] = np.arange(len(rows))
    design = sp.csc_array((m, len(rows)))
    for pairs, sign in ((margins.near, -1.0), (margins.far, 1.0)):
        first, second = np.divmod(pairs, n)
        for entry, weight in (
            (place[first, first], 1.0),
            (place[second, second], 1.0),
            (place[first, second], -(2**0.5)),
        ):
            values = np.full(m, sign * weight)
            design = design + sp.csc_array((values, (np.arange(m), entry)), shape=design.shape)
    return design


def _trace(problem: Problem) -> FloatArray:
    rows, columns = _triangle(problem.margins.n_objects)
    diagonal: FloatArray = (rows == columns).astype(np.float64)
    return problem.trace * diagonal


def _model(
    problem: Problem, quadratic: Any, linear: FloatArray, blocks: list[Any], right: FloatArray, **cone: int
) -> Model:
    n = problem.margins.n_objects
    k = n * (n + 1) // 2
    in_cone = sp.hstack([-sp.eye_array(k), sp.csc_array((k, len(linear) - k))])
    data = {
        # scs reads the upper triangle of P, and the index type of the older sparse matrices.
        "P": sp.csc_matrix(sp.triu(quadratic)),
        "A": sp.csc_matrix(sp.vstack([*blocks, in_cone])),
        "b": np.concatenate([right, np.zeros(k)]),
        "c": linear,
    }
    return Model(data, {**cone, "s": n}, n)


def _hinges(problem: Problem) -> Model:
    design, eye = _design(problem.margins), sp.eye_array(len(problem.margins))
    m, k = design.shape
    quadratic = sp.diags_array(np.concatenate([np.full(k, problem.ridge), 2 * problem.shares, 2 * problem.shares]))
    linear = np.concatenate([_trace(problem), np.zeros(2 * m)])
    balance = sp.hstack([design, eye, -eye])  # margin + shortfall - excess = 1
    positive = sp.hstack([sp.csc_array((2 * m, k)), -sp.eye_array(2 * m)])
    right = np.concatenate([np.ones(m), np.zeros(2 * m)])
    return _model(problem, quadratic, linear, [balance, positive], right, z=m, l=2 * m)


def _residuals(problem: Problem) -> Model:
    design = _design(problem.margins)
    m, k = design.shape
    quadratic = sp.diags_array(np.concatenate([np.full(k, problem.ridge), 2 * problem.shares]))
    linear = np.concatenate([_trace(problem), np.zeros(m)])
    return _model(problem, quadratic, linear, [sp.hstack([design, sp.eye_array(m)])], np.ones(m), z=m)


def _eliminated(problem: Problem) -> Model:
    design = _design(problem.margins)
    k = design.shape[1]
    quadratic = 2 * (design.T @ sp.diags_array(problem.shares) @ design) + problem.ridge * sp.eye_array(k)
    return _model(problem, quadratic, _trace(problem) - 2 * (design.T @ problem.shares), [], np.zeros(0))


Form: TypeAlias = Callable[[Problem], Model]
FORMS: dict[str, Form] = {"hinges": _hinges, "residuals": _residuals, "eliminated": _eliminated}


def solve_with_scs(model: Model, eps: float) -> FloatArray:
    """Set scs up, solve to its tolerances eps, and return its x.

    Raises
    ------
    ValueError
        When scs says that it did not solve the problem.
    """
    import scs

    answer = scs.SCS(model.data, model.cone, eps_abs=eps, eps_rel=eps, max_iters=100_000, verbose=False).solve()
    if answer["info"]["status"] != "solved":
        raise ValueError(f"scs ended with the status {answer['info']['status']!r} at eps={eps:g}; try a larger eps")
    x: FloatArray = answer["x"]
    return x
