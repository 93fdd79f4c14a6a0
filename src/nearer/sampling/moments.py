"""How much unknowns and gradients vary along a chain: what its steps are scaled by."""

from __future__ import annotations

import numpy as np

from nearer._common.arrays import FloatArray


class Moments:
    """Running variances of unknowns and gradients (Welford's way)."""

    def __init__(self, size: int) -> None:
        self.count = 0
        self._means = np.zeros((2, size))
        self._squares = np.zeros((2, size))

    def add(self, unknowns: FloatArray, gradient: FloatArray) -> None:
        """Take one more draw into account."""
        self.count += 1
        both = np.stack([unknowns, gradient])
        away = both - self._means
        self._means += away / self.count
        self._squares += away * (both - self._means)

    def inverse_mass(self) -> FloatArray:
        """Return sqrt(var(unknowns) / var(gradient))."""
        of_draws, of_gradients = self._squares / self.count + 1e-10
        return np.asarray(np.sqrt(of_draws / of_gradients))
