"""The worlds in which questions are asked: points that answer with noise, and pools of answers that people gave.

A run of a world has a truth, a stream of answers and questions to be judged by, each from a seed of its own that no
rule and no estimator shares. Simulated answers are drawn anew whenever a question is asked. In a pool only questions
that were asked can be chosen, each has one of the answers that were given to it, and a fifth of the answers, whole acts
of judgment, is kept apart to judge maps by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.accuracy.datasets import acts, find_file, load, missing_sentence
from nearer._common.arrays import FloatArray
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.datasets import draw_questions, load_colors, make_gaussian, simulate_answers
from nearer.datasets.synthetic import count_questions
from nearer.io.formats import read_arrays
from nearer.optimize.problems.margins import pair_distances

TARGETS = (0.20, 0.10, 0.05, 0.03, 0.02)
_POOL_TARGETS = (0.30, 0.25, 0.20, 0.15, 0.10)
MOST_TESTED = 20_000
_TIE = 1e-3  # squared distances whose difference is a smaller share of their sum are no fair question
_KEPT = 0.2  # of a pool, to judge by
_GUESSES, _STEEPNESS = 0.07074231, 17.55473809  # of people's answers about the eggs, as Salmon's authors published them

Rows = NDArray[np.intp]
Noise = dict[str, Any]


class Life(Protocol):
    """One run of a world.

    Attributes
    ----------
    questions : ndarray of int, shape (m, 3)
        All that may be asked: a head and two others.
    is_pool : bool
        Whether they are answers on file, so that each can be asked once.
    test : Comparisons
        What maps are judged by.
    """

    questions: Rows
    is_pool: bool
    test: Comparisons

    def answer(self, asked: Rows) -> Rows:
        """Return answers as triplets (anchor, near, far)."""
        ...


class Simulated:
    """Points that answer with noise.

    Examples
    --------
    >>> life = Simulated(np.array([[0.0], [1.0], [3.0], [9.0]]), {"noise": None}, np.random.SeedSequence(0))
    >>> life.answer(np.array([[0, 3, 1], [2, 1, 3]])).tolist(), len(life.questions), len(life.test)
    ([[0, 1, 3], [2, 1, 3]], 12, 12)
    """

    is_pool = False

    def __init__(self, points: FloatArray, noise: Noise, seed: np.random.SeedSequence) -> None:
        self.points, self.noise = points, noise
        self.questions: Rows = draw_questions(
            len(points), count_questions(len(points)), random_state=stream(seed, "triplets")
        )
        self.test = Comparisons.from_triplets(self._true(self.questions)[:MOST_TESTED], n_objects=len(points))
        self._luck = stream(seed, "answers")

    def answer(self, asked: Rows) -> Rows:
        """Return answers as triplets (anchor, near, far)."""
        given = simulate_answers(self.points, asked, random_state=self._luck, **self.noise).answers
        return np.where(np.asarray(given == 1)[:, None], asked, asked[:, [0, 2, 1]])

    def _true(self, questions: Rows) -> Rows:
        """Return the triplets that hold, without those whose two distances are all but equal."""
        first, second = (pair_distances(self.points, questions[:, 0], questions[:, place]) for place in (1, 2))
        right = np.where((first < second)[:, None], questions, questions[:, [0, 2, 1]])
        return right[np.abs(first - second) > _TIE * (first + second)]


class Pool:
    """Answers that people gave, once each.

    Examples
    --------
    >>> given = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 0, 1], [0, 2, 1], [1, 2, 0]])
    >>> life = Pool(given, np.random.SeedSequence(0))
    >>> len(life.test), len(life.questions) <= 3
    (1, True)
    """

    is_pool = True

    def __init__(self, given: Comparisons, seed: np.random.SeedSequence) -> None:
        rng = stream(seed, "split")
        act = acts(given)
        kept = rng.random(act.max() + 1).argsort()[: max(round(_KEPT * (act.max() + 1)), 1)]
        apart = np.isin(act, kept)
        rows = given.rows.astype(np.intp)
        self.test = given[rng.permutation(np.flatnonzero(apart))[:MOST_TESTED]]
        # In random order the first answer to a question is any of those that were given.
        free = rng.permutation(rows[~apart])
        _, first = np.unique(_keys(free), axis=0, return_index=True)
        chosen = free[np.sort(first)]
        self.questions: Rows = _keys(chosen)
        self._answers = {tuple(key): row for key, row in zip(self.questions.tolist(), chosen, strict=True)}

    def answer(self, asked: Rows) -> Rows:
        """Return the answers on file as triplets (anchor, near, far)."""
        return np.array([self._answers[tuple(key)] for key in _keys(asked).tolist()], dtype=np.intp).reshape(-1, 3)


def _keys(rows: Rows) -> Rows:
    """Return questions with the two others in order of their numbers."""
    return np.column_stack([rows[:, 0], np.sort(rows[:, 1:], axis=1)])


@dataclass(frozen=True)
class World:
    """Where questions are asked.

    Parameters
    ----------
    name, title : str
        For commands and for people.
    n_objects, n_components : int
        Objects, and dimension of the maps.
    most : int
        Answers at which a run ends.
    begin : callable
        From a seed to the run.
    targets : tuple of float
        The errors whose answers are counted.
    file : str, optional
        Name of the file that it needs.
    features : callable, optional
        Returns what is known of the objects, (n, f).

    Examples
    --------
    >>> world = WORLDS["cloud5-flips"]
    >>> world.checkpoints()[:3], world.checkpoints()[-1]
    ((120, 156, 203), 3600)
    """

    name: str
    title: str
    n_objects: int
    n_components: int
    most: int
    begin: Callable[[np.random.SeedSequence], Life]
    targets: tuple[float, ...] = TARGETS
    file: str | None = None
    features: Callable[[], FloatArray] | None = None

    @property
    def is_there(self) -> bool:
        """Whether the data can be had."""
        return self.file is None or find_file(self.file) is not None

    def checkpoints(self, *, featured: bool = False) -> tuple[int, ...]:
        """Return the numbers of answers at which maps are judged, about 14; with features from n / 2 on."""
        first = self.n_objects // 2 if featured else 2 * self.n_objects
        sizes = np.geomspace(first, self.most, 14).round().astype(int)
        if featured:
            sizes = np.concatenate([sizes, [self.n_objects, 2 * self.n_objects]])
        return tuple(np.unique(sizes).tolist())

    def seed(self, seed: int, run: int) -> np.random.SeedSequence:
        """Return the seed of one run; that of its truth and answers is the first child, that of a rule another."""
        return np.random.SeedSequence([seed, crc32(self.name.encode()), run])

    def life(self, seed: int, run: int) -> Life:
        """Return one run, the same whoever asks."""
        return self.begin(self.seed(seed, run).spawn(1)[0])


def egg_noise(near: FloatArray, far: FloatArray) -> FloatArray:
    """Return the chance that the first of two squared distances is called the smaller one, as people did with eggs.

    Examples
    --------
    >>> egg_noise(np.array([1.0, 0.0, 9.0]), np.array([1.0, 1.0, 1.0])).round(3).tolist()
    [0.5, 0.929, 0.081]
    """
    first, second = np.sqrt(near), np.sqrt(far)
    share = second / np.maximum(first + second, np.finfo(float).tiny)
    chances: FloatArray = 0.5 + (1 - 2 * _GUESSES) * (expit(_STEEPNESS * (share - 0.5)) - 0.5)
    return chances


def _eggs(seed: np.random.SeedSequence) -> Life:
    path = find_file("eggs30")
    if path is None:
        raise ValueError(missing_sentence(["eggs30"]))
    sizes = read_arrays(path.read_bytes(), str(path))["ground_truth_1d"]
    return Simulated(np.asarray(sizes, dtype=np.float64)[:, None], {"noise": egg_noise}, seed)


def _line(seed: np.random.SeedSequence) -> Life:
    return Simulated(np.linspace(0.0, 1.0, 30)[:, None], {"noise": egg_noise}, seed)


def _colors(seed: np.random.SeedSequence) -> Life:
    return Simulated(np.array(load_colors().lab[:, 1:]), {"noise": None, "flipped": 0.1}, seed)


@dataclass(frozen=True)
class _Cloud:
    """Gaussian points whose mean squared distance is 1."""

    n_components: int
    noise: tuple[tuple[str, Any], ...]
    n_objects: int = 60

    def __call__(self, seed: np.random.SeedSequence) -> Life:
        points = make_gaussian(self.n_objects, self.n_components, 0.5 / self.n_components, stream(seed, "points"))
        return Simulated(points, dict(self.noise), seed)


@dataclass(frozen=True)
class _Judgments:
    """The answers of a file."""

    file: str

    def __call__(self, seed: np.random.SeedSequence) -> Life:
        path = find_file(self.file)
        if path is None:
            raise ValueError(missing_sentence([self.file]))
        return Pool(load(path), seed)


_LOGISTIC = (("noise", "logistic"), ("slope", 10.0))
_FLIPS = (("noise", None), ("flipped", 0.1))


def _clouds() -> list[World]:
    worlds = []
    for p in (2, 5, 10):
        for noise, settings, words in (
            ("logistic", _LOGISTIC, "close calls are often wrong"),
            ("flips", _FLIPS, "one answer in ten is flipped"),
        ):
            title = f"60 points in {p}-D, {words}"
            worlds.append(World(f"cloud{p}-{noise}", title, 60, p, 3600, _Cloud(p, settings)))
    return worlds


@dataclass(frozen=True)
class _Vectors:
    """The vectors of a vision network for the pictures of a set."""

    file: str

    def __call__(self) -> FloatArray:
        path = find_file(f"{self.file}_features")
        if path is None:
            raise ValueError(missing_sentence([f"{self.file}_features"]))
        return read_arrays(path.read_bytes(), str(path))["efficientnet_lite0"].astype(np.float64)


def _pool(name: str, title: str, n_objects: int, features: Callable[[], FloatArray] | None = None) -> World:
    return World(name, title, n_objects, 5, 40 * n_objects, _Judgments(name), _POOL_TARGETS, name, features)


_ALL = (
    World("eggs", "30 eggs on one scale, answered as people did", 30, 2, 4000, _eggs, file="eggs30"),
    World("line", "30 points evenly on a line, answered as about eggs", 30, 2, 4000, _line),
    World("colors", "68 colours in 2-D, one answer in ten is flipped", 68, 2, 6800, _colors),
    *_clouds(),
    _pool("food", "pool of answers about 100 dishes", 100),
    _pool("zappos", "pool of answers about 85 shoes", 85, _Vectors("zappos")),
    _pool("cars", "pool of answers about 60 cars", 60, _Vectors("cars")),
)
WORLDS = {world.name: world for world in _ALL}
