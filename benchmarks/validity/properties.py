"""Attributes of objects on a map: size and power of `nearer.comparing.fit_properties`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.validity.rates import Outcome, Rate
from nearer._common.arrays import FloatArray
from nearer.comparing import fit_properties

TITLE = "Attributes on a map"
ABOUT = """
`fit_properties` and `nearer axes` test whether an attribute of the objects has to do with their places, at 5%. Maps
have two dimensions. *Random walks*: map and attribute each are a random walk along one time, independent of each other,
and noise. *Autoregression*: the same with a correlation of 0.9 from one time to the next. *Waves*: sums of four sines
of random phase and size. *Phylogeny*: Brownian motion along a random tree. *Blocks*: five, with means of their own.
*Copies*: 12 things, each four times, with a standard deviation of 0.05 between copies. *Spreads*: two or three
categories with one center; sizes and standard deviations are given. *Common trend*: map and attribute grow with time in
every repetition, which is a relation, but need not be one of attribute and map; `along=` cannot take it out.
"""

_PERMUTATIONS = 399
_TEST = "an attribute has to do with the map"


class World(NamedTuple):
    """A map, an attribute, and the keyword arguments of the remedy."""

    points: FloatArray
    column: list[Any]
    remedy: dict[str, Any]


def simulate(rng: np.random.Generator, world: Callable[[np.random.Generator], World], remedied: bool) -> Outcome:
    """Return whether the test rejects."""
    points, column, remedy = world(rng)
    fits = fit_properties(
        points,
        {"attribute": column},
        n_permutations=_PERMUTATIONS,
        n_resamples=1,
        random_state=rng,
        **(remedy if remedied else {}),
    )
    return Outcome(int(fits["attribute"].p_value <= 0.05))


def noted(rng: np.random.Generator, world: Callable[[np.random.Generator], World]) -> Outcome:
    """Return whether there is a note that objects may not be exchangeable."""
    points, column, _ = world(rng)
    fits = fit_properties(points, {"attribute": column}, n_permutations=1, n_resamples=1, random_state=rng)
    return Outcome(int(bool(fits.notes)))


def independent(rng: np.random.Generator, effect: float = 0.0, words: bool = False) -> World:
    """Return 40 objects, and an attribute that grows along the first axis by so many standard deviations."""
    points = rng.normal(size=(40, 2))
    values = effect * points[:, 0] + rng.normal(size=40)
    return World(points, np.where(values > 0.5, "high", "low").tolist() if words else values.tolist(), {})


def _along(points: FloatArray, values: FloatArray, effect: float, along: Any) -> World:
    own = points[:, 0] / points[:, 0].std()
    return World(points, (values / values.std() + effect * own).tolist(), {"along": along})


def random_walks(rng: np.random.Generator, effect: float = 0.0) -> World:
    """Return 40 objects in order of time."""
    smooth = np.cumsum(rng.normal(size=(40, 3)), axis=0) + rng.normal(size=(40, 3))
    return _along(smooth[:, :2], smooth[:, 2], effect, np.arange(40.0))


def autoregression(rng: np.random.Generator) -> World:
    """Return the same, of a process that returns to its mean."""
    drawn = rng.normal(size=(40, 3))
    for time in range(1, 40):
        drawn[time] = 0.9 * drawn[time - 1] + np.sqrt(1 - 0.9**2) * drawn[time]
    return _along(drawn[:, :2], drawn[:, 2], 0.0, np.arange(40.0))


def waves(rng: np.random.Generator) -> World:
    """Return smooth curves at irregular times."""
    times = np.sort(rng.random(40))
    rates = np.array([0.5, 1.0, 1.5, 2.0])
    phases, sizes = rng.random((2, 4, 3))
    curves = np.sin(2 * np.pi * (rates[:, None, None] * times[None, :, None] + phases[:, None]))
    smooth = (rng.normal(size=(4, 1, 3)) * sizes[:, None] * curves).sum(axis=0) + 0.1 * rng.normal(size=(40, 3))
    return _along(smooth[:, :2], smooth[:, 2], 0.0, times)


def phylogeny(rng: np.random.Generator, effect: float = 0.0) -> World:
    """Return Brownian motion along a tree in which random pairs of branches have an ancestor in common."""
    n, now = 40, 0.0
    branches, apart = [[k] for k in range(n)], np.zeros((n, n))
    while len(branches) > 1:
        now += rng.exponential(2 / (len(branches) * (len(branches) - 1)))
        one, other = (branches.pop(int(rng.integers(len(branches)))) for _ in range(2))
        apart[np.ix_(one, other)] = 2 * now
        apart[np.ix_(other, one)] = 2 * now
        branches.append(one + other)
    shared = np.linalg.cholesky(now - apart / 2 + 1e-9 * np.eye(n))
    drawn = shared @ rng.normal(size=(n, 3))
    return _along(drawn[:, :2], drawn[:, 2], effect, apart)


def common_trend(rng: np.random.Generator) -> World:
    """Return a map and an attribute that both grow with time, and have no other relation."""
    times = np.arange(40) / 40
    points = np.column_stack([3 * times, np.zeros(40)]) + 0.3 * rng.normal(size=(40, 2))
    return _along(points, 3 * times + 0.3 * rng.normal(size=40), 0.0, times)


def blocks(rng: np.random.Generator, effect: float = 0.0) -> World:
    """Return five blocks of eight objects."""
    block = np.repeat(np.arange(5), 8)
    drawn = 2 * rng.normal(size=(5, 3))[block] + rng.normal(size=(40, 3))
    return World(drawn[:, :2], (drawn[:, 2] + effect * drawn[:, 0]).tolist(), {"within": block})


def copies(rng: np.random.Generator, effect: float = 0.0, words: bool = False) -> World:
    """Return twelve things, each four times."""
    thing = np.repeat(np.arange(12), 4)
    drawn = rng.normal(size=(12, 3))
    drawn[:, 2] += effect * drawn[:, 0]
    drawn = drawn[thing] + 0.05 * rng.normal(size=(48, 3))
    kind = np.where(rng.permutation(12) < 5, "natural", "made")[thing].tolist()
    return World(drawn[:, :2], kind if words else drawn[:, 2].tolist(), {"copies": thing})


def spreads(
    rng: np.random.Generator, sizes: tuple[int, ...], deviations: tuple[float, ...], apart: float = 0.0
) -> World:
    """Return categories of these sizes and standard deviations; the last one's center is ``apart`` from the others."""
    of = np.repeat(np.arange(len(sizes)), sizes)
    points = rng.normal(size=(len(of), 2)) * np.array(deviations)[of, None]
    points[of == len(sizes) - 1, 0] += apart
    return World(points, [f"category {k}" for k in of], {})


_SIZE: dict[str, Any] = {"kind": "size", "n_runs": 1000, "low": 0.0, "high": 0.07}
_POWER: dict[str, Any] = {"kind": "power", "n_runs": 200, "low": 0.5}
_CONFOUNDED: tuple[tuple[str, str, Callable[..., World]], ...] = (
    ("random walks along one time", "along", random_walks),
    ("autoregression along one time", "along", autoregression),
    ("waves along one time", "along", waves),
    ("one phylogeny", "along", phylogeny),
    ("five blocks", "within", blocks),
    ("near copies", "copies", copies),
    ("near copies, words", "copies", partial(copies, words=True)),
)
_REAL: tuple[tuple[str, str, Callable[..., World]], ...] = (
    ("random walks along one time, and a relation", "along", partial(random_walks, effect=1.0)),
    ("one phylogeny, and a relation", "along", partial(phylogeny, effect=1.0)),
    ("five blocks, and a relation", "within", partial(blocks, effect=1.0)),
    ("near copies, and a relation", "copies", partial(copies, effect=2.0)),
)
_SPREADS: tuple[tuple[tuple[int, ...], tuple[float, ...]], ...] = (
    ((20, 20), (1.0, 3.0)),
    ((30, 8), (1.0, 3.0)),
    ((8, 30), (1.0, 3.0)),
    ((20, 5, 5), (1.0, 3.0, 2.0)),
    ((10, 10, 10, 10), (1.0, 1.0, 2.0, 4.0)),
)


def _rates() -> list[Rate]:
    """Return all rates."""
    found = [
        Rate(_TEST, "independent objects", simulate=partial(simulate, world=independent, remedied=False), **_SIZE),
        Rate(
            _TEST,
            "independent objects, words",
            simulate=partial(simulate, world=partial(independent, words=True), remedied=False),
            **_SIZE,
        ),
        Rate(
            _TEST,
            "independent objects, and a relation (R2 about 0.2)",
            simulate=partial(simulate, world=partial(independent, effect=0.5), remedied=False),
            **_POWER,
        ),
    ]
    for name, way, world in _CONFOUNDED:
        plain = {**_SIZE, "n_runs": 200, "high": 1.0}
        found += [
            Rate(_TEST, f"{name}; permutations", simulate=partial(simulate, world=world, remedied=False), **plain),
            Rate(_TEST, f"{name}; {way}=", simulate=partial(simulate, world=world, remedied=True), **_SIZE),
        ]
    for name, way, world in _REAL:
        found.append(Rate(_TEST, f"{name}; {way}=", simulate=partial(simulate, world=world, remedied=True), **_POWER))
    found.append(
        Rate(_TEST, "a common trend; along=", simulate=partial(simulate, world=common_trend, remedied=True), **_SIZE)
    )
    for sizes, deviations in _SPREADS:
        wide = ", ".join(f"{deviation:g}" for deviation in deviations)
        many = f"categories of {', '.join(map(str, sizes))} objects, standard deviations {wide}"
        world = partial(spreads, sizes=sizes, deviations=deviations)
        found.append(Rate("centers differ", many, simulate=partial(simulate, world=world, remedied=False), **_SIZE))
    away = partial(spreads, sizes=(30, 8), deviations=(1.0, 3.0), apart=3.5)
    found.append(
        Rate(
            "centers differ",
            "categories of 30, 8 objects, standard deviations 1, 3, centers 3.5 apart",
            simulate=partial(simulate, world=away, remedied=False),
            **_POWER,
        )
    )
    note = "a note says that objects may not be exchangeable"
    found += [
        Rate(note, "independent objects", "size", partial(noted, world=independent), 200, 0.0, 0.05),
        Rate(note, "a linear relation", "size", partial(noted, world=partial(independent, effect=2.0)), 200, 0.0, 0.05),
        Rate(note, "near copies", "power", partial(noted, world=copies), 200, 0.8),
        Rate(note, "random walks along one time", "power", partial(noted, world=random_walks), 200),
    ]
    return found


RATES = _rates()
