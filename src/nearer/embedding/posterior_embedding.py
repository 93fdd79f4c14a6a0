"""PosteriorEmbedding: a distribution over maps instead of one map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from nearer._common.arrays import FloatArray
from nearer._common.formatting import quote, quote_all
from nearer._common.parameters import check_integer, check_level, check_number
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.features import Features
from nearer.data.groups import (
    GUESSING_LEVEL,
    draw_test_rows,
    group_indices,
    guessing_p_value,
    seen_objects,
    with_positive_weight,
)
from nearer.data.labels import Labels, factorize
from nearer.data.streamed import Judgments
from nearer.embedding.base import MapDraws, OrdinalEmbedding
from nearer.embedding.classical import CKL
from nearer.embedding.distillation import distill_posterior
from nearer.embedding.posterior_sample import (
    LogOddsCalibration,
    PosteriorSample,
    Sampler,
    bimodality_message,
    check_convergence,
)
from nearer.embedding.with_features import EmbeddingWithFeatures
from nearer.geometry import align, covariance_ellipses, rotation
from nearer.optimize.solvers import Progress
from nearer.optimize.solvers.driver import Callback
from nearer.sampling.annotators import (
    Population,
    Reliability,
    population_of,
)
from nearer.sampling.chains import SamplingResult
from nearer.sampling.deviations import FeatureDeviation, leave_one_out_deviations
from nearer.sampling.differences import PeopleDifferences, people_differences
from nearer.sampling.features import FeatureBasis, FeatureShare, extend_basis, feature_basis
from nearer.sampling.laplace import Laplace, sample_laplace
from nearer.sampling.microcanonical import Microcanonical, sample_until_converged
from nearer.sampling.model import HYPERPARAMETERS, Draws, Model, Prior, distinct_comparisons, model_of
from nearer.sampling.new_objects import add_objects, draw_other_objects
from nearer.sampling.nuts import NUTS, sample_nuts
from nearer.sampling.people import PEOPLE
from nearer.sampling.summaries import (
    align_draws,
    bimodal_objects,
    dimension_shares,
    n_resolvable_dimensions,
    predictive_probability,
)
from nearer.sampling.variational import Variational, sample_variational

MAX_COMPONENTS = 15
MAX_COMPONENTS_OF_PEOPLE = 8  # with weights or maps for each person, which more dimensions predict no better
MIN_FEATURE_SHARE = 0.3  # of the variance: a set whose interval lies below is of no use
_N_PRIOR_DRAWS = 50
#: The work of a gradient, as `DistinctComparisons.work` counts it, beyond which chains take minutes, and number of
#: objects up to which an approximation takes their place.
MAX_SAMPLED_WORK, MAX_APPROXIMATED_OBJECTS = 250_000.0, 5000
MIN_ROWS_PER_OBJECT = 300  # comparisons for each object, from which on a posterior is about normal
_CALIBRATION_SHARE, _MAX_CALIBRATION_ROWS = 0.05, 50_000  # of the comparisons, held out to calibrate predictions
_MIN_CALIBRATION_UNITS = 200
_MAX_DISTILLED = 500_000  # comparisons whose questions a map of an approximation is distilled by


@dataclass(eq=False, repr=False, kw_only=True)
class PosteriorEmbedding(EmbeddingWithFeatures):
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
        Dimension of the map. Left out: `dimension_`.
    max_components : int, optional
        Dimensions that the draws may have; those that are not needed vanish. Left out: 15, 60 for "laplace", or 8 where
        ``people`` may have weights or maps of their own. With fewer a fit is faster, but if the
        answers call for more, ellipses are too small.
    solver : {"auto", "fast", "thorough", "nuts", "variational", "laplace"}, or one of their classes, default "auto"
        "auto": microcanonical Langevin dynamics, chains that draw until predictions have converged, and "laplace" where
        they would take minutes (more than some 150,000 comparisons, about up to 5,000 objects). "fast": two short
        chains, which cross-validation takes in place of "auto". "thorough": for figures to publish; chains draw until
        R-hat of all distances is below 1.01, and their bulk and tail effective sample sizes are above 400. "nuts": the
        no-U-turn sampler, exact and ten times slower. "variational": independent normal distributions, a rough
        approximation. "laplace": a normal distribution around the best map, with all correlations, for many answers;
        its predictions are calibrated on `held_out_rows_`. The classes of `nearer.sampling` (`Microcanonical`, `NUTS`,
        `Variational`, `Laplace`) set more.
    budget : float, optional
        Seconds after which drawing ends, whatever has been reached.
    prior : Prior, optional
        What is believed about noise and scales before the comparisons; see `nearer.sampling`.
    people : {"noise", "weights", "maps"}, default "noise"
        In what those who answer may differ, where it is known who they are. "noise": in steepness and lapse rate.
        "weights": also in what each axis of the map counts for them. "maps": also in where they see each object. How
        much they differ is learned, so that people who do not differ share one map. Predictions are those of the person
        who answers, or of a new one where nobody is named.
    features : data frame, dict, array, Features, or a list or dict of several, optional
        What is known of the objects beforehand: a row of numbers for each, by label, or in the order of the objects.
        How much it says about the answers is learned; see `feature_share_`. Objects with a row but no answer are on
        the map, too; objects without a row are placed by answers alone.
    n_jobs : int, optional
        Chains at a time; as many as the machine has cores if left out.
    n_objects, random_state
        As for every estimator; random_state is for the draws.

    Attributes
    ----------
    embedding_, objects_, n_objects_, comparisons_
        As for every estimator. The map is the one that answers most like the posterior, as large as the draws are.
    embedding_std_, covariances_ : ndarray, shape (n_objects_, p) and (n_objects_, p, p)
        How far the draws, once rotated and scaled onto the map, lie from it along each axis (root mean square), and in
        all directions.
    dimension_ : int or None
        The most probable number of dimensions, less axes along which objects are not known to lie at least 1.4 times as
        far apart as the draws scatter. None where the answers may be mere guesses (exact test at 5%), unless they
        agree with features.
    dimension_evidence_ : ndarray, shape (most,)
        The posterior probability of 1, 2, ... dimensions.
    reliability_ : dict of str to Reliability, or None
        For each person, how often an answer is the one that the map gives, with its interval of 95%: about 0.5 for a
        random responder. None where it is not known who answered.
    differences_ : PeopleDifferences or None
        What the axes of the map count for each person, how far each departs from the common map, and how much people
        differ. None where ``people`` is "noise". Where they differ in weights, the axes of the map are those that they
        weigh.
    draws_ : Draws
        Maps, slopes, offsets and lapse rates of the draws.
    diagnostics_ : dict of str to Diagnosis
        R-hat and effective numbers of draws of the log-density, the learned numbers, and the worst among distances.
    convergence_ : Convergence or None
        The worst R-hat and effective numbers of draws of distances, 50 of them or with "thorough" all (2,000 at most),
        and whether the rule was met by which drawing ends. None for "variational".
    features_ : tuple of Features
        The feature sets by label, with the rows of objects that were placed later. Missing without features.
    feature_share_ : dict of str to FeatureShare, or None
        For each feature set its share of the prior variance of the coordinates, with an interval of 95%: near 0 where
        it says nothing about the answers. None without features.
    bimodal_objects_ : list
        Objects that may lie in either of two places: the answers leave two maps open.
    vote_error_ : float
        The share of predictions that more draws would make right, as far as the chains differ in them.
    calibration_ : LogOddsCalibration or None
        By "laplace": what log-odds are multiplied by, and raised to, so that predictions of held-out answers are right
        as often as they say.
    held_out_rows_ : ndarray of int, or None
        By "laplace": the comparisons, whole trials, that calibrate predictions and that the map was not made of: 5% of
        them, 50,000 at most.
    n_replaced_ : int
        Chains that were restarted, because they predicted significantly worse than the best.
    converged_ : bool
        Whether the chains agree, in distances or at least in predictions; "variational" has no such check.
    n_iter_, history_ : int, list of Progress
        Evaluations of the density; minus the log-density of the draws of the first chain, or minus the lower bound.

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

    n_components: Any = field(default=None, kw_only=False)  # an int, or None
    max_components: int | None = None
    solver: str | Sampler = "auto"
    budget: float | None = None
    prior: Prior | None = None
    features: Any = None
    people: str = PEOPLE[0]
    n_jobs: int | None = None

    @property
    def draws_(self) -> Draws:
        """Maps, slopes, offsets and lapse rates of the draws."""
        return self._posterior.draws

    @property
    def reliability_(self) -> dict[Any, Reliability] | None:
        """For each person, how often an answer is the one that the map gives; None where people are not known."""
        return self._posterior.reliability

    @property
    def feature_share_(self) -> dict[str, FeatureShare] | None:
        """The share of each feature set in the prior variance of the coordinates; None without features."""
        return self._posterior.feature_shares() or None

    def feature_deviations(self) -> list[FeatureDeviation]:
        """Return how far each object lies from where its features, and the objects like it, suggest.

        Returns
        -------
        list of FeatureDeviation
            With ``object``, ``distance`` (relative to the typical distance between two objects), and its 95% interval,
            ``low`` to ``high``, of the objects that have features, sorted by ``low``, the largest first.
        """
        check_is_fitted(self)
        posterior = self._posterior
        if posterior.model.features is None:
            raise ValueError("the map was fitted without features; fit it with features=... to compare it with them")
        return leave_one_out_deviations(posterior.model, posterior.unknowns, self.objects_)

    @property
    def _uses_features(self) -> bool:
        return self._posterior.model.features is not None

    def sample(self, k: int, random_state: RandomState = None) -> FloatArray:
        """Return k maps drawn from the posterior, (k, n_objects_, p), each rotated and scaled onto `embedding_`.

        They are among `draws_`, without repetition as long as there are enough, and keep further columns.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"k must be an integer >= 1, got {k!r}")
        rng = stream(random_state, "start")
        maps = self.draws_.points[rng.choice(len(self.draws_), size=k, replace=k > len(self.draws_))]
        wide = np.zeros((len(self.embedding_), maps.shape[2]))
        wide[:, : self.embedding_.shape[1]] = self.embedding_
        return align(maps, wide, seen=self._posterior.compared)

    def to_arviz(self, random_state: RandomState = None) -> Any:
        """Return the draws as ArviZ takes them, chain by chain; needs arviz-base, of the extra ``arviz``.

        Parameters
        ----------
        random_state : int, Generator, SeedSequence or None
            For the posterior predictive answers.

        Returns
        -------
        xarray.DataTree
            ``posterior``: ``place`` of each object, rotated and scaled onto `embedding_`; ``distance`` of each pair
            (of 2,000 at most) relative to the size of the map, in all dimensions; ``slope``, ``offset`` and ``lapse``;
            ``person_slope`` and ``person_lapse`` where it is known who answered. ``log_likelihood``: ``answer`` of each
            trial. ``observed_data`` and ``posterior_predictive``: ``choice`` in each comparison, 1 where the pair whose
            objects have the lower numbers was judged the nearer.

        Examples
        --------
        >>> import arviz_stats as az  # doctest: +SKIP
        >>> az.summary(model.to_arviz(), var_names=["distance", "lapse"])  # doctest: +SKIP
        """
        from nearer.embedding.inference_data import datatree_of

        check_is_fitted(self)
        return datatree_of(self, random_state)

    def _map_draws(self, n_draws: int, random_state: RandomState = None) -> MapDraws:
        check_is_fitted(self)
        maps = self.sample(n_draws, random_state)[:, :, : self.embedding_.shape[1]]
        return MapDraws(maps, self.covariances_)

    def _full_rank_draws(self, n_draws: int, random_state: RandomState = None) -> FloatArray:
        check_is_fitted(self)
        return self.sample(min(n_draws, len(self.draws_)), random_state)

    def _has_features(self) -> NDArray[np.bool_]:
        features = self._posterior.model.features
        return super()._has_features() if features is None else features.has_features

    def _prior_covariance(self) -> FloatArray | None:
        """Return the covariance of objects along an axis that features suggest, (n_objects_, n_objects_), if any."""
        unknowns = self._posterior.unknowns
        return self._posterior.model.prior_covariance(unknowns[:: max(len(unknowns) // _N_PRIOR_DRAWS, 1)])

    def map_of(self, person: Any) -> MapDraws:
        """Return the map of a person: draws of it, laid onto the common map, and covariances of the places.

        Parameters
        ----------
        person : label
            One of ``differences_.people``.

        Returns
        -------
        MapDraws
            With ``maps``, (k, n_objects_, p), and ``covariances``, (n_objects_, p, p).
        """
        check_is_fitted(self)
        people = self._posterior.people
        if people is None or people.share_weights:
            raise ValueError("all people share one map; fit it with people='maps' for a map of each")
        labels = people.labels.tolist()
        if person not in labels:
            raise ValueError(f"nobody called {quote(person)} has answered; there are {quote_all(labels, 5)}")
        # As the common maps are laid onto the embedding, and not each by itself: it may differ in all objects.
        common, own = self.draws_.points, self._draws_of(labels.index(person)).points
        center = common[:, self._posterior.compared].mean(axis=1, keepdims=True)
        seen = self.embedding_[self._posterior.compared]
        turns, _ = rotation(common[:, self._posterior.compared] - center, seen - seen.mean(axis=0))
        maps = (own - center) @ turns + seen.mean(axis=0)
        deviations = maps - maps.mean(axis=0)
        return MapDraws(maps, np.einsum("kip,kiq->ipq", deviations, deviations) / len(maps))

    def population(
        self,
        k: int,
        n_objects: int | None = None,
        random_state: RandomState = None,
        *,
        alike: NDArray[np.integer] | None = None,
    ) -> Population:
        """Return k draws of the map and of how people differ; objects beyond those of the fit come from the prior.

        ``alike``: positions of objects whose features others have; maps are then of these others alone.
        """
        check_is_fitted(self)
        if self.differences_ is not None:
            raise ValueError(
                "people of this map differ in more than noise, which is left out here; fit one with people='noise' for "
                "plans, checks of the model and leaving people out"
            )
        n, rng = self.n_objects_, stream(random_state, "start")
        model, unknowns = self._posterior.model, self._posterior.unknowns
        chosen = unknowns[rng.choice(len(unknowns), size=k, replace=k > len(unknowns))]
        if alike is not None:
            other = draw_other_objects(model, chosen, alike, rng)
            return population_of(*other, by_annotator=self.reliability_ is not None)
        total, basis = max(n_objects or n, n), model.features
        if basis is not None:
            basis = extend_basis(basis, self._posterior.kernels, np.arange(n, total), ())
        larger, unknowns = add_objects(model, chosen, np.arange(n), total, rng, basis)
        return population_of(larger, unknowns, by_annotator=self.reliability_ is not None)

    def _fast_surrogate(self) -> OrdinalEmbedding:
        """Return CKL, whose model of answers is of the same kind, with seconds in place of minutes for a fit."""
        check_is_fitted(self)
        seed = self.random_state if isinstance(self.random_state, int | np.integer) else None
        return CKL(self.embedding_.shape[1], random_state=seed)

    def _for_cross_validation(self) -> OrdinalEmbedding:
        """Return a copy with fewer draws: enough for the error of a fold, where nobody looks at the map."""
        return self._copy_with(solver="fast" if self.solver in ("auto", "thorough") else self.solver)

    def ellipses(self, level: float = 0.95, axes: tuple[int, int] = (0, 1)) -> FloatArray:
        """Return an ellipse for each object, (n_objects_, 5): center, half axes (longer first), angle in degrees.

        Each holds its object with probability ``level``, as far as draws around these two axes of the map are normal.
        """
        check_level(level)
        return covariance_ellipses(self.embedding_, self.covariances_, float(np.sqrt(chi2.ppf(level, 2))), axes)

    def _check_state(self) -> None:
        super()._check_state()
        n, compared = self.n_objects_, self._posterior.compared
        if compared.size and not 0 <= compared.min() <= compared.max() < n:
            raise ValueError("its compared objects are not all in its list of objects")
        if self.draws_.points.shape[1] != n:
            raise ValueError(f"its draws are not about {n} objects")

    def _rotate(self, axes: FloatArray) -> None:
        if self.differences_ is not None and self.differences_.axes_identified:
            raise ValueError(
                "people differ in how much the axes of this map count for them, so that it cannot be rotated; fit it "
                "with people='noise' for a map with free axes"
            )
        super()._rotate(axes)
        self._store_covariances(axes.T @ self.covariances_ @ axes)

    def _store_covariances(self, covariances: FloatArray) -> None:
        self.covariances_ = covariances
        self.embedding_std_ = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))

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
        if self.people not in PEOPLE:
            raise ValueError(f"people must be one of {quote_all(list(PEOPLE))}, got {self.people!r}")
        if self.budget is not None:
            check_number("budget", self.budget, above=0)
        if self.n_jobs is not None:
            check_integer("n_jobs", self.n_jobs, 1)

    def _approximates(self, comparisons: Comparisons) -> bool:
        """Whether the posterior of these comparisons is approximated by a normal distribution."""
        if isinstance(self.solver, Laplace) or self.solver == "laplace":
            return True
        if self.solver not in ("auto", "fast") or self.features is not None or self.people != PEOPLE[0]:
            return False
        return is_approximated(comparisons)

    def _sampler(self, model: Model, approximates: bool) -> Sampler:
        if isinstance(self.solver, Sampler):
            return self.solver
        if approximates:
            return Laplace.for_cross_validation() if self.solver == "fast" else Laplace()
        n_places = 0 if model.people is None else len(model.people.layout.objects)
        work = (len(model.comparisons) + n_places) * model.n_components
        named: dict[Any, Callable[[], Sampler]] = {
            "auto": lambda: Microcanonical.for_work(work),
            "thorough": Microcanonical.thorough,
            "fast": lambda: Microcanonical.for_cross_validation(work),
            "nuts": NUTS,
            "variational": Variational,
            "laplace": Laplace,
        }
        if self.solver not in named:
            raise ValueError(
                f"solver must be one of {list(named)}, or Microcanonical(...), NUTS(...), Variational(...) or "
                f"Laplace(...) of nearer.sampling, got {self.solver!r}"
            )
        return named[self.solver]()

    def _fit(self, comparisons: Judgments, callback: Callback | None = None, start: FloatArray | None = None) -> None:
        everything, kernels = self._match_features(self._require_in_memory(comparisons))
        approximates = self._approximates(everything)
        comparisons, held_out = self._without_held_out(everything, approximates)
        model, compared = self._model(comparisons, feature_basis(kernels, comparisons.objects), approximates)
        sampler = self._sampler(model, approximates)
        rng = stream(self.random_state, "start")
        model, sampled = self._sampled(model, sampler, np.random.SeedSequence(int(rng.integers(2**63))))
        posterior = PosteriorSample.of(model, sampled, compared, comparisons, rng, kernels)
        draws, known = posterior.draws, posterior.compared_draws
        # Guesses do not agree with what is known of the objects.
        is_sensible = any(share.low > MIN_FEATURE_SHARE for share in posterior.feature_shares().values())
        dimension, evidence = _dimension(known, comparisons, is_sensible)
        n_components = self.n_components or dimension or min(2, known.points.shape[2])
        asked, weights = compared[model.comparisons.quadruplets], model.comparisons.total_weights
        if approximates and len(asked) > _MAX_DISTILLED:
            some = np.sort(rng.choice(len(asked), _MAX_DISTILLED, replace=False))
            asked, weights = asked[some], weights[some]
        points, interrupted = distill_posterior(
            asked, weights, posterior.model.exposure, draws, n_components, rng, self._n_threads()
        )
        compared = posterior.compared
        embedding, covariances = align_draws(draws, points, compared, sampled.conditional)
        if start is not None and start.shape[1] == n_components:
            rotated = align(embedding, start, scaling=False, moving=False, seen=compared)
            embedding, covariances = align_draws(draws, rotated, compared, sampled.conditional)
        differences: PeopleDifferences | None = None
        if posterior.people is not None and not posterior.people.share_weights:
            centered = embedding[compared] - embedding[compared].mean(axis=0)
            differences, axes = people_differences(posterior.people, known, centered)
            if differences.axes_identified:
                embedding, covariances = align_draws(draws, embedding @ axes, compared)
        places = align(known.points, embedding[compared])
        bimodal = compared[bimodal_objects(places, embedding[compared])]
        sampled = replace(sampled, interrupted=sampled.interrupted or interrupted)
        diagnostics, convergence, problems = check_convergence(
            model, sampled, sampler, posterior, bimodal=bimodal.size > 0
        )
        self._store_map(embedding, everything)
        self._store_covariances(covariances)
        self._posterior, self.calibration_ = posterior, None
        self.held_out_rows_ = held_out
        self.calibration_ = None if held_out is None else self._calibrated(everything[held_out])
        self.differences_ = differences
        self.solver_: Any = sampler
        self.dimension_, self.dimension_evidence_ = dimension, evidence
        self.bimodal_objects_ = self.objects_[bimodal].tolist()
        self.n_iter_, self.vote_error_, self.n_replaced_ = sampled.n_steps, sampled.vote_error, sampled.n_replaced
        self.history_ = [Progress(number, -float(value), np.nan) for number, value in enumerate(sampled.densities[0])]
        self.diagnostics_, self.convergence_ = diagnostics, convergence
        self.converged_ = not sampled.interrupted and not problems
        if callback is not None:
            for progress in self.history_:
                callback(progress)
        if problems:
            is_thorough = getattr(sampler, "max_rhat", None) is not None
            longer = "" if is_thorough else "solver='thorough' (nearer fit --set solver=thorough), "
            self._warn(
                f"{', and '.join(problems)}. Predictions may still be good; before you rely on distances, sample "
                f"longer with {longer}a larger budget, or fewer dimensions"
            )
        useless = [name for name, share in (self.feature_share_ or {}).items() if share.high < MIN_FEATURE_SHARE]
        if useless:
            self._warn(
                f"{quote_all(useless)} explain little of the answers (share of the variance below {MIN_FEATURE_SHARE})"
                ": they are unrelated to them, add nothing to the other sets, or their rows belong to other objects"
            )
        if self.bimodal_objects_:
            message = bimodality_message(self.bimodal_objects_)
            self._warn(f"{message}; answers that compare them with others would decide")
        if sampled.interrupted:
            self._warn("the fit was interrupted; what was drawn so far is on the estimator", True)

    def _without_held_out(
        self, comparisons: Comparisons, approximates: bool
    ) -> tuple[Comparisons, NDArray[np.integer] | None]:
        """Return what the map is made of, and the rows that calibrate predictions; all and None for chains."""
        units = group_indices(comparisons) if approximates else np.zeros(1, dtype=np.intp)
        if int(units.max()) + 1 < _MIN_CALIBRATION_UNITS:
            return comparisons, None
        share = min(_CALIBRATION_SHARE, _MAX_CALIBRATION_ROWS / len(comparisons))
        chosen = draw_test_rows(units, share, stream(self.random_state, "split"))
        kept = ~chosen & (comparisons.sample_weight > 0)
        return (comparisons, None) if not kept.any() else (comparisons[~chosen], np.flatnonzero(chosen))

    def _calibrated(self, held_out: Comparisons) -> LogOddsCalibration:
        """Return what makes predictions of held-out answers agree with how often they are right."""
        signs = 1 if held_out.answers is None else held_out.answers
        log_odds = logit(self._probabilities_of_people(held_out)) * signs
        return LogOddsCalibration.of(log_odds, held_out.sample_weight)

    def _model(
        self, comparisons: Comparisons, features: FeatureBasis | None, approximates: bool
    ) -> tuple[Model, NDArray[np.integer]]:
        """Return the model of the objects that are compared, and their positions."""
        if not (comparisons.sample_weight > 0).any():
            raise ValueError("all comparisons have weight 0; there is nothing to fit")
        # Of the objects that are compared: others are no reason for further dimensions.
        n_compared = int(np.count_nonzero(np.bincount(with_positive_weight(comparisons).rows.ravel())))
        most = MAX_COMPONENTS if self.people == PEOPLE[0] else MAX_COMPONENTS_OF_PEOPLE
        if approximates:
            most = self.solver.max_components if isinstance(self.solver, Laplace) else Laplace.max_components
        free = min(self.max_components or most, max(n_compared - 1, 1))
        if self.people != PEOPLE[0]:
            check_people(comparisons)
        n_components = max(free, self.n_components or 1)
        return model_of(comparisons, n_components, self.prior, features=features, people=self.people)

    def _sampled(self, model: Model, sampler: Sampler, seed: np.random.SeedSequence) -> tuple[Model, SamplingResult]:
        if isinstance(sampler, Laplace):
            return sample_laplace(model, sampler, seed, self._n_threads(), self.budget)
        if isinstance(sampler, NUTS):
            return model, sample_nuts(model, sampler, seed.spawn(sampler.n_chains), self._n_threads())
        if isinstance(sampler, Variational):
            return model, sample_variational(model, sampler, seed)
        return model, sample_until_converged(model, sampler, [], seed, self._n_threads(), self.budget)

    def _n_threads(self) -> int:
        from nearer.optimize.kernels import default_threads

        return self.n_jobs or default_threads()

    def decision_function(self, X: Any) -> FloatArray:
        """Return the log-odds that comparisons hold as written, shape (m,)."""
        return np.asarray(logit(self._probabilities_of_people(self._comparisons(X))))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the answers -1 and +1 (`classes_`), shape (m, 2): means over the posterior.

        Of the person who answers, or of a new one where nobody is named.
        """
        holds = self._probabilities_of_people(self._comparisons(X))
        return np.column_stack([1 - holds, holds])

    def _margins(self, quadruplets: NDArray[np.integer]) -> FloatArray:
        """Return the log-odds that comparisons hold."""
        return np.asarray(logit(self._probabilities(quadruplets, self._draws_of(None))))

    def _probabilities_of_people(self, comparisons: Comparisons) -> FloatArray:
        """Return the probabilities that comparisons hold, each by the draws of who answered, (m,)."""
        quadruplets, people = comparisons.quadruplets, self._posterior.people
        if people is None or comparisons.annotators is None:
            return self._probabilities(quadruplets, self._draws_of(None))
        labels, person = factorize(comparisons.annotators)
        known = {label: number for number, label in enumerate(people.labels.tolist())}
        probabilities = np.empty(len(quadruplets))
        numbers = np.array([known.get(label, -1) for label in labels.tolist()])[person]
        for number in np.unique(numbers):
            rows = numbers == number
            draws = self._draws_of(None if number < 0 else int(number))
            probabilities[rows] = self._probabilities(quadruplets[rows], draws)
        return probabilities

    def _draws_of(self, person: int | None) -> Draws:
        """Return the maps that a person answers by, or anybody."""
        people = self._posterior.people
        if people is None or (person is None and people.share_weights):
            return self.draws_
        return people.draws_of(self.draws_, person, np.random.default_rng(0))  # the same at every call

    def _probabilities(self, quadruplets: NDArray[np.integer], draws: Draws) -> FloatArray:
        probabilities = predictive_probability(draws, quadruplets, self.n_jobs)
        # Two objects that nothing is known of are equally far from a third; draws of them differ by chance.
        unknown = np.ones(self.n_objects_, dtype=bool)
        unknown[self._posterior.compared] = False
        i, j, l, k = quadruplets.T  # noqa: E741
        for a, b, c, d in ((i, j, l, k), (i, j, k, l), (j, i, l, k), (j, i, k, l)):
            probabilities[(a == c) & unknown[b] & unknown[d]] = 0.5
        probabilities[unknown[quadruplets].all(axis=1)] = 0.5
        return probabilities if self.calibration_ is None else self.calibration_.probability(probabilities)

    def _add_objects(self, added: Comparisons) -> None:
        self._extend_map(added.objects, added, ())

    def _extend_map(self, objects: Labels, added: Comparisons | None, features: Sequence[Features]) -> None:
        """Draw new objects given each draw of the old ones; on the map, which stays, they lie at their means."""
        before, old = self.n_objects_, self.embedding_
        known = self._posterior.compared
        rng = stream(self.random_state, "start")
        posterior = self._posterior.with_objects(objects, added, features, self.prior, rng)
        aligned = align(posterior.draws.points, old, seen=known)[:, before:]
        centers = aligned.mean(axis=0)
        away = aligned - centers
        self._posterior = posterior
        self.embedding_ = np.vstack([old, centers])
        new_covariances = np.einsum("kip,kiq->ipq", away, away) / len(away)
        self._store_covariances(np.concatenate([self.covariances_, new_covariances]))


def check_people(comparisons: Comparisons) -> None:
    """Raise ValueError unless two or more people are known to have answered."""
    if comparisons.annotators is None:
        raise ValueError(
            "the comparisons do not say who answered; pass annotators= when making them, or "
            "columns={'annotator': NAME} when reading a file, or fit one map for all with people='noise'"
        )
    if len(factorize(comparisons.annotators[comparisons.sample_weight > 0])[0]) < 2:
        raise ValueError("all answers are of one person, who cannot differ from others; fit with people='noise'")


def is_approximated(comparisons: Comparisons) -> bool:
    """Whether the posterior is by default approximated by a normal distribution: chains take long, and it is narrow."""
    # Distinct rows and pairs cost no more than so many rows and pairs would.
    most = 2.5 * len(comparisons) + 30.0 * comparisons.n_objects
    n_seen = int(seen_objects(comparisons).sum())
    if most <= MAX_SAMPLED_WORK or n_seen > MAX_APPROXIMATED_OBJECTS or len(comparisons) < MIN_ROWS_PER_OBJECT * n_seen:
        return False
    return distinct_comparisons(comparisons).work > MAX_SAMPLED_WORK


def _dimension(known: Draws, comparisons: Comparisons, is_sensible: bool) -> tuple[int | None, FloatArray]:
    """Return the number of dimensions, None where the answers may be guesses, and the probability of each number.

    ``is_sensible``: whether they are known to be none.
    """
    evidence = dimension_shares(known)
    probable = int(evidence.argmax()) + 1
    # A generator of its own: what is drawn for the map must not depend on the number of trials.
    if not is_sensible and guessing_p_value(comparisons, np.random.default_rng(0)) > GUESSING_LEVEL:
        return None, evidence
    return min(probable, max(n_resolvable_dimensions(known, probable), 2)), evidence
