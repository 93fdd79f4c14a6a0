"""Resumable runs: calls side by side, and what an interrupted run says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import joblib


class Interrupted(Exception):
    """A run was stopped from outside; the message says what is kept and how to go on."""


def side_by_side(function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], n_jobs: int) -> Iterator[Any]:
    """Call a function with each tuple of arguments, in several processes, and yield results as they come.

    Examples
    --------
    >>> list(side_by_side(pow, [(2, 3), (3, 2)], n_jobs=1))
    [8, 9]
    """
    parallel = joblib.Parallel(n_jobs=min(n_jobs, max(len(calls), 1)), return_as="generator_unordered")
    results: Iterator[Any] = parallel(joblib.delayed(function)(*arguments) for arguments in calls)
    return results
