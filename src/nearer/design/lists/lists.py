"""Lists of trials, one for each participant: chosen, random, repeated and catch questions, mixed.

- *Test* questions are drawn first, each as likely as any other of the pool, so that an error over them is honest.
  Chosen ones come after them: what is left to be drawn once the telling ones are taken would be too easy.
- *Repeats* are test questions again, for the noise ceiling: of other participants, or, where nobody is named, of the
  list itself, half a list later, with sides swapped.
- *Catch* trials come on top, evenly placed.

Shares hold over all lists: where a list of ten has half a repeat, every second list has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import pluralize, quote
from nearer._common.progress import progress_bar
from nearer.design.active.forms import Key
from nearer.design.lists.answered import Answered
from nearer.design.lists.sides import Showing, balanced_places
from nearer.design.mix import CATCH, REPEAT, TEST, QuestionMix

if TYPE_CHECKING:
    from nearer.design.active import Questions


@dataclass(frozen=True)
class Catch:
    """A catch question, as objects in the order that they are asked in, and those that are the right answer."""

    shown: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True)
class Wish:
    """What lists should be like.

    Attributes
    ----------
    n_questions : int
        Of each list; catch trials are added to them.
    people : tuple of str
        Who gets a list; nobody is one list for whomever.
    mix : QuestionMix
        Shares over all lists.
    catches : sequence of sequences of Catch
        Those of each list.
    first_trial : int
        The number of the first trial of each list.
    """

    n_questions: int
    people: tuple[str, ...] = ()
    mix: QuestionMix = field(default_factory=QuestionMix)
    catches: Sequence[Sequence[Catch]] = ()
    first_trial: int = 1


@dataclass(frozen=True)
class Trial:
    """One question in the list of a participant.

    Attributes
    ----------
    participant : str or None
    number : int
    shown : tuple of labels
        As they stand, from left to right; first the one that others are compared with, where there is one.
    purpose : str
        "start", "information", "test", "repeat" or "catch".
    right : tuple of labels
        The right answer of a catch trial.
    """

    participant: str | None
    number: int
    shown: tuple[Any, ...]
    purpose: str
    right: tuple[Any, ...] = ()


@dataclass(eq=False)
class _Row:
    """A question on its way into a list; ``first`` is the showing that a repeat follows, where that is known."""

    question: NDArray[np.intp]
    key: Key
    purpose: str
    right: tuple[int, ...] = ()
    first: _Row | None = None


@dataclass
class _List:
    person: str | None
    rows: list[_Row] = field(default_factory=list)
    barred: set[Key] = field(default_factory=set)  # what the person must not get again

    def add(self, row: _Row) -> None:
        self.rows.append(row)
        self.barred.add(row.key)


def make_lists(
    questions: Questions, wish: Wish, answered: Sequence[Answered] = (), rng: np.random.Generator | None = None
) -> list[Trial]:
    """Return all trials, list by list.

    Parameters
    ----------
    questions : Questions
        Knows the answers so far; shares of its own must be 0.
    wish : Wish
    answered : sequence of Answered
        What was answered so far: nobody gets one of their questions again.
    rng : Generator, optional

    Examples
    --------
    >>> from nearer.design.active import Questions
    >>> questions = Questions(["ant", "bee", "cat", "dog"], test_share=0, repeat_share=0, random_state=0)
    >>> wish = Wish(6, ("ann", "bob"), QuestionMix(test_share=0.5))
    >>> trials = make_lists(questions, wish, rng=np.random.default_rng(0))
    >>> [sum(each.participant == who for each in trials) for who in ("ann", "bob")]
    [6, 6]
    >>> sum(each.purpose == TEST for each in trials)
    6
    """
    rng = np.random.default_rng() if rng is None else rng
    place = {label: at for at, label in enumerate(questions.objects_.tolist())}
    done = had(questions, answered)
    lists = [_List(person, barred=set(done.get(person, ()))) for person in wish.people or (None,)]
    refuse_too_many(questions, wish.n_questions, wish.people, done)
    for one, catches in zip(lists, wish.catches, strict=False):
        for catch in catches:
            question = np.array(catch.shown, dtype=np.intp)
            one.add(_Row(question, questions.form.keys(question[None])[0], CATCH, catch.right))
    for one, counts in zip(lists, wish.mix.counts_by_list(wish.n_questions, len(lists)), strict=True):
        for drawn in questions.pool.draw_new(counts[TEST], rng, one.barred):
            one.add(_Row(drawn, questions.form.keys(drawn[None])[0], TEST))
    _add_repeats(questions, wish, lists, answered, place, rng)
    with progress_bar("questions", len(lists)) as bar:
        for one in lists:
            n_left = wish.n_questions - sum(row.purpose != CATCH for row in one.rows)
            _add_chosen(questions, one, n_left, place)
            bar.update()
    return _trials(questions, wish, lists, rng)


def had(questions: Questions, answered: Iterable[Answered]) -> dict[Any, set[Key]]:
    """Return the questions that each person has answered."""
    place = {label: at for at, label in enumerate(questions.objects_.tolist())}
    done: dict[Any, set[Key]] = {}
    for each in answered:
        if each.person is not None and len(each.shown) == questions.form.width:
            row = np.array([[place[label] for label in each.shown]])
            done.setdefault(str(each.person), set()).add(questions.form.keys(row)[0])
    return done


def refuse_too_many(questions: Questions, n: int, people: Sequence[str | None], done: dict[Any, set[Key]]) -> None:
    """Refuse to ask people for more than there is; ``done`` has what each of them has answered."""
    for person in people or (None,):
        barred = done.get(person, set())
        left = questions.pool.size - len(barred)
        if n > left:
            there = f"there are {pluralize(int(questions.pool.size), 'question')}"
            if person is None:
                raise ValueError(f"{there} to ask, not {n}; ask for fewer with -n, or add objects")
            rest = "all of them" if left <= 0 else f"{len(barred)} of them"
            answered = f", and {quote(person)} has answered {rest}" if barred else ""
            raise ValueError(f"{there}{answered}, so that {n} more cannot be asked; ask for fewer with -n")


def _add_repeats(
    questions: Questions,
    wish: Wish,
    lists: Sequence[_List],
    answered: Sequence[Answered],
    place: dict[Any, int],
    rng: np.random.Generator,
) -> None:
    """Add questions that were asked before, or of others; where there are none, lists do without."""
    width = questions.form.width
    known = [each for each in answered if len(each.shown) == width]
    known = [each for each in known if each.purpose == TEST] or known
    earlier = np.array([[place[label] for label in each.shown] for each in known], dtype=np.intp).reshape(-1, width)
    rows = [_Row(row, key, TEST) for row, key in zip(earlier, questions.form.keys(earlier), strict=True)]
    here = [(one, row) for one in lists for row in one.rows if row.purpose == TEST]
    for one, counts in zip(lists, wish.mix.counts_by_list(wish.n_questions, len(lists)), strict=True):
        others = [row for whose, row in here if one.person is None or whose is not one]
        at_hand: list[tuple[_Row, _Row | None]] = [(row, None) for row in rows if row.key not in one.barred]
        at_hand += [(row, row) for row in others if one.person is None or row.key not in one.barred]
        for number in rng.permutation(len(at_hand)).tolist():
            if sum(row.purpose == REPEAT for row in one.rows) == counts[REPEAT]:
                break
            row, first = at_hand[number]
            if row.key not in one.barred or (first is not None and one.person is None):
                one.add(_Row(row.question, row.key, REPEAT, first=first))


def _add_chosen(questions: Questions, one: _List, n: int, place: dict[Any, int]) -> None:
    """Add the questions that tell most, without those that the list has already."""
    while n > 0:
        try:
            asked = questions.ask(n, person=one.person)
        except ValueError as error:
            raise ValueError(
                f"{error}{'' if one.person else ', or name participants: each can be asked all of them'}"
            ) from error
        for labels, purpose in zip(asked.rows.tolist(), asked.purposes, strict=True):
            row = np.array([place[label] for label in labels], dtype=np.intp)
            key = questions.form.keys(row[None])[0]
            if key not in one.barred:
                one.add(_Row(row, key, purpose))
                n -= 1


def _trials(questions: Questions, wish: Wish, lists: Sequence[_List], rng: np.random.Generator) -> list[Trial]:
    """Return the trials of all lists in their order, with options in balanced places."""
    labels = questions.objects_.tolist()
    shown = _placed(questions, lists, rng)
    trials = []
    for one in lists:
        for number, row in enumerate(_ordered(one.rows, rng), wish.first_trial):
            objects = tuple(labels[at] for at in shown[id(row)])
            trials.append(Trial(one.person, number, objects, row.purpose, tuple(labels[at] for at in row.right)))
    return trials


def _placed(questions: Questions, lists: Sequence[_List], rng: np.random.Generator) -> dict[int, list[int]]:
    """Return the objects of each row from left to right; a repeat has those of its first showing moved on by one."""
    head = int(questions.form.headed)
    n_places = questions.form.width - head
    showings: dict[int, list[Showing]] = {}
    firsts: dict[int, _Row] = {}
    shift_of: dict[int, int] = {}
    for at, one in enumerate(lists):
        for row in one.rows:
            first = row.first or row
            firsts[id(first)] = first
            shift_of[id(row)] = 0 if row.first is None else 1
            showings.setdefault(id(first), []).append(Showing(at, shift_of[id(row)]))
    order = list(firsts)
    placed = balanced_places(
        np.array([firsts[each].question[head:] for each in order], dtype=np.intp).reshape(-1, n_places),
        [showings[each] for each in order],
        len(questions.objects_),
        rng,
        [firsts[each].right[0] if len(firsts[each].right) == 1 else -1 for each in order],
    )
    options = dict(zip(order, placed, strict=True))
    return {
        id(row): [*row.question[:head].tolist(), *np.roll(options[id(row.first or row)], shift_of[id(row)]).tolist()]
        for one in lists
        for row in one.rows
    }


def _ordered(rows: Sequence[_Row], rng: np.random.Generator) -> list[_Row]:
    """Return rows in random order, repeats half a list after what they repeat, catch trials evenly between."""
    catches = [row for row in rows if row.purpose == CATCH]
    inside = {id(row) for row in rows}
    again = [row for row in rows if row.first is not None and id(row.first) in inside]
    used = {id(row) for row in again} | {id(row.first) for row in again}
    rest = [row for row in rows if row.purpose != CATCH and id(row) not in used]
    n = len(rest) + 2 * len(again)
    places: list[_Row | None] = [None] * n
    half = (n + 1) // 2
    starts = rng.permutation(n - half)[: len(again)].tolist()
    for row, start in zip(again, starts, strict=True):
        places[start], places[start + half] = row.first, row
    others = iter([rest[at] for at in rng.permutation(len(rest))])
    ordered = [next(others) if row is None else row for row in places]
    positions = QuestionMix(n_catch=len(catches)).catch_positions(n, inside=False)
    for where, at in zip(positions, rng.permutation(len(catches)).tolist(), strict=True):
        ordered.insert(where, catches[at])
    return ordered
