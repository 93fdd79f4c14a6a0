"""How noisy first answers are, and what further answers will be like.

Where few questions are repeated, people's disagreement cannot be counted, and a map that is learned from m answers errs
both because some of them are wrong and because they are few. The posterior of maps (`PosteriorEmbedding`) tells the two
apart: each of its draws is a map together with how people answer, their slope, how often they lapse and, where it is
known who answered, how much they differ in both. The noise of a draw is the share of answers to the questions asked
that its people would give against its map.

A study that goes on after such a pilot is simulated from these draws: one draw for each simulated study, the same for
the answers that are learned from beside the pilot's own and for those that the map is judged by. What is not known
yet, noise, map, decay of its axes and people, is then in the interval of what will happen.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

from nearer._common.formatting import format_level
from nearer._common.parameters import check_level
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.groups import trial_indices, with_positive_weight
from nearer.design.planning.design import Design
from nearer.design.planning.simulation import World
from nearer.embedding import PosteriorEmbedding
from nearer.sampling.model import HYPERPARAMETERS, Prior

_MOST_ANSWERS = 20_000  # to learn from: the posterior of more is as narrow as anybody needs
_FEWEST = 80
_N_DRAWS = 200
# Wider in lapses than the prior of a map: people who guess a quarter of their answers are what a plan is asked about.
_LAPSE_CENTRE, _LAPSE_SCALE = -2.5, 2.0


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """The noise of first answers, and the posterior from which a study that goes on is simulated.

    Attributes
    ----------
    noise, low, high : float
        Share of comparisons answered wrongly: posterior median, and the interval of ``level``.
    level : float
    comparisons : Comparisons
        The answers, of positive weight.
    posterior : PosteriorEmbedding
        Fitted to them.

    Examples
    --------
    >>> judgments = Comparisons.from_triplets([[0, 1, 2]])
    >>> print(NoiseEstimate(0.1, 0.08, 0.13, 0.9, judgments, PosteriorEmbedding(2)))
    10.0% of the answers are wrong (90% interval 8.0% to 13.0%)
    """

    noise: float
    low: float
    high: float
    level: float
    comparisons: Comparisons
    posterior: PosteriorEmbedding

    @property
    def n_answers(self) -> int:
        """How many answers there are; those of one trial are one."""
        return int(trial_indices(self.comparisons).max()) + 1

    def __str__(self) -> str:
        low, high = (f"{100 * end:.1f}%" for end in (self.low, self.high))
        return f"{100 * self.noise:.1f}% of the answers are wrong ({format_level(self.level)} interval {low} to {high})"

    def continued_by(self, design: Design) -> bool:
        """Whether a study asks on about the same objects; with another number of them it is a new study."""
        return design.n_objects == self.comparisons.n_objects

    def world(self, design: Design, rng: np.random.Generator) -> World:
        """Draw a map and people; if the design has another number of objects, all of them are others of their kind."""
        return _worlds(self.posterior, design, self.comparisons, 1, rng)[0]


def estimate_noise(
    comparisons: Comparisons,
    n_components: int | None = None,
    *,
    level: float = 0.9,
    random_state: RandomState = None,
) -> NoiseEstimate:
    """Estimate the share of wrong answers in a set that need not repeat any question.

    Parameters
    ----------
    comparisons : Comparisons or array-like, shape (m, 3) or (m, 4)
        At least 80 answers. Trials stay whole, each being one answer. Of more than 20,000 answers, so many are drawn.
    n_components : int, optional
        The most dimensions that the true map may have; what lies in further ones counts as noise. Left out, it is up
        to 15, of which those that are not needed vanish.
    level : float
        Of the interval.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    NoiseEstimate

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> clean, noisy = (
    ...     sample_triplets(make_gaussian(20, 2, random_state=0), 800, flipped=share, random_state=0)
    ...     for share in (0.0, 0.2)
    ... )
    >>> [estimate_noise(each, 2, random_state=0).noise > 0.1 for each in (clean, noisy)]
    [False, True]
    """
    check_level(level)
    judged = with_positive_weight(as_comparisons(comparisons))
    answer_of = trial_indices(judged)
    n_answers = int(answer_of.max()) + 1
    if n_answers < _FEWEST:
        raise ValueError(f"noise cannot be told from {n_answers} answers; {_FEWEST} or more are needed")
    rng = stream(random_state, "start")
    seed = int(rng.integers(2**62))
    learned = judged if n_answers <= _MOST_ANSWERS else judged[rng.permutation(n_answers)[answer_of] < _MOST_ANSWERS]
    posterior = PosteriorEmbedding(
        n_components,
        prior=_prior(),
        max_components=n_components,
        n_objects=judged.n_objects,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # Two maps that explain few answers alike are both among the draws, and that is all that is asked of them here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        posterior.fit(learned)
    worlds = _worlds(posterior, Design(judged.n_objects, 1), judged, _N_DRAWS, rng)
    shares = [world.share_wrong(world.pairs_of(learned), rng) for world in worlds]
    low, noise, high = np.quantile(shares, [(1 - level) / 2, 0.5, (1 + level) / 2])
    return NoiseEstimate(float(noise), float(low), float(high), level, judged, posterior)


def _prior() -> Prior:
    """Return what is believed of maps and people before the answers."""
    usual, lapse = Prior(), HYPERPARAMETERS.index("lapse")
    centres, scales = list(usual.centers), list(usual.scales)
    centres[lapse], scales[lapse] = _LAPSE_CENTRE, _LAPSE_SCALE
    return Prior(tuple(centres), tuple(scales))


def _worlds(
    posterior: PosteriorEmbedding, design: Design, answers: Comparisons, k: int, rng: np.random.Generator
) -> list[World]:
    """Draw so many maps, each with as many people as the design has, or as gave the answers."""
    n = answers.n_objects
    others = 0 if design.n_objects == n else n
    drawn = posterior.population(k, others + design.n_objects, rng)
    people = 1 if answers.annotators is None else len(np.unique(answers.annotators))
    steeper, careless = rng.normal(size=(2, k, design.n_annotators or people))
    slopes = drawn.slopes[:, None] * np.exp(drawn.slope_spreads[:, None] * steeper)
    lapses = expit(logit(drawn.lapses)[:, None] + drawn.lapse_spreads[:, None] * careless)
    columns = zip(drawn.points[:, others:], slopes, lapses, drawn.offsets.tolist(), strict=True)
    return [World(design, *column) for column in columns]
