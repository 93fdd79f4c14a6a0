"""Rules that choose questions: at random, by landmarks, by the crowd kernel's information, and ours.

Information (Tamuz, Liu, Belongie, Shamir and Kalai, "Adaptively learning the crowd kernel", ICML 2011): a map in the
crowd kernel's model is fitted to all answers; then each object in turn is the head of one question. Where the head lies
is one of the places of the objects, as likely as its answers so far make it, tau(x), and of all pairs (b, c) the one
with the largest information gain is asked about:

    H(p) - sum_x tau(x) H(p_x),    p_x = (mu + |x - c|^2) / (2 mu + |x - b|^2 + |x - c|^2),    p = sum_x tau(x) p_x.

It begins with two random questions an object.

Landmarks (in the manner of Jamieson and Nowak, "Low-dimensional embedding using adaptively selected ordinal data",
2011; Ghosh, Chen and Yue, "Landmark ordinal embedding", NeurIPS 2019): p + 2 objects are landmarks, drawn at random,
or, in a pool, those that were options most often. All objects are compared with all pairs of landmarks, in random
order; then come random questions.

Within a world of simulated answers no rule but ours and Salmon's asks a question twice.

Salmon runs in a process under a Python of its own, which gets answers and sends questions.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.active import salmon_worker
from benchmarks.active.worlds import Life, Rows
from benchmarks.programs import MeasurementFailed, Program
from nearer._common.arrays import FloatArray
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.design import Questions
from nearer.embedding import CKL

_START = 2  # random questions an object, before there is a map to choose by


class Rule(Protocol):
    """Chooses questions."""

    def ask(self, k: int) -> Rows:
        """Return up to k questions (head, left, right); none if there is none left."""
        ...

    def tell(self, triplets: Rows) -> None:
        """Take answers (anchor, near, far)."""
        ...

    def own_map(self) -> FloatArray | None:
        """Return the map that the rule has made of the answers itself, if it makes one that is of interest."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


class Random:
    """All questions in random order.

    Examples
    --------
    >>> from benchmarks.active.worlds import WORLDS
    >>> life = WORLDS["cloud2-flips"].life(0, 0)
    >>> Random(life, 2, np.random.SeedSequence(1)).ask(30).shape
    (30, 3)
    """

    def __init__(self, life: Life, n_components: int, seed: np.random.SeedSequence) -> None:
        self.questions = life.questions
        self.n_objects, self.n_components = life.test.n_objects, n_components
        self.rng = stream(seed, "questions")
        self.order = self.rng.permutation(len(self.questions))
        self.free = np.ones(len(self.questions), dtype=bool)  # not asked yet

    def ask(self, k: int) -> Rows:
        """Return up to k questions (head, left, right)."""
        self.order = self.order[self.free[self.order]]
        return self._take(self.order[:k])

    def tell(self, triplets: Rows) -> None:
        """Take answers (anchor, near, far)."""

    def own_map(self) -> FloatArray | None:
        """Return None: there is none."""
        return None

    def close(self) -> None:
        """End what was started."""

    def _take(self, numbers: NDArray[np.intp]) -> Rows:
        self.free[numbers] = False
        return self.questions[numbers]


class Landmarks(Random):
    """Objects against pairs of landmarks first."""

    def __init__(self, life: Life, n_components: int, seed: np.random.SeedSequence) -> None:
        super().__init__(life, n_components, seed)
        often = np.bincount(self.questions[:, 1:].ravel(), minlength=self.n_objects)
        luck = self.rng.random(self.n_objects)
        ranked = np.lexsort((luck, -often)) if life.is_pool else luck.argsort()
        self.landmarks = np.sort(ranked[: n_components + 2])
        about = np.isin(self.questions[self.order, 1:], self.landmarks).all(axis=1)
        self.order = np.concatenate([self.order[about], self.order[~about]])


class Information(Random):
    """The crowd kernel's rule."""

    mu = 1.0  # the unit of the map: maps of CKL scale with it

    def __init__(self, life: Life, n_components: int, seed: np.random.SeedSequence) -> None:
        super().__init__(life, n_components, seed)
        self.answers: Rows = np.empty((0, 3), dtype=np.intp)
        self.starts = stream(seed, "start")
        self.waiting: list[int] = []  # heads whose turn has not come in this round
        by_head = np.argsort(self.questions[:, 0], kind="stable")
        self.of_head = np.split(by_head, np.cumsum(np.bincount(self.questions[:, 0], minlength=self.n_objects))[:-1])

    def ask(self, k: int) -> Rows:
        """Return up to k questions, one for each head in turn, chosen on one map."""
        if len(self.answers) < _START * self.n_objects:
            return super().ask(k)
        answers = Comparisons.from_triplets(self.answers, n_objects=self.n_objects)
        fitted = CKL(self.n_components, mu=self.mu, random_state=int(self.starts.integers(2**31))).fit(answers)
        squares = squared_distances(fitted.embedding_)
        chosen: list[int] = []
        barren = 0
        while len(chosen) < k and barren < self.n_objects:
            if not self.waiting:
                self.waiting = self.rng.permutation(self.n_objects).tolist()
            best = self._best(self.waiting.pop(), squares)
            barren = barren + 1 if best is None else 0
            if best is not None:
                chosen.append(best)
                self.free[best] = False
        return self.questions[chosen]

    def tell(self, triplets: Rows) -> None:
        """Take answers (anchor, near, far)."""
        self.answers = np.concatenate([self.answers, triplets])

    def _best(self, head: int, squares: FloatArray) -> int | None:
        """Return the number of the question about a head that would tell most, None if all were asked."""
        left = self.of_head[head][self.free[self.of_head[head]]]
        if not len(left):
            return None
        answered = self.answers[self.answers[:, 0] == head]
        belief = places_of_head(squares, answered[:, 1:], self.mu)
        gains = information_gains(squares, belief, self.questions[left, 1:], self.mu)
        return int(left[gains.argmax()])


class Ours:
    """`nearer.design.Questions` with its defaults.

    In a pool nobody can be asked again: there are no repeats, and one person is asked, so that no question comes twice.
    """

    def __init__(
        self, life: Life, n_components: int, seed: np.random.SeedSequence, features: FloatArray | None = None
    ) -> None:
        settings: dict[str, Any] = {"allowed": life.questions, "repeat_share": 0.0} if life.is_pool else {}
        self.chooser = Questions(life.test.n_objects, n_components, features=features, random_state=seed, **settings)
        self.person = "the pool" if life.is_pool else None

    def ask(self, k: int) -> Rows:
        """Return k questions (head, left, right)."""
        return np.asarray(self.chooser.ask(k, self.person).rows, dtype=np.intp)

    def tell(self, triplets: Rows) -> None:
        """Take answers (anchor, near, far), and wait until they are known."""
        self.chooser.tell(triplets, annotator=self.person)
        self.chooser.update()

    def own_map(self) -> FloatArray | None:
        """Return None: its posterior is the one that judges all rules."""
        return None

    def close(self) -> None:
        """End what was started."""


def squared_distances(points: FloatArray) -> FloatArray:
    """Return the squared distances between all points, (n, n)."""
    squares = (points**2).sum(axis=1)
    result: FloatArray = np.maximum(squares[:, None] + squares - 2 * points @ points.T, 0.0)
    return result


def places_of_head(squares: FloatArray, answered: Rows, mu: float) -> FloatArray:
    """Return how likely a head lies at the place of each object, (n,), by its answers (near, far).

    Examples
    --------
    >>> squares = squared_distances(np.array([[0.0], [1.0], [2.0]]))
    >>> places_of_head(squares, np.array([[0, 2]] * 20), 0.05).round(2).tolist()
    [1.0, 0.0, 0.0]
    """
    near, far = squares[:, answered[:, 0]] + mu, squares[:, answered[:, 1]] + mu
    logs = np.log(far / (near + far)).sum(axis=1)
    weights = np.exp(logs - logs.max())
    belief: FloatArray = weights / weights.sum()
    return belief


def information_gains(squares: FloatArray, belief: FloatArray, pairs: Rows, mu: float) -> FloatArray:
    """Return what the answer about each pair would tell about the place of the head, in nats, (k,).

    Examples
    --------
    >>> squares = squared_distances(np.array([[0.0], [1.0], [2.0]]))
    >>> gains = information_gains(squares, np.array([0.5, 0.0, 0.5]), np.array([[0, 1], [0, 2]]), 0.05)
    >>> bool(gains[1] > gains[0] > 0)
    True
    """
    first, second = squares[:, pairs[:, 0]] + mu, squares[:, pairs[:, 1]] + mu  # places x pairs
    chances = second / (first + second)
    gains: FloatArray = _entropy(belief @ chances) - belief @ _entropy(chances)
    return gains


def _entropy(chances: FloatArray) -> FloatArray:
    entropy: FloatArray = -(chances * np.log(chances) + (1 - chances) * np.log1p(-chances))
    return entropy


class Salmon(Random):
    """Salmon's sampler ARR at its defaults.

    Parameters
    ----------
    life : Life
    n_components : int
    seed : SeedSequence
    program : Program
        Which Python has it.
    """

    def __init__(self, life: Life, n_components: int, seed: np.random.SeedSequence, program: Program) -> None:
        super().__init__(life, n_components, seed)
        self._words = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open as long as the process
        self._process = subprocess.Popen(
            [program.python, str(salmon_worker.__file__)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._words, text=True,
        )  # fmt: skip
        self._send(
            n=self.n_objects,
            d=n_components,
            seed=int(stream(seed, "start").integers(2**31)),
            questions=self.questions.tolist() if life.is_pool else None,
        )
        self._new: list[list[int]] = []
        self._n_told = 0
        self._embedding: FloatArray | None = None

    def ask(self, k: int) -> Rows:
        """Return up to k questions (head, left, right)."""
        if self._n_told <= self.n_objects:
            return super().ask(k)
        rows = self._step(k)
        return np.array(rows, dtype=np.intp).reshape(-1, 3)

    def tell(self, triplets: Rows) -> None:
        """Take answers (anchor, near, far)."""
        self._new += triplets.tolist()
        self._n_told += len(triplets)

    def own_map(self) -> FloatArray | None:
        """Return Salmon's map of all answers."""
        if self._new:
            self._step(0)
        return self._embedding

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._words.close()

    def _step(self, k: int) -> list[list[int]]:
        self._send(answers=self._new, k=k)
        self._new = []
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._failed()
        reply = json.loads(line)
        self._embedding = np.array(reply["embedding"])
        rows: list[list[int]] = reply["rows"]
        return rows

    def _send(self, **request: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed() from None

    def _failed(self) -> MeasurementFailed:
        self._process.wait()
        self._words.seek(0)
        lines = self._words.read().strip().splitlines()
        return MeasurementFailed(f"Salmon ended: {lines[-1] if lines else f'exit status {self._process.returncode}'}")
