"""All checks in their order."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from nearer._common.findings import Finding
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.checking import (
    connectivity,
    contradictions,
    data_entry,
    position_bias,
    random_responders,
    sample_size,
)
from nearer.checking import features as features_checks
from nearer.checking.context import Check, Context
from nearer.checking.copies import check_copies
from nearer.checking.findings import Findings
from nearer.data.features import Features
from nearer.io.answers import Answers

CHECKS: tuple[Check, ...] = (
    connectivity.check_counts,
    connectivity.check_unseen,
    connectivity.check_connectivity,
    connectivity.check_undersampled_objects,
    connectivity.check_balance,
    data_entry.check_spellings,
    data_entry.check_misspelled,
    data_entry.check_one_sided,
    data_entry.check_anchors,
    data_entry.check_missing_labels,
    data_entry.check_numbering,
    data_entry.check_trials,
    data_entry.check_duplicates,
    data_entry.check_blocks,
    data_entry.check_columns,
    contradictions.check_repeats,
    contradictions.check_self_contradictions,
    contradictions.check_transitivity,
    position_bias.check_constant_position,
    position_bias.check_order,
    position_bias.check_position_bias,
    position_bias.check_runs,
    data_entry.check_speed,
    random_responders.check_catches,
    random_responders.check_random_responders,
    check_copies,
    sample_size.check_ceiling,
    sample_size.check_rule,
    sample_size.check_curve,
    sample_size.check_distances,
    features_checks.check_labels,
    features_checks.check_shares,
)

#: Those that fit maps to judge the map, which a run does with its own.
MAP_CHECKS: tuple[Check, ...] = (sample_size.check_curve, sample_size.check_distances, features_checks.check_shares)

#: The fast ones that can find an error.
ERROR_CHECKS: tuple[Check, ...] = (
    connectivity.check_unseen,
    connectivity.check_connectivity,
    features_checks.check_labels,
)

#: Those of people and of how answers are recorded: what can be corrected while answers come in.
COLLECTION_CHECKS: tuple[Check, ...] = (
    connectivity.check_connectivity,
    connectivity.check_balance,
    *CHECKS[CHECKS.index(data_entry.check_trials) : CHECKS.index(sample_size.check_ceiling)],
)


def check(
    answers: Answers,
    *,
    n_components: int = 2,
    level: float = 0.95,
    random_state: RandomState = None,
    without: Collection[Check] = (),
    features: Sequence[Features] = (),
) -> Findings:
    """Look for everything that can be wrong with answers, before a map is made of them.

    Parameters
    ----------
    answers : Answers
        As `nearer.io.read_answers` returns them.
    n_components : int
        Dimension of the map that they are for.
    level : float
        Confidence level of intervals.
    random_state : None, int, SeedSequence, Generator or RandomState
        For subsamples of very many answers, and for folds.
    without : collection of checks
        Which not to run.
    features : sequence of Features
        What the map will be fitted with; objects that they describe need fewer answers.

    Returns
    -------
    Findings
        Worst first. An error means that no map of these answers can be right; a warning asks for a look.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import Comparisons
    >>> from nearer.checking.findings import format_finding
    >>> near_and_far = Comparisons.from_triplets([("a", "b", "c"), ("b", "a", "c"), ("x", "y", "z"), ("z", "y", "x")])
    >>> findings = check(Answers(near_and_far, np.arange(4), "triplet", "answers.csv", np.arange(2, 6)))
    >>> print(format_finding(findings[0]))
    ERROR     The objects fall into 2 groups with no comparison of a distance between them
              No map can place them against each other; ask questions that mix them, or map each group
              alone.
              - 3 objects: 'a', 'b', 'c'
              - 3 objects: 'x', 'y', 'z'
    """
    if n_components < 1:
        raise ValueError(f"n_components={n_components!r} must be at least 1")
    chosen = tuple(each for each in CHECKS if each not in without)
    return _run(chosen, Context(answers, n_components, _seed(random_state), level, features))


def check_errors(answers: Answers, *, n_components: int = 2, features: Sequence[Features] = ()) -> Findings:
    """Look only for errors, which leave no map that could be right; that takes no fit.

    Parameters
    ----------
    answers : Answers
    n_components : int
        Dimension of the map that they are for.
    features : sequence of Features
        As for `check`.

    Returns
    -------
    Findings
        The errors that `check` finds, and nothing else.
    """
    found = _run(ERROR_CHECKS, Context(answers, n_components, features=features))
    return Findings(found.source, tuple(finding for finding in found if finding.severity == "error"))


def check_collected(
    answers: Answers,
    *,
    n_components: int = 2,
    random_state: RandomState = None,
    features: Sequence[Features] = (),
) -> Findings:
    """Check answers that still come in: the people who give them, and how they are recorded."""
    return _run(COLLECTION_CHECKS, Context(answers, n_components, _seed(random_state), features=features))


def _seed(random_state: RandomState) -> int:
    """Return an integer as it is, as `fit` has one, and draw one from anything else."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(stream(random_state, "folds").integers(2**31))


def _run(checks: tuple[Check, ...], context: Context) -> Findings:
    findings: list[Finding] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of fast maps, which nobody sees
        for each in progress_bar("checking", len(checks), checks, unit="check"):
            findings += each(context)
    found = Findings(context.answers.source, tuple(findings), context.counts, context.reliability)
    return sample_size.reconcile(found)
