r"""Lists of trials, one for each participant: chosen, random, repeated and catch questions, mixed.

- *Test* questions are drawn first, each as likely as any other of the pool, so that an error over them is unbiased.
  Chosen ones come after them: what is left to be drawn without the informative ones would be too easy.
- *Repeats* are test questions again, for the noise ceiling: of other participants, or, without names, of the list
  itself, half a list later, with positions swapped.
- *Catch* trials, which everybody who attends answers correctly, are added, evenly spaced.

Shares hold over all lists: where a list of ten has half a repeat, every second list has one.

Positions are counterbalanced. With the number :math:`c_{op}` of showings of object o in position p, the sum of
:math:`c_{op}^2` is smallest when positions are balanced. One more showing of o in p adds :math:`2 c_{op} + 1` to it, so
that the best positions for one question, given those of all others, solve an assignment problem. Questions are
improved in turn until none changes: each change lowers the sum. Balance within a list precedes balance over all lists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from nearer._common.formatting import decimals, pluralize, quote
from nearer._common.progress import progress_bar
from nearer.design.active.pool import QuestionKey
from nearer.design.lists.inputs import AnsweredQuestion
from nearer.design.mix import CATCH, REPEAT, TEST, QuestionMix
from nearer.sampling.model import Draws

if TYPE_CHECKING:
    from nearer.design.active.questions import Questions

MIN_CATCH_PROBABILITY = 0.99  # of the answer, of somebody who attends
_N_CATCH_CANDIDATES, _MAX_CATCH_DRAWS = 5000, 100
_MAX_ROUNDS = 20  # of counterbalancing
_OVERALL_WEIGHT = 1e-3  # of the balance over all lists, relative to that within a list
_CATCH_WEIGHT = 10.0  # right answers of catch trials in one position would be learned


@dataclass(frozen=True)
class CatchTrial:
    """A catch question: its objects in order, and those that are the right answer."""

    shown: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True)
class ListSettings:
    """Settings of lists."""

    n_questions: int  # of each list; catch trials are added to them
    participants: tuple[str, ...] = ()  # who gets a list; one list for anybody if empty
    mix: QuestionMix = field(default_factory=QuestionMix)  # shares over all lists
    catches: Sequence[Sequence[CatchTrial]] = ()  # catch trials of each list
    first_trial: int = 1  # the number of the first trial of each list


@dataclass(frozen=True)
class Trial:
    """One question in the list of a participant."""

    participant: str | None
    number: int
    shown: tuple[Any, ...]  # from left to right; first the anchor, if there is one
    purpose: str  # "start", "information", "test", "repeat" or "catch"
    right: tuple[Any, ...] = ()  # the right answer of a catch trial


@dataclass(eq=False)
class _Item:
    """A question of a list; ``first`` is the one that it repeats, if that is in a list."""

    question: NDArray[np.intp]
    key: QuestionKey
    purpose: str
    right: tuple[int, ...] = ()
    first: _Item | None = None


@dataclass
class _List:
    """The list of a participant, and the questions that they must not get again."""

    participant: str | None
    items: list[_Item] = field(default_factory=list)
    barred: set[QuestionKey] = field(default_factory=set)

    def add(self, item: _Item) -> None:
        """Add a question."""
        self.items.append(item)
        self.barred.add(item.key)


def make_lists(
    questions: Questions,
    settings: ListSettings,
    answered: Sequence[AnsweredQuestion] = (),
    rng: np.random.Generator | None = None,
) -> list[Trial]:
    """Return all trials, list by list; nobody gets a question again that they have answered.

    The questions know the answers so far, and have shares of 0: ``settings`` has those of the lists.
    """
    rng = np.random.default_rng() if rng is None else rng
    place = {label: at for at, label in enumerate(questions.objects_.tolist())}
    done = answered_keys(questions, answered)
    lists = [_List(person, barred=set(done.get(person, ()))) for person in settings.participants or (None,)]
    check_enough_questions(questions, settings.n_questions, settings.participants, done)
    for one, catches in zip(lists, settings.catches, strict=False):
        for catch in catches:
            question = np.array(catch.shown, dtype=np.intp)
            one.add(_Item(question, questions.form.keys(question[None])[0], CATCH, catch.right))
    for one, counts in zip(lists, settings.mix.counts_by_list(settings.n_questions, len(lists)), strict=True):
        for drawn in questions.pool.draw_new(counts[TEST], rng, one.barred):
            one.add(_Item(drawn, questions.form.keys(drawn[None])[0], TEST))
    _add_repeats(questions, settings, lists, answered, place, rng)
    with progress_bar("questions", len(lists)) as bar:
        for one in lists:
            n_left = settings.n_questions - sum(row.purpose != CATCH for row in one.items)
            _add_chosen(questions, one, n_left, place)
            bar.update()
    return _trials(questions, settings, lists, rng)


def answered_keys(questions: Questions, answered: Iterable[AnsweredQuestion]) -> dict[Any, set[QuestionKey]]:
    """Return the questions that each participant has answered."""
    place = {label: at for at, label in enumerate(questions.objects_.tolist())}
    done: dict[Any, set[QuestionKey]] = {}
    for each in answered:
        if each.person is not None and len(each.shown) == questions.form.width:
            row = np.array([[place[label] for label in each.shown]])
            done.setdefault(str(each.person), set()).add(questions.form.keys(row)[0])
    return done


def check_enough_questions(
    questions: Questions, n: int, participants: Sequence[str | None], done: dict[Any, set[QuestionKey]]
) -> None:
    """Reject more questions than are left in the pool for each participant."""
    for person in participants or (None,):
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
    settings: ListSettings,
    lists: Sequence[_List],
    answered: Sequence[AnsweredQuestion],
    place: dict[Any, int],
    rng: np.random.Generator,
) -> None:
    """Add random questions that were asked before, or of others, as far as there are any."""
    width = questions.form.width
    known = [each for each in answered if len(each.shown) == width]
    known = [each for each in known if each.purpose == TEST] or known
    earlier = np.array([[place[label] for label in each.shown] for each in known], dtype=np.intp).reshape(-1, width)
    rows = [_Item(row, key, TEST) for row, key in zip(earlier, questions.form.keys(earlier), strict=True)]
    here = [(one, row) for one in lists for row in one.items if row.purpose == TEST]
    for one, counts in zip(lists, settings.mix.counts_by_list(settings.n_questions, len(lists)), strict=True):
        others = [row for whose, row in here if one.participant is None or whose is not one]
        at_hand: list[tuple[_Item, _Item | None]] = [(row, None) for row in rows if row.key not in one.barred]
        at_hand += [(row, row) for row in others if one.participant is None or row.key not in one.barred]
        for number in rng.permutation(len(at_hand)).tolist():
            if sum(row.purpose == REPEAT for row in one.items) == counts[REPEAT]:
                break
            row, first = at_hand[number]
            if row.key not in one.barred or (first is not None and one.participant is None):
                one.add(_Item(row.question, row.key, REPEAT, first=first))


def _add_chosen(questions: Questions, one: _List, n: int, place: dict[Any, int]) -> None:
    """Add the most informative questions that the list does not have yet."""
    while n > 0:
        try:
            asked = questions.ask(n, annotator=one.participant)
        except ValueError as error:
            raise ValueError(
                f"{error}{'' if one.participant else ', or name participants: each can be asked all of them'}"
            ) from error
        for labels, purpose in zip(asked.rows.tolist(), asked.purposes, strict=True):
            row = np.array([place[label] for label in labels], dtype=np.intp)
            key = questions.form.keys(row[None])[0]
            if key not in one.barred:
                one.add(_Item(row, key, purpose))
                n -= 1


def _trials(
    questions: Questions, settings: ListSettings, lists: Sequence[_List], rng: np.random.Generator
) -> list[Trial]:
    """Return the trials of all lists in their order, with counterbalanced positions."""
    labels = questions.objects_.tolist()
    shown = _placed(questions, lists, rng)
    trials = []
    for one in lists:
        for number, row in enumerate(_ordered(one.items, rng), settings.first_trial):
            objects = tuple(labels[at] for at in shown[id(row)])
            trials.append(Trial(one.participant, number, objects, row.purpose, tuple(labels[at] for at in row.right)))
    return trials


def _placed(questions: Questions, lists: Sequence[_List], rng: np.random.Generator) -> dict[int, list[int]]:
    """Return the objects of each item from left to right; those of a repeat are shifted by one position."""
    head = int(questions.form.has_anchor)
    n_positions = questions.form.width - head
    showings: dict[int, list[Showing]] = {}
    firsts: dict[int, _Item] = {}
    shift_of: dict[int, int] = {}
    for at, one in enumerate(lists):
        for row in one.items:
            first = row.first or row
            firsts[id(first)] = first
            shift_of[id(row)] = 0 if row.first is None else 1
            showings.setdefault(id(first), []).append(Showing(at, shift_of[id(row)]))
    order = list(firsts)
    placed = counterbalance(
        np.array([firsts[each].question[head:] for each in order], dtype=np.intp).reshape(-1, n_positions),
        [showings[each] for each in order],
        len(questions.objects_),
        rng,
        [firsts[each].right[0] if len(firsts[each].right) == 1 else -1 for each in order],
    )
    options = dict(zip(order, placed, strict=True))
    return {
        id(row): [*row.question[:head].tolist(), *np.roll(options[id(row.first or row)], shift_of[id(row)]).tolist()]
        for one in lists
        for row in one.items
    }


def _ordered(rows: Sequence[_Item], rng: np.random.Generator) -> list[_Item]:
    """Return items in random order, repeats half a list after what they repeat, catch trials evenly between."""
    catches = [row for row in rows if row.purpose == CATCH]
    inside = {id(row) for row in rows}
    again = [row for row in rows if row.first is not None and id(row.first) in inside]
    used = {id(row) for row in again} | {id(row.first) for row in again}
    rest = [row for row in rows if row.purpose != CATCH and id(row) not in used]
    n = len(rest) + 2 * len(again)
    places: list[_Item | None] = [None] * n
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


def catch_trials_from(questions: Questions, rows: Sequence[AnsweredQuestion]) -> list[CatchTrial]:
    """Return given questions as catch trials, with their right answers."""
    place = {label: at for at, label in enumerate(questions.objects_.tolist())}
    for row in rows:
        if len(row.shown) != questions.form.width or not row.named:
            raise ValueError(
                f"catch questions must be of the kind that is asked, {questions.form.name!r}, with their right answers"
            )
    return [
        CatchTrial(tuple(place[label] for label in row.shown), tuple(place[label] for label in row.named))
        for row in rows
    ]


def generate_catch_trials(
    questions: Questions, n: int, barred: Sequence[Collection[QuestionKey]], rng: np.random.Generator
) -> list[list[CatchTrial]]:
    """Return n catch trials for each list, of questions whose answer is nearly certain by the answers so far.

    The probability of the likeliest answer is above 0.99 over the posterior, without lapses. ``barred`` has for each
    list the questions that its participant must not get.
    """
    draws = questions.model_.draws_
    some = np.unique(np.linspace(0, len(draws) - 1, _MAX_CATCH_DRAWS).round().astype(int))
    attentive = Draws(draws.points[some], draws.slopes[some], draws.offsets[some], np.zeros(len(some)))
    drawn = questions.pool.draw(_N_CATCH_CANDIDATES, rng)
    pool = np.array(list(dict(zip(questions.form.keys(drawn), drawn, strict=True)).values()))
    keys = questions.form.keys(pool)
    probabilities = questions.form.probabilities(attentive, pool).mean(axis=0)
    best = probabilities.argmax(axis=1)
    certain = np.flatnonzero(probabilities.max(axis=1) > MIN_CATCH_PROBABILITY)
    counts = np.zeros(len(questions.objects_))
    lists = []
    for had in barred:
        left = [at for at in rng.permutation(certain).tolist() if keys[at] not in had]
        if len(left) < n:
            raise ValueError(
                f"only {len(left)} of {pluralize(len(pool), 'question')} have a nearly certain answer (above "
                f"{MIN_CATCH_PROBABILITY}; the highest is {decimals(float(probabilities.max()))}), and "
                f"{pluralize(n, 'catch trial')} cannot be generated; ask for fewer, or give them in a file, with their "
                "right answers"
            )
        chosen: list[Any] = []
        for _ in range(n):
            rarest = min(left, key=lambda at: counts[pool[at]].sum())  # not the same odd object each time
            left.remove(rarest)
            counts[pool[rarest]] += 1
            answer = questions.form.named[best[rarest]]
            chosen.append(CatchTrial(tuple(pool[rarest].tolist()), tuple(pool[rarest][list(answer)].tolist())))
        lists.append(chosen)
    return lists


@dataclass(frozen=True)
class Showing:
    """One showing of a question: in which list, and by how many positions its options are shifted from the first."""

    list: int
    shift: int = 0


def counterbalance(
    options: NDArray[np.intp],
    showings: Sequence[Sequence[Showing]],
    n_objects: int,
    rng: np.random.Generator,
    right: Sequence[int] | None = None,
) -> NDArray[np.intp]:
    """Return the options of questions, (q, k), in counterbalanced positions.

    ``right`` has the right answers of catch questions, -1 for others: their positions are balanced, too.
    """
    n_positions = options.shape[1]
    n_lists = 1 + max((one.list for shown in showings for one in shown), default=0)
    counts = np.zeros((n_lists, n_objects, n_positions))
    overall = np.zeros((n_objects, n_positions))
    rights = np.zeros((n_lists, n_positions))
    wanted = np.full(len(options), -1) if right is None else np.asarray(right)
    placed = rng.permuted(options, axis=1)
    positions = np.arange(n_positions)

    def count(row: int, step: int) -> None:
        """Count the showings of a question, or remove them."""
        for one in showings[row]:
            where = (positions + one.shift) % n_positions
            counts[one.list, placed[row], where] += step
            overall[placed[row], where] += step
            if wanted[row] >= 0:
                rights[one.list, where[placed[row] == wanted[row]]] += step

    for row in range(len(placed)):
        count(row, 1)
    for _ in range(_MAX_ROUNDS):
        moved = False
        for row in rng.permutation(len(placed)).tolist():
            count(row, -1)
            cost = np.zeros((n_positions, n_positions))  # option, position in the first showing
            for one in showings[row]:
                where = (positions + one.shift) % n_positions
                here = counts[one.list, placed[row]] + _OVERALL_WEIGHT * overall[placed[row]]
                cost += here[:, where]
                cost[placed[row] == wanted[row]] += _CATCH_WEIGHT * rights[one.list, where]
            best = linear_sum_assignment(cost)[1]
            if cost[positions, best].sum() < cost[positions, positions].sum() - 1e-9:
                moved = True
                placed[row, best] = placed[row].copy()
            count(row, 1)
        if not moved:
            break
    return placed
