"""The doctor: all checks in their order."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.checking.case import Case, Check
from nearer.checking.catches import check_catches
from nearer.checking.contradictions import check_cycles, check_repeats, check_self_contradictions
from nearer.checking.copies import check_copies
from nearer.checking.enough import agreed, check_ceiling, check_curve, check_rule
from nearer.checking.findings import Finding, Findings
from nearer.checking.people import check_people
from nearer.checking.recording import check_blocks, check_columns, check_double, check_speed, check_trials
from nearer.checking.sampling import check_counts, check_groups, check_hardly, check_uneven, check_unseen
from nearer.checking.screen_places import check_order, check_places, check_runs, check_sides
from nearer.checking.spelling import (
    check_anchors,
    check_missing_labels,
    check_misspelt,
    check_numbering,
    check_one_sided,
    check_spellings,
)
from nearer.checking.split_half import check_distances
from nearer.io.answers import Answers

CHECKS: tuple[Check, ...] = (
    check_counts,
    check_unseen,
    check_groups,
    check_hardly,
    check_uneven,
    check_spellings,
    check_misspelt,
    check_one_sided,
    check_anchors,
    check_missing_labels,
    check_numbering,
    check_trials,
    check_double,
    check_blocks,
    check_columns,
    check_repeats,
    check_self_contradictions,
    check_cycles,
    check_sides,
    check_order,
    check_places,
    check_runs,
    check_speed,
    check_catches,
    check_people,
    check_copies,
    check_ceiling,
    check_rule,
    check_curve,
    check_distances,
)

#: Those that a run leaves to its own map.
OF_MAPS: tuple[Check, ...] = (check_curve, check_distances)

#: The quick ones among them that can find an error.
ERRORS: tuple[Check, ...] = (check_unseen, check_groups)

#: Those that look at people, and at how answers are recorded: what can be mended while answers come in.
COLLECTED: tuple[Check, ...] = (
    check_groups,
    check_uneven,
    *CHECKS[CHECKS.index(check_trials) : CHECKS.index(check_ceiling)],
)


def check(
    answers: Answers,
    *,
    n_components: int = 2,
    level: float = 0.95,
    random_state: RandomState = None,
    without: Collection[Check] = (),
) -> Findings:
    """Look for everything that can be wrong with answers, before a map is made of them.

    Parameters
    ----------
    answers : Answers
        As `nearer.io.read_answers` returns them.
    n_components : int
        Dimension of the map that they are for.
    level : float
        Of intervals.
    random_state : None, int, SeedSequence, Generator or RandomState
        For what is drawn where there are very many answers, and for the parts that a quick map is judged by.
    without : collection of checks
        To leave out.

    Returns
    -------
    Findings
        Worst first. An error means that no map of these answers can be right; a warning asks for a look.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import Comparisons
    >>> near_and_far = Comparisons.from_triplets([("a", "b", "c"), ("b", "a", "c"), ("x", "y", "z"), ("z", "y", "x")])
    >>> findings = check(Answers(near_and_far, np.arange(4), "triplet", "answers.csv", np.arange(2, 6)))
    >>> print(findings[0])
    ERROR     The objects fall into 2 groups with no comparison of a distance between them
              No map can place them against each other; ask questions that mix them, or map each group
              alone.
              - 3 objects: 'a', 'b', 'c'
              - 3 objects: 'x', 'y', 'z'
    """
    if n_components < 1:
        raise ValueError(f"n_components={n_components!r} must be at least 1")
    chosen = tuple(each for each in CHECKS if each not in without)
    return _run(chosen, Case(answers, n_components, _seed(random_state), level))


def check_errors(answers: Answers, *, n_components: int = 2) -> Findings:
    """Look only for errors, which leave no map that could be right; that takes no fit.

    Parameters
    ----------
    answers : Answers
    n_components : int
        Dimension of the map that they are for.

    Returns
    -------
    Findings
        The errors that `check` finds, and nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import Comparisons
    >>> rows = Comparisons.from_triplets([("a", "b", "c"), ("b", "a", "c")], objects=["a", "b", "c", "d"])
    >>> answers = Answers(rows, np.arange(2), "triplet", "answers.csv", np.arange(2, 4))
    >>> [finding.title for finding in check_errors(answers)]
    ['1 object is in no comparison']
    """
    found = _run(ERRORS, Case(answers, n_components))
    return Findings(found.source, tuple(finding for finding in found if finding.level == "error"))


def check_collected(answers: Answers, *, n_components: int = 2, random_state: RandomState = None) -> Findings:
    """Look at answers that still come in: at the people who give them, and at how they are recorded.

    Whether there are enough of them, and how good a map can be, is left out, and so is how objects are written: for
    whoever asks the questions, and fits maps meanwhile.

    Parameters
    ----------
    answers : Answers
    n_components : int
        Dimension of the map that they are for.
    random_state : None, int, SeedSequence, Generator or RandomState
        For the parts that a quick map is judged by.

    Returns
    -------
    Findings
        Some of those of `check`, worst first.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import Comparisons
    >>> rows = Comparisons.from_triplets([("a", "b", "c"), ("b", "a", "c")])
    >>> answers = Answers(rows, np.arange(2), "triplet", "answers.csv", np.arange(2, 4))
    >>> [finding.code for finding in check_collected(answers)]
    ['cycles', 'connected']
    """
    return _run(COLLECTED, Case(answers, n_components, _seed(random_state)))


def _seed(random_state: RandomState) -> int:
    """Return an integer as it is, as `fit` has one, and draw one from anything else."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(stream(random_state, "folds").integers(2**31))


def _run(checks: tuple[Check, ...], case: Case) -> Findings:
    findings: list[Finding] = []
    annotators = None
    counts: dict[str, Any] = {"n_components": case.n_components}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the quick maps; nobody sees those
        for each in progress_bar("checking", len(checks), checks, unit="check"):
            outcome = each(case)
            findings += outcome.findings
            counts |= outcome.counts
            annotators = outcome.annotators or annotators
    return agreed(Findings(case.answers.source, tuple(findings), counts, annotators))
