"""Questions: which to ask next, so that the fewest answers make the map."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearer._common.formatting import pluralize, quote_all
from nearer._common.parameters import check_integer
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.design.active.asked import Asked
from nearer.design.active.belief import Belief, learn
from nearer.design.active.choice import Choice, targets_of
from nearer.design.active.forms import Form, Key, form_of
from nearer.design.active.future import Choose
from nearer.design.active.honest import HonestError, honest_error
from nearer.design.active.learner import Learner
from nearer.design.active.objects import Objects
from nearer.design.active.pools import Pool
from nearer.design.active.record import Record
from nearer.design.active.stopping import Outlook, outlook
from nearer.design.mix import INFORMATION, PURPOSES, REPEAT, START, TEST, QuestionMix
from nearer.embedding.posterior_embedding import PosteriorEmbedding
from nearer.embedding.storage import load_model, save_model
from nearer.sampling.microcanonical import Microcanonical

_CANDIDATES, _MOST_CHANCES = 13_000, 26_000  # questions that are weighed against each other, and their answers
_AHEAD = 100  # questions that are chosen before anybody asks for them
_MORE_STARTS = 3  # times as many as usual: chosen questions leave more hills than random ones
_FEWEST = 1.0  # answers an object before there is a posterior to choose by


class Questions:
    """Chooses the next questions by what their answers would tell about the map.

    Questions are chosen from a pool, in batches that tell the most together; see `design.active.information`. A share
    of them is drawn at random instead, since an error over chosen questions, which are hard, misleads.

    Answers may come in any order and at any time, also such to questions that were never asked. Contradictory answers
    are answers: the model expects people to err. Where someone answers a question a second time that was not asked as a
    repeat, the first answer counts, and the second is kept without counting.

    Parameters
    ----------
    objects : int or sequence of labels
        How many, or which.
    n_components : int, optional
        Dimension of the map; found from the answers if None.
    kind : {"triplet", "odd-one-out", "most-central"} or such as "2 of 8"
        How people are asked; the last is to choose the two of eight that are nearest to another.
    allowed : array-like, shape (k, width), optional
        The only questions that may be asked.
    apart : sequence of sequences of labels
        Of the objects in each, no two may meet in a question.
    focus : sequence of labels or "neighbours", optional
        Objects whose distances from each other matter; or what matters is which of its neighbours are nearer to each
        object. The whole map if left out.
    test_share : float
        Of the questions that are drawn at random, for `held_out_error`. Those that are asked before there is anything
        to choose by are random too, and count.
    repeat_share : float
        Of the questions that were asked before, to others where people are named, for the noise ceiling.
    random_state : int, Generator, SeedSequence or None

    Attributes
    ----------
    form : Form
    pool : Pool
    mix : QuestionMix

    Examples
    --------
    >>> from nearer.datasets import make_gaussian
    >>> points = make_gaussian(8, 2, random_state=0)
    >>> questions = Questions(8, random_state=0)
    >>> asked = questions.ask(20)
    >>> near = ((points[asked[:, 0]] - points[asked[:, 1]]) ** 2).sum(axis=1)
    >>> far = ((points[asked[:, 0]] - points[asked[:, 2]]) ** 2).sum(axis=1)
    >>> questions.tell(np.where((near < far)[:, None], asked, asked[:, [0, 2, 1]]))
    >>> questions.update()
    >>> questions.comparisons_, len(questions.ask(5))
    (Comparisons(20 triplets over 8 objects), 5)
    """

    def __init__(
        self,
        objects: int | Iterable[Any],
        n_components: int | None = 2,
        kind: str = "triplet",
        *,
        allowed: Any = None,
        apart: Sequence[Sequence[Any]] = (),
        focus: Sequence[Any] | str | None = None,
        test_share: float = 0.1,
        repeat_share: float = 0.05,
        random_state: RandomState = None,
    ) -> None:
        self._objects = Objects(range(objects) if isinstance(objects, int | np.integer) else objects)
        self.mix = QuestionMix(test_share, repeat_share)
        if self.mix.chosen_share <= 0:
            raise ValueError("test_share and repeat_share must leave room for other questions: below 1 together")
        if n_components is not None:
            check_integer("n_components", n_components, 1)
        if n_components is not None and n_components >= len(self.objects_):
            raise ValueError(f"{pluralize(len(self.objects_), 'object')} have no map of {n_components} dimensions")
        self.n_components = n_components
        self.form: Form = form_of(kind)
        self._allowed = None if allowed is None else self._objects.positions(allowed, self.form.width)
        self._apart = [[self._objects.position(each) for each in group] for group in apart]
        self._focus = self._checked_focus(focus)
        self.pool = Pool(self.form, len(self.objects_), self._allowed, self._apart)
        self._rng = np.random.default_rng(int(stream(random_state, "questions").integers(2**62)))
        self._seed = int(stream(random_state, "start").integers(2**31))
        self._record = Record(self.form, len(self.objects_))
        self._model: tuple[tuple[int, int], PosteriorEmbedding] | None = None  # how many answers and objects it knows
        self._lock, self._fitting = threading.RLock(), threading.Lock()
        self._silent = True  # whether learning shows no bar: in the background
        self._unlearned = False  # whether there are answers that were not to be learned from yet
        self._learner: Learner[int, tuple[Belief, Choice]] = Learner(self._learn)

    def ask(self, k: int, person: Any = None) -> Asked:
        """Return the next k questions, at once.

        Parameters
        ----------
        k : int
        person : label, optional
            Who will answer: nobody gets a question twice. Where nobody is named, a question may come again once it has
            been answered, since answers are noisy; of a list of allowed ones each is asked once.

        Returns
        -------
        Asked
            Rows of labels, (k, width), with the purpose of each.
        """
        check_integer("k", k, 1)
        with self._lock:
            barred = self._barred(person)
            left = self.pool.size - sum(key in self.pool for key in barred)
            if k > left:
                raise ValueError(f"there are {pluralize(left, 'question')} left to ask, not {k}; ask for fewer")
            chosen: list[tuple[NDArray[np.intp], str]] = []
            shares = self._record.shares()
            for _ in range(k):
                question, purpose = self._next(person, barred, shares)
                shares[purpose] += 1
                barred.add(self.form.keys(question[None])[0])
                chosen.append((question, purpose))
                self._record.ask(question, purpose, person)
        return Asked(self.objects_[np.array([question for question, _ in chosen])], [purpose for _, purpose in chosen])

    def most_telling(self, k: int, without: Any = ()) -> NDArray[Any]:
        """Return the k questions that would be chosen next, (at most k, width), and ask none of them.

        For whoever hands questions out to many at once, and says later who answered which. There are none as long as
        there is nothing to choose by.

        Parameters
        ----------
        k : int
        without : array-like of labels, shape (j, width), optional
            Questions that are in somebody's hands already.
        """
        check_integer("k", k, 1)
        known = self._learner.learned
        if known is None:
            return self.objects_[np.empty((0, self.form.width), dtype=np.intp)]
        closed = set(self.form.keys(self._objects.positions(without, self.form.width)))
        with self._lock:
            return self.objects_[known[1].best(k, closed)]

    def tell(
        self,
        rows: Any,
        answers: Any = None,
        *,
        person: Any = None,
        purposes: ArrayLike | None = None,
        learn: bool = True,
    ) -> None:
        """Take answers, and return at once; what is believed is updated in the background.

        Parameters
        ----------
        rows : array-like, shape (k, width), or Comparisons
            Triplets as (anchor, near, far), where there are no ``answers``; else questions as they were asked. Or
            comparisons from elsewhere, such as a file, with the people and trials that they tell.
        answers : sequence, optional
            The object, or for grids the objects, that each answer names.
        person : label, optional
            Who answered.
        purposes : array-like of str, optional
            What each row was asked for, where it was asked by others than this; "test" is for random questions.
        learn : bool
            Whether what is believed is updated. Without, questions go by what was believed before; `model_`, and what
            follows from it, know these answers all the same.

        Raises
        ------
        ValueError
            About objects that are not known, and answers that are none. Nothing of the call is kept then.
        """
        if isinstance(rows, Comparisons):
            said = self._objects.said_in(rows)
        else:
            said = self._objects.said(self.form, rows, answers, person)
        given = _checked_purposes(purposes, len(rows))
        with self._lock:
            for answer, who, row in zip(*said, strict=True):
                self._record.tell(answer, who, None if given is None else str(given[row]))
            self._unlearned = not learn
            if learn:
                self._learn_if_enough()

    def add(self, objects: Iterable[Any]) -> None:
        """Take new objects, which are asked about at once.

        Parameters
        ----------
        objects : sequence of labels
        """
        if self._allowed is not None:
            raise ValueError("allowed lists the questions; begin anew with a list that has the new objects")
        with self._lock:
            before = len(self.objects_)
            self._objects = Objects([*self.objects_.tolist(), *objects])
            self.pool = Pool(self.form, len(self.objects_), None, self._apart)
            self._record.times = np.concatenate([self._record.times, np.zeros(len(self.objects_) - before)])
            if self._learner.learned is not None:
                self._learner.tell(len(self._record))

    def update(self, *, progress: bool = True) -> None:
        """Learn from all answers, those of ``tell(..., learn=False)`` as well, and wait until that is done.

        Parameters
        ----------
        progress : bool
            Whether a terminal shows a progress bar.
        """
        self._silent = not progress
        try:
            with self._lock:
                if self._unlearned:
                    self._learn_if_enough()
            self._learner.wait()
        finally:
            self._silent = True

    def held_out_error(self) -> HonestError:
        """Return the error of `model_` on the random share of the questions, each as if it had not been asked.

        It is that on a question at random, and so what to report. Over all answers it would be biased: chosen questions
        are harder.

        Returns
        -------
        HonestError
            A float, with ``low``, ``high`` and ``n_answers``.
        """
        return honest_error(self.model_.draws_, self._record)

    def outlook(self, n_answers: int | None = None, choose: Choose = "information") -> Outlook:
        """Return what the next answers would bring, and whether to go on.

        Parameters
        ----------
        n_answers : int, optional
            How many more; a fifth of those there are if left out.
        choose : {"information", "random"}
            How their questions would come about.
        """
        honest = self.held_out_error() if TEST in self._record.purposes else None
        return outlook(
            self.model_, self.comparisons_, n_answers, choose=choose, pool=self.pool, honest=honest,
            random_state=self._seed,
        )  # fmt: skip

    @property
    def objects_(self) -> NDArray[Any]:
        """The labels of the objects."""
        return self._objects.labels

    @property
    def model_(self) -> PosteriorEmbedding:
        """The posterior of all answers so far, fitted when it is first looked at: some seconds."""
        with self._lock:
            if not self._record.said:
                raise AttributeError("there are no answers yet, and so no model; ask, and tell the answers")
            count = len(self._record)
            comparisons = self._record.comparisons(self.objects_, count)
        with self._fitting:  # questions go on meanwhile
            if self._model is None or self._model[0] != (count, len(comparisons.objects)):
                solver = Microcanonical.for_work(len(comparisons) * (self.n_components or 1))
                solver = replace(solver, n_starts=_MORE_STARTS * solver.n_starts)
                model = PosteriorEmbedding(
                    self.n_components, max_components=self.n_components, solver=solver, random_state=self._seed + count
                )
                fitted = model.fit(comparisons)
                self._model = (count, len(comparisons.objects)), fitted
            return self._model[1]

    @property
    def comparisons_(self) -> Comparisons:
        """All answers so far."""
        if not self._record.said:
            raise AttributeError("there are no answers yet")
        return self._record.comparisons(self.objects_)

    @property
    def purposes_(self) -> NDArray[np.str_]:
        """What each of `comparisons_` was asked for.

        "start" (about objects that nothing is known of), "information", "test" (at random), "repeat", "other" (told,
        and never asked) or "again" (of a person who had answered that question before; it counts nothing).
        """
        return self._record.purposes_of_rows()

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write everything into a folder, to go on later."""
        return save_model(self, folder)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Return what `save` wrote into a folder."""
        found = load_model(folder)
        if not isinstance(found, cls):
            raise ValueError(
                f"{folder} holds a model and no questions; load it with nearer.embedding.storage.load_model"
            )
        return found

    def state(self) -> dict[str, Any]:
        """Return everything that `from_state` needs, as values that a file can hold."""
        with self._lock:
            return {
                "objects": self.objects_,
                "settings": {
                    "n_components": self.n_components,
                    "kind": self.form.name,
                    "test_share": self.mix.test_share,
                    "repeat_share": self.mix.repeat_share,
                },
                "allowed": self._allowed,
                "apart": self._apart,
                "focus": self._focus,
                "seed": self._seed,
                "generator": self._rng.bit_generator.state,
                "record": self._record.state(),
            }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return questions as they were; what answers say is learned anew, in the background."""
        labels, focus = state["objects"], state["focus"]
        found = cls(
            labels.tolist(),
            **state["settings"],
            allowed=None if state["allowed"] is None else labels[state["allowed"]],
            apart=[labels[group].tolist() for group in state["apart"]],
            focus=focus if focus is None or isinstance(focus, str) else labels[focus],
        )
        found._seed = state["seed"]
        found._rng.bit_generator.state = state["generator"]
        found._record = Record.from_state(found.form, len(labels), state["record"])
        found._learn_if_enough()
        return found

    def _learn_if_enough(self) -> None:
        if len(self._record) >= _FEWEST * len(self.objects_):
            self._unlearned = False
            self._learner.tell(len(self._record))

    def _barred(self, person: Any) -> set[Key]:
        """Return the questions that someone cannot be asked."""
        if person is not None:
            return set(self._record.had(person))
        return self._record.waiting(None) if self.pool.allowed is None else self._record.had_by_anybody()

    def _next(self, person: Any, barred: set[Key], shares: Counter[str]) -> tuple[NDArray[np.intp], str]:
        """Return one question and what it is for, given how many there were for each purpose."""
        known, times = self._learner.learned, self._record.times
        due = self.mix.next_purpose(shares)
        if self.mix.test_share > 0 and (known is None or due == TEST):
            drawn = self.pool.draw(1, self._rng)[0]
            key = self.form.keys(drawn[None])[0]
            if key not in barred:
                return drawn, TEST
            counted_as = self._record.promote(person, key)
            if counted_as in (START, INFORMATION):
                shares[counted_as] -= 1
                shares[TEST] += 1
        elif known is not None and due == REPEAT:
            again = self._asked_before(person, barred)
            if again is not None:
                return again, REPEAT
        rarest = int(times.argmin())
        if known is not None and times[rarest] > 0:
            chosen = known[1].next(barred)
            if chosen is not None:
                return self.pool.shuffled(chosen[None], self._rng)[0], INFORMATION
        if known is not None and times[rarest] == 0:
            drawn = self.pool.draw_new(1, self._rng, barred, times, about=rarest)
            if len(drawn):
                return drawn[0], START
        drawn = self.pool.draw_new(1, self._rng, barred, times)
        if not len(drawn):
            raise ValueError("there is no question left to ask")
        return drawn[0], START if known is None else INFORMATION

    def _asked_before(self, person: Any, barred: set[Key]) -> NDArray[np.intp] | None:
        """Return a random question that has been answered, with its options in random order."""
        record = self._record
        tests = [number for number, purpose in enumerate(record.purposes) if purpose == TEST]
        fresh = [number for number in tests if record.keys[number] not in barred]
        if not fresh:
            return None
        key = record.keys[fresh[self._rng.integers(len(fresh))]]
        return None if key is None else self.pool.shuffled(np.array([key]), self._rng)[0]

    def _learn(self, count: int, before: tuple[Belief, Choice] | None) -> tuple[Belief, Choice]:
        """Return what the first so many answers leave possible, and the questions that come next."""
        from nearer.optimize.kernels import default_threads

        seed = self._seed + count
        objects = self.objects_
        comparisons = self._record.comparisons(objects, count)
        earlier = None if before is None else before[0]
        belief = learn(comparisons, self.n_components, seed, earlier, default_threads(), silent=self._silent)
        rng = np.random.default_rng([self._seed, count])
        waiting = [each.question for each in list(self._record.open.values())]
        choice = Choice(
            self.form,
            belief.draws,
            self.pool.all_or_some(min(_CANDIDATES, _MOST_CHANCES // self.form.n_answers), rng),
            np.array(waiting, dtype=np.intp).reshape(-1, self.form.width),
            targets_of(belief.draws, self._focus, rng),
        )
        choice.look_ahead(_AHEAD)
        return belief, choice

    def _checked_focus(self, focus: Sequence[Any] | str | None) -> NDArray[np.intp] | str | None:
        if focus is None or isinstance(focus, str):
            if focus in (None, "neighbours"):
                return focus
            raise ValueError(f"focus={focus!r}: it must be 'neighbours' or a list of objects")
        places = np.array([self._objects.position(each) for each in focus], dtype=np.intp)
        if len(set(places.tolist())) < 3:
            raise ValueError(f"focus needs three objects or more, got {len(places)}")
        return places


def _checked_purposes(purposes: ArrayLike | None, count: int) -> NDArray[np.str_] | None:
    if purposes is None:
        return None
    given = np.asarray(purposes, dtype=np.str_)
    if given.shape != (count,):
        raise ValueError(f"there are {len(given)} purposes of {pluralize(count, 'row')}")
    unknown = sorted(set(given.tolist()) - set(PURPOSES))
    if unknown:
        raise ValueError(f"{quote_all(unknown)}: purposes are {quote_all(list(PURPOSES))}")
    return given
