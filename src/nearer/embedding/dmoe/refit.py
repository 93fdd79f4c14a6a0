"""Estimators that make the map of a fitted one from other comparisons, without searching for settings again."""

from __future__ import annotations

from typing import Self

from sklearn.base import clone

from nearer.data.comparisons import Comparisons
from nearer.data.file import ComparisonsFile
from nearer.embedding.dmoe.estimator import DMOE
from nearer.embedding.dmoe.search import Search


class SettledDMOE(DMOE):
    """A DMOE that takes over the search of another: its settings, their shares and the calibration."""

    _found: Search

    def __sklearn_clone__(self) -> Self:
        copy = type(self)(**self.get_params())
        copy._found = self._found
        return copy

    def _settle(self, comparisons: Comparisons | ComparisonsFile) -> None:
        self._search = self._found
        self._choice = self._found.best


def settled(model: DMOE) -> DMOE:
    """Return an estimator, not yet fitted, that makes the map of a fitted one in the same way."""
    same: DMOE = clone(model)
    search = getattr(model, "_search", None)
    if search is not None and search.has_best and not search.interrupted:
        same = SettledDMOE(**model.get_params())
        same._found = search
        return same
    # Without a Gram matrix there is no rank to ask for.
    rank = model.rank_ if model.solver == "auto" and hasattr(model, "gram_") else model.rank
    same.set_params(penalty=model.penalty_, nu=model.nu_, power=model.power_, rank=rank)
    return same
