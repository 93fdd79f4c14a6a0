"""Whether people differ in more than noise: in what the axes of a map count for them, or in maps of their own.

One model holds all of it (`nearer.sampling.people`), and how much people differ is learned with it. Fits in which they
may differ in noise alone, in weights, too, and in maps, too, are judged by the same held-out answers. A gain is the
mean of (loss of the fit in which they differ in one thing less - loss of the fit), in bits; its interval takes people
as independent, not answers.
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
from nearer.embedding import PosteriorEmbedding
from nearer.embedding.posterior_embedding import check_people
from nearer.evaluation.held_out import WholeKFold, answer_probabilities, evaluate, read_weighted
from nearer.evaluation.intervals import mean_interval
from nearer.sampling.differences import MIN_WEIGHT_SPREAD
from nearer.sampling.people import PEOPLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A tiny gain has a tiny standard error: where people were alike, one in eight was significant in simulated studies.
# So their maps must be known to depart from the common one, which those of people who are alike do not.
_MIN_DEPARTURE_SPREAD = 0.08


@dataclass(frozen=True)
class HeldOutLoss(Result):
    """Error and bits lost on held-out answers, and how many fewer bits than where people differ in one thing less."""

    error: float
    log_loss: float
    gain: float
    low: float
    high: float

    @property
    def is_better(self) -> bool:
        """Whether it predicts significantly better: the interval of the gain is above 0."""
        return self.low > 0


@dataclass(frozen=True, eq=False)
class PeopleComparison(Comparison):
    """How people differ from one map for all, and whether that predicts their answers better.

    Attributes
    ----------
    people, objects : ndarray of labels, shapes (s,) and (n,)
    noise, weighted, own_maps : HeldOutLoss
        Of held-out answers, where people may differ in noise alone, in the weights of axes, too, and in maps, too.
    weight_spread, departure_spread : tuple of float
        Standard deviations over people, of the logarithms of weights, and of departures from the common map relative to
        its size: means and ends of intervals of 95%.
    weights, weight_intervals : ndarray, shapes (s, p) and (s, p, 2)
        What each axis counts for each person, and the ends of its interval of 95%.
    departures, departure_intervals : ndarray, shapes (s,) and (s, 2)
        How far the map of each person departs from the common one, relative to its size, likewise.
    kinds, kind_weights : ndarray, shapes (s,) and (k, p)
        Who is of which kind, the largest being 0, and the weights of each kind.
    embedding : ndarray, shape (n, p)
        The common map, along the axes that people weigh.
    axes_identified : bool
        Whether people differ in weights, so that the directions of the axes mean something.
    axes_error_degrees : float
        Standard deviation of these directions.
    n_comparisons, n_splits : int
        Answers and folds.
    level : float
        Of the intervals of gains.
    model : PosteriorEmbedding or None
        Fitted to all answers; None where the result was read from a file.
    """

    kind: ClassVar[str] = "people"
    figure_name: ClassVar[str] = "people"

    people: Labels
    objects: Labels
    noise: HeldOutLoss
    weighted: HeldOutLoss
    own_maps: HeldOutLoss
    weight_spread: tuple[float, float, float]
    departure_spread: tuple[float, float, float]
    weights: FloatArray
    weight_intervals: FloatArray
    departures: FloatArray
    departure_intervals: FloatArray
    kinds: NDArray[np.int64]
    kind_weights: FloatArray
    embedding: FloatArray
    axes_identified: bool
    axes_error_degrees: float
    n_comparisons: int
    n_splits: int
    level: float
    model: PosteriorEmbedding | None = field(default=None, metadata=NOT_STORED)

    @property
    def differ_in_weights(self) -> bool:
        """Whether people weigh axes differently: by the interval of the spread, and by held-out answers."""
        return self.weight_spread[1] > MIN_WEIGHT_SPREAD and self.weighted.is_better

    @property
    def differ_in_maps(self) -> bool:
        """Whether people have maps of their own: by the interval of the spread, and by held-out answers."""
        # The gain is over weights, which may predict worse than a common map.
        gains = self.own_maps.is_better and self.own_maps.log_loss < self.noise.log_loss
        return gains and self.departure_spread[1] > _MIN_DEPARTURE_SPREAD

    @property
    def differ(self) -> bool:
        """Whether people differ in more than noise: in weights of the axes, or in maps of their own."""
        return self.differ_in_weights or self.differ_in_maps

    def _derived(self) -> Mapping[str, Any]:
        return {**super()._derived(), "differ": self.differ, "n_people": len(self.people)}

    def summary(self) -> str:
        """Return whether people differ, held-out losses, spreads, axes and latent classes of people as text."""
        return "\n".join([self._verdict(), *self._losses(), self._spreads(), self._axes(), self._kinds()])

    def _verdict(self) -> str:
        people = pluralize(len(self.people), "person", "people")
        if not self.differ:
            return (
                f"There is no clear evidence that these {people} differ in more than noise. Whether groups see objects "
                "differently is another question, for --by."
            )
        ways = ["weigh the axes differently"] * self.differ_in_weights
        ways += ["have maps of their own"] * self.differ_in_maps
        return f"{people} {' and '.join(ways)}: that predicts their answers better."

    def _losses(self) -> list[str]:
        rows = (
            ("people differ in noise alone", self.noise),
            ("in weights of the axes, too", self.weighted),
            ("in maps of their own, too", self.own_maps),
        )
        of = format_level(self.level)
        lines = [f"{'held-out answers':<30}error   bits    fewer than the line above ({of} interval)"]
        for name, loss in rows:
            gain = "" if loss is self.noise else f"{_signed(loss.gain)} ({_signed(loss.low)} to {_signed(loss.high)})"
            lines.append(f"{name:<30}{decimals(loss.error)}   {decimals(loss.log_loss)}   {gain}".rstrip())
        return lines

    def _spreads(self) -> str:
        weights, departures = self.weight_spread, self.departure_spread
        return (
            f"Weights typically differ from those of others by a factor of {np.exp(weights[0]):.2g} "
            f"({np.exp(weights[1]):.2g} to {np.exp(weights[2]):.2g}), and objects lie {100 * departures[0]:.0f}% of "
            f"the size of the map ({100 * departures[1]:.0f} to {100 * departures[2]:.0f}%) from their common places."
        )

    def _axes(self) -> str:
        if not self.axes_identified:
            return "The axes are not identified: the map has its principal axes, which mean nothing by themselves."
        return f"The directions of the axes are known to {self.axes_error_degrees:.2g} degrees (standard deviation)."

    def _kinds(self) -> str:
        number = len(self.kind_weights)
        if number == 1:
            how = "; its members differ by degree" if self.axes_identified else ""
            return f"One latent class of people{how}."
        sizes = np.bincount(self.kinds, minlength=number)
        each = "; ".join(
            f"{size} with weights {', '.join(f'{weight:.2g}' for weight in weights)}"
            for size, weights in zip(sizes, self.kind_weights, strict=True)
        )
        return f"{number} latent classes of people: {each}."

    def tables(self) -> dict[str, Rows]:
        """Return the weights and the departure of each person, and the common map."""
        rows: list[list[Any]] = [["person", "axis", "weight", "low", "high"]]
        for person, weights, intervals in zip(self.people.tolist(), self.weights, self.weight_intervals, strict=True):
            for axis, (weight, ends) in enumerate(zip(weights.tolist(), intervals.tolist(), strict=True), start=1):
                rows.append([str(person), axis, weight, *ends])
        away: list[list[Any]] = [["person", "departure", "low", "high"]]
        for person, departure, ends in zip(
            self.people.tolist(), self.departures.tolist(), self.departure_intervals.tolist(), strict=True
        ):
            away.append([str(person), departure, *ends])
        axes = [f"x{k + 1}" for k in range(self.embedding.shape[1])]
        points = coordinate_rows(self.objects.tolist(), self.embedding.tolist(), axes)
        return {"weights.csv": rows, "departures.csv": away, "embedding.csv": points}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the weights of each person with their intervals; see `nearer.plotting.plot_weights`."""
        from nearer.plotting import plot_weights

        return plot_weights(self, 0 if ax is not None else None, ax)


def _signed(number: float) -> str:
    return f"{number:.3f}".replace("-0.000", "0.000")


def compare_people(
    comparisons: Any,
    n_components: int | None = None,
    *,
    n_splits: int = 5,
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> PeopleComparison:
    """Estimate how people differ, in weights of the axes and in maps of their own, and whether it shows in new answers.

    Parameters
    ----------
    comparisons : Answers, or Comparisons
        With annotators, two or more.
    n_components : int, optional
        Axes of the map; as many as the answers support if left out.
    n_splits : int, default 5
        Folds, which keep trials whole.
    level : float, default 0.95
        Of the intervals of gains.
    n_jobs : int, optional
        Folds at a time; 1 if left out, -1 for all cores.
    random_state : None, int, SeedSequence, Generator or RandomState
        For folds and draws.

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
    check_people(judged)
    assert judged.annotators is not None
    is_seed = isinstance(random_state, int | np.integer)
    seed = random_state if is_seed else int(stream(random_state, "start").integers(2**31))
    noise, weighted, own = (PosteriorEmbedding(n_components, people=each, random_state=seed) for each in PEOPLE)
    folds = list(WholeKFold(n_splits, random_state=random_state).split(judged))
    if any(len(np.unique(judged.annotators[train])) < 2 for train, _ in folds):
        raise ValueError(
            "without the answers held out, one person alone is left; it takes two people with more answers each"
        )
    model = own.fit(judged)
    calls = (delayed(_losses)((noise, weighted, own), judged[train], judged[test]) for train, test in folds)
    found = list(progress_bar("held-out answers", len(folds), Parallel(n_jobs=n_jobs, return_as="generator")(calls)))
    order = np.argsort(np.concatenate([test for _, test in folds]))
    wrong, bits = np.concatenate(found, axis=2)[:, :, order]
    weights, person = judged.sample_weight, factorize(judged.annotators)[1]
    losses = [
        HeldOutLoss(
            float(np.average(wrong[k], weights=weights)),
            float(np.average(bits[k], weights=weights)),
            *mean_interval(bits[max(k - 1, 0)] - bits[k], weights, person, level),
        )
        for k in range(len(PEOPLE))
    ]
    differences = model.differences_
    assert differences is not None
    return PeopleComparison(
        people=differences.people, objects=model.objects_, noise=losses[0], weighted=losses[1], own_maps=losses[2],
        weight_spread=differences.weight_spread, departure_spread=differences.departure_spread,
        weights=differences.weights, weight_intervals=differences.weight_intervals, departures=differences.departures,
        departure_intervals=differences.departure_intervals, kinds=differences.kinds,
        kind_weights=differences.kind_weights, embedding=model.embedding_,
        axes_identified=differences.axes_identified, axes_error_degrees=differences.axes_error,
        n_comparisons=len(judged), n_splits=len(folds), level=level, model=model,
    )  # fmt: skip


def _losses(estimators: tuple[PosteriorEmbedding, ...], train: Comparisons, test: Comparisons) -> FloatArray:
    """Return errors and bits lost on each row of a test, for each estimator, (2, 3, m)."""
    models = [estimator._for_cross_validation().fit(train) for estimator in estimators]
    return np.array(
        [
            [evaluate(model, test).predictions for model in models],
            [-np.log2(answer_probabilities(model, test)) for model in models],
        ]
    )
