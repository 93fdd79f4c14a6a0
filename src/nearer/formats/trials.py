"""Which answers are one act of judgment, and what their comparisons weigh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.formats.advice import without
from nearer.formats.objects import spread
from nearer.formats.table import Column


def group_trials(
    trial: Column, annotator: Column | None, weighted: bool, source: str, notes: list[str]
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Return the number of the trial, (a,), and its label, (a,), of answers that all have one.

    Two annotators with the same trial id are two trials, which then have numbers for labels. ``weighted`` says whether
    the table has weights of its own, so that trials do not change what rows count.
    """
    codes = trial.codes.astype(np.int64)
    if annotator is not None:
        codes = codes * len(annotator.values) + annotator.codes
    _, groups = np.unique(codes, return_inverse=True)
    n_groups = int(groups.max()) + 1
    if int(np.count_nonzero(np.diff(groups))) + 1 > n_groups:
        notes.append(
            f"{source}: rows of the same trial are not next to each other; each trial counts as one act of judgment. "
            "If trials are only numbered within a person or a block, name that column as annotator or leave the "
            f"trials out: {without('trial')}"
        )
    elif annotator is None and n_groups < len(groups) and not weighted:
        notes.append(
            f"{source}: the rows of a trial count as one answer: {len(groups)} rows are {n_groups} trials. If each row "
            f"is an answer of its own, say {without('trial')}"
        )
    n_ids = len(np.unique(trial.codes))
    return groups, spread(trial.values, trial.codes) if n_ids == n_groups else groups.astype(np.int64)


def shared_weights(groups: NDArray[np.intp]) -> NDArray[np.float64] | None:
    """Return weights, (m,), that give every group a total of 1; None if every group has one member."""
    sizes = np.bincount(groups)
    if sizes.max(initial=1) <= 1:
        return None
    return np.asarray(1.0 / sizes[groups])
