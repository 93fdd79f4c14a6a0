"""What is known from the answers so far, for the researcher's page: worked out beside the server, never in it.

The error is that on questions drawn at random, and so is the noise ceiling that it is held against: chosen questions
are harder than others, for people as for maps.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import numpy as np

from nearer.checking.doctor import check_collected
from nearer.design import Questions
from nearer.design.mix import REPEAT, START, TEST
from nearer.evaluation.ceiling import noise_ceiling
from nearer.io import Answers
from nearer.survey.study import Study

#: Questions that were not chosen for what their answers tell.
AT_RANDOM = (START, TEST, REPEAT)
_LEVEL = 0.95
_LOG = logging.getLogger("nearer.survey")
Found = TypeVar("Found")


def known_of(questions: Questions, study: Study) -> dict[str, Any]:
    """Return the map with its ellipses, its error on random questions, the noise ceiling and the outlook.

    What cannot be told yet is None.
    """
    return {
        "map": _map(questions, study),
        "error": _or_none(lambda: _error(questions)),
        "ceiling": _or_none(lambda: _ceiling(questions)),
        "outlook": _or_none(lambda: _outlook(questions, study)),
    }


def judged(answers: Answers, n_components: int, left_out: Collection[str], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the doctor of `nearer check` finds in the answers so far, and what is said of each person.

    Parameters
    ----------
    answers : Answers
    n_components : int
    left_out : collection of str
        People who are not judged any more; what was said of them stays.
    before : mapping
        What this returned the last time.
    """
    findings = check_collected(answers, n_components=n_components, random_state=0)
    kept = {person: flags for person, flags in before.get("people", {}).items() if person in left_out}
    return {"findings": findings.to_dicts(), "people": {**kept, **findings.flags()}}


def _map(questions: Questions, study: Study) -> dict[str, Any] | None:
    """Return the first two axes of the map; a line is drawn on one."""
    model = questions.model_
    points = model.embedding_[:, :2]
    if points.shape[1] == 1:
        reach = 1.96 * model.embedding_std_[:, 0]
        flat = np.zeros(len(points))
        points, ellipses = np.column_stack([points, flat]), np.column_stack([points, flat, reach, flat, flat])
    else:
        ellipses = model.ellipses(_LEVEL)
    return {
        "objects": list(study.labels),
        "n_dimensions": model.embedding_.shape[1],
        "points": np.round(points, 4).tolist(),
        "ellipses": np.round(ellipses, 4).tolist(),
    }


def _error(questions: Questions) -> dict[str, Any]:
    error = questions.held_out_error()
    return {"value": float(error), "low": error.low, "high": error.high, "n": error.n_answers}


def _ceiling(questions: Questions) -> dict[str, Any] | None:
    """Return the least error of a map that all share, on random questions; None as long as too few came again."""
    at_random = np.isin(questions.purposes_, AT_RANDOM)
    if not at_random.any():
        return None
    found = noise_ceiling(questions.comparisons_[at_random], level=_LEVEL)
    if found is None:
        return None
    return {
        "value": found.error, "low": found.low, "high": found.high, "n": found.n_questions,
        "vague": found.best.vague,
    }  # fmt: skip


def _outlook(questions: Questions, study: Study) -> dict[str, Any]:
    found = questions.outlook(choose="information" if study.settings.method == "active" else "random")
    names = (
        "n_answers_more", "error_now", "error_then", "gain_low", "gain_high", "floor", "ellipse_now", "ellipse_then",
        "recommendation", "reason", "warning",
    )  # fmt: skip
    return {name: getattr(found, name) for name in names}


def _or_none(work: Callable[[], Found]) -> Found | None:
    try:
        return work()
    except ValueError as reason:  # such as no random questions yet
        _LOG.info("%s", reason)
        return None
