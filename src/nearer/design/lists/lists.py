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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from nearer._common.formatting import decimals, pluralize, quote
from nearer._common.progress import progress_bar
from nearer.design.active.pool import QuestionKey
from nearer.design.active.posterior import evenly_spaced
from nearer.design.lists.inputs import AnsweredQuestion
from nearer.design.lists.sheets import Trial
from nearer.design.mix import CATCH, REPEAT, TEST, QuestionMix
from nearer.sampling.model import Draws

if TYPE_CHECKING:
    from nearer.design.active.questions import Questions

MIN_CATCH_PROBABILITY = 0.99  # of the answer, of somebody who attends
_N_CATCH_CANDIDATES, _MAX_CATCH_DRAWS = 5000, 100
_MAX_ROUNDS = 20  # of counterbalancing
_OVERALL_WEIGHT = 1e-3  # of the balance over all lists, relative to that within a list
_CATCH_WEIGHT = 10.0  # right answers of catch trials in one position would be learned


@dataclass(eq=False)
class Item:
    """A question of a list, as positions of its objects; ``first`` is the one that it repeats, if that is in a list."""

    question: NDArray[np.intp]
    key: QuestionKey
    purpose: str
    right: tuple[int, ...] = ()
    first: Item | None = None


@dataclass
class QuestionList:
    """The list of a participant, or of anybody, and the questions that they must not get again."""

    participant: str | None = None
    barred: set[QuestionKey] = field(default_factory=set)
    items: list[Item] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Add a question."""
        self.items.append(item)
        self.barred.add(item.key)


def empty_lists(
    questions: Questions, n: int, participants: Sequence[str], answered: Sequence[AnsweredQuestion] = ()
) -> list[QuestionList]:
    """Return a list for each participant, or one for anybody, if there are n questions that they have not answered."""
    known = [each for each in answered if each.person is not None and len(each.shown) == questions.form.width]
    done: dict[Any, set[QuestionKey]] = {}
    keys = questions.form.keys(_positions(questions, [each.shown for each in known]))
    for each, key in zip(known, keys, strict=True):
        done.setdefault(str(each.person), set()).add(key)
    lists = [QuestionList(person, done.get(person, set())) for person in participants or (None,)]
    for one in lists:
        left = questions.pool.size - len(one.barred)
        if n > left:
            there = f"there are {pluralize(int(questions.pool.size), 'question')}"
            if one.participant is None:
                raise ValueError(f"{there} to ask, not {n}; ask for fewer with -n, or add objects")
            rest = "all of them" if left <= 0 else f"{len(one.barred)} of them"
            had = f", and {quote(one.participant)} has answered {rest}" if one.barred else ""
            raise ValueError(f"{there}{had}, so that {n} more cannot be asked; ask for fewer with -n")
    return lists


def _positions(questions: Questions, rows: Iterable[Iterable[Any]]) -> NDArray[np.intp]:
    """Return the positions of the objects of questions, (k, width)."""
    place = {label: at for at, label in enumerate(questions.objects_.tolist())}
    found = [[place[label] for label in row] for row in rows]
    return np.array(found, dtype=np.intp).reshape(-1, questions.form.width)


def make_lists(
    questions: Questions,
    lists: Sequence[QuestionList],
    n_questions: int,
    mix: QuestionMix,
    rng: np.random.Generator,
    answered: Sequence[AnsweredQuestion] = (),
    first_trial: int = 1,
) -> list[Trial]:
    """Return all trials, list by list, with ``n_questions`` each in addition to the catch trials that a list has.

    The questions know the answers so far, and have shares of 0: ``mix`` has those of the lists.
    """
    counts_by_list = mix.counts_by_list(n_questions, len(lists))
    for one, counts in zip(lists, counts_by_list, strict=True):
        drawn = questions.pool.draw_new(counts[TEST], rng, one.barred)
        for question, key in zip(drawn, questions.form.keys(drawn), strict=True):
            one.add(Item(question, key, TEST))
    for one, counts in zip(lists, counts_by_list, strict=True):
        _add_repeats(questions, one, counts[REPEAT], lists, answered, rng)
    labels = questions.objects_.tolist()
    with progress_bar("questions", len(lists)) as bar:
        for one in lists:
            while (n := n_questions - sum(item.purpose != CATCH for item in one.items)) > 0:
                try:
                    asked = questions.ask(n, annotator=one.participant)
                except ValueError as error:
                    hint = "" if one.participant else ", or name participants: each can be asked all of them"
                    raise ValueError(f"{error}{hint}") from error
                rows = _positions(questions, asked.rows.tolist())
                for row, key, purpose in zip(rows, questions.form.keys(rows), asked.purposes, strict=True):
                    if key not in one.barred:
                        one.add(Item(row, key, purpose))
            bar.update()
    shown = _placed(questions, lists, rng)
    return [
        Trial(
            one.participant,
            number,
            tuple(labels[at] for at in shown[item]),
            item.purpose,
            tuple(labels[at] for at in item.right),
        )
        for one in lists
        for number, item in enumerate(_ordered(one.items, rng), first_trial)
    ]


def _add_repeats(
    questions: Questions,
    one: QuestionList,
    n: int,
    lists: Sequence[QuestionList],
    answered: Sequence[AnsweredQuestion],
    rng: np.random.Generator,
) -> None:
    """Add up to n random questions that were asked before, or of others; without names, of the list itself."""
    known = [each for each in answered if len(each.shown) == questions.form.width]
    known = [each for each in known if each.purpose == TEST] or known
    earlier = _positions(questions, [each.shown for each in known])
    at_hand = [Item(row, key, REPEAT) for row, key in zip(earlier, questions.form.keys(earlier), strict=True)]
    at_hand = [item for item in at_hand if item.key not in one.barred]
    anybody = one.participant is None
    for test in (item for other in lists if anybody or other is not one for item in other.items):
        if test.purpose == TEST and (anybody or test.key not in one.barred):
            at_hand.append(Item(test.question, test.key, REPEAT, first=test))
    n_before = len(one.items)
    for number in rng.permutation(len(at_hand)).tolist():
        if len(one.items) - n_before == n:
            break
        item = at_hand[number]
        if item.key not in one.barred or (item.first is not None and anybody):
            one.add(item)


def _placed(questions: Questions, lists: Sequence[QuestionList], rng: np.random.Generator) -> dict[Item, list[int]]:
    """Return the objects of each item from left to right; those of a repeat are shifted by one position."""
    head = int(questions.form.has_anchor)
    showings: dict[Item, list[tuple[int, int]]] = {}
    for at, one in enumerate(lists):
        for item in one.items:
            showings.setdefault(item.first or item, []).append((at, int(item.first is not None)))
    placed = counterbalance(
        np.array([first.question[head:] for first in showings], dtype=np.intp).reshape(-1, questions.form.width - head),
        list(showings.values()),
        len(questions.objects_),
        rng,
        [first.right[0] if len(first.right) == 1 else -1 for first in showings],
    )
    options = dict(zip(showings, placed, strict=True))
    return {
        item: [*item.question[:head], *np.roll(options[item.first or item], int(item.first is not None))]
        for one in lists
        for item in one.items
    }


def _ordered(items: Sequence[Item], rng: np.random.Generator) -> list[Item]:
    """Return items in random order, repeats half a list after what they repeat, catch trials evenly between."""
    inside, catches = set(items), [item for item in items if item.purpose == CATCH]
    again = [item for item in items if item.first in inside]
    paired = {*again, *(item.first for item in again)}
    rest = [item for item in items if item.purpose != CATCH and item not in paired]
    n = len(rest) + 2 * len(again)
    half = (n + 1) // 2
    places: dict[int, Any] = {}
    for item, start in zip(again, rng.permutation(n - half).tolist(), strict=False):
        places[start], places[start + half] = item.first, item
    others = (rest[at] for at in rng.permutation(len(rest)))
    ordered = [places[at] if at in places else next(others) for at in range(n)]
    positions = QuestionMix(n_catch=len(catches)).catch_positions(n, inside=False)
    for where, at in zip(positions, rng.permutation(len(catches)).tolist(), strict=True):
        ordered.insert(where, catches[at])
    return ordered


def add_catch_trials(questions: Questions, lists: Sequence[QuestionList], rows: Sequence[AnsweredQuestion]) -> None:
    """Add given questions, with their right answers, to each list."""
    if any(len(row.shown) != questions.form.width or not row.named for row in rows):
        raise ValueError(
            f"catch questions must be of the kind that is asked, {questions.form.name!r}, with their right answers"
        )
    shown = _positions(questions, [row.shown for row in rows])
    for one in lists:
        for question, key, row in zip(shown, questions.form.keys(shown), rows, strict=True):
            right = tuple(int(question[row.shown.index(label)]) for label in row.named)
            one.add(Item(question, key, CATCH, right))


def generate_catch_trials(
    questions: Questions, lists: Sequence[QuestionList], n: int, rng: np.random.Generator
) -> None:
    """Add n questions to each list whose answer is nearly certain by the answers so far.

    The probability of the likeliest answer is above 0.99 over the posterior, without lapses.
    """
    draws = questions.model_.draws_
    some = evenly_spaced(len(draws), _MAX_CATCH_DRAWS)
    attentive = Draws(draws.points[some], draws.slopes[some], draws.offsets[some], np.zeros(len(some)))
    drawn = questions.pool.draw(_N_CATCH_CANDIDATES, rng)
    by_key = dict(zip(questions.form.keys(drawn), drawn, strict=True))
    keys, pool = list(by_key), np.array(list(by_key.values()))
    probabilities = questions.form.probabilities(attentive, pool).mean(axis=0)
    best = probabilities.argmax(axis=1)
    certain = np.flatnonzero(probabilities.max(axis=1) > MIN_CATCH_PROBABILITY)
    counts = np.zeros(len(questions.objects_))
    for one in lists:
        left = [at for at in rng.permutation(certain).tolist() if keys[at] not in one.barred]
        if len(left) < n:
            raise ValueError(
                f"only {len(left)} of {pluralize(len(pool), 'question')} have a nearly certain answer (above "
                f"{MIN_CATCH_PROBABILITY}; the highest is {decimals(float(probabilities.max()))}), and "
                f"{pluralize(n, 'catch trial')} cannot be generated; ask for fewer, or give them in a file, with their "
                "right answers"
            )
        for _ in range(n):
            rarest = min(left, key=lambda at: counts[pool[at]].sum())  # not the same odd object each time
            left.remove(rarest)
            counts[pool[rarest]] += 1
            right = pool[rarest][list(questions.form.named[best[rarest]])]
            one.add(Item(pool[rarest], keys[rarest], CATCH, tuple(right.tolist())))


def counterbalance(
    options: NDArray[np.intp],
    showings: Sequence[Sequence[tuple[int, int]]],
    n_objects: int,
    rng: np.random.Generator,
    right: Sequence[int] | None = None,
) -> NDArray[np.intp]:
    """Return the options of questions, (q, k), in counterbalanced positions.

    Each is shown in some lists, with its options shifted by so many positions. ``right`` has the right answers of catch
    questions, -1 for others: their positions are balanced, too.
    """
    n_positions = options.shape[1]
    n_lists = 1 + max((at for shown in showings for at, _ in shown), default=0)
    counts = np.zeros((n_lists, n_objects, n_positions))
    overall = np.zeros((n_objects, n_positions))
    rights = np.zeros((n_lists, n_positions))
    wanted = np.full(len(options), -1) if right is None else np.asarray(right)
    placed = rng.permuted(options, axis=1)
    positions = np.arange(n_positions)

    def count(row: int, step: int) -> None:
        """Count the showings of a question, or remove them."""
        for at, shift in showings[row]:
            where = (positions + shift) % n_positions
            counts[at, placed[row], where] += step
            overall[placed[row], where] += step
            if wanted[row] >= 0:
                rights[at, where[placed[row] == wanted[row]]] += step

    for row in range(len(placed)):
        count(row, 1)
    for _ in range(_MAX_ROUNDS):
        moved = False
        for row in rng.permutation(len(placed)).tolist():
            count(row, -1)
            cost = np.zeros((n_positions, n_positions))  # option, position in the first showing
            for at, shift in showings[row]:
                where = (positions + shift) % n_positions
                here = counts[at, placed[row]] + _OVERALL_WEIGHT * overall[placed[row]]
                cost += here[:, where]
                cost[placed[row] == wanted[row]] += _CATCH_WEIGHT * rights[at, where]
            best = linear_sum_assignment(cost)[1]
            if cost[positions, best].sum() < cost[positions, positions].sum() - 1e-9:
                moved = True
                placed[row, best] = placed[row].copy()
            count(row, 1)
        if not moved:
            break
    return placed
