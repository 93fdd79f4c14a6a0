"""People judged by maps of the others: random responders, and people who answer in reverse.

An answer to a clear question tells more about a person than one to a question that anybody may answer either way. With
P the probability that the map of the others gives it, an answer therefore counts 2 P - 1, or 1 - 2 P where it goes
against that map. The share of weights w that goes against it is as well known as that among (sum w)^2 / sum w^2 answers
of equal weight, where w is the sum over one trial; a random responder's is 1/2 whatever the weights.

Some people are asked harder questions than others. Of answers that are as good as the map says, the sum of w^2 over
that of w, the *clarity* of the questions, is how far beyond one half they agree with it. A person's share e is brought
to questions of usual clarity: 1/2 - (1/2 - e) / r, known as well as among r^2 times as many answers, where r is the
clarity of theirs over the usual one. Whoever was asked close calls alone so has hardly an answer that tells.

What follows from these shares is in `nearer.checking.random_responders`. What people read are plain shares, each answer
counting the same. The maps have always the same dimension, so that the same people are found whatever map is made of
the answers later. Random responders spoil the maps: whoever is likely one is left out of the maps of a second round,
which judges everybody anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import clone

from nearer._common.arrays import FloatArray
from nearer._common.formatting import intcomma, percent, pluralize, quote, round_to_two_digits
from nearer.checking.case import Case, CheckResult, quick_estimator, quick_part
from nearer.checking.findings import Finding
from nearer.checking.random_responders import FALSE_ALARMS, POWER, Responders
from nearer.data.comparisons import Comparisons
from nearer.data.groups import is_tied
from nearer.data.labels import Labels, factorize
from nearer.evaluation.annotators import AnnotatorReliability, acts_of
from nearer.evaluation.folds import WholeKFold
from nearer.evaluation.held_out import read_judged
from nearer.evaluation.intervals import wilson

_FEWEST_ANSWERS, _FEWEST_PEOPLE = 10, 3
_MOST_JUDGED = 2_000_000  # comparisons: each person needs enough of them, and judging is quick
_MOST_LEARNED = 200_000
_N_GROUPS = 10
_N_COMPONENTS = 2  # of the maps that people are judged by


def check_people(case: Case) -> CheckResult:
    """Find random responders, and people who answer in reverse."""
    part = read_judged(quick_part(case, _MOST_JUDGED))
    decided = ~is_tied(part)  # who cannot tell is not careless
    if part.annotators is None or not decided.any():
        return CheckResult()
    names, person = factorize(part.annotators[decided])
    if len(names) < 2:
        return CheckResult()
    people = _judge_twice(case, part[decided], names, person)
    if people.found is None:
        return CheckResult(annotators=people.annotators(case.level))
    counts: dict[str, Any] = {"typical_error": people.typical, "n_judged": len(people.judged)}
    counts |= {"power": people.found.power, "answers_for_power": people.n_for_power}
    counts |= {"n_at_chance": int(people.found.at_chance.sum()), "n_reversed": int(people.found.reverse.sum())}
    return CheckResult((*_about_random(people), *_about_reverse(people)), counts, people.annotators(case.level))


@dataclass(frozen=True, eq=False)
class _People:
    """People, how far they agree with maps of the others, and what follows for those with answers enough."""

    part: Comparisons
    names: Labels
    person: NDArray[np.intp]  # of each comparison
    agreement: FloatArray  # 2 P - 1 of each comparison as it was answered
    judged: NDArray[np.intp]  # people with answers enough
    n_answers: NDArray[np.int64]  # of each person
    errors: FloatArray  # of each person
    found: Responders | None
    n_for_power: int | None  # answers, of which some count less than one of the units of `Responders`

    @property
    def typical(self) -> float:
        """The usual error: the median of those who are not doubtful."""
        assert self.found is not None
        usual, errors = ~self.found.doubtful, self.errors[self.judged]
        return float(np.median(errors[usual] if usual.any() else errors))

    @property
    def typical_n(self) -> int:
        """How many answers a typical person gave, of those who were judged."""
        return int(np.median(self.n_answers[self.judged]))

    def annotators(self, level: float) -> AnnotatorReliability:
        """Return the error of each person, with intervals."""
        numbers, quantile = acts_of(self.part, self.person)[1], float(ndtri(0.5 + level / 2))
        lows, highs = np.array([wilson(*each, quantile) for each in zip(self.errors, numbers, strict=True)]).T
        return AnnotatorReliability(self.names, self.n_answers, self.errors, lows, highs)

    def flagged(self, chosen: NDArray[np.bool_], words: str) -> dict[str, Any]:
        """Return examples and flags of some of those who were judged."""
        which = self.judged[chosen]
        names = self.names[which].tolist()
        examples = tuple(
            f"{quote(label)}: {percent(float(self.errors[at]))} of {pluralize(int(self.n_answers[at]), 'answer')} "
            "against "
            f"the map (usual: {percent(self.typical)})"
            for label, at in list(zip(names, which, strict=True))[:10]
        )
        return {"examples": examples, "people": dict.fromkeys(names, words)}


def _judge_twice(case: Case, part: Comparisons, names: Labels, person: NDArray[np.intp]) -> _People:
    """Judge people by maps of the others, and again by maps without those who are doubtful."""
    rng = case.stream("people")
    learned = rng.random(len(part)) < _MOST_LEARNED / len(part)
    people = _judge(part, names, person, _agreement(case, part, learned, rng))
    if people.found is None or not people.found.doubtful.any():
        return people
    doubtful = np.isin(person, people.judged[people.found.doubtful])
    return _judge(part, names, person, _agreement(case, part, learned & ~doubtful, rng))


def _agreement(case: Case, part: Comparisons, learned: NDArray[np.bool_], rng: np.random.Generator) -> FloatArray:
    """Return 2 P - 1 of each answer, (m,), under a map fitted to the other people of the training set."""
    agreement = np.zeros(len(part))
    answers = 1 if part.answers is None else part.answers
    estimator = quick_estimator(_N_COMPONENTS)
    for others, own in WholeKFold(_N_GROUPS, by="annotators", random_state=rng).split(part):
        train = others[learned[others]]
        model = clone(estimator).fit(part[train if len(train) else others])
        agreement[own] = 2 * model.predict_proba(part[own])[:, 1] - 1
    return agreement * answers


def _judge(part: Comparisons, names: Labels, person: NDArray[np.intp], agreement: FloatArray) -> _People:
    """Judge people by what they agree to, if at least three gave enough answers."""
    wrong, weights = np.where(agreement == 0, 0.5, agreement < 0), part.sample_weight
    clear = weights * np.maximum(np.abs(agreement), 1e-9)  # somebody's questions may all be undecided
    n_answers, worth = acts_of(part, person)[0], acts_of(replace(part, weights=clear), person)[1]
    judged = np.flatnonzero(n_answers >= _FEWEST_ANSWERS)
    errors, clear_errors = (np.bincount(person, w * wrong) / np.bincount(person, w) for w in (weights, clear))
    found, n_for_power = None, None
    if len(judged) >= _FEWEST_PEOPLE:
        clarity = np.bincount(person, clear * np.abs(agreement)) / np.bincount(person, clear)
        ratio = np.maximum(clarity / np.median(clarity[judged]), 1e-3)
        worth = worth * ratio**2
        found = Responders.of(((0.5 - (0.5 - clear_errors) / ratio).clip(0, 1) * worth)[judged], worth[judged])
        if found.n_for_power is not None:
            n_for_power = round_to_two_digits(
                math.ceil(found.n_for_power * float(np.median((n_answers / worth)[judged])))
            )
    return _People(part, names, person, agreement, judged, n_answers, errors, found, n_for_power)


def _about_random(people: _People) -> tuple[Finding, ...]:
    """Say who responds at random, or how many random responders would have been detected."""
    found = people.found
    assert found is not None
    n_flagged = int(found.at_chance.sum())
    if n_flagged:
        title = f"{pluralize(n_flagged, 'person answers', 'people answer')} at chance"
        text = (
            "The map of all others predicts them no better than chance: they respond at random, or perceive the "
            "objects differently. Look at their answers; leave these people out, or give them less weight. "
            f"{_power(people)}"
        )
        return (Finding("warning", "at-chance", title, text, **people.flagged(found.at_chance, "answers at chance")),)
    if found.power >= POWER:
        return (Finding("good", "at-chance", "Nobody answers at chance", _power(people)),)
    share = percent(found.power) if found.power >= 0.01 else "hardly any"
    title = f"Of random responders {share} would be detected by so few answers of each person"
    text = f"{percent(people.typical)} of answers are usually against the map of the others. {_power(people)}"
    return (Finding("note", "low-power", title, text),)


def _power(people: _People) -> str:
    """Say how many answers of each person detect random responders."""
    typical = f"a typical person gave {intcomma(people.typical_n)}"
    if people.n_for_power is None:
        return f"People err so often that no number of answers would detect 9 of 10 random responders; {typical}."
    each = pluralize(people.n_for_power, "answer")
    return (
        f"With about {each} of each person, 9 of 10 random responders would be detected, and an attentive person be "
        f"flagged in at most {percent(FALSE_ALARMS)} of studies; {typical}."
    )


def _about_reverse(people: _People) -> tuple[Finding, ...]:
    assert people.found is not None
    reverse = people.found.reverse
    if not reverse.any():
        return ()
    title = f"{pluralize(int(reverse.sum()), 'person answers', 'people answer')} in reverse"
    text = "They contradict the map of all others more often than chance would; they may have taken near for far."
    return (Finding("warning", "reversed", title, text, **people.flagged(reverse, "answers in reverse")),)
