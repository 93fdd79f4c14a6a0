"""The case that the checks look at: what several of them need is worked out once.

Comparisons are about pairs of objects. A *question* is an unordered pair of unordered pairs; an answer to it says which
of the two is the near one, or both, if it was "can't tell" and split. The objects, joined by the pairs that occur, make
the *graph of pairs*: only the distances along its edges are ever asked about.

Some checks need a quick map: a rough one, of a part of the answers where there are many.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import quote
from nearer.checking.findings import Finding
from nearer.data.comparisons import Comparisons
from nearer.data.groups import is_tied, near_far_codes
from nearer.data.labels import factorize
from nearer.embedding import STE
from nearer.evaluation.annotators import AnnotatorReliability
from nearer.evaluation.ceiling import NoiseCeiling, noise_ceiling
from nearer.io.answers import Answers
from nearer.optimize.solvers import Factored

IntArray: TypeAlias = NDArray[np.int64]
# Measured on noisy answers of 20 to 200 objects in 1 to 5 dimensions: of STE, SOE and CKL with several traces this was
# the most even, near the best wherever there were answers enough to tell.
_TRACE = 0.03
_FELT = 1e-12  # of the largest weight


@dataclass(frozen=True)
class CheckResult:
    """What one check has to say: findings, figures for machines, and how people did."""

    findings: tuple[Finding, ...] = ()
    counts: dict[str, Any] = field(default_factory=dict)
    annotators: AnnotatorReliability | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """What the doctor examines: answers and what follows from them, everything derived made when first asked for.

    Attributes
    ----------
    answers : Answers
    n_components : int
        Dimension of the map that the answers are for.
    seed : int
        Each check draws from a stream of its own, so that what one finds does not depend on which others ran before.
    level : float
        Of intervals.

    Examples
    --------
    >>> rows = Comparisons.from_triplets([("cat", "dog", "car"), ("cat", "car", "dog"), ("dog", "cat", "car")])
    >>> answers = Answers(rows, np.arange(3), "triplet", "answers.csv", np.arange(2, 5))
    >>> case = Case(answers, n_components=2)
    >>> case.n_pairs, case.n_questions, case.questions.tolist()
    (3, 2, [0, 0, 1])
    """

    answers: Answers
    n_components: int
    seed: int = 0
    level: float = 0.95

    def stream(self, purpose: str) -> np.random.Generator:
        """Return the random numbers of one purpose."""
        return np.random.default_rng(np.random.SeedSequence([self.seed, crc32(purpose.encode())]))

    @property
    def comparisons(self) -> Comparisons:
        """The comparisons of all answers."""
        return self.answers.comparisons

    @property
    def n_objects(self) -> int:
        """Number of objects on the list, seen or not."""
        return self.comparisons.n_objects

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, IntArray]:
        """Codes of the pairs that occur, and the position among them of each near and far pair."""
        pairs = near_far_codes(self.comparisons.oriented, self.n_objects)
        codes, positions = np.unique(np.concatenate(pairs), return_inverse=True)
        near, far = np.split(positions.astype(np.int64), 2)
        return codes, near, far

    @property
    def n_pairs(self) -> int:
        """Number of different pairs that occur."""
        return len(self._pairs[0])

    @property
    def near(self) -> IntArray:
        """Which pair is the near one of each comparison, shape (m,)."""
        return self._pairs[1]

    @property
    def far(self) -> IntArray:
        """Which pair is the far one, shape (m,)."""
        return self._pairs[2]

    @cached_property
    def pairs(self) -> IntArray:
        """The objects of each pair that occurs, shape (n_pairs, 2)."""
        return np.column_stack(np.divmod(self._pairs[0], self.n_objects))

    @cached_property
    def _questions(self) -> tuple[IntArray, IntArray]:
        low, high = np.minimum(self.near, self.far), np.maximum(self.near, self.far)
        codes, positions = np.unique(low * self.n_pairs + high, return_inverse=True)
        return codes, positions.astype(np.int64)

    @property
    def n_questions(self) -> int:
        """Number of different questions."""
        return len(self._questions[0])

    @property
    def questions(self) -> IntArray:
        """Which question each comparison answers, shape (m,)."""
        return self._questions[1]

    @cached_property
    def known(self) -> Comparisons:
        """The comparisons, with the trials and annotators that only the answers tell."""
        comparisons, answer_of = self.comparisons, self.answers.answer_of
        if comparisons.trials is None and len(self.answers) < len(comparisons):
            comparisons = replace(comparisons, trials=answer_of)
        if comparisons.annotators is None and self.answers.annotators is not None:
            comparisons = replace(comparisons, annotators=self.answers.annotators[answer_of])
        return comparisons

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """Which comparisons are of a trial that does not say both ways about their question, shape (m,)."""
        return ~is_tied(self.known)

    @cached_property
    def n_split(self) -> int:
        """How many answers say nothing but both ways: "can't tell", read so that it counts half for each."""
        both_ways = is_tied(replace(self.comparisons, trials=self.answers.answer_of))
        return len(self.answers) - len(np.unique(self.answers.answer_of[~both_ways]))

    @property
    def n_undecided(self) -> int:
        """How many answers were "can't tell", those that were split and those that were left out."""
        return max(self.answers.report.n_undecided, self.n_split)

    @property
    def n_given(self) -> int:
        """How many answers were given, with those "can't tell" that were left out."""
        return len(self.answers) + self.n_undecided - self.n_split

    @cached_property
    def votes(self) -> IntArray:
        """How often each question was answered with its second and with its first pair as the near one, (q, 2).

        Comparisons that say both ways are no votes.
        """
        sides = (2 * self.questions + self.first_is_near)[self.decided]
        return np.bincount(sides, minlength=2 * self.n_questions).reshape(-1, 2)

    @property
    def first_is_near(self) -> NDArray[np.bool_]:
        """Whether the near pair is the one of lower number, shape (m,)."""
        return self.near < self.far

    @cached_property
    def majority(self) -> tuple[IntArray, IntArray]:
        """Near and far pair of each question that most answers agree on; even ones are left out."""
        low, high = np.divmod(self._questions[0], self.n_pairs)
        first = self.votes[:, 1] - self.votes[:, 0]
        return np.where(first > 0, low, high)[first != 0], np.where(first > 0, high, low)[first != 0]

    @cached_property
    def ceiling(self) -> NoiseCeiling | None:
        """The smallest error that any map could have, where questions were asked often enough to tell."""
        return noise_ceiling(self.comparisons, level=self.level)

    @cached_property
    def _people(self) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
        return None if self.answers.annotators is None else factorize(self.answers.annotators)

    @property
    def names(self) -> NDArray[Any] | None:
        """The annotators, each once."""
        return None if self._people is None else self._people[0]

    @property
    def people(self) -> NDArray[np.intp] | None:
        """Which annotator gave each answer, shape (a,)."""
        return None if self._people is None else self._people[1]

    @cached_property
    def questions_seen(self) -> IntArray:
        """In how many different questions each object is, shape (n,)."""
        first = np.unique(self.questions, return_index=True)[1]
        quadruplets = np.sort(self.comparisons.quadruplets[first], axis=1)
        new = np.column_stack([np.ones(len(first), bool), np.diff(quadruplets, axis=1) > 0])
        return np.bincount(quadruplets[new], minlength=self.n_objects)

    @cached_property
    def answers_seen(self) -> IntArray:
        """In how many answers each object is, shape (n,)."""
        rows = self.comparisons.rows
        mentions = np.sort((self.answers.answer_of[:, None].astype(np.int64) * self.n_objects + rows).ravel())
        new = np.append(True, np.diff(mentions) > 0)  # np.unique takes ten times as long for millions
        return np.bincount(mentions[new] % self.n_objects, minlength=self.n_objects)

    @cached_property
    def signatures(self) -> NDArray[np.uint64]:
        """A number for what each answer says, shape (a,): equal for equal answers, whatever the order of their rows."""
        said = 2 * self.questions + self.first_is_near
        numbers = np.random.default_rng(0).integers(2**63, size=2 * self.n_questions, dtype=np.uint64)
        sums = np.zeros(len(self.answers), dtype=np.uint64)
        np.add.at(sums, self.answers.answer_of, numbers[said])
        return sums

    def object_names(self, objects: NDArray[Any]) -> list[Any]:
        """Return the labels of objects as plain values."""
        return list(self.comparisons.objects[objects].tolist())

    def person_name(self, person: int) -> str:
        """Write who one of `names` is."""
        return "" if self.names is None else quote(self.names[person])

    def said_of(self, people: NDArray[Any], words: str) -> dict[Any, str]:
        """Return the same words for each of some people, by name."""
        return {} if self.names is None else dict.fromkeys(self.names[people].tolist(), words)

    def pair_name(self, pair: int) -> str:
        """Write a pair of objects."""
        first, second = self.object_names(self.pairs[pair])
        return f"{quote(first)} and {quote(second)}"

    def comparison_name(self, near: int, far: int) -> str:
        """Write "near pair nearer than far pair" as people would, with the anchor once where there is one."""
        shared = np.intersect1d(self.pairs[near], self.pairs[far])
        if len(shared) != 1:
            return f"{self.pair_name(near)} nearer than {self.pair_name(far)}"
        anchor, *others = self.object_names(
            np.array([shared[0], *(self.pairs[pair][self.pairs[pair] != shared[0]][0] for pair in (near, far))])
        )
        return f"{quote(anchor)} nearer to {quote(others[0])} than to {quote(others[1])}"


Check: TypeAlias = Callable[[Case], CheckResult]


def part_seed(seed: int, number: int) -> int:
    """Return the seed of one part of a run: `check` and `fit` find the same where they look at the same."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def quick_estimator(n_components: int) -> STE:
    """Return an estimator that is fast and stands noise well; maps of STE fold so seldom that one start will do."""
    return STE(n_components, trace=_TRACE, solver=Factored(n_init=1), random_state=0)


def quick_part(case: Case, most: int = 50_000) -> Comparisons:
    """Return at most so many comparisons, those of whole answers drawn at random, with trials and annotators."""
    comparisons, answer_of = case.known, case.answers.answer_of
    if len(comparisons) <= most:
        return _weighty(comparisons)
    order = case.stream("part").permutation(len(case.answers))
    sizes = np.bincount(answer_of, minlength=len(case.answers))[order]
    chosen = np.zeros(len(case.answers), dtype=bool)
    chosen[order[np.cumsum(sizes) <= most]] = True
    return _weighty(comparisons[chosen[answer_of]])


def _weighty(comparisons: Comparisons) -> Comparisons:
    """Return the comparisons that a map feels, with weights that can be squared."""
    if comparisons.weights is None or not comparisons.weights.any():
        return comparisons
    weights = comparisons.weights / comparisons.weights.max()
    return replace(comparisons, weights=weights)[weights > _FELT]
