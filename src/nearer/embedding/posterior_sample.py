"""Draws from a posterior over all objects, their convergence, and the calibration of their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

from nearer._common.arrays import FloatArray
from nearer._common.formatting import quote_all
from nearer.data.comparisons import Comparisons
from nearer.data.features import Features
from nearer.data.groups import (
    with_positive_weight,
)
from nearer.data.labels import Labels, factorize
from nearer.sampling.annotators import (
    PeopleDraws,
    Reliability,
    annotator_reliability,
    draw_annotator_effects,
)
from nearer.sampling.chains import SamplingResult
from nearer.sampling.convergence import Convergence
from nearer.sampling.features import FeatureKernel, FeatureShare, extend_basis, feature_basis
from nearer.sampling.laplace import Laplace
from nearer.sampling.microcanonical import Microcanonical
from nearer.sampling.model import HYPERPARAMETERS, Draws, Model, Prior, draws_of, model_of
from nearer.sampling.new_objects import add_objects, sample_new_objects
from nearer.sampling.nuts import NUTS
from nearer.sampling.summaries import (
    MAX_PAIRS,
    MAX_RHAT,
    MIN_EFFECTIVE_DRAWS,
    Diagnosis,
    diagnose,
    pairs_of,
    relative_distances,
)
from nearer.sampling.variational import Variational

_N_DIAGNOSED_PAIRS = 50
MIN_LOG_ODDS = 1e-6
Sampler: TypeAlias = Microcanonical | NUTS | Variational | Laplace


class LogOddsCalibration(NamedTuple):
    """What makes of log-odds eta those of answers: slope sign(eta) |eta|^power."""

    slope: float = 1.0
    power: float = 1.0

    @classmethod
    def of(cls, log_odds: FloatArray, weights: FloatArray) -> LogOddsCalibration:
        """Return the likeliest one, given the log-odds that held-out answers were predicted with, (m,)."""
        sizes, signs = np.maximum(np.abs(log_odds), MIN_LOG_ODDS), np.sign(log_odds)

        def cost(logs: FloatArray) -> float:
            slope, power = np.exp(logs)
            return -float(np.average(log_expit(signs * slope * sizes**power), weights=weights))

        found = minimize(cost, np.zeros(2), method="L-BFGS-B", bounds=[(-2.0, 2.0), (-1.0, 1.0)]).x
        return cls(*map(float, np.exp(found)))

    def probability(self, probabilities: FloatArray) -> FloatArray:
        """Return the probabilities of answers that were predicted with these."""
        log_odds = logit(probabilities)
        return np.asarray(expit(np.sign(log_odds) * self.slope * np.abs(log_odds) ** self.power))


@dataclass(frozen=True, eq=False)
class PosteriorSample:
    """Draws from the posterior, over all objects."""

    model: Model  # of all objects, without comparisons
    unknowns: FloatArray  # (k, size of that model)
    compared: NDArray[np.integer]  # positions of the objects that are compared, have features, or were placed later
    draws: Draws
    reliability: dict[Any, Reliability] | None
    kernels: tuple[FeatureKernel, ...] = ()  # of the feature sets
    people: PeopleDraws | None = None  # where it is known who they are
    n_chains: int = 1  # whose draws follow each other

    @classmethod
    def of(
        cls,
        model: Model,
        sampled: SamplingResult,
        compared: NDArray[np.integer],
        comparisons: Comparisons,
        rng: np.random.Generator,
        kernels: tuple[FeatureKernel, ...] = (),
    ) -> PosteriorSample:
        """Return the draws of a model of the objects compared, with all others drawn from the prior."""
        unknowns = sampled.unknowns.reshape(-1, model.size)
        features, positions = feature_basis(kernels, comparisons.objects), compared
        larger, all_unknowns = add_objects(model, unknowns, compared, comparisons.n_objects, rng, features)
        reliability = annotator_reliability(model, unknowns, comparisons)
        draws = draw_annotator_effects(model, unknowns, draws_of(larger, all_unknowns), rng)
        if features is not None:
            compared = np.union1d(compared, np.flatnonzero(features.has_features))
        people, annotators = None, with_positive_weight(comparisons).annotators
        if model.comparisons.n_annotators and annotators is not None:
            labels = factorize(annotators)[0]
            # Of a stream of its own: whether it is known who answered changes nothing else.
            people = PeopleDraws.of(model, unknowns, labels, positions, rng.spawn(1)[0])
        n_chains = len(sampled.unknowns)
        return cls(larger, all_unknowns, compared, draws, reliability, kernels, people, n_chains)

    def with_objects(
        self,
        objects: Labels,
        added: Comparisons | None,
        features: Sequence[Features],
        prior: Prior | None,
        rng: np.random.Generator,
    ) -> PosteriorSample:
        """Return draws with new objects, the last ones, each drawn given the old ones and comparisons, if any."""
        before, total = len(self.model.exposure), len(objects)
        basis = self.model.features
        if basis is not None:
            basis = extend_basis(basis, self.kernels, objects[before:], features)
        larger, unknowns = add_objects(self.model, self.unknowns, np.arange(before), total, rng, basis)
        # As usual: how often somebody asked about them at another time is luck.
        larger.exposure[before:] = 0.0
        if added is not None:
            about, mentioned = model_of(added, larger.n_components, prior, by_annotator=False)
            distinct = replace(about.comparisons, pairs=mentioned.astype(np.int32)[about.comparisons.pairs])
            new = np.arange(total) >= before
            unknowns = sample_new_objects(replace(larger, comparisons=distinct), unknowns, new, rng)
        draws = Draws(draws_of(larger, unknowns).points, *self.draws[1:])
        compared = np.concatenate([self.compared, np.arange(before, total)])
        return replace(self, model=larger, unknowns=unknowns, draws=draws, compared=compared)

    def feature_shares(self) -> dict[str, FeatureShare]:
        """Return the share of each feature set in the prior variance of the coordinates."""
        if not self.kernels:
            return {}
        numbers = self.model.feature_numbers(self.unknowns)
        odds = np.exp(numbers[:, : len(self.kernels)])
        shares = odds / (1 + odds.sum(axis=1, keepdims=True))
        lows, highs = np.percentile(shares, (2.5, 97.5), axis=0)
        columns = shares.mean(axis=0).tolist(), lows.tolist(), highs.tolist()
        return {kernel.name: FeatureShare(*row) for kernel, *row in zip(self.kernels, *columns, strict=True)}

    @property
    def compared_draws(self) -> Draws:
        """The draws without the objects in no comparison."""
        return Draws(self.draws.points[:, self.compared], *self.draws[1:])

    def diagnose_distances(self, most: int) -> tuple[int, Diagnosis]:
        """Return how many distances were diagnosed, all or ``most`` at random, and the worst convergence of them."""
        pairs = pairs_of(len(self.compared), most)
        distances = relative_distances(self.draws.points[:, self.compared], pairs)
        return len(pairs), diagnose(distances.T.reshape(len(pairs), self.n_chains, -1)).worst


def check_convergence(
    model: Model, sampled: SamplingResult, sampler: Sampler, posterior: PosteriorSample, *, bimodal: bool
) -> tuple[dict[str, Diagnosis], Convergence | None, list[str]]:
    """Return the convergence of each quantity and of distances, and what is wrong with the chains."""
    if isinstance(sampler, Variational | Laplace):  # which have no chains
        return {}, None, []
    chains = len(sampled.unknowns)
    numbers = np.moveaxis(model.hyperparameters(sampled.unknowns), 2, 0)
    quantities = {"log_density": sampled.densities, **dict(zip(HYPERPARAMETERS, numbers, strict=True))}
    diagnostics = {name: diagnose(values) for name, values in quantities.items()}
    rule = sampler if isinstance(sampler, Microcanonical) and sampler.max_rhat is not None else None
    n_distances, worst = posterior.diagnose_distances(_N_DIAGNOSED_PAIRS if rule is None else MAX_PAIRS)
    diagnostics["distances"] = worst
    problems = []
    compares = isinstance(sampler, Microcanonical) and sampler.n_chains > 1
    if compares and np.isnan(sampled.vote_error) and not sampled.interrupted:
        problems.append("time was up before chains could be compared")
    # Chains that differ by an object in two places cannot agree.
    agree = bimodal or sampled.vote_error <= getattr(sampler, "tolerance", 0.0) / 20
    if worst.rhat > MAX_RHAT and chains > 1 and not agree:
        problems.append(f"the chains disagree (R-hat of distances up to {worst.rhat:.2f})")
    if worst.effective < MIN_EFFECTIVE_DRAWS and not agree:
        problems.append(f"the draws are worth only {worst.effective:.0f} independent ones")
    if rule is not None and not rule.is_met_by(worst):
        problems.append(
            f"distances have not met the rule: R-hat up to {worst.rhat:.3f} (below {rule.max_rhat:g}), effective draws "
            f"at least {min(worst.effective, worst.tail):.0f} (above {rule.min_effective:g})"
        )
    if isinstance(sampler, NUTS) and sampled.n_divergent > 0.02 * chains * sampler.n_draws:
        problems.append(f"{sampled.n_divergent} trajectories diverged")
    convergence = Convergence(
        chains,
        len(posterior.draws),
        n_distances,
        worst.rhat,
        worst.effective,
        worst.tail,
        None if rule is None else rule.max_rhat,
        None if rule is None else rule.min_effective,
        getattr(sampler, "tolerance", None),
        is_met=not problems and not sampled.interrupted,
    )
    return diagnostics, convergence, problems


def bimodality_message(labels: list[Any]) -> str:
    """Return the sentence about objects that may lie in either of two places."""
    return f"two maps explain the answers alike: {quote_all(labels)} may lie in either of two places"
