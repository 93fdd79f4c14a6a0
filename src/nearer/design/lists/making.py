"""From what is known so far to the lists that come next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from nearer._common.formatting import pluralize, quote_all
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import seen_objects
from nearer.design.active import Questions
from nearer.design.active.forms import Key, form_of
from nearer.design.active.honest import HonestError
from nearer.design.lists.answered import ASKED, answered_in, kind_asked
from nearer.design.lists.catch import given_catches, obvious_catches
from nearer.design.lists.given import names_of, read_allowed, refuse_unknown
from nearer.design.lists.lists import Catch, Trial, Wish, had, make_lists, refuse_too_many
from nearer.design.mix import CATCH, PURPOSES, REPEAT, TEST, QuestionMix
from nearer.io.answers import Answers
from nearer.io.labels import matched

_MOST_LISTED = 10
_NEIGHBOURS = "neighbours"  # of each object matter, wherever they are
_PURPOSES = {*PURPOSES, CATCH}


@dataclass(frozen=True)
class Known:
    """Answers so far, with what each was asked for; catch trials are not among them.

    Attributes
    ----------
    answers : Answers
    purposes : ndarray of str, shape (a,)
        "other" where nobody says.
    last_trial : int
        The largest number of a trial in the file, or 0.
    """

    answers: Answers
    purposes: np.ndarray
    last_trial: int = 0

    @classmethod
    def read(cls, answers: Answers, purpose: str | None, trial: str | None) -> Known:
        """Return answers without catch trials, by the further columns of purposes and trials, where there are any."""
        purposes = np.full(len(answers), "other")
        if purpose is not None:
            purposes = np.array([each if each in _PURPOSES else "other" for each in answers.also[purpose].tolist()])
        numbers = [] if trial is None else [int(each) for each in answers.also[trial].tolist() if each.isdecimal()]
        kept = purposes != CATCH
        if not kept.any():
            raise ValueError(f"{answers.source}: all answers are to catch trials; there is nothing to learn from")
        if not kept.all():
            answers = answers[kept]
            seen = seen_objects(answers.comparisons)
            comparisons = answers.comparisons.reindex(answers.comparisons.objects[seen])
            answers = replace(answers, comparisons=comparisons)
        return cls(answers, purposes[kept], max(numbers, default=0))


@dataclass(frozen=True)
class Asking:
    """What is to be asked, of whom.

    Attributes
    ----------
    n_questions : int
        Of each participant, catch trials aside.
    objects : sequence of str
        Beside those of the answers.
    kind : str, optional
        That of the answers, or triplets, if left out.
    n_components : int, optional
    people : int or sequence of str, optional
        How many participants, or their names; one list for whomever if left out.
    mix : QuestionMix
    catches : int or Answers, optional
        Catch trials of each list: how many, or which, with their right answers.
    focus : sequence of str
        Objects whose distances from each other matter; or "neighbours".
    apart : sequence of sequences of str
    allowed : Path, optional
        File of the only questions that may be asked.
    seed : int
    """

    n_questions: int
    objects: Sequence[str] = ()
    kind: str | None = None
    n_components: int | None = None
    people: int | Sequence[str] | None = None
    mix: QuestionMix = field(default_factory=QuestionMix)
    catches: int | Answers | None = None
    focus: Sequence[str] = ()
    apart: Sequence[Sequence[str]] = ()
    allowed: Path | None = None
    seed: int = 0


@dataclass(frozen=True)
class Made:
    """Lists, what they were made with, and what should be told about them."""

    trials: list[Trial]
    questions: Questions
    known: Known | None
    new_objects: tuple[str, ...]
    notes: tuple[str, ...]
    error: HonestError | None = None  # so far, on random questions
    outlook: str | None = None  # what the answers to these would bring, in a sentence

    @property
    def kind(self) -> str:
        """How people are asked."""
        return self.questions.form.name

    @property
    def purposes(self) -> Counter[str]:
        """How many trials there are of each purpose."""
        return Counter(each.purpose for each in self.trials)

    @property
    def people(self) -> list[str]:
        """Who gets a list."""
        return list(dict.fromkeys(each.participant for each in self.trials if each.participant is not None))


def make(asking: Asking, known: Known | None, tell: Callable[[str], None] = lambda step: None) -> Made:
    """Return the next lists of questions.

    Parameters
    ----------
    asking : Asking
    known : Known, optional
        Answers so far; without any, a study is designed from nothing.
    tell : callable
        Gets a sentence about each step that takes its time.

    Examples
    --------
    >>> made = make(Asking(10, ["ant", "bee", "cat", "dog", "eel"], people=2), None)
    >>> len(made.trials), made.people, made.kind
    (20, ['p01', 'p02'], 'triplet')
    """
    notes: list[str] = []
    known = None if known is None else _alike(known, asking)
    old = [] if known is None else known.answers.comparisons.objects.tolist()
    new = [each for each in asking.objects if each not in set(old)]
    questions = _questions(asking, known, [*old, *new], notes)
    answered = [] if known is None else answered_in(known.answers, known.purposes)
    people, barred = _people(asking, known), had(questions, answered)
    refuse_too_many(questions, asking.n_questions, people, barred)
    if known is not None:
        tell(f"learning from {pluralize(len(known.answers), 'answer')} about {pluralize(len(old), 'object')}")
        comparisons, purposes = _unweighed(known, notes)
        questions.tell(comparisons, purposes=purposes, learn=False)
        questions.update()
    rng = stream(asking.seed, "questions").spawn(1)[0]
    of_lists = [barred.get(each, set()) for each in people or (None,)]
    catches = _catches(asking, questions, known is not None, of_lists, rng)
    first = 1 if known is None else known.last_trial + 1
    wish = Wish(asking.n_questions, people, asking.mix, catches, first)
    trials = make_lists(questions, wish, answered, rng)
    wanted = any(counts[REPEAT] for counts in asking.mix.counts_by_list(asking.n_questions, len(of_lists)))
    if wanted and not any(each.purpose == REPEAT for each in trials):
        notes.append("there are no repeats: nobody else has been asked anything that could be asked again")
    return Made(trials, questions, known, tuple(map(str, new)) if old else (), tuple(notes))


def judged(made: Made, tell: Callable[[str], None] = lambda step: None) -> Made:
    """Return lists with the error so far, if random questions were answered, and what these would bring: a fit."""
    if made.known is None:
        return made
    tell("the error so far, and what these questions would bring")
    error = made.questions.held_out_error() if (made.known.purposes == TEST).any() else None
    n_more = sum(trial.purpose != CATCH for trial in made.trials)
    return replace(made, error=error, outlook=str(made.questions.outlook(n_more)))


def _alike(known: Known, asking: Asking) -> Known:
    """Return answers whose labels are text or integers as the further objects are."""
    if not asking.objects:
        return known
    comparisons = matched(known.answers.comparisons, np.array(list(asking.objects)))
    return replace(known, answers=replace(known.answers, comparisons=comparisons))


def _questions(asking: Asking, known: Known | None, objects: Sequence[Any], notes: list[str]) -> Questions:
    if not objects:
        raise ValueError("there are no objects to ask about; name them with --objects FILE, or give answers")
    kind = _kind(asking, known, notes)
    focus: Any = list(asking.focus) or None
    if focus == [_NEIGHBOURS] and _NEIGHBOURS not in objects:
        focus = _NEIGHBOURS
    else:
        refuse_unknown(asking.focus, objects, "--focus")
    refuse_unknown([each for group in asking.apart for each in group], objects, "--apart")
    allowed = None
    if asking.allowed is not None:
        allowed = np.array(read_allowed(asking.allowed, kind, form_of(kind).width))
        refuse_unknown([each for row in allowed.tolist() for each in row], objects, asking.allowed.name)
    return Questions(
        objects,
        asking.n_components,
        kind,
        allowed=allowed,
        apart=asking.apart,
        focus=focus,
        test_share=0,
        repeat_share=0,
        random_state=asking.seed,
    )


def _kind(asking: Asking, known: Known | None, notes: list[str]) -> str:
    """Return how people are asked: as they were, unless somebody says otherwise, or it cannot be chosen by."""
    said = asking.kind or ("triplet" if known is None else known.answers.kind)
    if said == "grid" and known is None:
        raise ValueError("a grid needs its size: say --kind '2 of 8' where two of eight are to be chosen")
    if said == "grid" and known is not None:
        return kind_asked(known.answers)
    if said in ASKED or " of " in said:
        return said
    notes.append(f"questions of kind {said!r} cannot be chosen; triplets are asked instead")
    return "triplet"


def _unweighed(known: Known, notes: list[str]) -> tuple[Comparisons, np.ndarray]:
    """Return comparisons without weights, as they are told, and what each was asked for; those of weight 0 are none."""
    answers = known.answers
    weights = answers.comparisons.sample_weight
    totals = np.bincount(answers.answer_of, weights)
    if not np.allclose(totals, 1):
        notes.append("weights of answers are not used to choose questions: each answer counts as one")
    counts = weights > 0
    told = replace(answers.comparisons, weights=None)[counts]
    return told, known.purposes[answers.answer_of[counts]]


def _people(asking: Asking, known: Known | None) -> tuple[str, ...]:
    """Return who gets a list; those of whom there is only a number get names that nobody has."""
    if asking.people is None:
        return ()
    if not isinstance(asking.people, int):
        twice = [each for each, times in Counter(asking.people).items() if times > 1]
        if twice:
            raise ValueError(f"participants are named twice: {quote_all(twice, _MOST_LISTED)}")
        return tuple(asking.people)
    there = None if known is None else known.answers.annotators
    return tuple(names_of(asking.people, [] if there is None else sorted({str(each) for each in there.tolist()})))


def _catches(
    asking: Asking, questions: Questions, known: bool, barred: Sequence[set[Key]], rng: np.random.Generator
) -> list[list[Catch]]:
    """Return the catch trials of each list."""
    if asking.catches is None or asking.catches == 0:
        return []
    if isinstance(asking.catches, Answers):
        rows = answered_in(asking.catches)
        refuse_unknown([each for row in rows for each in row.shown], questions.objects_.tolist(), asking.catches.source)
        return [given_catches(questions, rows)] * len(barred)
    if not known:
        raise ValueError(
            "catch trials can be made from answers: without any nobody knows which questions are obvious. "
            "Write some down with their right answers, and give the file with --catch-trials FILE"
        )
    return obvious_catches(questions, asking.catches, barred, rng)
