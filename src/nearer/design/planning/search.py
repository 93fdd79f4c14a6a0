"""Where the error of simulated studies falls below a target.

A few studies double their size until the target is met; all of them then look at sizes about there. The answers of a
small size are the first of those of a larger one, and errors are made monotone in the size (isotonic regression), so
that each study crosses the target once, at a place that is interpolated in log m. Where studies differ in their noise,
some may never get there: sizes grow until all but the share that an interval leaves out have met the target, but not
beyond eight times the first guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression
from tqdm import tqdm

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, intcomma
from nearer._common.progress import progress_bar
from nearer.design.planning.design import Against
from nearer.design.planning.errors import Replication
from nearer.embedding.base import OrdinalEmbedding

_FIRST_LOOKS = 3  # replications that tell where the crossing is, before all of them look there
_AROUND = (-3.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0)  # powers of two, about the first guess
_FEWEST = 10  # answers
_MOST_TIMES = 8  # the first guess


class Crossing(NamedTuple):
    """Errors of r studies at s sizes, monotone, and where each meets the target; infinite where it does not."""

    sizes: NDArray[np.int64]
    errors: FloatArray
    answers: FloatArray


@dataclass(frozen=True, eq=False)
class SizeSearch:
    """Simulated studies, and what their errors are to come down to.

    Attributes
    ----------
    replications : list of Replication
    estimator : OrdinalEmbedding
    against : {"answers", "truth"}
    target : float
    most_answers : int
    level : float
        Of the interval of sizes that is looked for.
    """

    replications: list[Replication]
    estimator: OrdinalEmbedding
    against: Against
    target: float
    most_answers: int
    level: float

    def run(self) -> Crossing:
        """Return the errors about the target, and where each study meets it."""
        with progress_bar("simulating", len(self.replications) * (len(_AROUND) + 2)) as bar:
            guess = self._first_guess(bar)
            sizes = np.unique(np.maximum(np.round(guess * 2.0 ** np.array(_AROUND)), _FEWEST).astype(np.int64))
            bar.total = bar.n + len(sizes) * len(self.replications)
            errors = self._errors(self.replications, sizes, bar)
            most = min(_MOST_TIMES * guess, self.most_answers)
            while (errors[:, -1] > self.target).mean() > (1 - self.level) / 2:
                larger = round(sizes[-1] * 2**0.5)
                if larger > most:
                    break
                bar.total += len(self.replications)
                errors = np.column_stack([errors, self._errors(self.replications, [larger], bar)])
                sizes = np.append(sizes, larger)
        smooth = np.array([falling(sizes, each) for each in errors])
        if np.median(smooth[:, -1]) > self.target:
            self._check_size(self.most_answers + 1, sizes[-1], float(np.median(smooth[:, -1])))
        return Crossing(sizes, smooth, np.array([crossing(sizes, each, self.target) for each in smooth]))

    def _first_guess(self, bar: tqdm[Any]) -> float:
        few = self.replications[:_FIRST_LOOKS]
        sizes = [max(_FEWEST, few[0].world.design.n_objects)]
        errors = [float(np.median(self._errors(few, sizes, bar)))]
        while errors[0] <= self.target and sizes[0] > _FEWEST:
            sizes.insert(0, max(_FEWEST, sizes[0] // 2))
            errors.insert(0, float(np.median(self._errors(few, sizes[:1], bar))))
        while errors[-1] > self.target:
            self._check_size(2 * sizes[-1], sizes[-1], errors[-1])
            sizes.append(2 * sizes[-1])
            errors.append(float(np.median(self._errors(few, sizes[-1:], bar))))
        return crossing(np.array(sizes), falling(np.array(sizes), np.array(errors)), self.target)

    def _check_size(self, wanted: int, tried: int, error: float) -> None:
        if wanted > self.most_answers:
            raise ValueError(
                f"target_error={decimals(self.target)} is not reached by {intcomma(tried)} answers: simulated studies "
                f"still err by {decimals(error)}. {intcomma(wanted)} would be more than "
                f"most_answers={self.most_answers}; "
                "aim higher, or raise it"
            )

    def _errors(
        self, replications: list[Replication], sizes: list[int] | NDArray[np.int64], bar: tqdm[Any]
    ) -> FloatArray:
        errors = np.empty((len(replications), len(sizes)))
        for row, replication in enumerate(replications):
            for column, size in enumerate(sizes):
                answers, truth = replication.errors(int(size), self.estimator)
                errors[row, column] = truth if self.against == "truth" else answers
                bar.update()
        return errors


def falling(sizes: NDArray[np.int64], errors: FloatArray) -> FloatArray:
    """Return the nearest errors that never rise with the size.

    Examples
    --------
    >>> falling(np.array([1, 2, 3]), np.array([0.4, 0.2, 0.3]))
    array([0.4 , 0.25, 0.25])
    """
    smooth: FloatArray = IsotonicRegression(increasing=False).fit_transform(np.log(sizes), errors)
    return smooth


def crossing(sizes: NDArray[np.int64], errors: FloatArray, target: float) -> float:
    """Return the size at which falling errors first meet a target, interpolated in the logarithm of the size.

    Errors that lie below the target all along meet it at the smallest size, and those above it never.

    Examples
    --------
    >>> round(crossing(np.array([100, 400]), np.array([0.3, 0.1]), 0.2))
    200
    """
    if errors[-1] > target:
        return float("inf")
    after = int(np.argmax(errors <= target))
    if after == 0:
        return float(sizes[0])
    share = (errors[after - 1] - target) / (errors[after - 1] - errors[after])
    return float(sizes[after - 1] * (sizes[after] / sizes[after - 1]) ** share)
