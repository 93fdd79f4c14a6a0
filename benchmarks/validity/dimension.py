"""The number of dimensions: how often one is determined where answers are guesses, and found where there is one."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from benchmarks.validity.rates import Outcome, Rate, own_questions, respond
from nearer import Comparisons
from nearer.data.groups import GUESSING_LEVEL, guessing_p_value
from nearer.embedding import PosteriorEmbedding
from nearer.evaluation import leave_one_out
from nearer.evaluation.dimension import choose_dimension
from nearer.study.study import DIMENSION_METHOD

TITLE = "The number of dimensions"
ABOUT = """
Where answers are predicted no better than by guessing, no dimension can be determined, and `dimension_` is None. An
exact test (flipping signs of trials) decides for `PosteriorEmbedding` and for `choose_dimension`, which also asks for
a held-out error below one half. Here two people answer triplets about points in p dimensions, and err in 15%; or they
guess. "Any dimension" is of the exact test alone where no method is named. By `leave_one_out`, which predicts new
people, posteriors of 1 to 4 dimensions are compared where 12 people answer 40 triplets each about 15 points; right is
that the smallest one whose elpd is within one standard error (of the paired differences over people) of the highest
has p dimensions.
"""
_ERROR = 0.15


def _answers(rng: np.random.Generator, n_objects: int, n_answers: int, p: int | None) -> Comparisons:
    """Return answers about points in p dimensions, or guesses."""
    questions = own_questions(rng, 2, n_answers // 2, n_objects)
    errors = np.full(2, 0.5 if p is None else _ERROR)
    return respond(rng, errors, questions, n_objects=n_objects, n_components=p or 2).answers().comparisons


def tested(rng: np.random.Generator, *, n_objects: int, n_answers: int, p: int | None) -> Outcome:
    """Whether guessing is rejected."""
    answers = _answers(rng, n_objects, n_answers, p)
    return Outcome(int(guessing_p_value(answers, rng) <= GUESSING_LEVEL))


def by_posterior(rng: np.random.Generator, *, n_objects: int, n_answers: int, p: int | None) -> Outcome:
    """Whether the posterior determines any dimension of guesses, or the right one of points."""
    answers = _answers(rng, n_objects, n_answers, p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = PosteriorEmbedding(n_jobs=1, random_state=int(rng.integers(2**31))).fit(answers).dimension_
    return Outcome(int(found is not None if p is None else found == p))


def by_cross_validation(rng: np.random.Generator, *, n_objects: int, n_answers: int, p: int | None) -> Outcome:
    """Whether cross-validation chooses any dimension of guesses, or the right one of points."""
    answers = _answers(rng, n_objects, n_answers, p)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = choose_dimension(DIMENSION_METHOD, answers, (1, 2, 3, 4), random_state=int(rng.integers(2**31))).chosen
    return Outcome(int(found is not None if p is None else found == p))


def by_leave_one_out(rng: np.random.Generator, *, p: int) -> Outcome:
    """Whether the smallest posterior within a standard error of the best, for new people, is the right one."""
    questions = own_questions(rng, 12, 40, 15)
    answers = respond(rng, np.full(12, _ERROR), questions, n_objects=15, n_components=p).answers().comparisons
    seed = int(rng.integers(2**31))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [PosteriorEmbedding(max_components=q, n_jobs=1, random_state=seed).fit(answers) for q in (1, 2, 3, 4)]
    found = [leave_one_out(fit, random_state=seed) for fit in fits]
    best = max(found, key=lambda each: each.elpd)
    behind = [best.minus(each) for each in found]
    chosen = 1 + next(q for q, each in enumerate(behind) if each.difference <= each.standard_error)
    return Outcome(int(chosen == p))


_ANY, _RIGHT = "any dimension is determined", "the right dimension is determined"
_POSTERIOR, _FOLDS = "PosteriorEmbedding", "choose_dimension"


def _world(n_objects: int, n_answers: int, p: int | None) -> str:
    truth = "guesses" if p is None else f"{p}-D truth"
    return f"{truth}; {n_objects} objects, {n_answers:,} answers"


RATES = [
    *(
        Rate(_ANY, _world(n, m, None), "size", partial(tested, n_objects=n, n_answers=m, p=None), 400, 0.0, 0.05)
        for n, m in ((12, 60), (12, 400), (20, 400), (40, 400), (40, 2000))
    ),
    *(
        Rate(f"{_ANY} by {_POSTERIOR}", _world(n, m, None), "size",
             partial(by_posterior, n_objects=n, n_answers=m, p=None), 40, 0.0, 0.05)
        for n, m in ((12, 60), (20, 400))
    ),
    Rate(f"{_ANY} by {_FOLDS}", _world(20, 400, None), "size",
         partial(by_cross_validation, n_objects=20, n_answers=400, p=None), 40, 0.0, 0.05),
    *(
        Rate(_ANY, _world(n, m, p), "power", partial(tested, n_objects=n, n_answers=m, p=p), 200)
        for n, m, p in ((12, 60, 2), (12, 120, 2), (20, 200, 2), (20, 200, 5), (40, 200, 2), (40, 400, 2))
    ),
    *(
        Rate(f"{_RIGHT} by {_POSTERIOR}", _world(n, m, p), "power",
             partial(by_posterior, n_objects=n, n_answers=m, p=p), 20)
        for n, m, p in ((12, 400, 1), (20, 600, 2), (20, 1500, 3))
    ),
    *(
        Rate(f"{_RIGHT} by leave_one_out", f"{p}-D truth; 15 objects, 12 people with 40 answers each", "power",
             partial(by_leave_one_out, p=p), 20)
        for p in (1, 2, 3)
    ),
]  # fmt: skip
