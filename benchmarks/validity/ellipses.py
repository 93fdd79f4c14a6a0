"""Ellipses: how often the place of an object is in its 95% ellipse, for a posterior and for a bootstrap."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy.special import expit, softmax
from scipy.stats import chi2
from sklearn.exceptions import ConvergenceWarning

from benchmarks.validity.rates import Outcome, Rate
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer.embedding import STE, PosteriorEmbedding
from nearer.evaluation.uncertainty import bootstrap, squared_distances
from nearer.geometry import align

TITLE = "Ellipses"
ABOUT = """
Twenty objects, normal in two or three dimensions, and 1,500 random triplets of twenty people. The probability of an
answer is $\\lambda / 2 + (1 - \\lambda) / (1 + (d^2_\\mathrm{near} / d^2_\\mathrm{far})^\\beta)$. *People alike* have
$\\beta = 6$ and lapse rates of 0.05. Where *people differ*, $\\log \\beta$ is normal with a standard deviation of 0.7,
lapse rates are uniform from 0 to 0.5, and numbers of answers are those of a lognormal distribution with a deviation of
0.5. Maps are shown in two dimensions. An ellipse holds an object if it holds its true place, the truth laid onto the
map by turning, scaling and, if it has three dimensions, projecting it such that it fits best. The posterior draws maps
of all dimensions that the answers call for and projects them; the bootstrap is of STE, of 50 resamples and 40 copies.

*Letters*: 37 objects in four dimensions, shown in as many, and 5,000 answers of 100 people to 1,329 questions which of
three is the odd one: of the three pairs the one that remains is drawn with a probability proportional to
$(d^2 + 0.1)^{-\\beta}$, $\\log \\beta$ normal around $\\log 3$ with a deviation of 0.5, or, in lapses, any of the
three; people lapse in a tenth of the answers on average. This noise grows with distance, which is not the model of STE.

*200 objects*: normal in three dimensions with deviations of 1, 0.8 and 0.6, and answers of the model of slope 3,
offset 1 and lapse rate 0.04, to triplets, or which of three is the odd one: the pair that remains is drawn likewise.
"""

N_OBJECTS, N_PEOPLE, N_ANSWERS, LEVEL = 20, 20, 1500, 0.95


def study(rng: np.random.Generator, n_dimensions: int, *, differ: bool) -> tuple[FloatArray, Comparisons]:
    """Return true places, and what people answer."""
    points = rng.standard_normal((N_OBJECTS, n_dimensions))
    effort = np.exp(0.5 * rng.standard_normal(N_PEOPLE)) if differ else np.ones(N_PEOPLE)
    person = rng.choice(N_PEOPLE, size=N_ANSWERS, p=effort / effort.sum())
    slopes = (6 * np.exp(0.7 * rng.standard_normal(N_PEOPLE)) if differ else np.full(N_PEOPLE, 6.0))[person]
    lapses = (rng.uniform(0, 0.5, N_PEOPLE) if differ else np.full(N_PEOPLE, 0.05))[person]
    rows = np.array([rng.choice(N_OBJECTS, 3, replace=False) for _ in range(N_ANSWERS)])
    first, second = (np.sum((points[rows[:, 0]] - points[rows[:, end]]) ** 2, axis=1) for end in (1, 2))
    chances = lapses / 2 + (1 - lapses) * expit(slopes * np.log(second / first))
    near = rng.random(N_ANSWERS) < chances
    return points, Comparisons.from_triplets(rows, near, annotators=person, n_objects=N_OBJECTS)


def letters(rng: np.random.Generator) -> tuple[FloatArray, Comparisons]:
    """Return true places, and which of three letters people call the odd one."""
    n, n_people, m = 37, 100, 5000
    points = rng.standard_normal((n, 4))
    questions = np.array([rng.choice(n, 3, replace=False) for _ in range(1329)])
    asked, person = questions[rng.integers(len(questions), size=m)], rng.integers(n_people, size=m)
    steepness = 3 * np.exp(0.5 * rng.standard_normal(n_people))[person]
    lapses = rng.beta(1, 9, size=n_people)[person]
    remain = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])  # two that remain, and the odd one
    ends = asked[:, remain]
    squares = np.sum((points[ends[..., 0]] - points[ends[..., 1]]) ** 2, axis=2)
    odds = softmax(-steepness[:, None] * np.log(squares + 0.1), axis=1)
    chances = lapses[:, None] / 3 + (1 - lapses[:, None]) * odds
    chosen = (rng.random((m, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    first, second, odd = ends[np.arange(m), chosen].T
    rows = np.concatenate([np.column_stack([first, second, odd]), np.column_stack([second, first, odd])])
    trials = np.tile(np.arange(m), 2)
    return points, Comparisons.from_triplets(rows, trials=trials, annotators=np.tile(person, 2), n_objects=n)


def of_letters(rng: np.random.Generator, *, posterior: bool) -> Outcome:
    """Count ellipsoids of letters."""
    points, answers = letters(rng)
    seeds = rng.integers(2**31, size=2).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if posterior:
            model = PosteriorEmbedding(4, random_state=seeds[0]).fit(answers)
            return held(points, model.embedding_, model.covariances_)
        method = STE(4, random_state=seeds[0])
        trust = bootstrap(method, answers, n_resamples=50, n_simulations=40, random_state=seeds[1])
    return held(points, trust.embedding, trust.covariances)


def held(points: FloatArray, embedding: FloatArray, covariances: FloatArray) -> Outcome:
    """Count the objects whose ellipse holds their true place."""
    inside = squared_distances(align(points, embedding) - embedding, covariances) <= chi2.ppf(LEVEL, embedding.shape[1])
    return Outcome(int(inside.sum()), len(inside))


def of_posterior(
    rng: np.random.Generator, *, n_dimensions: int, differ: bool = False, max_components: int | None = None
) -> Outcome:
    """Count ellipses of a posterior."""
    points, answers = study(rng, n_dimensions, differ=differ)
    model = PosteriorEmbedding(2, max_components=max_components, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(answers)
    return held(points, model.embedding_, model.covariances_)


def of_many(rng: np.random.Generator, *, odd_one_out: bool) -> Outcome:
    """Count ellipsoids of the approximation for many answers: 200 objects in 3-D, 200,000 comparisons."""
    points = rng.standard_normal((200, 3)) * (1.0, 0.8, 0.6)
    m = 100_000 if odd_one_out else 200_000
    asked = rng.random((m, 200), dtype=np.float32).argpartition(2, axis=1)[:, :3]
    pairs = asked[:, [[0, 1], [0, 2], [1, 2]]]  # of which the last is none for a triplet
    squares = np.square(points[pairs[..., 0]] - points[pairs[..., 1]]).sum(axis=2)
    kept = squares if odd_one_out else squares[:, :2]
    chances = 0.04 / kept.shape[1] + 0.96 * softmax(-3 * np.log1p(kept), axis=1)
    chosen = (rng.random((m, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(0, kept.shape[1] - 1)
    of_three = asked[np.arange(m)[:, None], np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])[chosen]]
    if odd_one_out:
        rows = np.concatenate([of_three, of_three[:, [1, 0, 2]]])
        answers = Comparisons.from_triplets(rows, trials=np.tile(np.arange(m), 2), n_objects=200)
    else:
        answers = Comparisons.from_triplets(of_three, n_objects=200)
    model = PosteriorEmbedding(3, solver="laplace", random_state=int(rng.integers(2**31))).fit(answers)
    return held(points, model.embedding_, model.covariances_)


def of_bootstrap(
    rng: np.random.Generator,
    *,
    n_dimensions: int,
    differ: bool = False,
    by: Literal["trials", "annotators"] | None = None,
) -> Outcome:
    """Count ellipses of a bootstrap."""
    points, answers = study(rng, n_dimensions, differ=differ)
    seeds = rng.integers(2**31, size=2).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        method = STE(2, random_state=seeds[0])
        trust = bootstrap(method, answers, by=by, n_resamples=50, n_simulations=40, random_state=seeds[1])
    return held(points, trust.embedding, trust.covariances)


_POSTERIOR, _BOOTSTRAP = "Ellipses of the posterior", "Ellipses of the bootstrap"
_MANY = 'Ellipsoids of the normal approximation (`solver="laplace"`)'
_ASKED: dict[str, Any] = {"low": 0.92, "high": 0.98}

RATES = [
    Rate(_POSTERIOR, "2-D, people alike", "coverage", partial(of_posterior, n_dimensions=2), 100, **_ASKED),
    Rate(
        _POSTERIOR, "2-D, people differ", "coverage", partial(of_posterior, n_dimensions=2, differ=True), 100, **_ASKED
    ),
    Rate(
        _POSTERIOR, "3-D shown in 2-D, people alike", "coverage", partial(of_posterior, n_dimensions=3), 100, **_ASKED
    ),
    Rate(
        _POSTERIOR, "3-D shown in 2-D, people differ", "coverage",
        partial(of_posterior, n_dimensions=3, differ=True), 100, **_ASKED,
    ),
    Rate(
        f"{_POSTERIOR} of two dimensions only (`max_components=2`)", "3-D shown in 2-D, people alike", "coverage",
        partial(of_posterior, n_dimensions=3, max_components=2), 60,
    ),
    Rate(_BOOTSTRAP, "2-D, people alike", "coverage", partial(of_bootstrap, n_dimensions=2), 40, **_ASKED),
    Rate(
        f"{_BOOTSTRAP} by annotators, the default", "2-D, people differ", "coverage",
        partial(of_bootstrap, n_dimensions=2, differ=True), 60, **_ASKED,
    ),
    Rate(
        f"{_BOOTSTRAP} by trials", "2-D, people differ", "coverage",
        partial(of_bootstrap, n_dimensions=2, differ=True, by="trials"), 60,
    ),
    Rate(
        f"{_BOOTSTRAP}, which assumes the dimensions shown", "3-D shown in 2-D, people alike", "coverage",
        partial(of_bootstrap, n_dimensions=3), 40,
    ),
    Rate(
        _MANY, "200 objects in 3-D, 200,000 triplets", "coverage", partial(of_many, odd_one_out=False), 20, **_ASKED
    ),
    Rate(
        _MANY, "200 objects in 3-D, 100,000 odd-one-out trials", "coverage", partial(of_many, odd_one_out=True), 20,
        **_ASKED,
    ),
    Rate(f"{_POSTERIOR}, 4-D", "letters", "coverage", partial(of_letters, posterior=True), 20, **_ASKED),
    Rate(f"{_BOOTSTRAP}, 4-D", "letters", "coverage", partial(of_letters, posterior=False), 20, **_ASKED),
]  # fmt: skip
