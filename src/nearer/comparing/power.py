"""Power by simulation: how likely a planned study detects that groups differ, that people do, or that a model fits.

Each simulated study has a true map, and people who differ in slope and lapse rate, as those of `nearer.design.plan`,
and its answers are analyzed as those of a real one. The same studies without the effect show how often the analysis
finds what is not there: the power of a test that does so more often than its level means nothing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeAlias, get_args

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.special import ndtri
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from nearer._common.arrays import FloatArray
from nearer._common.formatting import percent, pluralize, quote, two_digits
from nearer._common.parameters import check_integer, check_level, check_number
from nearer._common.progress import progress_bar
from nearer._common.randomness import RandomState, stream
from nearer._common.results import Amount, Bounds, Count, Result, Share, text_table
from nearer.comparing.group_models import Responses, fit_maps
from nearer.comparing.group_tests import efficient_scores, sign_flip_test
from nearer.comparing.matrices import compare_matrices
from nearer.comparing.matrix_tests import MIN_OBJECTS, pearson, unit_length
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_indices
from nearer.design.planning.prediction import NoiseEstimate, check_simulation
from nearer.design.planning.simulation import Design, GroundTruth, SimulatedAnswers, draw_ground_truth
from nearer.embedding import PosteriorEmbedding
from nearer.evaluation.intervals import wilson_interval

Effect: TypeAlias = Literal["groups", "people", "models"]
_MAX_EFFECT = {"groups": 10.0, "people": 10.0, "models": 1.0}
_N_PERMUTATIONS = 999
_MIN_RESAMPLES = 10  # of intervals, which nobody looks at here
_MAX_WEIGHTED = 8  # dimensions of a map whose axes people weigh
_LEVEL = 0.95
_DETECTED = {"groups": "that groups differ", "people": "that people weigh axes differently", "models": "a correlation"}


@dataclass(frozen=True, eq=False)
class Power(Result):
    """How often simulated studies detect an effect, and how often they claim one where there is none.

    Attributes
    ----------
    of : {"groups", "people", "models"}
    effect : float
    n_objects, n_people, n_answers : int
        Of groups the people of each; answers are those of each person.
    n_moved : int or None
        Objects that one group sees elsewhere.
    alpha : float
        Level of the test.
    power, low, high : float
        Share of studies with the effect that detect it, and Wilson's interval of 95%.
    size, size_low, size_high : float or None
        Share of studies without the effect that claim it. None where the run was stopped before the first of them.
    n_studies, n_wanted, n_null : int
        Studies with the effect, how many were asked for, and studies without it.
    seconds : float
        Median time that the analysis of a study took.

    Examples
    --------
    >>> print(Power("models", 0.4, 12, 10, 50, None, 0.05, 0.8, 0.71, 0.87, 0.04, 0.01, 0.13, 100, 100, 50, 1.2))
    10 people with 50 answers each about 12 objects; a model whose correlation with the true distances is 0.4
    power 80% (95% interval 71% to 87%): 80 of 100 simulated studies detect a correlation at p <= 0.05
    without the effect 4% claim it (1% to 13%; 50 studies)
    the analysis of a study takes 1.2 seconds (median)
    """

    of: Effect
    effect: Amount
    n_objects: Count
    n_people: Count
    n_answers: Count
    n_moved: Annotated[int, Bounds(1)] | None
    alpha: Share
    power: Share
    low: Share
    high: Share
    size: Share | None
    size_low: Share | None
    size_high: Share | None
    n_studies: Count
    n_wanted: Count
    n_null: Count
    seconds: Amount

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer studies than were asked for."""
        return self.n_studies < self.n_wanted

    def _derived(self) -> Mapping[str, Any]:
        return {**super()._derived(), "interrupted": self.interrupted}

    @property
    def described_effect(self) -> str:
        """The effect in words."""
        if self.of == "people":
            return f"weights of axes whose logarithms have a standard deviation of {self.effect:g}"
        if self.of == "models":
            return f"a model whose correlation with the true distances is {self.effect:g}"
        return f"{pluralize(self.n_moved or 1, 'object')} moved by {self.effect:g} of the spread of the map"

    def summary(self) -> str:
        """Return power and size as text."""
        people = pluralize(self.n_people, "person", "people") + (" in each group" if self.of == "groups" else "")
        answers, about = pluralize(self.n_answers, "answer"), pluralize(self.n_objects, "object")
        stopped = f" (of {self.n_wanted}, as the run was stopped)" if self.interrupted else ""
        rule = "" if self.of == "people" else f" at p <= {self.alpha:g}"
        found = f"{round(self.power * self.n_studies)} of {self.n_studies} simulated studies"
        return "\n".join([
            f"{people} with {answers} each about {about}; {self.described_effect}",
            f"power {percent(self.power)} (95% interval {percent(self.low)} to {percent(self.high)}): {found}{stopped} "
            f"detect {_DETECTED[self.of]}{rule}",
            *self._about_size(),
            f"the analysis of a study takes {two_digits(self.seconds)} seconds (median)",
        ])  # fmt: skip

    def _about_size(self) -> list[str]:
        if self.size is None or self.size_low is None or self.size_high is None:
            return ["no study without the effect was simulated, so that the size of the test is not known"]
        interval = f"{percent(self.size_low)} to {percent(self.size_high)}"
        lines = [f"without the effect {percent(self.size)} claim it ({interval}; {self.n_null} studies)"]
        if self.size_low > self.alpha:
            lines.append("that is more than the level of the test: do not rely on this power")
        return lines


def predict_power(
    of: Effect,
    design: Design,
    n_people: int,
    n_answers: int,
    effect: float,
    *,
    moved: float | None = None,
    pilot: NoiseEstimate | None = None,
    alpha: float = 0.05,
    n_replications: int = 100,
    random_state: RandomState = None,
) -> Power:
    """Simulate studies to find how likely one detects that groups differ, that people do, or that a model fits.

    Parameters
    ----------
    of : {"groups", "people", "models"}
        What is to be detected, by the test of `compare_groups`; by ``axes_identified`` of a
        ``PosteriorEmbedding(people="maps")``, which people weigh differently; by the Mantel test of
        `compare_matrices`.
    design : Design
        As for `nearer.design.plan`: objects, dimensions, noise, how people are asked. The number of annotators is left
        out.
    n_people, n_answers : int
        People, of groups those of each of two, and answers of each person.
    effect : float >= 0
        Of groups, by how much objects are moved in one of them, as a share of the spread of the map (its root mean
        square distance from the center). Of people, the standard deviation of the logarithms of weights. Of models, the
        rank correlation of the distances of the model with the true ones.
    moved : float in (0, 1], optional
        Of groups, the share of objects that are moved, each in a random direction; one object if left out.
    pilot : NoiseEstimate, optional
        From `nearer.design.estimate_noise`: true maps and people are drawn from its posterior. Its answers are no part
        of the study.
    alpha : float
        Level of the tests of groups and models.
    n_replications : int
        Simulated studies with the effect. Half as many are simulated without it.
    random_state : None, int, SeedSequence, Generator or RandomState

    Returns
    -------
    Power
        After Ctrl-C of the studies that are done; KeyboardInterrupt is raised again where there is none.

    Examples
    --------
    >>> from nearer.design import Design
    >>> found = predict_power("models", Design(8, 2), 5, 40, 0.9, n_replications=2, random_state=0)
    >>> found.power, found.n_null
    (1.0, 1)
    """
    check_simulation(design, "answers", _LEVEL, n_replications, pilot, None)
    _check(of, design, n_people, n_answers, effect, moved, alpha)
    whole = replace(design, n_annotators=n_people * (2 if of == "groups" else 1))
    n_moved = None if of != "groups" else 1 if moved is None else max(round(moved * design.n_objects), 1)
    seeds = stream(random_state, "answers").integers(2**62, size=n_replications).tolist()
    n_null = -(-n_replications // 2)
    found: tuple[list[bool], list[bool]] = [], []  # with the effect, and without
    seconds: list[float] = []
    # Products are too small for threads of BLAS, which wait for each other.
    with (
        progress_bar("simulating", n_replications + n_null) as bar,
        warnings.catch_warnings(),
        threadpool_limits(1, "blas"),
    ):
        warnings.simplefilter("ignore")  # a user can change nothing about a simulation
        try:
            for k, seed in enumerate(seeds):
                for size, detected in zip((effect, 0.0), found[: 1 + (k < n_null)], strict=False):
                    rng = np.random.default_rng(seed)
                    truth = draw_ground_truth(whole, rng) if pilot is None else pilot.draw_ground_truth(whole, rng)
                    analyze = _STUDIES[of](truth, n_answers, size, n_moved or 0, rng)
                    start = time.perf_counter()
                    detected.append(analyze(alpha))
                    seconds.append(time.perf_counter() - start)
                    bar.update()
        except KeyboardInterrupt:
            if not found[0]:
                raise
    power, low, high = _share(found[0])
    of_null: tuple[float | None, float | None, float | None] = _share(found[1]) if found[1] else (None, None, None)
    return Power(
        of, float(effect), design.n_objects, n_people, n_answers, n_moved, alpha, power, low, high,
        *of_null, len(found[0]), n_replications, len(found[1]), float(np.median(seconds)),
    )  # fmt: skip


def power_table(found: Sequence[Power]) -> str:
    """Return powers of studies that differ in people and answers as text."""
    header = ["people", "answers each", "power", "(95% interval)", "without the effect"]
    rows = [header]
    for each in found:
        size = "-" if each.size is None else percent(each.size)
        interval = f"({percent(each.low)} to {percent(each.high)})"
        rows.append([str(each.n_people), str(each.n_answers), percent(each.power), interval, size])
    first = found[0]
    stopped = f" (stopped after {found[-1].n_studies} of the last)" if found[-1].interrupted else ""
    who = "people of each group, " if first.of == "groups" else ""
    studies = f"{first.n_wanted} studies with the effect and half as many without{stopped}"
    about = f"{who}{pluralize(first.n_objects, 'object')}; {first.described_effect}; {studies} for each row"
    notes = [
        f"{each.n_people} people with {each.n_answers} answers: {line}"
        for each in found
        for line in each._about_size()[1:]
    ]
    return "\n".join([*text_table(rows), about, *notes])


def _share(detected: list[bool]) -> tuple[float, float, float]:
    """Return the share of studies that detect something, and its interval."""
    share = float(np.mean(detected))
    return share, *wilson_interval(share, len(detected), float(ndtri(0.5 + _LEVEL / 2)))


def _check(
    of: str,
    design: Design,
    n_people: int,
    n_answers: int,
    effect: float,
    moved: float | None,
    alpha: float,
) -> None:
    if of not in get_args(Effect):
        raise ValueError(f"there is no power of {quote(of)}; choose one of {', '.join(get_args(Effect))}")
    if design.n_annotators is not None:
        raise ValueError("n_people says how many people there are; leave n_annotators out of the design")
    check_level(alpha)
    check_integer("n_people", n_people, 1 if of == "models" else 2, 100_000)
    check_integer("n_answers", n_answers, 1)
    n_people *= 2 if of == "groups" else 1
    design.check_answers(n_people * n_answers, "n_people times n_answers")
    if check_number("effect", effect, least=0) > _MAX_EFFECT[of]:
        raise ValueError(f"effect={effect:g} of {of} must be at most {_MAX_EFFECT[of]:g}")
    if moved is not None and of != "groups":
        raise ValueError(f"moved={moved} is for groups; leave it out")
    if moved is not None and not check_number("moved", moved, above=0) <= 1:
        raise ValueError(f"moved={moved} must be a share of the objects, at most 1")
    least = max(2.0 ** (1 - n_people), 1 / (1 + _N_PERMUTATIONS))
    if of == "groups" and least > alpha:
        raise ValueError(
            f"with {n_people // 2} people in each group no p-value falls below {least:.2g}, and none reaches "
            f"alpha={alpha:g}; take more people"
        )
    if of == "people" and not 2 <= design.n_components <= min(_MAX_WEIGHTED, design.n_objects - 1):
        raise ValueError(
            f"axes are weighed on maps of 2 to {_MAX_WEIGHTED} dimensions, got {design.n_components} (--dimensions)"
        )
    if of == "models" and design.n_objects < MIN_OBJECTS:
        raise ValueError(f"a Mantel test needs at least {MIN_OBJECTS} objects, got {design.n_objects}")


def _ask_each(truth: GroundTruth, maps: Sequence[FloatArray], n_answers: int, rng: np.random.Generator) -> Comparisons:
    """Return the answers of people, each with a map of their own."""
    parts = [
        replace(truth, points=points, slopes=truth.slopes[k : k + 1], lapses=truth.lapses[k : k + 1]).ask(
            n_answers, rng
        )
        for k, points in enumerate(maps)
    ]
    asked = SimulatedAnswers.concatenate(parts).comparisons
    return replace(asked, annotators=np.repeat(np.arange(len(parts)), [len(part.rows) for part in parts]))


def _study_of_groups(
    truth: GroundTruth, n_answers: int, effect: float, n_moved: int, rng: np.random.Generator
) -> Callable[[float], bool]:
    """Return the test of `compare_groups` of a study in which the second half of people see some objects elsewhere."""
    points, n = truth.points, len(truth.slopes)
    chosen = rng.choice(len(points), n_moved, replace=False)
    directions = rng.normal(size=(n_moved, points.shape[1]))
    spread = np.sqrt(np.square(points - points.mean(axis=0)).sum(axis=1).mean())
    elsewhere = points.copy()
    elsewhere[chosen] += effect * spread * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    asked = _ask_each(truth, [points if k < n // 2 else elsewhere for k in range(n)], n_answers, rng)

    def analyze(alpha: float) -> bool:
        responses = Responses.of(asked)
        _, tested = fit_maps(responses, trial_indices(asked), None, rng)
        groups = (responses.people >= n // 2).astype(np.intp)
        scores = efficient_scores(responses, tested, groups, 2, rng)
        return sign_flip_test(scores, _N_PERMUTATIONS, rng).p_value <= alpha

    return analyze


def _study_of_people(
    truth: GroundTruth, n_answers: int, effect: float, _: int, rng: np.random.Generator
) -> Callable[[float], bool]:
    """Return whether a study identifies the axes that people weigh."""
    log_weights = effect * rng.normal(size=(len(truth.slopes), truth.points.shape[1]))
    asked = _ask_each(truth, [truth.points * each for each in np.exp(log_weights / 2)], n_answers, rng)

    def analyze(_: float) -> bool:
        model = PosteriorEmbedding(truth.design.n_components, people="maps", random_state=int(rng.integers(2**31)))
        differences = model.fit(asked).differences_
        return differences is not None and differences.axes_identified

    return analyze


def _study_of_models(
    truth: GroundTruth, n_answers: int, effect: float, _: int, rng: np.random.Generator
) -> Callable[[float], bool]:
    """Return the Mantel test of a model whose distances have this rank correlation with the true ones."""
    other = pdist(rng.normal(size=truth.points.shape) * truth.points.std(axis=0))
    model = squareform(rankdata(other) if effect == 0 else _correlated(pdist(truth.points), other, effect))
    asked = _ask_each(truth, [truth.points] * len(truth.slopes), n_answers, rng)

    def analyze(alpha: float) -> bool:
        n = truth.design.n_objects
        fitted = PosteriorEmbedding(n_objects=n, random_state=int(rng.integers(2**31))).fit(asked)
        found = compare_matrices(
            fitted, {"model": model}, n_permutations=_N_PERMUTATIONS, n_resamples=_MIN_RESAMPLES, random_state=rng
        )
        return found.models[0].p_value <= alpha

    return analyze


def _correlated(distances: FloatArray, other: FloatArray, correlation: float) -> FloatArray:
    """Return distances that have a rank correlation with given ones, and else vary as others do."""
    own, noise = unit_length(rankdata(distances)), unit_length(rankdata(other))
    noise = unit_length(noise - (noise @ own) * own)
    low, high = 0.0, 1.0
    for _ in range(30):
        share = (low + high) / 2
        mixed = share * own + np.sqrt(1 - share**2) * noise
        low, high = (share, high) if pearson(own, rankdata(mixed)) < correlation else (low, share)
    mixed = high * own + np.sqrt(1 - high**2) * noise
    return np.asarray(mixed - mixed.min() + np.ptp(mixed))


_STUDIES: dict[str, Callable[[GroundTruth, int, float, int, np.random.Generator], Callable[[float], bool]]] = {
    "groups": _study_of_groups,
    "people": _study_of_people,
    "models": _study_of_models,
}
