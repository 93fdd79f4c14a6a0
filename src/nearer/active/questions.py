"""Questions: which to ask next, so that the fewest answers make the map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.active.forms import Form, form_of
from nearer.active.information import Batch
from nearer.active.learner import Learner
from nearer.active.pools import Pool
from nearer.common.arrays import FloatArray
from nearer.common.parameters import check_integer, check_number
from nearer.common.randomness import RandomState, stream
from nearer.common.words import counted, listed, name
from nearer.data.comparisons import Comparisons
from nearer.embedding.posterior_embedding import PosteriorEmbedding
from nearer.posterior.microcanonical import Microcanonical
from nearer.posterior.model import Draws

START, INFORMATION, TEST, REPEAT, OTHER, AGAIN = "start", "information", "test", "repeat", "other", "again"
_CANDIDATES = 5000  # questions that are weighed against each other
_DRAWS = 200
_AHEAD = 60  # questions that are chosen before anybody asks for them
_FEWEST = 1.0  # answers an object before there is a posterior to choose by


class Asked(Sequence[NDArray[Any]]):
    """Questions that were asked for: an array of labels, (k, width), and what each is for.

    Examples
    --------
    >>> some = Asked(np.array([["cat", "dog", "cow"]]), ["test"])
    >>> len(some), some[0].tolist(), some[:, 0].tolist(), some.purposes
    (1, ['cat', 'dog', 'cow'], ['cat'], ['test'])
    """

    def __init__(self, rows: NDArray[Any], purposes: list[str]) -> None:
        self.rows, self.purposes = rows, purposes

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.rows, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"Asked({counted(len(self), 'question')})"


@dataclass
class _Told:
    """One answer: the question, which of its answers it is, who gave it, and what it was asked for."""

    question: tuple[int, ...]
    answer: int
    person: Any
    purpose: str


@dataclass(eq=False)
class _Known:
    """What was learned from the answers so far, and questions weighed by it."""

    model: PosteriorEmbedding
    candidates: NDArray[np.intp]
    keys: list[tuple[int, ...]]
    batch: Batch
    ahead: list[int] = field(default_factory=list)


class Questions:
    """Chooses the next questions by what their answers would tell about the map.

    Parameters
    ----------
    objects : int or sequence of labels
        How many, or which.
    n_components : int, optional
        Dimension of the map; found from the answers if None.
    kind : {"triplet", "odd-one-out", "most-central"} or such as "2 of 8"
    allowed : array-like, shape (k, width), optional
        The only questions that may be asked.
    apart : sequence of sequences of labels
        Of the objects in each, no two may meet in a question.
    focus : sequence of labels, optional
        Objects whose distances from each other matter; all if left out.
    test_share : float
        Of the questions are drawn at random: an honest test of the map, which chosen questions are not.
    repeat_share : float
        Of the questions were asked before, for the noise ceiling.
    random_state : int, Generator, SeedSequence or None

    Attributes
    ----------
    model_ : PosteriorEmbedding
        What the last update learned.
    comparisons_ : Comparisons
        All answers.
    purposes_ : ndarray of str
        What each comparison was asked for: "start", "information", "test", "repeat", "other" (told, and never asked),
        "again" (of a person who had answered that question before; it counts nothing).

    Examples
    --------
    >>> from nearer.datasets import make_gaussian
    >>> points = make_gaussian(8, 2, random_state=0)
    >>> questions = Questions(8, random_state=0)
    >>> asked = questions.ask(20)
    >>> near = ((points[asked[:, 0]] - points[asked[:, 1]]) ** 2).sum(axis=1)
    >>> far = ((points[asked[:, 0]] - points[asked[:, 2]]) ** 2).sum(axis=1)
    >>> questions.tell(np.where((near < far)[:, None], asked, asked.rows[:, [0, 2, 1]]))
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
        focus: Sequence[Any] | None = None,
        test_share: float = 0.1,
        repeat_share: float = 0.05,
        random_state: RandomState = None,
    ) -> None:
        labels = list(range(objects)) if isinstance(objects, int | np.integer) else list(objects)
        self.objects_: NDArray[Any] = np.array(labels)
        self._place = {label: place for place, label in enumerate(labels)}
        if len(self._place) < len(labels):
            raise ValueError("objects must have different names")
        for share_name, share in (("test_share", test_share), ("repeat_share", repeat_share)):
            check_number(share_name, share, least=0)
        if test_share + repeat_share >= 1:
            raise ValueError("test_share and repeat_share must leave room for other questions: below 1 together")
        if n_components is not None:
            check_integer("n_components", n_components, 1)
        self.n_components, self.test_share, self.repeat_share = n_components, test_share, repeat_share
        self.form: Form = form_of(kind)
        rows = None if allowed is None else self._places(allowed, self.form.width)
        self.pool = Pool(self.form, len(labels), rows, [[self._place_of(each) for each in group] for group in apart])
        self.focus = None if focus is None else np.array([self._place_of(each) for each in focus])
        self._rng = stream(random_state, "questions")
        self._seed = int(stream(random_state, "start").integers(2**31))
        self._told: list[_Told] = []
        self._answered: dict[Any, set[tuple[int, ...]]] = {}
        self._open: dict[tuple[Any, tuple[int, ...]], str] = {}  # asked, and not answered yet
        self._learner: Learner[Comparisons, _Known] = Learner(self._learn)

    def ask(self, k: int, person: Any = None) -> Asked:
        """Return the next k questions, at once.

        Parameters
        ----------
        k : int
        person : label, optional
            Who will answer: nobody gets a question twice.
        """
        check_integer("k", k, 1)
        barred = self._barred(person)
        if k > self.pool.size - len(barred):
            raise ValueError(f"there are {counted(int(self.pool.size) - len(barred), 'question')} left to ask, not {k}")
        rows: list[NDArray[np.intp]] = []
        purposes: list[str] = []
        for _ in range(k):
            row, purpose = self._next(person, barred)
            key = self.form.keys(row[None])[0]
            barred.add(key)
            self._open[person, key] = purpose
            rows.append(row)
            purposes.append(purpose)
        return Asked(self.objects_[np.array(rows)], purposes)

    def tell(self, rows: Any, answers: Any = None, *, person: Any = None) -> None:
        """Take answers, and return at once; the map is updated in the background.

        Parameters
        ----------
        rows : array-like, shape (k, width)
            Triplets as (anchor, near, far), where there are no ``answers``; else questions as they were asked.
        answers : sequence, optional
            The object, or for grids the objects, that each answer names.
        person : label, optional
            Who answered.

        Raises
        ------
        ValueError
            About objects that are not known, and answers that are none. Nothing of the call is kept then.
        """
        places = self._places(rows, self.form.width)
        new = []
        for row, number in zip(places, self._numbers(places, answers), strict=True):
            key = self.form.keys(row[None])[0]
            new.append(_Told(tuple(row.tolist()), number, person, self._purpose(person, key)))
            if person is not None:
                self._answered.setdefault(person, set()).add(key)
        self._told += new
        if len(self._told) >= _FEWEST * len(self.objects_):
            self._learner.tell(self.comparisons_)

    def update(self) -> None:
        """Wait until the posterior knows all answers."""
        self._learner.wait()

    @property
    def model_(self) -> PosteriorEmbedding:
        """The posterior, as of the last update."""
        if self._learner.learned is None:
            raise AttributeError("there is no model yet: tell answers, about one for each object, and call update")
        return self._learner.learned.model

    @property
    def comparisons_(self) -> Comparisons:
        """All answers so far."""
        if not self._told:
            raise AttributeError("there are no answers yet")
        pieces = [self.form.comparisons(np.array(told.question), told.answer) for told in self._told]
        sizes = np.array([len(piece) for piece in pieces])
        number = np.repeat(np.arange(len(pieces)), sizes)
        quadruplets = np.concatenate(pieces)
        counts = np.array([told.purpose != AGAIN for told in self._told])
        weights = (counts / sizes)[number]
        known = [told.person is not None for told in self._told]
        people = None
        if any(known):
            people = np.array([str(told.person) if told.person is not None else "" for told in self._told])[number]
        make = Comparisons.from_triplets if self.form.name == "triplet" else Comparisons.from_quadruplets
        rows = quadruplets[:, [0, 1, 3]] if self.form.name == "triplet" else quadruplets
        return make(
            self.objects_[rows],
            objects=self.objects_,
            weights=None if (weights == 1).all() else weights,
            annotators=people,
            trials=number if (sizes > 1).any() else None,
        )

    @property
    def purposes_(self) -> NDArray[np.str_]:
        """What each comparison was asked for."""
        per = self.form.said.shape[1]
        return np.repeat(np.array([told.purpose for told in self._told], dtype=np.str_), per)

    def _next(self, person: Any, barred: set[tuple[int, ...]]) -> tuple[NDArray[np.intp], str]:
        """Return one question and what it is for."""
        luck = self._rng.random()
        if luck < self.test_share:
            drawn = self.pool.draw_new(1, self._rng, barred)
            if len(drawn):
                return drawn[0], TEST
        elif luck < self.test_share + self.repeat_share:
            before = [told.question for told in self._told if told.purpose == TEST]
            fresh = [row for row, key in zip(before, self._keys(before), strict=True) if key not in barred]
            if person is None:
                fresh = before
            if fresh:
                return self._turned(np.array(fresh[self._rng.integers(len(fresh))])), REPEAT
        known = self._learner.learned
        if known is not None:
            chosen = self._most_telling(known, barred)
            if chosen is not None:
                return self._turned(chosen), INFORMATION
        drawn = self.pool.draw_new(1, self._rng, barred, self._times())
        if not len(drawn):  # only repeats are left by chance
            raise ValueError("there is no question left to ask")
        return drawn[0], START if known is None else INFORMATION

    def _most_telling(self, known: _Known, barred: set[tuple[int, ...]]) -> NDArray[np.intp] | None:
        for number in known.ahead:
            if known.keys[number] not in barred:
                known.ahead.remove(number)
                ready: NDArray[np.intp] = known.candidates[number]
                return ready
        closed = np.array([key in barred for key in known.keys])
        best = known.batch.pick(closed)
        if best is None:
            return None
        chosen: NDArray[np.intp] = known.candidates[best]
        return chosen

    def _learn(self, comparisons: Comparisons, before: _Known | None) -> _Known:
        """Return the posterior of the answers, and the questions that come next."""
        del before
        model = PosteriorEmbedding(
            self.n_components, solver=Microcanonical.for_judging(), random_state=self._seed + len(comparisons)
        ).fit(comparisons)
        rng = np.random.default_rng([self._seed, len(comparisons)])
        if self.pool.size <= _CANDIDATES:
            candidates = self.pool.draw_new(int(self.pool.size), rng, set())
        else:
            candidates = self.pool.draw(_CANDIDATES, rng)
        keys = self.form.keys(candidates)
        _, first = np.unique(np.array(keys), axis=0, return_index=True)
        candidates, keys = candidates[np.sort(first)], [keys[row] for row in np.sort(first)]
        some = np.unique(np.linspace(0, len(model.draws_) - 1, _DRAWS).round().astype(int))
        draws = Draws(*(values[some] for values in model.draws_))
        batch = Batch(self.form.chances(draws, candidates), self._targets(draws, rng))
        known = _Known(model, candidates, keys, batch)
        waiting = {key for _, key in list(self._open)}
        for number, key in enumerate(keys):
            if key in waiting:
                batch.take(number)
        for _ in range(_AHEAD):
            chosen = batch.pick()
            if chosen is None:
                break
            known.ahead.append(chosen)
        return known

    def _targets(self, draws: Draws, rng: np.random.Generator) -> FloatArray | None:
        """Return the chances of answers about the objects that matter, where not all do."""
        if self.focus is None:
            return None
        triplet = form_of("triplet")
        places = np.array([rng.permutation(len(self.focus))[:3] for _ in range(1000)])
        return triplet.chances(draws, self.focus[places])[:, :, 0]

    def _barred(self, person: Any) -> set[tuple[int, ...]]:
        """Return the questions that a person has had; where nobody is named, those that were asked at all."""
        open_now = {key for who, key in self._open if person is None or who == person}
        if person is None:
            return open_now | set(self._keys([told.question for told in self._told]))
        return open_now | self._answered.get(person, set())

    def _purpose(self, person: Any, key: tuple[int, ...]) -> str:
        """Return what an answer was asked for, and close the question."""
        if person is not None and key in self._answered.get(person, set()):
            return AGAIN
        for who in (person, None):
            if (who, key) in self._open:
                return self._open.pop((who, key))
        return OTHER

    def _times(self) -> NDArray[np.float64]:
        """Return how often each object has come up."""
        asked = [place for told in self._told for place in told.question]
        asked += [place for _, key in self._open for place in key]
        return np.bincount(np.array(asked, dtype=np.intp), minlength=len(self.objects_)).astype(np.float64)

    def _keys(self, questions: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        return self.form.keys(np.array(questions, dtype=np.intp).reshape(-1, self.form.width))

    def _turned(self, question: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return a question with its options in random order."""
        first = int(self.form.headed)
        return np.concatenate([question[:first], self._rng.permutation(question[first:])])

    def _numbers(self, places: NDArray[np.intp], answers: Any) -> list[int]:
        """Return which of its possible answers each is."""
        if answers is None:
            if self.form.name != "triplet":
                raise ValueError(f"answers to questions of kind {self.form.name!r} are needed, one for each row")
            return [0] * len(places)
        if len(answers) != len(places):
            raise ValueError(f"there are {len(answers)} answers to {counted(len(places), 'question')}")
        numbers = []
        for row, answer in zip(places, answers, strict=True):
            named = answer if isinstance(answer, list | tuple | np.ndarray) else [answer]
            where = {place: at for at, place in enumerate(row.tolist())}
            at = tuple(sorted(where.get(self._place.get(each, -1), -1) for each in named))
            if at not in self.form.chosen:
                shown = listed(self.objects_[row].tolist())
                raise ValueError(f"{name(answer)} is no answer to a question about {shown}")
            numbers.append(self.form.chosen.index(at))
        return numbers

    def _places(self, rows: Any, width: int) -> NDArray[np.intp]:
        """Return rows of labels as places in the list of objects."""
        given = np.asarray(rows)
        if given.ndim != 2 or given.shape[1] != width:
            raise ValueError(f"rows of {width} objects are needed, got an array of shape {given.shape}")
        places = np.array([[self._place_of(each) for each in row] for row in given.tolist()], dtype=np.intp)
        same = np.array([len(set(row)) < width for row in places.tolist()], dtype=bool)
        if same.any():
            raise ValueError(f"row {int(same.argmax())} names an object twice: {listed(given[same][0].tolist())}")
        return places.reshape(-1, width)

    def _place_of(self, label: Any) -> int:
        if label not in self._place:
            raise ValueError(f"{name(label)} is none of the {counted(len(self.objects_), 'object')}")
        return self._place[label]
