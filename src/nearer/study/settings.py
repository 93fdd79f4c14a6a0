"""Settings of a run, and the estimator that they ask for: a method, with answers as they are or weighted by person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from inspect import signature
from typing import Any, Literal, Self

from sklearn.base import BaseEstimator, clone

from nearer._common.arrays import FloatArray
from nearer._common.formatting import intcomma, quote
from nearer._common.parameters import check_level
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons, as_comparisons
from nearer.data.features import Features
from nearer.data.labels import Labels
from nearer.embedding import CKL
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.posterior_embedding import MAX_SAMPLED_WORK, is_approximated
from nearer.evaluation.annotators import annotator_reliability, reliability_weights
from nearer.optimize.problems.points import Penalty
from nearer.sampling.model import distinct_comparisons
from nearer.study.methods import METHOD_CLASSES

_TEXT_PARAMETERS = ("solver", "rank", "ties", "connectivity", "link", "order", "device")  # parameters that may be text
MAX_PARAMETER = 10**9


@dataclass(frozen=True)
class RunSettings:
    """What a run does with its answers.

    Parameters
    ----------
    method : str
        A key of `METHOD_CLASSES`. "auto" is the posterior, and for many objects with few answers each the method that
        held-out answers choose.
    n_components : int, optional
        Dimension of the map; chosen if left out, by a posterior itself and by cross-validation for other methods.
    parameters : mapping
        Further arguments of the estimator.
    seed : int
        Of everything that is drawn: the same seed, the same result.
    n_resamples : int
        Bootstrap maps behind the ellipses; 0 for none.
    by : {"trials", "annotators"}
        What folds keep whole: trials speak of further answers of the same people, annotators of further people.
        Resamples keep annotators whole wherever enough of them are known.
    level : float
        Of intervals and ellipses.
    quick, weigh_annotators : bool
        Whether to leave out all that takes more than a few fits (ellipses, learning curve, annotators), and to weight
        answers by the reliability of the person.
    features : sequence of Features
        What is known of the objects, for a method that takes it.

    Examples
    --------
    >>> RunSettings(method="SOE", parameters={"trace": 0.01}).estimator(3)
    SOE(n_components=3, random_state=0, trace=0.01)
    """

    method: str = "auto"
    n_components: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    n_resamples: int = 100
    by: Literal["trials", "annotators"] = "trials"
    level: float = 0.95
    quick: bool = False
    weigh_annotators: bool = False
    features: tuple[Features, ...] = ()

    def __post_init__(self) -> None:
        if self.method not in METHOD_CLASSES:
            known = ", ".join(METHOD_CLASSES)
            raise ValueError(f"method {self.method!r} is not known; choose one of {known}")
        if self.n_components is not None and self.n_components < 1:
            raise ValueError(f"a map needs at least 1 dimension, got {self.n_components}")
        check_level(self.level)
        if self.n_resamples and not 10 <= self.n_resamples <= 10_000:
            raise ValueError(f"resamples must be 0 (for none) or between 10 and 10000, got {self.n_resamples}")
        if self.by not in ("trials", "annotators"):
            raise ValueError(f"by must be 'trials' or 'annotators', got {self.by!r}")
        for setting, value in self.parameters.items():
            self._check_setting(setting, value)
        self.estimator(2)

    def _check_setting(self, setting: str, value: Any) -> None:
        """Refuse a value of a method's setting that is of no use to any: most are numbers."""
        number = isinstance(value, int | float)
        text = isinstance(value, str) and setting not in _TEXT_PARAMETERS
        if text or isinstance(value, list | dict) or (number and not abs(value) <= MAX_PARAMETER):
            limit = intcomma(MAX_PARAMETER)
            raise ValueError(
                f"the setting {quote(setting)} must be a number between -{limit} and {limit}, got {quote(value)}"
            )

    def for_answers(self, comparisons: Comparisons) -> RunSettings:
        """Return the settings with a method for so many objects in place of "auto"."""
        large = self.method == "auto" and not self.features and is_beyond_posterior(comparisons)
        return replace(self, method="best") if large else self

    @property
    def chooses_dimension(self) -> bool:
        """Whether the method itself finds, or fixes, the dimension of its map."""
        return METHOD_CLASSES[self.method] in ("PosteriorEmbedding", "LORE", "MLDS", "SPoSE")

    def estimator(self, n_components: int | None) -> OrdinalEmbedding:
        """Return the estimator for maps of so many dimensions, not yet fitted."""
        from nearer import embedding

        kind = getattr(embedding, METHOD_CLASSES[self.method])
        parameters = dict(self.parameters)
        if kind is embedding.MLDS:
            n_components = n_components or 1
            if isinstance(parameters.get("order"), str):
                parameters["order"] = [label.strip() for label in parameters["order"].split("<")]
        if kind is embedding.DMOE:
            # The fields of its penalty can be given one by one; those left out are chosen.
            given = {
                key: parameters.pop(key) for key in ("trace", "ridge", "diagonal", "specificity") if key in parameters
            }
            parameters |= {"penalty": replace(Penalty.open(), **given)} if given else {}
        if self.features and not takes_features(self.method):
            others = ", ".join(name for name in METHOD_CLASSES if takes_features(name))
            raise ValueError(f"the method {self.method!r} takes no features; choose {others}, or leave features out")
        known = sorted(set(kind().get_params()) - {"n_components", "random_state", "n_objects", "features"})
        unknown = [key for key in parameters if key not in known]
        if unknown:
            raise ValueError(f"{METHOD_CLASSES[self.method]} has no setting {unknown[0]!r}; it has {', '.join(known)}")
        if self.features:
            parameters["features"] = list(self.features)
        model: OrdinalEmbedding = kind(n_components, random_state=self.seed, **parameters)
        return model

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, without features, which are stored with the model."""
        return asdict(replace(self, features=())) | {"features": [each.name for each in self.features]}


def is_beyond_posterior(comparisons: Comparisons) -> bool:
    """Whether a posterior takes minutes: too much work for chains, and too few answers an object to approximate it."""
    # The work of distinct rows is at most that of all of them.
    most = 2.5 * len(comparisons) + 30.0 * comparisons.n_objects
    if most <= MAX_SAMPLED_WORK or distinct_comparisons(comparisons).work <= MAX_SAMPLED_WORK:
        return False
    return not is_approximated(comparisons)


def takes_features(method: str) -> bool:
    """Whether a method, a key of `METHOD_CLASSES`, makes use of features."""
    from nearer import embedding

    return "features" in signature(getattr(embedding, METHOD_CLASSES[method])).parameters


class AnnotatorWeighted(BaseEstimator):
    """A copy of a method, ``method_``, fitted to answers that are weighted by the reliability of the person.

    Reliability is estimated from the answers that the method is fitted to, and from no others: with weights from all
    answers, those held out would have influenced their own weights. Where the answers are so few that nobody is better
    than chance against a map of the others, all weights are equal.
    """

    method_: OrdinalEmbedding
    is_weighted_: bool  # whether some people count more than others

    def __init__(self, method: OrdinalEmbedding, *, random_state: RandomState = None) -> None:
        self.method = method
        self.random_state = random_state

    def fit(self, X: Any) -> Self:
        """Weight answers by the reliability of the person, and fit the method."""
        comparisons = as_comparisons(X)
        rng = stream(self.random_state, "folds")
        quick = CKL(self.method.n_components or 2, random_state=int(rng.integers(2**31)))
        found = annotator_reliability(quick, comparisons, random_state=rng)
        try:
            comparisons = replace(comparisons, weights=reliability_weights(found, comparisons))
            self.is_weighted_ = True
        except ValueError:  # nobody is better than chance
            self.is_weighted_ = False
        self.method_ = clone(self.method).fit(comparisons)
        return self

    @property
    def embedding_(self) -> FloatArray:
        """The map of the fitted method."""
        return self.method_.embedding_

    @property
    def _has_distances(self) -> bool:
        """Whether answers go by distances on the map."""
        return self.method_._has_distances

    @property
    def objects_(self) -> Labels:
        """The labels of the objects on it."""
        return self.method_.objects_

    def decision_function(self, X: Any) -> FloatArray:
        """Return the margins of comparisons as written, shape (m,)."""
        return self.method_.decision_function(X)
