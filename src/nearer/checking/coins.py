"""People whose answers are a coin's, and people who took near for far: judged by maps of the others, and named.

An answer to a clear question tells more about a person than one to a question that anybody may answer either way. With
P the probability that the map of the others gives it, an answer therefore counts 2 P - 1, or 1 - 2 P where it goes
against that map. The share of weights w that goes against it is as well known as that among (sum w)^2 / sum w^2 answers
of equal weight, where w is the sum over one act of judgment; a coin's is 1/2 whatever the weights.

Some people are asked harder questions than others. Of answers that are as good as the map says, the sum of w^2 over
that of w, the *clarity* of the questions, is how far beyond one half they agree with it. A person's share e is brought
to questions of usual clarity: 1/2 - (1/2 - e) / r, known as well as among r^2 times as many answers, where r is the
clarity of theirs over the usual one. Whoever was asked close calls alone so has hardly an answer that tells.

What follows from these shares is in `nearer.checking.chance`. What people read are plain shares, each answer counting
the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nearer.checking.case import Case, CheckResult, quick_estimator, quick_part
from nearer.checking.chance import Verdicts
from nearer.checking.findings import Finding
from nearer.common.arrays import FloatArray
from nearer.common.words import counted, name, percent, rounded
from nearer.data.comparisons import Comparisons
from nearer.data.labels import Labels, factorize
from nearer.data.units import torn
from nearer.evaluation.annotators import acts_of
from nearer.evaluation.folds import WholeKFold
from nearer.evaluation.held_out import read_judged

_FEWEST = 10
_MOST_JUDGED = 2_000_000  # comparisons: each person needs enough of them, and judging is quick
_MOST_LEARNED = 200_000
_N_GROUPS = 10


def check_chance(case: Case) -> CheckResult:
    """Find people whose answers the map of the others predicts no better than chance, or gets all the wrong way."""
    part = read_judged(quick_part(case, _MOST_JUDGED))
    sure = ~torn(part)  # who cannot tell is not careless
    if part.annotators is None or len(factorize(part.annotators[sure])[0]) < 3:
        return CheckResult()
    people = _judge_twice(case, part[sure], *factorize(part.annotators[sure]))
    if people is None:
        return CheckResult()
    counts = {"typical_error": people.typical, "n_judged": len(people.names), "answers_to_tell": people.enough}
    counts |= {"n_at_chance": int(people.found.chance.sum()), "n_reversed": int(people.found.reverse.sum())}
    return CheckResult((*_at_chance(people), *_reversed(people), *_untold(people)), counts)


@dataclass(frozen=True, eq=False)
class _People:
    """People who gave enough answers to be judged, and what is to be thought of them."""

    names: Labels
    numbers: NDArray[np.intp]  # among all people
    n_answers: NDArray[np.int64]
    errors: FloatArray  # against a map of the others
    found: Verdicts
    enough: int | None  # answers to tell a coin for sure

    @property
    def typical(self) -> float:
        """The usual error: the median of those who do not look like coins."""
        usual = ~self.found.doubtful
        return float(np.median(self.errors[usual] if usual.any() else self.errors))

    def errors_of(self, chosen: NDArray[np.bool_]) -> tuple[str, ...]:
        """Write the errors of some of them."""
        return tuple(
            f"{name(self.names[person])}: {percent(float(self.errors[person]))} of "
            f"{counted(int(self.n_answers[person]), 'answer')} against the map (usual: {percent(self.typical)})"
            for person in np.flatnonzero(chosen)[:10]
        )


def _judge_twice(case: Case, part: Comparisons, names: Labels, person: NDArray[np.intp]) -> _People | None:
    """Judge people by maps of the others, and again by maps without those who look like coins."""
    learned = case.rng.random(len(part)) < _MOST_LEARNED / len(part)
    people = _judge(part, names, person, _agreement(case, part, learned))
    if people is None or not people.found.doubtful.any():
        return people
    doubtful = np.isin(person, people.numbers[people.found.doubtful])
    return _judge(part, names, person, _agreement(case, part, learned & ~doubtful))


def _agreement(case: Case, part: Comparisons, learned: NDArray[np.bool_]) -> FloatArray:
    """Return 2 P - 1 of each answer, (m,), under a map fitted to the other people of the training set."""
    agreement = np.zeros(len(part))
    answers = 1 if part.answers is None else part.answers
    for others, own in WholeKFold(_N_GROUPS, by="annotators", random_state=case.rng).split(part):
        train = others[learned[others]]
        model = clone(quick_estimator(case)).fit(part[train if len(train) else others])
        agreement[own] = 2 * model.predict_proba(part[own])[:, 1] - 1
    return agreement * answers


def _judge(part: Comparisons, names: Labels, person: NDArray[np.intp], agreement: FloatArray) -> _People | None:
    """Judge people by what they agree to, if at least three gave enough answers."""
    wrong, weights = np.where(agreement == 0, 0.5, agreement < 0), part.sample_weight
    clear = weights * np.maximum(np.abs(agreement), 1e-9)  # somebody's questions may all be undecided
    n_answers, worth = acts_of(part, person)[0], acts_of(replace(part, weights=clear), person)[1]
    judged = n_answers >= _FEWEST
    if judged.sum() < 3:
        return None
    errors, clear_errors = (np.bincount(person, w * wrong) / np.bincount(person, w) for w in (weights, clear))
    clarity = np.bincount(person, clear * np.abs(agreement)) / np.bincount(person, clear)
    ratio = np.maximum(clarity / np.median(clarity[judged]), 1e-3)
    worth = worth * ratio**2
    found = Verdicts.of(((0.5 - (0.5 - clear_errors) / ratio).clip(0, 1) * worth)[judged], worth[judged])
    enough = found.enough
    if enough is not None:
        enough = rounded(math.ceil(enough * float(np.median((n_answers / worth)[judged]))))
    return _People(names[judged], np.flatnonzero(judged), n_answers[judged], errors[judged], found, enough)


def _at_chance(people: _People) -> tuple[Finding, ...]:
    chance = people.found.chance
    if not chance.any():
        return ()
    title = f"{counted(int(chance.sum()), 'person answers', 'people answer')} at chance"
    text = (
        "The map of all others predicts them no better than a coin: they are careless, or see the objects quite "
        f"otherwise. Look at them, leave them out, or give them less weight. {_how_sure(people)}"
    )
    flags = dict.fromkeys(people.names[chance].tolist(), "answers at chance")
    return (Finding("warning", "at-chance", title, text, people.errors_of(chance), flags),)


def _how_sure(people: _People) -> str:
    """Say how many answers it takes to tell a coin, beside those that the people at chance have given."""
    needed = f"{_takes(people)} nine of ten coins are told from the others"
    fewer = int((people.n_answers[people.found.chance] < (people.enough or np.inf)).sum())
    if people.enough is None:
        return f"Some people err so often that {needed}; these ones are."
    if fewer == 0:
        return f"{needed}, and they gave as many."
    few = "they gave fewer" if fewer == people.found.chance.sum() else f"{fewer} of them gave fewer"
    return f"{needed}; {few}, but an error this large is no accident."


def _takes(people: _People) -> str:
    return (
        f"From about {counted(people.enough, 'answer')} on" if people.enough else "no number of answers makes sure that"
    )


def _reversed(people: _People) -> tuple[Finding, ...]:
    reverse = people.found.reverse
    if not reverse.any():
        return ()
    title = f"{counted(int(reverse.sum()), 'person answers', 'people answer')} the wrong way round"
    text = "They contradict the map of all others more often than a coin would; they may have taken near for far."
    flags = dict.fromkeys(people.names[reverse].tolist(), "answers the wrong way round")
    return (Finding("warning", "reversed", title, text, people.errors_of(reverse), flags),)


def _untold(people: _People) -> tuple[Finding, ...]:
    """Say who may be a coin, where that cannot be known, and where coins would not be found."""
    takes = f"{_takes(people)} nine of ten coins are told from careful people."
    maybe, few = people.found.maybe, np.median(people.n_answers) < (people.enough or np.inf)
    if maybe.any():
        who = counted(int(maybe.sum()), "person", "people")
        title = f"{who} may answer at chance, which their answers are too few to tell"
        text = f"They look more like a coin than like the others, which may be bad luck. {takes}"
        return (Finding("note", "maybe-at-chance", title, text, people.errors_of(maybe)),)
    if few:
        title = "Whether somebody answers at chance cannot be told for sure from so few answers of each person"
        text = f"{percent(people.typical)} of answers are usually against the map of the others. {takes}"
        return (Finding("note", "maybe-at-chance", title, f"{text[0].upper()}{text[1:]}"),)
    return ()
