"""How many threads linear algebra may use.

A second thread of BLAS costs more in waiting than it saves in work when the matrices are small, and much more than that
when another program wants the core.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from threadpoolctl import ThreadpoolController

if TYPE_CHECKING:
    from nearer.solvers.driver import Space

# A step over Gram matrices is one eigendecomposition among small vector operations; one over points has these alone.
_ONE_THREAD_BELOW = {"gram": 2000, "points": 100_000}


def limited_blas(space: Space, n_objects: int) -> Any:
    """Return a context in which BLAS uses one thread if the problem is small.

    Examples
    --------
    >>> with limited_blas("gram", n_objects=50):
    ...     pass
    """
    limit = 1 if n_objects < _ONE_THREAD_BELOW[space] else None
    return _controller().limit(limits=limit, user_api="blas")


@cache
def _controller() -> ThreadpoolController:
    # Finding the libraries takes most of a millisecond, a tenth of a small fit.
    return ThreadpoolController()
