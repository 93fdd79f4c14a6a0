"""Whether people weigh the axes of a map differently: weights for each person against one map for all.

Both are judged by the same held-out answers. The gain is the mean of (loss of the common map - loss of the weighted
one), with a loss of 1 for a wrong prediction, 1/2 for a tie, or in bits; its interval takes people as independent, not
answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_level, pluralize
from nearer._common.parameters import check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import NOT_STORED, Result, Rows
from nearer._common.tables import coordinate_rows
from nearer.comparing.results import Comparison, comparisons_of
from nearer.data.comparisons import Comparisons
from nearer.data.labels import Labels, factorize
from nearer.embedding import IndividualDifferences
from nearer.evaluation.held_out import WholeKFold, answer_probabilities, evaluate, read_weighted
from nearer.evaluation.intervals import mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Gain(Result):
    """The loss of the common map, that with weights, and by how much it is less, with an interval."""

    common: float
    weighted: float
    gain: float
    low: float
    high: float

    @property
    def is_significant(self) -> bool:
        """Whether weights predict better: the interval is above 0."""
        return self.low > 0


@dataclass(frozen=True, eq=False)
class PeopleComparison(Comparison):
    """Weights of the axes for each person, and whether they predict better than one map for all.

    Attributes
    ----------
    people, objects : ndarray of labels, shapes (s,) and (n,)
    weights, intervals : ndarray, shapes (s, p) and (s, p, 2)
        What each axis counts for each person, and the ends of its interval.
    steepness, lapses : ndarray, shape (s,)
        How fast the odds of a person change with distance, relative to others, and their lapse rate.
    kinds, kind_weights : ndarray, shapes (s,) and (k, p)
        Who is of which kind, the largest being 0, and the weights of each kind.
    embedding : ndarray, shape (n, p)
        The common map, along the axes that people weigh.
    spread, steepness_spread : float
        Standard deviations of the logarithms of weights and of steepness over people.
    axes_identified : bool
        Whether people differ, so that the directions of the axes mean something.
    axes_error_degrees : float
        Standard error of these directions; NaN if they are not identified.
    evidence_gain : float
        By how much weights raise the log-likelihood of the answers, with everything about people integrated out.
    error, log_loss : Gain
        Of held-out answers; the latter in bits.
    n_comparisons, n_splits : int
        Answers and folds.
    level : float
        Of the intervals.
    model : IndividualDifferences or None
        Fitted to all answers; None where the result was read from a file.
    """

    kind: ClassVar[str] = "people"
    figure_name: ClassVar[str] = "people"

    people: Labels
    weights: FloatArray
    intervals: FloatArray
    steepness: FloatArray
    lapses: FloatArray
    kinds: NDArray[np.int64]
    kind_weights: FloatArray
    objects: Labels
    embedding: FloatArray
    spread: float
    steepness_spread: float
    axes_identified: bool
    axes_error_degrees: float
    evidence_gain: float
    n_comparisons: int
    error: Gain
    log_loss: Gain
    n_splits: int
    level: float
    model: IndividualDifferences | None = field(default=None, metadata=NOT_STORED)

    @property
    def differ(self) -> bool:
        """Whether people differ: weights have a spread, and predict held-out answers better than one map for all."""
        return self.axes_identified and self.log_loss.is_significant

    def _derived(self) -> Mapping[str, Any]:
        return {**super()._derived(), "differ": self.differ, "n_people": len(self.people)}

    def summary(self) -> str:
        """Return whether people differ, held-out losses, axes and kinds of people as text."""
        error, loss, of = self.error, self.log_loss, format_level(self.level)
        return "\n".join(
            [
                self._verdict(),
                f"held-out error {decimals(error.weighted)} with weights, {decimals(error.common)} with one map for "
                f"all: {_signed(error.gain)} less ({of} interval {_signed(error.low)} to {_signed(error.high)})",
                f"log loss {decimals(loss.weighted)} and {decimals(loss.common)} bits per answer: {_signed(loss.gain)} "
                f"less ({_signed(loss.low)} to {_signed(loss.high)})",
                self._axes(),
                self._kinds(),
            ]
        )

    def _verdict(self) -> str:
        people = pluralize(len(self.people), "person", "people")
        if self.differ:
            return f"{people} weigh the axes differently: weights of their own predict their answers better."
        if self.axes_identified:
            return (
                f"{people} seem to weigh the axes differently, but weights of their own do not predict their held-out "
                "answers significantly better; more answers of each would tell."
            )
        return (
            f"There is no evidence that these {people} weigh the axes differently: one map for all predicts as well. "
            "Whether groups perceive objects differently is another question, for --by."
        )

    def _axes(self) -> str:
        if not self.axes_identified:
            return "The axes are not identified: any rotation of the map fits as well; it has its principal axes."
        return (
            f"Weights typically differ from those of others by a factor of {np.exp(self.spread):.2g}; the directions "
            f"of the axes have a standard error of {self.axes_error_degrees:.2g} degrees."
        )

    def _kinds(self) -> str:
        number = len(self.kind_weights)
        if number == 1:
            how = ", who differ by degrees" if self.axes_identified else ""
            return f"One kind of people{how}."
        sizes = np.bincount(self.kinds, minlength=number)
        each = "; ".join(
            f"{size} with weights {', '.join(f'{weight:.2g}' for weight in weights)}"
            for size, weights in zip(sizes, self.kind_weights, strict=True)
        )
        return f"{number} kinds of people: {each}."

    def tables(self) -> dict[str, Rows]:
        """Return the weights of each person, and the common map."""
        rows: list[list[Any]] = [["person", "axis", "weight", "low", "high"]]
        for person, weights, intervals in zip(self.people.tolist(), self.weights, self.intervals, strict=True):
            for axis, (weight, ends) in enumerate(zip(weights.tolist(), intervals.tolist(), strict=True), start=1):
                rows.append([str(person), axis, weight, *ends])
        axes = [f"x{k + 1}" for k in range(self.embedding.shape[1])]
        points = coordinate_rows(self.objects.tolist(), self.embedding.tolist(), axes)
        return {"weights.csv": rows, "embedding.csv": points}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the weights of each person with their intervals; see `nearer.plotting.plot_weights`."""
        from nearer.plotting import plot_weights

        if self.model is None:
            raise ValueError("weights are drawn from the fitted model, which files do not hold; call compare_people")
        return plot_weights(self.model, 0 if ax is not None else None, ax, level=self.level)


def _signed(number: float) -> str:
    return f"{number:.3f}".replace("-0.000", "0.000")


def compare_people(
    comparisons: Any,
    n_components: int = 2,
    *,
    n_splits: int = 5,
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> PeopleComparison:
    """Estimate how each person weighs the axes of a map, and test whether people differ.

    Parameters
    ----------
    comparisons : Answers, or Comparisons
        With annotators, two or more.
    n_components : int >= 2, default 2
        Axes of the map.
    n_splits : int, default 5
        Folds, which keep trials whole.
    level : float, default 0.95
        Of the intervals.
    n_jobs : int, optional
        Folds at a time; 1 if left out, -1 for all cores.
    random_state : None, int, SeedSequence, Generator or RandomState
        For folds and starts.

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> rows = sample_triplets(make_gaussian(10, 2, random_state=0), flipped=0.1, random_state=0).rows
    >>> alike = Comparisons.from_triplets(rows, annotators=np.arange(len(rows)) % 5)
    >>> compare_people(alike, n_splits=2, random_state=0).differ
    False
    """
    check_level(level)
    judged = read_weighted(comparisons_of(comparisons))
    # All fits have one start, so that they differ in weights and answers alone.
    is_seed = isinstance(random_state, int | np.integer)
    seed = random_state if is_seed else int(stream(random_state, "start").integers(2**31))
    weighted = IndividualDifferences(n_components, random_state=seed)
    model = weighted.fit(judged)
    assert judged.annotators is not None, "the fit would have refused them"
    common = IndividualDifferences(n_components, spread=0.0, random_state=seed)
    folds = list(WholeKFold(n_splits, random_state=random_state).split(judged))
    calls = (delayed(_losses)((common, weighted), judged[train], judged[test]) for train, test in folds)
    found = list(progress_bar("held-out answers", len(folds), Parallel(n_jobs=n_jobs, return_as="generator")(calls)))
    order = np.argsort(np.concatenate([test for _, test in folds]))
    losses = np.concatenate(found, axis=2)[:, :, order]
    _, person = factorize(judged.annotators)
    error, bits = (_gain(losses[0, kind], losses[1, kind], judged.sample_weight, person, level) for kind in (0, 1))
    return PeopleComparison(
        people=model.people_, weights=model.weights_, intervals=model.intervals(level), steepness=model.steepness_,
        lapses=model.lapse_, kinds=model.kinds_, kind_weights=model.kind_weights_, objects=model.objects_,
        embedding=model.embedding_, spread=model.spread_, steepness_spread=model.steepness_spread_,
        axes_identified=model.axes_identified_, axes_error_degrees=model.axes_error_,
        evidence_gain=model.evidence_gain_, n_comparisons=len(judged), error=error, log_loss=bits,
        n_splits=len(folds), level=level, model=model,
    )  # fmt: skip


def _losses(
    estimators: tuple[IndividualDifferences, IndividualDifferences], train: Comparisons, test: Comparisons
) -> FloatArray:
    """Return errors and bits lost on each row of a test, for each estimator, (2, 2, m)."""
    models = [IndividualDifferences(**estimator.get_params()).fit(train) for estimator in estimators]
    return np.array(
        [[evaluate(model, test).predictions, -np.log2(answer_probabilities(model, test))] for model in models]
    )


def _gain(common: FloatArray, weighted: FloatArray, weights: FloatArray, person: Any, level: float) -> Gain:
    """Return the mean losses and their difference, with an interval for people as a random sample."""
    of_common, of_weighted = (float(np.average(each, weights=weights)) for each in (common, weighted))
    return Gain(of_common, of_weighted, *mean_interval(common - weighted, weights, person, level))
