"""The context of all checks: what several of them derive from the answers is derived once.

A *question* is an unordered pair of unordered pairs of objects; an answer says which of the two is the near one, or
both, if it was "can't tell" and split. The *comparison graph* has the objects as nodes and the pairs that occur as
edges: only the distances along its edges are ever compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding
from nearer.data.comparisons import Comparisons
from nearer.data.features import Features
from nearer.data.groups import is_tied, near_far_codes
from nearer.data.labels import factorize
from nearer.embedding import STE
from nearer.evaluation.annotators import AnnotatorReliability
from nearer.evaluation.ceiling import NoiseCeiling, noise_ceiling
from nearer.io.answers import Answers
from nearer.optimize.solvers import Factored

IntArray: TypeAlias = NDArray[np.int64]
# On noisy answers about 20 to 200 objects in 1 to 5 dimensions, STE with this penalty was near the best of STE, SOE and
# CKL with several penalties wherever there were answers enough to tell them apart.
_TRACE_PENALTY = 0.03
_WEIGHT_EPS = 1e-12  # relative to the largest weight


class Context:
    """Answers, what the checks derive from them, and the figures that they find out.

    Each check draws from a stream of its own, so that what one finds does not depend on which others ran before.
    """

    def __init__(
        self,
        answers: Answers,
        n_components: int,
        seed: int = 0,
        level: float = 0.95,
        features: Sequence[Features] = (),
    ) -> None:
        self.answers, self.comparisons, self.features = answers, answers.comparisons, tuple(features)
        self.n_components, self.seed, self.level = n_components, seed, level
        self.counts: dict[str, Any] = {"n_components": n_components}  # every figure of a check, by name
        self.reliability: AnnotatorReliability | None = None
        self.n_objects = n = self.comparisons.n_objects  # on the list, seen or not
        near_far = near_far_codes(self.comparisons.oriented, n)
        codes, positions = factorize(np.concatenate(near_far))
        self.n_pairs = len(codes)  # different ones that occur
        self.pairs: IntArray = np.column_stack(np.divmod(codes, n))  # the objects of each, (n_pairs, 2)
        self.near, self.far = np.split(positions.astype(np.int64), 2)  # pairs of each comparison, (m,)
        self.first_is_near: NDArray[np.bool_] = self.near < self.far  # the pair of lower number
        low, high = np.minimum(self.near, self.far), np.maximum(self.near, self.far)
        codes, positions = np.unique(low * self.n_pairs + high, return_inverse=True)
        self.n_questions = len(codes)  # different ones
        self.questions: IntArray = positions.astype(np.int64)  # that each comparison answers, (m,)
        self._question_pairs = np.divmod(codes, self.n_pairs)
        self.names: NDArray[Any] | None = None  # annotators, each once
        self.people: NDArray[np.intp] | None = None  # who gave each answer, (a,)
        if answers.annotators is not None:
            self.names, self.people = factorize(answers.annotators)

    def stream(self, purpose: str) -> np.random.Generator:
        """Return the random generator of one purpose."""
        return np.random.default_rng(np.random.SeedSequence([self.seed, crc32(purpose.encode())]))

    @cached_property
    def has_features(self) -> NDArray[np.bool_]:
        """Which objects features tell something of, (n,)."""
        found = np.zeros(self.n_objects, dtype=bool)
        for each in self.features:
            found |= ~np.isnan(each.of(self.comparisons.objects)).any(axis=1)
        return found

    @cached_property
    def connections(self) -> IntArray:
        """The pairs of objects whose distances are compared, and a ring of those with features, (k, 2)."""
        ring = np.flatnonzero(self.has_features)
        if len(ring) < 3:
            return self.pairs
        pairs = np.sort(np.column_stack([ring, np.roll(ring, 1)]), axis=1)
        return np.unique(np.concatenate([self.pairs, pairs]), axis=0)

    @cached_property
    def comparisons_with_metadata(self) -> Comparisons:
        """The comparisons, with the trials and annotators of the answers if they have none."""
        comparisons, answer_of = self.comparisons, self.answers.answer_of
        if comparisons.trials is None and len(self.answers) < len(comparisons):
            comparisons = replace(comparisons, trials=answer_of)
        if comparisons.annotators is None and self.answers.annotators is not None:
            comparisons = replace(comparisons, annotators=self.answers.annotators[answer_of])
        return comparisons

    @cached_property
    def decided(self) -> NDArray[np.bool_]:
        """Which comparisons are of a trial that does not answer their question both ways, shape (m,)."""
        return ~is_tied(self.comparisons_with_metadata)

    @cached_property
    def n_split(self) -> int:
        """How many answers are "can't tell", split into half an answer each way."""
        both_ways = is_tied(replace(self.comparisons, trials=self.answers.answer_of))
        has_decided = np.zeros(len(self.answers), dtype=bool)
        has_decided[self.answers.answer_of[~both_ways]] = True
        return int(np.count_nonzero(~has_decided))

    @property
    def n_undecided(self) -> int:
        """How many answers were "can't tell", split or excluded."""
        return max(self.answers.report.n_undecided, self.n_split)

    @property
    def n_given(self) -> int:
        """How many answers were given, including excluded answers "can't tell"."""
        return len(self.answers) + self.n_undecided - self.n_split

    @cached_property
    def votes(self) -> IntArray:
        """How often each question was decided for its second and for its first pair as the near one, (q, 2)."""
        sides = (2 * self.questions + self.first_is_near)[self.decided]
        return np.bincount(sides, minlength=2 * self.n_questions).reshape(-1, 2)

    @cached_property
    def majority(self) -> tuple[IntArray, IntArray]:
        """Near and far pair of each question by the majority of its answers, without ties."""
        low, high = self._question_pairs
        first = self.votes[:, 1] - self.votes[:, 0]
        return np.where(first > 0, low, high)[first != 0], np.where(first > 0, high, low)[first != 0]

    @cached_property
    def ceiling(self) -> NoiseCeiling | None:
        """The noise ceiling, or None where too few questions were repeated."""
        return noise_ceiling(self.comparisons, level=self.level)

    @cached_property
    def n_questions_per_object(self) -> IntArray:
        """In how many different questions each object is, shape (n,)."""
        low, high = (self.pairs[of] for of in self._question_pairs)
        i, j, l, k = *low.T, *high.T  # noqa: E741
        counts = np.zeros(self.n_objects, dtype=np.int64)
        for objects in (i, j, l[(l != i) & (l != j)], k[(k != i) & (k != j)]):
            counts += np.bincount(objects, minlength=self.n_objects)
        return counts

    @cached_property
    def n_answers_per_object(self) -> IntArray:
        """In how many answers each object is, shape (n,)."""
        rows = self.comparisons.rows
        mentions = np.sort((self.answers.answer_of[:, None].astype(np.int64) * self.n_objects + rows).ravel())
        new = np.append(True, np.diff(mentions) > 0)  # np.unique takes ten times as long for millions
        return np.bincount(mentions[new] % self.n_objects, minlength=self.n_objects)

    @cached_property
    def answer_hashes(self) -> NDArray[np.uint64]:
        """A hash of the content of each answer, shape (a,), independent of the order of its rows."""
        content = 2 * self.questions + self.first_is_near
        numbers = np.random.default_rng(0).integers(2**63, size=2 * self.n_questions, dtype=np.uint64)
        sums = np.zeros(len(self.answers), dtype=np.uint64)
        np.add.at(sums, self.answers.answer_of, numbers[content])
        return sums

    def object_names(self, objects: Any) -> tuple[Any, ...]:
        """Return the labels of objects as plain values."""
        return tuple(self.comparisons.objects[objects].tolist())

    def people_names(self, people: NDArray[Any]) -> tuple[Any, ...]:
        """Return the labels of people as plain values."""
        return () if self.names is None else tuple(self.names[people].tolist())

    def comparison_labels(self, near: int, far: int) -> dict[str, list[Any]]:
        """Return the labels of a near and a far pair."""
        return {side: list(self.object_names(self.pairs[pair])) for side, pair in (("near", near), ("far", far))}


Check: TypeAlias = Callable[[Context], Iterator[Finding]]


def derive_seed(seed: int, number: int) -> int:
    """Return the seed of one part of a run, which is the same for `check` and `fit`."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])


def fast_estimator(n_components: int) -> STE:
    """Return an estimator that is fast and robust to noise; STE rarely needs a second start."""
    return STE(n_components, trace=_TRACE_PENALTY, solver=Factored(n_init=1), random_state=0)


def subsample(context: Context, max_comparisons: int = 50_000) -> Comparisons:
    """Return the comparisons of answers drawn at random, with trials and annotators and without negligible weights."""
    comparisons, answer_of = context.comparisons_with_metadata, context.answers.answer_of
    if len(comparisons) > max_comparisons:
        order = context.stream("part").permutation(len(context.answers))
        sizes = np.bincount(answer_of, minlength=len(context.answers))[order]
        chosen = np.zeros(len(context.answers), dtype=bool)
        chosen[order[np.cumsum(sizes) <= max_comparisons]] = True
        comparisons = comparisons[chosen[answer_of]]
    if comparisons.weights is None or not comparisons.weights.any():
        return comparisons
    weights = comparisons.weights / comparisons.weights.max()
    return replace(comparisons, weights=weights)[weights > _WEIGHT_EPS]
