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
from nearer.data.features import Features, as_feature_sets
from nearer.design.active.acquisition import Acquisition, target_probabilities
from nearer.design.active.errors import HeldOutError, held_out_error
from nearer.design.active.lookahead import Choose
from nearer.design.active.pool import Form, Pool, QuestionKey, form_of
from nearer.design.active.posterior import BackgroundLearner, Posterior, prior_posterior, update_posterior
from nearer.design.active.record import Objects, QuestionBatch, Record
from nearer.design.active.stopping import Outlook, outlook
from nearer.design.mix import INFORMATION, PURPOSES, REPEAT, START, TEST, QuestionMix
from nearer.embedding.posterior_embedding import PosteriorEmbedding
from nearer.embedding.storage import load_model, save_model
from nearer.sampling.features import FeatureKernel, feature_basis
from nearer.sampling.microcanonical import Microcanonical

_MAX_CANDIDATES, _MAX_CANDIDATE_ANSWERS = 13_000, 26_000  # questions that are compared, and their answers
_QUEUE_SIZE = 100  # questions that are chosen before anybody asks for them
_START_FACTOR = 3  # times as many starts as usual: chosen questions leave more modes than random ones
_MIN_ANSWERS_PER_OBJECT = 1.0  # before there is a posterior to choose by


class Questions:
    """Chooses the next questions by the information that their answers would give about the map.

    Questions are chosen from a pool, in batches of the most joint information; see `nearer.design.active.acquisition`.
    A share of them is drawn at random instead, since an error over chosen questions, which are hard, is biased.

    Answers may come in any order, contradict each other, and be to questions that were never asked. If an annotator
    answers a question a second time that was not asked as a repeat, the second answer is kept without counting.

    Parameters
    ----------
    objects : int or sequence of labels
        How many, or which.
    n_components : int, optional
        Dimension of the map; inferred from the answers if None.
    kind : {"triplet", "odd-one-out", "most-central"} or such as "2 of 8"
        How people are asked; the last is to choose the two of eight objects that are nearest to another.
    allowed : array-like, shape (k, width), optional
        The only questions that may be asked.
    apart : sequence of sequences of labels
        Groups of objects of which no two may be in one question.
    focus : sequence of labels or "neighbors", optional
        Objects whose distances from each other matter; or which of its neighbors are nearer to each object. The whole
        map if left out.
    test_share : float
        Share of random questions, for `held_out_error`. Those that are asked before there is a posterior to choose by
        are random too, and count.
    repeat_share : float
        Share of questions that repeat former ones, of other annotators where they are named, for the noise ceiling.
    features : data frame, dict, array, Features, or a list or dict of several, optional
        What is known of the objects beforehand, as for `PosteriorEmbedding`: questions are chosen by it before the
        first answer. Rows of further objects wait until these are added.
    random_state : int, Generator, SeedSequence or None

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
        features: Any = None,
        random_state: RandomState = None,
    ) -> None:
        self._objects = Objects(range(objects) if isinstance(objects, int | np.integer) else objects)
        self.mix = QuestionMix(test_share, repeat_share)
        if self.mix.chosen_share <= 0:
            raise ValueError("test_share and repeat_share must leave room for other questions: below 1 together")
        if n_components is not None and check_integer("n_components", n_components, 1) >= len(self.objects_):
            raise ValueError(f"{pluralize(len(self.objects_), 'object')} have no map of {n_components} dimensions")
        self.n_components = n_components
        self.form: Form = form_of(kind)
        self._allowed = None if allowed is None else self._objects.positions(allowed, self.form.width)
        self._apart = [[self._objects.position(each) for each in group] for group in apart]
        self._focus: NDArray[np.intp] | str | None = None
        if focus is not None and not isinstance(focus, str):
            self._focus = np.array([self._objects.position(each) for each in focus], dtype=np.intp)
            if len(np.unique(self._focus)) < 3:
                raise ValueError(f"focus needs three objects or more, got {len(self._focus)}")
        elif focus in (None, "neighbors"):
            self._focus = focus
        else:
            raise ValueError(f"focus={focus!r}: it must be 'neighbors' or a list of objects")
        self.pool = Pool(self.form, len(self.objects_), self._allowed, self._apart)
        self._rng = np.random.default_rng(int(stream(random_state, "questions").integers(2**62)))
        self._seed = int(stream(random_state, "start").integers(2**31))
        self._record = Record(self.form, len(self.objects_))
        self._given_features = as_feature_sets(features)
        self._set_features()
        self._model: tuple[tuple[int, int], PosteriorEmbedding] | None = None  # (answers, objects), fit
        self._lock, self._fitting = threading.RLock(), threading.Lock()
        self._silent = True  # whether learning shows no progress bar
        self._has_unlearned = False  # whether there are answers added with learn=False
        self._learner = BackgroundLearner(self._learn)

    def ask(self, k: int, annotator: Any = None) -> QuestionBatch:
        """Return the next k questions, at once: rows of labels, (k, width), with the purpose of each.

        Parameters
        ----------
        k : int
        annotator : label, optional
            Who will answer: nobody gets a question twice. If left out, a question may come again once it has been
            answered, since answers are noisy; of a list of allowed ones each is asked once.
        """
        check_integer("k", k, 1)
        self._learn_first()
        with self._lock:
            if annotator is not None:
                barred = set(self._record.seen[annotator])
            elif self.pool.allowed is None:
                barred = {key for who, key in self._record.open if who is None}
            else:
                barred = set().union(*self._record.seen.values())
            left = self.pool.size - sum(key in self.pool for key in barred)
            if k > left:
                raise ValueError(f"there are {pluralize(left, 'question')} left to ask, not {k}; ask for fewer")
            chosen, n_asked = [], self._record.n_asked()
            for _ in range(k):
                question, purpose = self._next(annotator, barred, n_asked)
                n_asked[purpose] += 1
                barred.add(self.form.keys(question[None])[0])
                chosen.append((question, purpose))
                self._record.ask(question, purpose, annotator)
        questions, purposes = zip(*chosen, strict=True)
        return QuestionBatch(self.objects_[np.array(questions)], list(purposes))

    def peek(self, k: int, without: Any = ()) -> NDArray[Any]:
        """Return the k questions that would be chosen next, (at most k, width), and ask none of them.

        For programs that assign questions to many annotators at once, and report later who answered which; ``without``
        are those assigned already. There are none before there is a posterior to choose by.
        """
        check_integer("k", k, 1)
        self._learn_first()
        learned = self._learner.result
        if learned is None:
            return self.objects_[np.empty((0, self.form.width), dtype=np.intp)]
        closed = set(self.form.keys(self._objects.positions(without, self.form.width)))
        with self._lock:
            return self.objects_[learned[1].peek(k, closed)]

    def tell(
        self,
        rows: Any,
        answers: Any = None,
        *,
        annotator: Any = None,
        purposes: ArrayLike | None = None,
        learn: bool = True,
    ) -> None:
        """Add answers, and return at once; the posterior is updated in the background.

        Unknown objects and invalid answers raise a ValueError, and nothing of the call is kept.

        Parameters
        ----------
        rows : array-like, shape (k, width), or Comparisons
            Triplets as (anchor, near, far), where there are no ``answers``; else questions as they were asked. Or
            comparisons from elsewhere, such as a file, with their annotators and trials.
        answers : sequence, optional
            The object, or for grids the objects, that each answer names.
        annotator : label, optional
            Who answered.
        purposes : array-like of str, optional
            The purpose of each row, if it was asked by another program; "test" is that of random questions.
        learn : bool
            Whether the posterior that questions are chosen by is updated. `model_`, and what follows from it, use these
            answers in any case.
        """
        responses = self._objects.responses(self.form, rows, answers, annotator)
        given = None if purposes is None else np.asarray(purposes, dtype=np.str_)
        if given is not None and given.shape != (len(rows),):
            raise ValueError(f"there are {len(given)} purposes of {pluralize(len(rows), 'row')}")
        unknown = [] if given is None else sorted(set(given.tolist()) - set(PURPOSES))
        if unknown:
            raise ValueError(f"{quote_all(unknown)}: purposes are {quote_all(list(PURPOSES))}")
        with self._lock:
            for comparisons, who, row in responses:
                self._record.tell(comparisons, who, None if given is None else str(given[row]))
            self._has_unlearned = not learn
            if learn:
                self._learn_if_enough()

    def add(self, objects: Iterable[Any], features: Any = None) -> None:
        """Add objects, which are asked about at once; ``features`` replace those of before, and have all objects."""
        if self._allowed is not None:
            raise ValueError("allowed lists the questions; create new Questions with a list that has the new objects")
        with self._lock:
            before = len(self.objects_)
            self._objects = Objects([*self.objects_.tolist(), *objects])
            self._given_features = self._given_features if features is None else as_feature_sets(features)
            self._set_features()
            self.pool = Pool(self.form, len(self.objects_), None, self._apart)
            self._record.counts = np.concatenate([self._record.counts, np.zeros(len(self.objects_) - before)])
            if self._learner.result is not None:
                self._learner.submit(len(self._record))

    def update(self, *, progress: bool = True) -> None:
        """Learn from all answers, those of ``tell(..., learn=False)`` as well, and wait until it is done."""
        self._silent = not progress
        try:
            with self._lock:
                if self._has_unlearned:
                    self._learn_if_enough()
            self._learner.wait()
        finally:
            self._silent = True

    def held_out_error(self) -> HeldOutError:
        """Return the error of `model_` on the random share of the questions, each as if it had not been asked."""
        return held_out_error(self.model_.draws_, self._record)

    def outlook(self, n_answers: int | None = None, choose: Choose = "information") -> Outlook:
        """Return what the next answers would bring, and whether to continue; see `nearer.design.outlook`."""
        held_out = self.held_out_error() if TEST in self._record.purposes else None
        return outlook(
            self.model_, self.comparisons_, n_answers, choose=choose, pool=self.pool, held_out=held_out,
            random_state=self._seed,
        )  # fmt: skip

    @property
    def objects_(self) -> NDArray[Any]:
        """The labels of the objects."""
        return self._objects.labels

    @property
    def features_(self) -> tuple[Features, ...]:
        """The feature sets, as far as they are about the objects."""
        return self._features

    @property
    def model_(self) -> PosteriorEmbedding:
        """The posterior of all answers so far, fitted on first access: some seconds."""
        with self._lock:
            if not self._record.answers:
                raise AttributeError("there are no answers yet, and so no model; ask, and tell the answers")
            count = len(self._record)
            comparisons = self._record.comparisons(self.objects_, count)
        with self._fitting:  # asking continues meanwhile
            if self._model is None or self._model[0] != (count, len(comparisons.objects)):
                solver = Microcanonical.for_work(len(comparisons) * (self.n_components or 1))
                solver = replace(solver, n_starts=_START_FACTOR * solver.n_starts)
                model = PosteriorEmbedding(
                    self.n_components, max_components=self.n_components, solver=solver, random_state=self._seed + count,
                    features=list(self.features_) or None,
                )  # fmt: skip
                self._model = (count, len(comparisons.objects)), model.fit(comparisons)
            return self._model[1]

    @property
    def comparisons_(self) -> Comparisons:
        """All answers so far."""
        if not self._record.answers:
            raise AttributeError("there are no answers yet")
        return self._record.comparisons(self.objects_)

    @property
    def purposes_(self) -> NDArray[np.str_]:
        """The purpose of each of `comparisons_`.

        "start" (about objects in no answer yet), "information", "test" (random), "repeat", "other" (never asked) or
        "again" (of an annotator who had answered that question before; it does not count).
        """
        return self._record.purposes_of_rows()

    def save(self, folder: str | PathLike[str]) -> Path:
        """Write everything into a folder, to continue later."""
        return save_model(self, folder)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> Self:
        """Return the questions that `save` wrote into a folder."""
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
                **({"features": list(self._given_features)} if self._given_features else {}),
                "seed": self._seed,
                "generator": self._rng.bit_generator.state,
                "record": self._record.state(),
            }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the questions of a state; the posterior is sampled anew, in the background."""
        labels, focus = state["objects"], state["focus"]
        found = cls(
            labels.tolist(),
            **state["settings"],
            allowed=None if state["allowed"] is None else labels[state["allowed"]],
            apart=[labels[group].tolist() for group in state["apart"]],
            focus=focus if focus is None or isinstance(focus, str) else labels[focus],
            features=state.get("features"),
        )
        found._seed = state["seed"]
        found._rng.bit_generator.state = state["generator"]
        found._record = Record.from_state(found.form, len(labels), state["record"])
        found._learn_if_enough()
        return found

    def _set_features(self) -> None:
        """Find the directions of the features of all objects."""
        self._features = tuple(each.among(self.objects_) for each in self._given_features)
        self._basis = feature_basis([FeatureKernel.of(each, self.objects_) for each in self._features], self.objects_)

    def _learn_first(self) -> None:
        """Wait for the posterior to choose the first questions by, where features say something of the objects."""
        if self._basis is not None and self._learner.result is None:
            self._learner.submit(len(self._record))
            self._learner.wait()

    def _learn_if_enough(self) -> None:
        """Start learning if there are enough answers; with features the first are enough."""
        enough = 1 if self._basis is not None else _MIN_ANSWERS_PER_OBJECT * len(self.objects_)
        if len(self._record) >= enough:
            self._has_unlearned = False
            self._learner.submit(len(self._record))

    def _next(self, annotator: Any, barred: set[QuestionKey], n_asked: Counter[str]) -> tuple[NDArray[np.intp], str]:
        """Return one question and its purpose, given how many there were for each purpose."""
        learned, counts = self._learner.result, self._record.counts
        due = self.mix.next_purpose(n_asked)
        if self.mix.test_share > 0 and (learned is None or due == TEST):
            drawn = self.pool.draw(1, self._rng)[0]
            key = self.form.keys(drawn[None])[0]
            if key not in barred:
                return drawn, TEST
            former = self._record.count_as_test(annotator, key)
            if former in (START, INFORMATION):
                n_asked[former] -= 1
                n_asked[TEST] += 1
        elif learned is not None and due == REPEAT:
            answered = zip(self._record.keys, self._record.purposes, strict=True)
            tests = [each for each, purpose in answered if purpose == TEST and each not in barred]
            again = tests[self._rng.integers(len(tests))] if tests else None
            if again is not None:
                return self.pool.shuffled(np.array([again]), self._rng)[0], REPEAT
        if self._basis is not None:  # what is known of objects with features tells when to ask about them
            counts = np.where((counts == 0) & self._basis.has_features, 0.5, counts)
        rarest = int(counts.argmin())
        if learned is not None and counts[rarest] == 0:
            new = self.pool.draw_new(1, self._rng, barred, counts, about=rarest)
            if len(new):
                return new[0], START
        elif learned is not None and (chosen := learned[1].pop(barred)) is not None:
            return self.pool.shuffled(chosen[None], self._rng)[0], INFORMATION
        new = self.pool.draw_new(1, self._rng, barred, counts)
        if not len(new):
            raise ValueError("there is no question left to ask")
        return new[0], START if learned is None else INFORMATION

    def _learn(self, count: int, before: tuple[Posterior, Acquisition] | None) -> tuple[Posterior, Acquisition]:
        """Return the posterior of the first ``count`` answers, and the questions that come next."""
        from nearer.optimize.kernels import default_threads

        with self._lock:  # both before or after objects are added
            objects, features = self.objects_, self._basis
        seed = self._seed + count
        p, former, silent = self.n_components, before and before[0], self._silent
        if count == 0:
            posterior = prior_posterior(len(objects), p, seed, features)
        else:
            comparisons = self._record.comparisons(objects, count)
            posterior = update_posterior(
                comparisons, p, seed, former, default_threads(), features=features, silent=silent
            )
        rng = np.random.default_rng([self._seed, count])
        waiting = np.array([question for question, _ in list(self._record.open.values())], dtype=np.intp)
        acquisition = Acquisition(
            self.form,
            posterior.draws,
            self.pool.all_or_sample(min(_MAX_CANDIDATES, _MAX_CANDIDATE_ANSWERS // self.form.n_answers), rng),
            waiting.reshape(-1, self.form.width),
            target_probabilities(posterior.draws, self._focus, rng),
        )
        acquisition.fill_queue(_QUEUE_SIZE)
        return posterior, acquisition
