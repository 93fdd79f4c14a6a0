r"""People who weigh the axes of a map differently, or have maps of their own.

For person s the object i is at

.. math:: x_{id}^s = \exp(\tau_w \omega_{sd} / 2) \, (x_{id} + \tau_m t_d r_{sid})

with the common map x, its spreads t of the axes, and standard normal :math:`\omega` and r. The weight of axis d, by
which squared distances along it count, is :math:`\exp(\tau_w \omega_{sd})`, and the map departs from the common one by
:math:`\tau_m`, relative to its size. Both spreads are learned, so that people who do not differ share one map.

Only places that occur in answers, an object as a person sees it, are unknowns: a gradient takes time in proportion to
the answers, however many people and objects there are. Other places follow from the prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray

PEOPLE = ("noise", "weights", "maps")  # in what they may differ, each including those before


class PeoplePrior(NamedTuple):
    """Centers and scales of the logarithms of the spreads: of weights, and of departures from the common map.

    Wide, and small in the middle: people who do not differ then lose nothing, and those who do hardly anything.
    """

    weights: tuple[float, float] = (-2.0, 1.5)
    maps: tuple[float, float] = (-2.5, 1.5)


class PeopleLayout(NamedTuple):
    """Which unknowns make the place of an object as a person sees it: what the compiled loops take.

    Attributes
    ----------
    objects, whose : ndarray of int, shape (s,)
        The object of each place, and the person who sees it there.
    n_people, n_maps : int
        The number of people, and of places with a departure from the common map: all, or none.
    centers, scales : ndarray, shape (2,)
        Of the priors of the logarithms of spreads: of weights, then of maps.
    """

    objects: NDArray[np.int32]
    whose: NDArray[np.int32]
    n_people: int
    n_maps: int
    centers: FloatArray
    scales: FloatArray

    def size(self, n_components: int) -> int:
        """Return the number of unknowns."""
        return (self.n_people + self.n_maps) * n_components + 2 if self.n_people else 0

    @classmethod
    def empty(cls) -> PeopleLayout:
        """Return the layout where people differ in noise alone."""
        none = np.empty(0, np.int32)
        return cls(none, none, 0, 0, np.empty(0), np.empty(0))


@dataclass(frozen=True, eq=False)
class PeopleComparisons:
    """Comparisons between places: objects as people see them."""

    layout: PeopleLayout
    pairs: NDArray[np.int32]  # (k, 2): the distinct pairs of places that are compared
    rows: NDArray[np.int32]  # (m, 2): which of them is near, and which is far

    @classmethod
    def of(
        cls,
        pairs: NDArray[np.integer],
        rows: NDArray[np.integer],
        people: NDArray[np.integer],
        n_people: int,
        *,
        maps: bool,
        prior: PeoplePrior | None = None,
    ) -> PeopleComparisons:
        """Return the comparisons of pairs of objects, (k, 2), that ``rows``, (m, 2), of ``people``, (m,), mention."""
        own_pairs, own_rows = np.unique(people[:, None].astype(np.int64) * len(pairs) + rows, return_inverse=True)
        person, pair = np.divmod(own_pairs, len(pairs))
        n_objects = int(pairs.max()) + 1
        codes, places = np.unique(person[:, None] * n_objects + pairs[pair], return_inverse=True)
        whose, objects = (each.astype(np.int32) for each in np.divmod(codes, n_objects))
        centers, scales = np.array(prior or PeoplePrior()).T.copy()
        layout = PeopleLayout(objects, whose, n_people, len(codes) if maps else 0, centers, scales)
        return cls(layout, places.reshape(-1, 2).astype(np.int32), own_rows.reshape(rows.shape).astype(np.int32))
