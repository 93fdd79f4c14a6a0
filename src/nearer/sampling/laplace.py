r"""A normal approximation of the posterior for many answers, with the correlations between all objects.

Chains take a gradient of all answers a step, and thousands of steps. Where there are many answers for each object the
posterior is nearly normal, and its center and Fisher information take some hundred gradients. Points have the prior
N(0, t_d^2) along axis d; the scales of objects, the radius exponent and the effect of exposure, which matter where
answers are few, are left out. In rounds,

1. The Fisher information F at the center m gives a draw e of N(0, (F + diag(1 / t^2))^-1): noise g with the inverse of
   this covariance, made of one number for each answer and one for each coordinate, and the solution of
   (F + diag(1 / t^2)) e = g by conjugate gradients, with the block of each object as preconditioner. No matrix of all
   objects is made.
2. L-BFGS maximizes E[log-density], the expectation over m + e and m - e, over the center, slope, kernel, lapse rate and
   the effects of people. With m alone in place of the expectation, many dimensions would make the slope too steep. An
   object has about unit variance in the coordinates of L-BFGS.
3. Axes are rotated to principal ones, and their spreads t maximize the evidence (MacKay 1992). Those that the answers
   do not call for shrink and are dropped; while none does, their number doubles, unless that was no use before.

Very many answers are thinned in the first rounds, which need not be precise.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer.model.answers import answer_derivatives
from nearer.sampling.annotators import annotator_parameters
from nearer.sampling.chains import ConditionalMoves, SamplingResult, Stopped, run_in_threads
from nearer.sampling.model import HYPERPARAMETERS, DistinctComparisons, Model, draws_of

_FIRST_COMPONENTS = 15
_MAX_THINNED_ROWS = 1_000_000  # of the first rounds, and of the preconditioner
_MIN_ROWS_PER_OBJECT = 500  # of the first rounds
_NO_SCALE, _NO_RADIUS = -20.0, 40.0  # logarithm of a spread, and logit of an exponent, which change nothing
_LEARNED = [HYPERPARAMETERS.index(name) for name in ("steepness", "kernel", "lapse")]
_DIFFERENCE = 1e-3  # of these, for a second derivative
_LEARNED_STEP = 0.05  # of the learned numbers, next to coordinates of unit variance
_MIN_SPREAD = 0.1  # of an axis, relative to the widest
_MIN_SIGNAL = 0.4  # of the squares of places along an axis, relative to those of their deviations
_MAX_SPREAD_CHANGE = 0.1  # of the logarithm of a spread, at which rounds end
_ROUNDS_AFTER_DOUBLING = 3  # at least, in which axes that are not called for shrink
_MIN_SHARE_KNOWN = 0.05  # of an axis: less leaves its spread to chance
_CG_TOL, _MAX_CG_STEPS = 0.02, 60
_N_DRAWS_AFTER_INTERRUPT = 10


@dataclass(frozen=True)
class Laplace:
    """Settings of the approximation.

    Parameters
    ----------
    n_draws : int
        Drawn from the approximation in the end.
    n_rounds : int
        At most; fewer where the spreads of the axes have settled.
    n_steps : int
        Of L-BFGS in a round.
    max_components : int
        Dimensions up to which their number doubles.
    """

    n_draws: int = 60
    n_rounds: int = 10
    n_steps: int = 60
    max_components: int = 60

    def __post_init__(self) -> None:
        for name, least in (("n_draws", 4), ("n_rounds", 1), ("n_steps", 5), ("max_components", 1)):
            check_integer(name, getattr(self, name), least)

    @classmethod
    def for_cross_validation(cls) -> Laplace:
        """Return settings that suffice for predictions."""
        return cls(n_draws=20)


class Information:
    """The information of answers and prior about the points of a model, as an operator on moves of them."""

    def __init__(self, model: Model, unknowns: FloatArray, spreads: FloatArray) -> None:
        from nearer.optimize.kernels import fisher

        self._loops, answers = fisher, model.comparisons
        draws = draws_of(model, unknowns[None])
        slopes, lapses = draws.slopes, draws.lapses
        if answers.n_annotators:
            slopes, lapses = (each[0] for each in annotator_parameters(model, unknowns[None]))
        self.points, self.precisions = draws.points[0], spreads**-2.0
        self.pairs, self.rows = answers.pairs, answers.rows
        self.inverse, self.scales = np.empty(len(self.pairs)), np.empty(len(self.rows), np.float32)
        fisher.row_scales(
            self.points, self.pairs, self.rows, answers.weights, answers.annotators, slopes, lapses,
            float(draws.offsets[0]), self.inverse, self.scales,
        )  # fmt: skip
        p = len(spreads)
        blocks = np.zeros((model.n_objects, p, p))
        stride = -(-len(self.rows) // _MAX_THINNED_ROWS)
        fisher.object_blocks(self.points, self.pairs, self.inverse, self.rows, self.scales, stride, blocks)
        blocks[:, np.arange(p), np.arange(p)] += self.precisions
        self.covariances = np.linalg.inv(blocks)  # of each object given all others

    def times(self, moves: FloatArray) -> FloatArray:
        """Return the product with moves of the points, (n, p)."""
        tangents, products = np.empty(len(self.pairs)), np.zeros(len(self.pairs))
        self._loops.pair_tangents(self.points, moves, self.pairs, self.inverse, tangents)
        self._loops.row_products(self.rows, self.scales, tangents, products)
        result = moves * self.precisions
        self._loops.pair_products(self.points, self.pairs, self.inverse, products, result)
        return result

    def noise(self, rng: np.random.Generator) -> FloatArray:
        """Return noise with this information as its covariance, (n, p)."""
        products = np.zeros(len(self.pairs))
        drawn = rng.standard_normal(len(self.rows), np.float32)
        self._loops.row_noise(self.rows, self.scales, drawn, products)
        result = rng.standard_normal(self.points.shape) * np.sqrt(self.precisions)
        self._loops.pair_products(self.points, self.pairs, self.inverse, products, result)
        return result

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the moves whose product is ``right``, by preconditioned conjugate gradients."""
        found, rest = np.zeros_like(right), right.copy()
        scaled = np.einsum("ipq,iq->ip", self.covariances, rest)
        direction, size = scaled, float(np.vdot(rest, scaled))
        least = _CG_TOL**2 * size
        for _ in range(_MAX_CG_STEPS):
            product = self.times(direction)
            length = size / float(np.vdot(direction, product))
            found += length * direction
            rest -= length * product
            scaled = np.einsum("ipq,iq->ip", self.covariances, rest)
            before, size = size, float(np.vdot(rest, scaled))
            if size <= least:
                break
            direction = scaled + (size / before) * direction
        return found

    def draw(self, rng: np.random.Generator) -> FloatArray:
        """Return a move of the points, (n, p), normal with the inverse of the information as its covariance."""
        return self.solve(self.noise(rng))


def sample_laplace(
    model: Model, settings: Laplace, seed: np.random.SeedSequence, n_threads: int, budget: float | None = None
) -> tuple[Model, SamplingResult]:
    """Return the model with the dimensions that answers call for, and draws from the approximation as a single chain.

    Its densities are the lower bound, without entropy, at each step. Ctrl-C, or the end of the ``budget`` in seconds,
    ends the optimization, and draws are made around where it was; before the end of a round, Ctrl-C is raised again.
    """
    return _Run(model, settings, seed, n_threads, budget).result()


class _Run:
    """The rounds of one approximation. The prior has the spreads of axes, squares of which sum to 1."""

    def __init__(
        self, model: Model, settings: Laplace, seed: np.random.SeedSequence, n_threads: int, budget: float | None
    ) -> None:
        if model.features is not None or model.people is not None:
            raise ValueError("solver='laplace' takes neither features nor people='weights' or 'maps'; leave them out")
        self.whole, self.settings, self.n_threads = model, settings, n_threads
        self.rng, self.last_rng = (np.random.default_rng(child) for child in seed.spawn(2))
        self.most = min(settings.max_components, model.n_components)
        p = min(_FIRST_COMPONENTS, self.most)
        self.model = replace(model, n_components=p, comparisons=_thinned(model.comparisons, self.rng))
        self.spreads = np.full(p, p**-0.5)
        self.unknowns = self._start(p)
        self.doubled = 0  # dimensions when they were doubled last, which was worth it if more remain of them
        self.values: list[float] = []
        self.deadline = np.inf if budget is None else time.monotonic() + 0.6 * budget

    def _start(self, p: int) -> FloatArray:
        unknowns = np.zeros(self.model.size)
        unknowns[: self.model.n_objects * p] = 0.5 * self.rng.standard_normal(self.model.n_objects * p)
        numbers = self.model.hyperparameters(unknowns)
        numbers[:] = self.model.prior.centers
        for name, value in (("unevenness", 0.0), ("scale_spread", _NO_SCALE), ("radius", _NO_RADIUS)):
            numbers[HYPERPARAMETERS.index(name)] = value
        return self._with_points(unknowns, unknowns[: self.model.n_objects * p].reshape(-1, p) * self.spreads)

    def result(self) -> tuple[Model, SamplingResult]:
        settings, interrupted, rounds = self.settings, False, 0
        with progress_bar(
            "fitting", (settings.n_rounds + 1) * settings.n_steps + settings.n_draws, unit="step"
        ) as self.bar:
            try:
                about: Information | None = None
                while rounds < settings.n_rounds and time.monotonic() < self.deadline:
                    self.may_double = rounds < settings.n_rounds - _ROUNDS_AFTER_DOUBLING
                    settled = self._round(about)
                    rounds += 1
                    is_thinned = len(self.model.comparisons) < len(self.whole.comparisons)
                    if is_thinned and (settled or rounds >= settings.n_rounds // 2):
                        self.model = replace(self.model, comparisons=self.whole.comparisons)
                        self.doubled = 0
                    elif settled and rounds > 2:
                        break
                    about = Information(self.model, self.unknowns, self.spreads)
                self._round(Information(self.model, self.unknowns, self.spreads), last=True)
            except KeyboardInterrupt:
                interrupted = True
                if not rounds:
                    raise
            self.model = replace(self.model, comparisons=self.whole.comparisons)
            self.bar.set_description("drawing")
            drawn, conditional = self._draw(_N_DRAWS_AFTER_INTERRUPT if interrupted else settings.n_draws)
        n_steps = 2 * len(self.values)
        return self.model, SamplingResult(
            drawn[None], np.array([self.values]), n_steps, 0, interrupted, conditional=conditional
        )

    def _points(self) -> FloatArray:
        n, p = self.model.n_objects, self.model.n_components
        return np.asarray(self.unknowns[: n * p].reshape(n, p) * self.spreads)

    def _with_points(self, unknowns: FloatArray, points: FloatArray) -> FloatArray:
        """Return unknowns with other points, (n, p), and the spreads of the axes."""
        n = len(points)
        rest = unknowns[unknowns.size - (self.model.core_size - self.model.first_effect) :]
        return np.concatenate([(points / self.spreads).ravel(), np.log(self.spreads), np.zeros(n), rest])

    def _round(self, about: Information | None, last: bool = False) -> bool:
        """Optimize and choose axes and their spreads, but for the last time; return whether these have settled."""
        moves = np.zeros_like(self._points()) if about is None else about.draw(self.rng)
        if about is None:
            roots = np.broadcast_to(np.diag(0.1 * self.spreads), (len(moves), *[len(self.spreads)] * 2))
        else:
            roots = np.linalg.cholesky(about.covariances)
        self._optimize(roots, moves)
        if self.model.comparisons.n_annotators:
            self._learn_people()
        return about is not None and not last and self._choose_axes(moves)

    def _optimize(self, roots: FloatArray, moves: FloatArray) -> None:
        """Maximize the expected log-density, in coordinates of which ``roots`` (n, p, p) make those of the points."""
        model, begin = self.model, self.unknowns.copy()
        n, p = model.n_objects, model.n_components
        middle = np.arange(model.first_effect, model.first_effect + 2 * model.comparisons.n_annotators)
        first = model.core_size - len(HYPERPARAMETERS)
        others = np.concatenate([middle, first + np.array(_LEARNED)])
        steps = np.concatenate([np.ones(len(middle)), np.full(len(_LEARNED), _LEARNED_STEP)])
        noise = np.zeros(model.size)
        noise[: n * p] = (moves / self.spreads).ravel()
        places = (begin + noise, begin - noise) if moves.any() else (begin,)

        def change(x: FloatArray) -> FloatArray:
            move = np.zeros(model.size)
            points = np.einsum("ipq,iq->ip", roots, x[: n * p].reshape(n, p))
            move[: n * p] = (points / self.spreads).ravel()
            move[others] = steps * x[n * p :]
            return move

        def cost(x: FloatArray) -> tuple[float, FloatArray]:
            if time.monotonic() > self.deadline:
                raise Stopped
            move = change(x)
            found: list[Any] = [None] * len(places)

            def evaluate(at: int) -> None:
                found[at] = model.density(places[at] + move)

            run_in_threads([partial(evaluate, at) for at in range(len(places))], self.n_threads, threading.Event())
            value = sum(each for each, _ in found) / len(found)
            gradient = sum(each for _, each in found) / len(found)
            by_points = gradient[: n * p].reshape(n, p) / self.spreads
            self.values.append(value)
            if value > best[0]:
                best[:] = value, x.copy()
            self.bar.update()
            by_whitened = np.einsum("ipq,ip->iq", roots, by_points).ravel()
            return -value, -np.append(by_whitened, steps * gradient[others])

        model.arguments  # noqa: B018  # made once, and not by two threads
        start = np.zeros(n * p + len(others))
        best: list[Any] = [-np.inf, start]
        options: Any = {"maxiter": self.settings.n_steps, "maxcor": 20, "ftol": 1e-7, "gtol": 1e-9}
        try:
            minimize(cost, start, jac=True, method="L-BFGS-B", options=options)
        except Stopped:
            pass
        finally:  # also after Ctrl-C: the best place so far
            self.unknowns = begin + change(best[1])

    def _choose_axes(self, moves: FloatArray) -> bool:
        """Rotate to principal axes, and choose their spreads by evidence; return whether they and their number settled.

        ``moves`` are a draw of the deviations from the center.
        """
        points = self._points()
        n, p = points.shape
        points = points - points.mean(axis=0)
        axes = np.linalg.eigh(points.T @ points + moves.T @ moves)[1][:, ::-1]
        prior = 1 / np.einsum("pd,p,pd->d", axes, self.spreads**-2.0, axes)  # variances along the new axes
        points, moves = points @ axes, moves @ axes
        squares, unknown = (points**2).sum(axis=0), (moves**2).sum(axis=0)
        known = np.clip(n - unknown / prior, _MIN_SHARE_KNOWN * n, n)
        spreads = np.sqrt(np.minimum(squares / known, 2 * (squares + unknown) / n))
        kept = (spreads > _MIN_SPREAD * spreads.max()) & (squares > _MIN_SIGNAL * unknown)
        kept[0] = True
        changes = np.abs(np.log(spreads[kept] / np.sqrt(prior[kept])))
        settled = bool(kept.all() and changes.max() < _MAX_SPREAD_CHANGE)
        grows = bool(kept.all() and self.doubled < p < self.most and self.may_double)
        points, spreads = points[:, kept], spreads[kept]
        if grows:
            self.doubled, more = p, min(2 * p, self.most) - p
            spreads = np.append(spreads, np.full(more, 0.5 * np.median(spreads)))
            points = np.hstack([points, 0.1 * spreads[-more:] * self.rng.standard_normal((n, more))])
        self._set_axes(points, spreads)
        return settled and not grows

    def _set_axes(self, points: FloatArray, spreads: FloatArray) -> None:
        """Store points and spreads, in units in which squares of the spreads sum to 1."""
        size = float(np.linalg.norm(spreads))
        self.spreads = spreads / size
        self.model = replace(self.model, n_components=len(spreads))
        self.unknowns = self._with_points(self.unknowns, points / size)
        self.model.hyperparameters(self.unknowns)[HYPERPARAMETERS.index("kernel")] -= 2 * np.log(size)

    def _people_covariances(self) -> FloatArray:
        """Return the covariances of the effects on slope and lapse rate of each person, (a, 2, 2)."""
        model, answers = self.model, self.model.comparisons
        points = draws_of(model, self.unknowns[None])
        slopes, lapses = (each[0] for each in annotator_parameters(model, self.unknowns[None]))
        spreads = np.exp(model.hyperparameters(self.unknowns)[-2:])
        i, j = answers.pairs.T
        squares = np.square(points.points[0][i] - points.points[0][j]).sum(axis=1)
        logs = np.log(points.offsets[0] + squares)
        odds = slopes[answers.annotators] * (logs[answers.rows[:, 1]] - logs[answers.rows[:, 0]])
        lapse = lapses[answers.annotators]
        found = answer_derivatives(odds, lapse).information
        scales = odds * spreads[0], lapse * (1 - lapse) * spreads[1]
        precisions = np.zeros((answers.n_annotators, 2, 2))
        for a, b, each in ((0, 0, found.odds), (0, 1, found.cross), (1, 0, found.cross), (1, 1, found.lapse)):
            weights = answers.total_weights * each * scales[a] * scales[b]
            precisions[:, a, b] = np.bincount(answers.annotators, weights, answers.n_annotators)
        return np.asarray(np.linalg.inv(precisions + np.eye(2)), dtype=np.float64)

    def _learn_people(self) -> None:
        """Choose how much people differ, by expectation maximization with the prior."""
        model, count = self.model, self.model.comparisons.n_annotators
        first, numbers = model.first_effect, model.hyperparameters(self.unknowns)
        effects = self.unknowns[first : first + 2 * count].reshape(2, count)  # a view
        squares = effects**2 + np.diagonal(self._people_covariances(), axis1=1, axis2=2).T
        for kind, name in enumerate(("steepness_spread", "lapse_spread")):
            at = HYPERPARAMETERS.index(name)
            precision = model.prior.scales[at] ** -2.0
            wanted = numbers[at] + 0.5 * np.log(squares[kind].mean())
            new = (2 * count * wanted + precision * model.prior.centers[at]) / (2 * count + precision)
            effects[kind] *= np.exp(numbers[at] - new)
            numbers[at] = new

    def _number_responses(self, about: Information) -> tuple[FloatArray, FloatArray]:
        """Return a root of the covariance of slope, kernel and lapse rate, and how points move with each, (3, n, p).

        These numbers deform the map as a whole: next to the deviation of a single object that is no small part.
        """
        model = self.model
        n, p, size = model.n_objects, model.n_components, len(_LEARNED)
        at = model.core_size - len(HYPERPARAMETERS) + np.array(_LEARNED)
        changes = []
        for number in at:
            step = np.zeros(model.size)
            step[number] = _DIFFERENCE
            above, below = (model.density(self.unknowns + sign * step)[1] for sign in (1, -1))
            changes.append((above - below) / (2 * _DIFFERENCE))
        pulls = [each[: n * p].reshape(n, p) / self.spreads for each in changes]
        responses = np.array([about.solve(pull) for pull in pulls])
        own = -np.array(changes)[:, at]
        explained = np.array([[float(np.vdot(one, other)) for other in responses] for one in pulls])
        values, vectors = np.linalg.eigh((own + own.T - explained - explained.T) / 2)
        deviations = np.clip(values, 1.0, None) ** -0.5  # no wider than the prior, about 1
        return np.asarray(vectors * deviations).reshape(size, size), responses

    def _draw(self, count: int) -> tuple[FloatArray, ConditionalMoves]:
        """Return unknowns drawn around the center, (count, size), and which part of a move is of each object alone."""
        model, about = self.model, Information(self.model, self.unknowns, self.spreads)
        n, p, n_people = model.n_objects, model.n_components, model.comparisons.n_annotators
        drawn = np.tile(self.unknowns, (count, 1))
        rngs = self.last_rng.spawn(count + 2)
        roots, responses = self._number_responses(about)
        numbers = rngs[-2].standard_normal((count, len(_LEARNED))) @ roots.T
        first = model.core_size - len(HYPERPARAMETERS)
        drawn[:, first + np.array(_LEARNED)] += numbers

        alone = np.empty((count, n, p))

        def draw(number: int) -> None:
            moves = about.draw(rngs[number])
            alone[number] = np.einsum("ipq,iq->ip", about.covariances, about.times(moves))
            moves = moves + np.einsum("k,kip->ip", numbers[number], responses)
            drawn[number, : n * p] += (moves / self.spreads).ravel()
            self.bar.update()

        run_in_threads([partial(draw, number) for number in range(count)], self.n_threads, threading.Event())
        if n_people:
            people = np.linalg.cholesky(self._people_covariances())
            noise = np.einsum("aij,kaj->kia", people, rngs[-1].standard_normal((count, n_people, 2)))
            drawn[:, model.first_effect : model.first_effect + 2 * n_people] += noise.reshape(count, -1)
        return drawn, ConditionalMoves(alone, np.asarray(about.covariances, dtype=np.float64))


def _thinned(answers: DistinctComparisons, rng: np.random.Generator) -> DistinctComparisons:
    """Return answers with no more than so many rows, drawn at random."""
    # With few rows for each object all axes would seem superfluous.
    most = max(_MAX_THINNED_ROWS, _MIN_ROWS_PER_OBJECT * len(np.unique(answers.pairs)))
    if len(answers) <= 2 * most:
        return answers
    rows = np.sort(rng.choice(len(answers), most, replace=False))
    used, numbers = np.unique(answers.rows[rows], return_inverse=True)
    weights = answers.weights[rows] if answers.weights.size else answers.weights
    return DistinctComparisons(
        answers.pairs[used], numbers.reshape(-1, 2).astype(np.int32), weights, answers.annotators[rows],
        answers.n_annotators,
    )  # fmt: skip
