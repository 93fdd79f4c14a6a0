"""PosteriorEmbedding: a distribution over maps instead of one map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import quote_all
from nearer._common.parameters import check_integer, check_level, check_number
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import GUESSING_LEVEL, guessing_p_value, with_positive_weight
from nearer.data.streamed import Judgments
from nearer.embedding.base import MapDraws, OrdinalEmbedding
from nearer.embedding.classical import CKL
from nearer.embedding.distillation import distilled_posterior
from nearer.geometry import align, covariance_ellipses
from nearer.optimize.solvers import Progress
from nearer.optimize.solvers.driver import Callback
from nearer.sampling.chains import SamplingResult
from nearer.sampling.microcanonical import Microcanonical, sample_until_converged
from nearer.sampling.model import (
    HYPERPARAMETERS,
    Draws,
    Model,
    Population,
    Prior,
    annotator_reliability,
    draw_annotator_effects,
    draws_of,
    model_of,
    population_of,
)
from nearer.sampling.new_objects import add_objects, sample_new_objects
from nearer.sampling.nuts import NUTS, sample_nuts
from nearer.sampling.summaries import (
    MAX_RHAT,
    MIN_EFFECTIVE_DRAWS,
    Diagnosis,
    align_draws,
    bimodal_objects,
    diagnose,
    dimension_shares,
    n_resolvable_dimensions,
    predictive_probability,
)
from nearer.sampling.variational import Variational, sample_variational

MOST_COMPONENTS = 15
_N_PAIRS = 50  # whose distances are diagnosed


def two_maps(labels: list[Any]) -> str:
    """Say which objects are in two places.

    Examples
    --------
    >>> two_maps(["a", "b"])
    "two maps explain the answers alike: 'a', 'b' may lie in either of two places"
    """
    return f"two maps explain the answers alike: {quote_all(labels)} may lie in either of two places"


class PosteriorEmbedding(OrdinalEmbedding):
    r"""Bayesian ordinal embedding: all maps that the comparisons leave possible, each as likely as it is.

    Answers follow

    .. math:: P(\text{near}) = \frac{\pi}{2} + (1 - \pi)\, \mathrm{sigmoid}\Big(\beta
              \log \frac{\alpha + d^2_\text{far}}{\alpha + d^2_\text{near}}\Big)

    with lapse rate, slope and offset learned from the data, as are a spread for each dimension (those that are not
    needed vanish) and a scale for each object; see `nearer.sampling.model`. Predictions average over draws from the
    posterior, and are calibrated as far as the model is right.

    Parameters
    ----------
    n_components : int, optional
        Dimension of the map. Left out: `dimension_`, which the data choose.
    max_components : int, optional
        Dimensions that the draws may have, and predictions with them; those that are not needed vanish. Left out: 15,
        whatever the dimension of the map. With ``max_components=n_components`` draws have no more dimensions than the
        map: faster with very many objects, but if the answers call for more, the ellipses are too small.
    solver : {"auto", "fast", "thorough", "nuts", "variational"}, Microcanonical, NUTS or Variational, default "auto"
        "auto": microcanonical Langevin dynamics, several chains that begin on the best of several starts, check each
        other and draw until predictions have converged. "fast": two short chains, enough for predictions, which
        cross-validation takes in place of "auto". "thorough": up to 60,000 steps of each chain, until distances agree
        between the chains, too; for data where "auto" warns that the chains disagree. "nuts": the no-U-turn sampler,
        exact and ten times slower. "variational": independent normal distributions, a rough approximation.
        `Microcanonical(n_steps=20_000)` and the like, from `nearer.sampling`, set more.
    budget : float, optional
        Seconds after which drawing ends, whatever has been reached.
    prior : Prior, optional
        What is believed about noise and scales before the comparisons; see `nearer.sampling`.
    n_threads : int, optional
        Chains at a time; as many as the machine has cores if left out.
    n_objects : int, optional
        The number of objects, if it is more than the comparisons show.
    random_state : int, Generator, SeedSequence or None
        For the draws. Pass one to repeat a fit to the last bit.

    Attributes
    ----------
    embedding_, objects_, n_objects_, comparisons_
        As for every estimator. The map is the one that answers most like the posterior, as large as the draws are.
    embedding_std_ : ndarray, shape (n_objects_, p)
        How far the draws lie from it along each axis, once turned and scaled onto it (root mean square).
    covariances_ : ndarray, shape (n_objects_, p, p)
        The same in all directions; `ellipses` makes ellipses of them. They hold what the draws do in the dimensions
        that the map does not show, as far as it is seen on the map.
    dimension_ : int or None
        The number of dimensions that the comparisons call for, and along which the places of objects are resolved:
        the posterior's most probable number, less axes along which objects are not known to lie at least 1.4 times as
        far apart as the draws scatter. Two can always be shown. None where the answers may be mere guesses (exact
        test at 5%): no dimension can be determined, and a map has two for show.
    dimension_evidence_ : ndarray, shape (most,)
        The posterior probability of 1, 2, ... dimensions.
    reliability_ : dict of str to Reliability, or None
        For each person, how often an answer is the one that the map gives, with the ends of its interval of 95%: about
        0.5 for whoever tosses a coin. None where people are not told apart.
    draws_ : Draws
        Maps, slopes, offsets and lapse rates of the draws.
    diagnostics_ : dict of str to Diagnosis
        R-hat and effective number of draws of the log-density, the learned numbers, and the worst among 50 distances.
    two_places_ : list
        Objects that may lie in either of two places: the answers leave two maps open, and there are draws of both.
    vote_error_ : float
        The share of predictions that more draws would make right, as far as the chains differ in them.
    n_replaced_ : int
        Chains that began anew, because they predicted clearly worse than the others.
    converged_ : bool
        Whether the chains agree, in distances or at least in predictions; always True for "variational", which has no
        such check, unless it was interrupted.
    n_iter_ : int
        Evaluations of the density.
    history_ : list of Progress
        Minus the log-density of the draws of the first chain, or minus the lower bound at each step.

    See Also
    --------
    DMOE, TSTE, CKL

    Examples
    --------
    >>> from nearer.datasets import make_gaussian, sample_triplets
    >>> points = make_gaussian(15, 2, random_state=0)
    >>> answers = sample_triplets(points, 400, flipped=0.1, random_state=0)
    >>> model = PosteriorEmbedding(2, random_state=0).fit(answers)
    >>> model.score(sample_triplets(points)) > 0.85
    True
    >>> model.embedding_std_.shape
    (15, 2)
    """

    draws_: Draws
    covariances_: FloatArray

    def __init__(
        self,
        n_components: int | None = None,
        *,
        max_components: int | None = None,
        solver: str | Microcanonical | NUTS | Variational = "auto",
        budget: float | None = None,
        prior: Prior | None = None,
        n_threads: int | None = None,
        n_objects: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components  # type: ignore[assignment]
        self.max_components = max_components
        self.solver = solver
        self.budget = budget
        self.prior = prior
        self.n_threads = n_threads
        self.n_objects = n_objects
        self.random_state = random_state

    def sample(self, k: int, random_state: RandomState = None) -> FloatArray:
        """Return k maps drawn from the posterior, (k, n_objects_, p), each turned and scaled onto `embedding_`.

        They are among `draws_`, without repetition as long as there are enough. Maps of more dimensions than
        `embedding_` are turned such that they lie on it as well as they can, and keep their further columns.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"k must be an integer >= 1, got {k!r}")
        rng = stream(random_state, "start")
        maps = self.draws_.points[rng.choice(len(self.draws_), size=k, replace=k > len(self.draws_))]
        wide = np.zeros((len(self.embedding_), maps.shape[2]))
        wide[:, : self.embedding_.shape[1]] = self.embedding_
        return align(maps, wide, seen=self._seen)

    def map_draws(self, n_draws: int, random_state: RandomState = None) -> MapDraws:
        """Return maps drawn from the posterior, and the covariances of the places."""
        check_is_fitted(self)
        maps = self.sample(n_draws, random_state)[:, :, : self.embedding_.shape[1]]
        return MapDraws(maps, self.covariances_)

    def wide_draws(self, n_draws: int, random_state: RandomState = None) -> FloatArray:
        """Return maps drawn from the posterior in all their dimensions, (k, n_objects_, q), no draw twice."""
        check_is_fitted(self)
        return self.sample(min(n_draws, len(self.draws_)), random_state)

    def population(self, k: int, n_objects: int | None = None, random_state: RandomState = None) -> Population:
        """Return k draws of the map and of how people differ; objects beyond those of the fit come from the prior."""
        check_is_fitted(self)
        n, rng = self.n_objects_, stream(random_state, "start")
        chosen = self._unknowns[rng.choice(len(self._unknowns), size=k, replace=k > len(self._unknowns))]
        larger, unknowns = add_objects(self._larger, chosen, np.arange(n), max(n_objects or n, n), rng)
        return population_of(larger, unknowns, by_annotator=self.reliability_ is not None)

    def quick_stand_in(self) -> OrdinalEmbedding:
        """Return CKL, whose model of answers is of the same kind, with seconds in place of minutes for a fit."""
        check_is_fitted(self)
        seed = self.random_state if isinstance(self.random_state, int | np.integer) else None
        return CKL(self.embedding_.shape[1], random_state=seed)

    def for_judging(self) -> OrdinalEmbedding:
        """Return a copy with fewer draws: enough for the error of a fold, where nobody looks at the map."""
        model: OrdinalEmbedding = clone(self)
        return model.set_params(solver="fast") if self.solver in ("auto", "thorough") else model

    def ellipses(self, level: float = 0.95, axes: tuple[int, int] = (0, 1)) -> FloatArray:
        """Return an ellipse for each object, (n_objects_, 5): centre, half axes (longer first), angle in degrees.

        Each holds its object with this probability, as far as draws around the map are normal.

        Parameters
        ----------
        level : float
            Between 0 and 1.
        axes : pair of int
            Which two axes of the map.
        """
        check_level(level)
        return covariance_ellipses(self.embedding_, self.covariances_, float(np.sqrt(chi2.ppf(level, 2))), axes)

    def check_consistency(self) -> None:
        """Refuse fitted values that do not belong together."""
        super().check_consistency()
        n = self.n_objects_
        if self._seen.size and not 0 <= self._seen.min() <= self._seen.max() < n:
            raise ValueError("_seen has positions that are not in its list of objects")
        if self.draws_.points.shape[1] != n:
            raise ValueError(f"its draws are not about {n} objects")

    def _turn(self, axes: FloatArray) -> None:
        super()._turn(axes)
        self.covariances_ = axes.T @ self.covariances_ @ axes
        self.embedding_std_ = np.sqrt(np.diagonal(self.covariances_, axis1=1, axis2=2))

    def _check_settings(self) -> None:
        if self.n_components is not None:
            super()._check_settings()
        if self.max_components is not None:
            check_integer("max_components", self.max_components, self.n_components or 1)
        if self.prior is not None and not isinstance(self.prior, Prior):
            raise ValueError(f"prior must be a nearer.sampling.Prior, got {self.prior!r}")
        prior = self.prior or Prior()
        if not len(prior.centers) == len(prior.scales) == len(HYPERPARAMETERS):
            raise ValueError(
                f"prior must have a center and a scale for each of {', '.join(HYPERPARAMETERS)}; got {prior!r}"
            )
        if not np.isfinite([prior.centers, prior.scales]).all() or min(prior.scales) <= 0:
            raise ValueError(f"prior must have finite centers and positive scales; got {prior!r}")
        if self.budget is not None:
            check_number("budget", self.budget, above=0)
        if self.n_threads is not None and (not isinstance(self.n_threads, int | np.integer) or self.n_threads < 1):
            raise ValueError(f"n_threads must be an integer >= 1 or None, got {self.n_threads!r}")

    def _method(self, model: Model) -> Microcanonical | NUTS | Variational:
        if isinstance(self.solver, Microcanonical | NUTS | Variational):
            return self.solver
        work = len(model.comparisons) * model.n_components
        named: dict[Any, Microcanonical | NUTS | Variational] = {
            "auto": Microcanonical.for_work(work),
            "thorough": Microcanonical.thorough(),
            "fast": Microcanonical.for_cross_validation(work),
            "nuts": NUTS(),
            "variational": Variational(),
        }
        if self.solver not in named:
            raise ValueError(
                f"solver must be one of {list(named)}, or Microcanonical(...), NUTS(...) or Variational(...) of "
                f"nearer.sampling, got {self.solver!r}"
            )
        return named[self.solver]

    def _fit(
        self,
        comparisons: Judgments,
        callback: Callback | None = None,
        start: FloatArray | None = None,
    ) -> None:
        comparisons = self._in_memory(comparisons)
        if not (comparisons.sample_weight > 0).any():
            raise ValueError("all comparisons have weight 0; there is nothing to fit")
        # Of the objects that are compared: others are no reason for further dimensions.
        n_compared = int(np.count_nonzero(np.bincount(with_positive_weight(comparisons).rows.ravel())))
        free = min(self.max_components or MOST_COMPONENTS, max(n_compared - 1, 1))
        most = max(free, self.n_components or 1)
        model, seen = model_of(comparisons, most, self.prior)
        method = self._method(model)
        rng = stream(self.random_state, "start")
        seed = np.random.SeedSequence(int(rng.integers(2**63)))
        if isinstance(method, NUTS):
            sampled = sample_nuts(model, method, seed.spawn(method.n_chains), self._threads())
        elif isinstance(method, Variational):
            sampled = sample_variational(model, method, seed)
        else:
            sampled = sample_until_converged(model, method, [], seed, self._threads(), self.budget)
        self._keep_draws(model, seen, sampled, comparisons, rng)
        self.solver_: Any = method
        if self._summarize(model, comparisons, rng, start):
            sampled = replace(sampled, interrupted=True)
        self.history_ = [Progress(number, -float(value), np.nan) for number, value in enumerate(sampled.densities[0])]
        if callback is not None:
            for progress in self.history_:
                callback(progress)
        self._diagnose(sampled, not isinstance(method, Variational))

    def _threads(self) -> int:
        from nearer.optimize.kernels import default_threads

        return self.n_threads or default_threads()

    def _keep_draws(
        self,
        model: Model,
        seen: NDArray[np.integer],
        sampled: SamplingResult,
        comparisons: Comparisons,
        rng: np.random.Generator,
    ) -> None:
        unknowns = sampled.unknowns.reshape(-1, model.size)
        self._seen = seen
        self._larger, self._unknowns = add_objects(model, unknowns, seen, comparisons.n_objects, rng)
        draws = draws_of(self._larger, self._unknowns)
        self.reliability_ = annotator_reliability(model, unknowns, comparisons)
        self.draws_ = draw_annotator_effects(model, unknowns, draws, rng)
        self.comparisons_ = comparisons
        self.objects_, self.n_objects_ = comparisons.objects, comparisons.n_objects
        self.classes_ = np.array([-1, 1])
        self.n_iter_ = sampled.n_steps

    def _summarize(
        self, model: Model, comparisons: Comparisons, rng: np.random.Generator, onto: FloatArray | None
    ) -> bool:
        """Set one map and the dimension; say whether Ctrl-C ended the search for it."""
        known = Draws(self.draws_.points[:, self._seen], *self.draws_[1:])
        self.dimension_evidence_ = dimension_shares(known)
        called_for = int(self.dimension_evidence_.argmax()) + 1
        self.dimension_: int | None = min(called_for, max(n_resolvable_dimensions(known, called_for), 2))
        # Signs of their own: what is drawn for the map must not depend on the number of trials.
        if guessing_p_value(comparisons, np.random.default_rng(0)) > GUESSING_LEVEL:
            self.dimension_ = None
        wanted = self.n_components or self.dimension_ or min(2, known.points.shape[2])
        asked, weights = self._seen[model.comparisons.quadruplets], model.comparisons.total_weights
        found, interrupted = distilled_posterior(
            asked, weights, self._larger.exposure, self.draws_, wanted, rng, self._threads()
        )
        summary = align_draws(self.draws_, found, self._seen)
        if onto is not None and onto.shape[1] == wanted:
            turned = align(summary.embedding, onto, scaling=False, moving=False, seen=self._seen)
            summary = align_draws(self.draws_, turned, self._seen)
        self.embedding_, self.covariances_ = summary
        places = align(self.draws_.points[:, self._seen], self.embedding_[self._seen])
        twice = bimodal_objects(places, self.embedding_[self._seen])
        self.two_places_: list[Any] = self.objects_[self._seen[twice]].tolist()
        self.embedding_std_ = np.sqrt(np.diagonal(self.covariances_, axis1=1, axis2=2))
        return interrupted

    def _diagnose(self, sampled: SamplingResult, checked: bool) -> None:
        self.diagnostics_: dict[str, Diagnosis] = {}
        self.vote_error_, self.n_replaced_ = sampled.vote_error, sampled.n_replaced
        self.converged_ = not sampled.interrupted
        advice = []
        if checked:
            chains, n_draws, _ = sampled.unknowns.shape
            shaped = {
                name: sampled.unknowns[:, :, number - len(HYPERPARAMETERS)]
                for number, name in enumerate(HYPERPARAMETERS)
            }
            found = {"log_density": diagnose(sampled.densities)} | {key: diagnose(of) for key, of in shaped.items()}
            distances = [diagnose(of.reshape(chains, n_draws)) for of in self._distances_of_pairs()]
            # NaN: a distance that never changed, or too few draws to tell anything.
            rhats, sizes = np.array(distances).T
            rhats, sizes = np.nan_to_num(rhats, nan=np.inf), np.nan_to_num(sizes, nan=0.0)
            found["distances"] = Diagnosis(float(rhats.max()), float(sizes.min()))
            self.diagnostics_ = found
            worst = found["distances"]
            compares = isinstance(self.solver_, Microcanonical) and self.solver_.n_chains > 1
            if compares and np.isnan(sampled.vote_error) and not sampled.interrupted:
                advice.append("time was up before chains could be compared")
            settled = sampled.vote_error <= getattr(self.solver_, "tolerance", 0.0) / 20
            settled = settled or bool(self.two_places_)  # chains that differ by that cannot agree
            if worst.rhat > MAX_RHAT and chains > 1 and not settled:
                advice.append(f"the chains disagree (R-hat of distances up to {worst.rhat:.2f})")
            if worst.effective < MIN_EFFECTIVE_DRAWS and not settled:
                advice.append(f"the draws are worth only {worst.effective:.0f} independent ones")
            if isinstance(self.solver_, NUTS) and sampled.n_divergent > 0.02 * chains * self.solver_.n_draws:
                advice.append(f"{sampled.n_divergent} trajectories diverged")
        if advice:
            self.converged_ = False
            self._warn(
                f"{', and '.join(advice)}. Predictions may still be good; before you rely on distances, sample longer "
                "with solver='thorough' (nearer fit --set solver=thorough), a larger budget, or fewer dimensions"
            )
        if self.two_places_:
            self._warn(f"{two_maps(self.two_places_)}; answers that compare them with others would decide")
        if sampled.interrupted:
            self._tell("the fit was interrupted; what was drawn so far is on the estimator", interrupted=True)

    def _distances_of_pairs(self) -> list[FloatArray]:
        """Return the logarithms of some distances in each draw."""
        drawn = np.random.default_rng(0).integers(len(self._seen), size=(_N_PAIRS, 2))
        pairs = self._seen[drawn[drawn[:, 0] != drawn[:, 1]]]
        if len(pairs) == 0:
            pairs = self._seen[None, :2]
        points = self.draws_.points
        sizes = np.log(points.var(axis=1).sum(axis=1))  # which comparisons do not fix
        return [np.log(np.sum((points[:, a] - points[:, b]) ** 2, axis=1)) - sizes for a, b in pairs]

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds that comparisons hold as written, (m,): those of the means over the posterior."""
        return super().decision_function(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2): means over the posterior."""
        holds = self._chances(self._comparisons(X).quadruplets)
        return np.column_stack([1 - holds, holds])

    def _margins(self, quadruplets: NDArray[np.integer]) -> FloatArray:
        """Return the log-odds that comparisons hold."""
        return np.asarray(logit(self._chances(quadruplets)))

    def _chances(self, quadruplets: NDArray[np.integer]) -> FloatArray:
        chances = predictive_probability(self.draws_, quadruplets, self.n_threads)
        # Two objects that nothing is known of are equally far from a third; draws of them differ by chance.
        unheard = np.ones(self.n_objects_, dtype=bool)
        unheard[self._seen] = False
        i, j, l, k = quadruplets.T  # noqa: E741
        for a, b, c, d in ((i, j, l, k), (i, j, k, l), (j, i, l, k), (j, i, k, l)):
            chances[(a == c) & unheard[b] & unheard[d]] = 0.5
        chances[unheard[quadruplets].all(axis=1)] = 0.5
        return chances

    def _extend(self, added: Comparisons) -> None:
        """Draw the places of new objects, given each draw of the old ones, and put them on the map."""
        before, rng = self.n_objects_, stream(self.random_state, "start")
        larger, unknowns = add_objects(self._larger, self._unknowns, np.arange(before), added.n_objects, rng)
        about, mentioned = model_of(added, larger.n_components, self.prior, by_annotator=False)
        distinct = replace(about.comparisons, pairs=mentioned.astype(np.int32)[about.comparisons.pairs])
        # As usual: how often somebody asked about them at another time is luck.
        larger.exposure[mentioned[mentioned >= before]] = 0.0
        new = np.arange(added.n_objects) >= before
        self._unknowns = sample_new_objects(replace(larger, comparisons=distinct), unknowns, new, rng)
        self._larger = larger
        self.draws_ = Draws(draws_of(larger, self._unknowns).points, *self.draws_[1:])
        self.objects_, self.n_objects_ = added.objects, added.n_objects
        self._put_on_map(before)
        self._seen = np.concatenate([self._seen, np.arange(before, added.n_objects)])

    def _put_on_map(self, before: int) -> None:
        """Lay the draws onto the old part of the map, which stays, and take the mean of the new objects."""
        old = self.embedding_
        turned = align(self.draws_.points, old, seen=self._seen)[:, before:]
        centres = turned.mean(axis=0)
        away = turned - centres
        self.embedding_ = np.vstack([old, centres])
        self.covariances_ = np.concatenate([self.covariances_, np.einsum("kip,kiq->ipq", away, away) / len(away)])
        self.embedding_std_ = np.sqrt(np.diagonal(self.covariances_, axis1=1, axis2=2))
