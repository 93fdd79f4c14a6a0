"""Whether the outlook comes true: the gain that was foreseen for the next fifth of the answers, and the one they had.

Points answer with noise, to questions that are chosen or drawn at random. At several sizes the posterior predicts
what the next fifth of the answers would bring; they are then asked for, and both maps are judged by the same new
questions.

The gain of one run is a matter of chance, whatever the forecast. So the table has the means over runs next to each
other, and counts in how many runs the gain was within a factor of 1.5 of what was foreseen, and in its interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.data.comparisons import Comparisons
from nearer.datasets import load_colors, make_gaussian, simulate_answers
from nearer.datasets.synthetic import distinct_rows
from nearer.design import Outlook, Questions, outlook
from nearer.design.active.lookahead import Choose
from nearer.embedding import PosteriorEmbedding
from nearer.optimize.problems.margins import TIE_RTOL, pair_distances
from nearer.sampling import Microcanonical

_TESTED = 60_000
_FACTOR = 1.5
SIZES = (10, 20, 40)  # answers an object


@dataclass(frozen=True)
class World:
    """Points, and how they answer.

    Parameters
    ----------
    points : callable
        From a seed to an array of shape (n, p).
    n_components : int
        Of the map.
    noise : dict
        As `simulate_answers` takes it.
    """

    points: Callable[[int], FloatArray]
    n_components: int
    noise: dict[str, Any]


def _cloud(n: int, p: int) -> Callable[[int], FloatArray]:
    return lambda seed: make_gaussian(n, p, 0.5 / p, random_state=seed)


def _colors(seed: int) -> FloatArray:
    del seed
    points: FloatArray = load_colors().lab[:, 1:]
    centred = points - points.mean(axis=0)
    return np.asarray(centred / np.sqrt(2 * np.square(centred).sum(axis=1).mean()))


_LOGISTIC: dict[str, Any] = {"noise": "logistic", "slope": 10.0}
_FLIPS: dict[str, Any] = {"noise": None, "flipped": 0.1}
WORLDS = {
    "line": World(lambda seed: np.linspace(0, 1, 30)[:, None], 2, {"noise": "logistic", "slope": 20.0, "lapses": 0.1}),
    "colours": World(_colors, 2, _LOGISTIC),
    "30 in 2-D, logistic": World(_cloud(30, 2), 2, _LOGISTIC),
    "30 in 2-D, flips": World(_cloud(30, 2), 2, _FLIPS),
    "60 in 2-D, flips": World(_cloud(60, 2), 2, _FLIPS),
    "60 in 5-D, logistic": World(_cloud(60, 5), 5, _LOGISTIC),
}


@dataclass(frozen=True)
class CameTrue:
    """An outlook, and what then happened: by how much the error fell, on new answers and about the truth."""

    outlook: Outlook
    gain: float
    truth_gain: float

    @property
    def within(self) -> bool:
        """Whether the gain about the truth was within a factor of 1.5 of what was foreseen."""
        foreseen = self.outlook.truth_now - self.outlook.truth_then
        return foreseen / _FACTOR <= self.truth_gain <= foreseen * _FACTOR

    @property
    def in_interval(self) -> bool:
        """Whether the gain on new answers was in the interval of 8 in 10 cases."""
        return self.outlook.gain_low <= self.gain <= self.outlook.gain_high


def looked_ahead(world: World, seed: int, *, chosen: bool, sizes: Sequence[int] = SIZES) -> list[CameTrue]:
    """Return what was foreseen, and what happened, in one run."""
    points = world.points(seed)
    n = len(points)
    judge = _Judge(world, points, np.random.default_rng([1, seed]))
    marks = [(size * n, size * n + size * n // 5) for size in sizes]
    found, models = [], {}
    choose: Choose = "information" if chosen else "random"
    ask = _chosen if chosen else _drawn
    for size, comparisons in ask(world, points, seed, sorted({size for both in marks for size in both})):
        p, solver = world.n_components, Microcanonical.for_cross_validation()
        model = PosteriorEmbedding(p, max_components=p, solver=solver, random_state=seed)
        models[size] = model.fit(comparisons)
        for now in (now for now, then in marks if then == size):
            view = outlook(models[now], comparisons[:now], size - now, choose=choose, random_state=seed)
            (before, wrong_before), (after, wrong_after) = (judge.errors(models[each]) for each in (now, size))
            found.append(CameTrue(view, before - after, wrong_before - wrong_after))
    return found


def _chosen(world: World, points: FloatArray, seed: int, sizes: Sequence[int]) -> Iterator[tuple[int, Comparisons]]:
    """Give answers of growing number, asked for in batches of a tenth of what there is, at least one an object."""
    n, rng = len(points), np.random.default_rng([2, seed])
    questions, n_answered = Questions(n, world.n_components, random_state=seed), 0
    for size in sizes:
        while n_answered < size:
            k = min(size - n_answered, max(n, n_answered // 10))
            questions.tell(_said(world, points, np.asarray(questions.ask(k)), rng))
            questions.update()
            n_answered += k
        yield size, questions.comparisons_


def _drawn(world: World, points: FloatArray, seed: int, sizes: Sequence[int]) -> Iterator[tuple[int, Comparisons]]:
    """Give answers of growing number to random questions."""
    n, rng = len(points), np.random.default_rng([2, seed])
    rows = _said(world, points, distinct_rows(sizes[-1], 3, n, rng), rng)
    yield from ((size, Comparisons.from_triplets(rows[:size], n_objects=n)) for size in sizes)


def _said(
    world: World, points: FloatArray, asked: NDArray[np.integer], rng: np.random.Generator
) -> NDArray[np.integer]:
    given = simulate_answers(points, asked, random_state=rng, **world.noise).answers
    return np.where(np.asarray(given == 1)[:, None], asked, asked[:, [0, 2, 1]])


class _Judge:
    """New questions that maps are judged by, as people answer them and as they are."""

    def __init__(self, world: World, points: FloatArray, rng: np.random.Generator) -> None:
        self.rows = np.asarray(_said(world, points, distinct_rows(_TESTED, 3, len(points), rng), rng))
        near, far = (pair_distances(points, self.rows[:, 0], self.rows[:, place]) for place in (1, 2))
        self.right = near < far
        self.fair = np.abs(near - far) > TIE_RTOL * (near + far)

    def errors(self, model: PosteriorEmbedding) -> tuple[float, float]:
        """Return the error on answers, and about the truth where there is one."""
        holds = model.decision_function(self.rows) > 0
        return float(1 - holds.mean()), float((holds != self.right)[self.fair].mean())


def stopping_table(
    names: Sequence[str] = tuple(WORLDS), n_runs: int = 10, seed: int = 0, sizes: Sequence[int] = SIZES
) -> str:
    """Return a table of gains foreseen and had: means over runs, and how many runs came true."""
    lines = [
        "                                    gain about the truth      gain on answers",
        "world                 how   answers  foreseen  had (s.e.)      foreseen  had     within 1.5  in interval",
    ]
    with progress_bar("runs", 2 * len(names) * n_runs) as bar:
        for name in names:
            for chosen in (False, True):
                runs = []
                for run in range(n_runs):
                    runs.append(looked_ahead(WORLDS[name], 1000 * seed + run, chosen=chosen, sizes=sizes))
                    bar.update()
                lines += [_line(name, chosen, found) for found in zip(*runs, strict=True)]
    return "\n".join(lines)


def _line(name: str, chosen: bool, found: Sequence[CameTrue]) -> str:
    had = np.array([each.truth_gain for each in found])
    truth = float(np.mean([each.outlook.truth_now - each.outlook.truth_then for each in found]))
    gain, had_gain = np.mean([(each.outlook.gain, each.gain) for each in found], axis=0)
    within, inside = np.sum([(each.within, each.in_interval) for each in found], axis=0)
    return (
        f"{name:<22}{'chosen' if chosen else 'random':<7}{found[0].outlook.n_answers_now:6d}  {truth:8.4f}  "
        f"{had.mean():.4f} ({had.std(ddof=min(1, len(had) - 1)) / len(had) ** 0.5:.4f})  {gain:8.4f}  {had_gain:.4f}"
        f"  {within:4d} of {len(found)}  {inside:4d} of {len(found)}"
    )
