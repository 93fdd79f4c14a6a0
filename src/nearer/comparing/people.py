"""Whether people differ in what they go by: weights of the axes for each person against one map for all.

Both are fitted to the same parts of the answers and judged by the same held-out ones. The gain is the difference of
what is lost on each answer, and its interval takes people as independent, not answers:

    gain = mean of (loss of the common map - loss of the weighted one)

with a loss of 1 for a wrong prediction, 1/2 for a tie, or of minus the logarithm of the probability of what was said.
The logarithm tells small differences sooner; the error is easier to read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import stdtrit

from nearer._common.arrays import FloatArray
from nearer._common.formatting import decimals, format_level, pluralize
from nearer._common.parameters import check_level
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer.comparing.groups.grouping import comparisons_in
from nearer.data.comparisons import Comparisons
from nearer.data.labels import factorize
from nearer.embedding import IndividualDifferences
from nearer.evaluation.folds import WholeKFold
from nearer.evaluation.held_out import read_judged
from nearer.evaluation.intervals import clustered_variance


class Gain(NamedTuple):
    """A loss of the common map, that with weights, and by how much it is less, with an interval.

    Examples
    --------
    >>> Gain(0.2, 0.15, 0.05, 0.03, 0.07).surely
    True
    """

    common: float
    weighted: float
    gain: float
    low: float
    high: float

    @property
    def surely(self) -> bool:
        """Whether weights predict better, as far as the interval can tell."""
        return self.low > 0


@dataclass(frozen=True, eq=False)
class PeopleComparison:
    """Weights of the axes for each person, and whether they predict better than one map for all.

    Attributes
    ----------
    model : IndividualDifferences
        Fitted to all answers.
    error, log_loss : Gain
        Of held-out answers; the latter in bits.
    n_splits : int
        Folds.
    level : float
        Of the intervals.
    """

    model: IndividualDifferences
    error: Gain
    log_loss: Gain
    n_splits: int
    level: float

    @property
    def differ(self) -> bool:
        """Whether people differ: weights have a spread, and predict held-out answers better than none."""
        return self.model.axes_identified_ and self.log_loss.surely

    def __str__(self) -> str:
        error, loss, of = self.error, self.log_loss, format_level(self.level)
        return "\n".join(
            [
                self._verdict(),
                f"held-out error {decimals(error.weighted)} with weights, {decimals(error.common)} with one map "
                "for all: "
                f"{_signed(error.gain)} less ({of} interval {_signed(error.low)} to {_signed(error.high)})",
                f"bits lost on an answer {decimals(loss.weighted)} and {decimals(loss.common)}: "
                f"{_signed(loss.gain)} less "
                f"({_signed(loss.low)} to {_signed(loss.high)})",
                *self._axes(),
                self._kinds(),
            ]
        )

    def _verdict(self) -> str:
        people = pluralize(len(self.model.people_), "person", "people")
        if self.differ:
            return f"{people} differ in what they go by: weights of their own predict their answers better."
        if self.model.axes_identified_:
            return (
                f"{people} seem to differ in what they go by, but weights of their own do not surely predict their "
                "held-out answers better; more answers of each would tell."
            )
        return (
            f"Nothing says that these {people} weigh the axes differently: one map for all predicts as well. Whether "
            "groups see objects in other places is another question, for --by."
        )

    def _axes(self) -> list[str]:
        if not self.model.axes_identified_:
            return ["The axes are not identified: the map may be turned at will, and has its principal axes."]
        typical = np.exp(self.model.spread_)
        return [
            f"Weights typically differ from those of others by a factor of {typical:.2g}; the axes are known up to "
            f"{self.model.axes_error_:.2g} degrees (standard error)."
        ]

    def _kinds(self) -> str:
        number = self.model.n_kinds_
        if number == 1:
            how = ", who differ by degrees" if self.model.axes_identified_ else ""
            return f"One kind of people{how}."
        sizes = np.bincount(self.model.kinds_, minlength=number)
        each = "; ".join(
            f"{size} with weights {', '.join(f'{weight:.2g}' for weight in weights)}"
            for size, weights in zip(sizes, self.model.kind_weights_, strict=True)
        )
        return f"{number} kinds of people: {each}."


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
    """Find out whether people weigh the axes of a map differently, and how each does.

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

    Returns
    -------
    PeopleComparison

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> rows = sample_triplets(make_gaussian(10, 2, random_state=0), flipped=0.1, random_state=0).rows
    >>> alike = Comparisons.from_triplets(rows, annotators=np.arange(len(rows)) % 5)
    >>> compare_people(alike, n_splits=2, random_state=0).differ
    False
    """
    check_level(level)
    judged = read_judged(comparisons_in(comparisons))
    # All fits begin alike, so that they differ in weights and answers alone.
    is_seed = isinstance(random_state, int | np.integer)
    seed = random_state if is_seed else int(stream(random_state, "start").integers(2**31))
    weighted = IndividualDifferences(n_components, random_state=seed)
    model = weighted.fit(judged)
    assert judged.annotators is not None, "the fit would have refused them"
    common = IndividualDifferences(n_components, spread=0.0, random_state=seed)
    folds = list(WholeKFold(n_splits, random_state=random_state).split(judged))
    calls = (delayed(_losses)((common, weighted), judged[train], judged[test]) for train, test in folds)
    found = []
    with progress_bar("held-out answers", len(folds)) as bar:
        for losses_of_fold in Parallel(n_jobs=n_jobs, return_as="generator")(calls):
            found.append(losses_of_fold)
            bar.update()
    order = np.argsort(np.concatenate([test for _, test in folds]))
    losses = np.concatenate(found, axis=2)[:, :, order]
    _, person = factorize(judged.annotators)
    error, bits = (_gain(losses[0, kind], losses[1, kind], judged.sample_weight, person, level) for kind in (0, 1))
    return PeopleComparison(model, error, bits, len(folds), level)


def _losses(
    estimators: tuple[IndividualDifferences, IndividualDifferences], train: Comparisons, test: Comparisons
) -> FloatArray:
    """Return errors and bits lost on each row of a test, for each estimator, (2, 2, m)."""
    said = np.ones(len(test)) if test.answers is None else test.answers.astype(np.float64)
    found = []
    for estimator in estimators:
        model = IndividualDifferences(**estimator.get_params()).fit(train)
        margins = model.decision_function(test) * said
        wrong = np.where(margins == 0, 0.5, (margins < 0).astype(np.float64))
        chances = model.predict_proba(test)[np.arange(len(test)), np.where(said > 0, 1, 0)]
        found.append([wrong, -np.log2(chances)])
    return np.array(found)


def _gain(common: FloatArray, weighted: FloatArray, weights: FloatArray, person: Any, level: float) -> Gain:
    """Return the mean losses and their difference, with an interval for people who are drawn at random."""
    gains = common - weighted
    mean = float(np.average(gains, weights=weights))
    error = float(np.sqrt(clustered_variance(gains, weights, person)))
    reach = float(stdtrit(len(np.unique(person)) - 1, 0.5 + level / 2)) * error
    of_common, of_weighted = (float(np.average(each, weights=weights)) for each in (common, weighted))
    return Gain(of_common, of_weighted, mean, mean - reach, mean + reach)
