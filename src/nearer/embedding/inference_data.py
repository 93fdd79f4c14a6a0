"""A posterior as ArviZ takes it: draws by chain, the log-likelihood of each trial, and answers as they might have been.

Places are rotated and scaled onto the map, distances are of all dimensions and relative to the size of the map; neither
depends on how a draw is rotated, which comparisons leave open. The log-likelihood of a trial is the one that was
sampled, in which its rows weigh less than as many trials.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.randomness import RandomState, stream
from nearer.data.comparisons import Comparisons
from nearer.data.groups import near_far_codes, trial_indices, with_positive_weight
from nearer.geometry import align
from nearer.sampling.annotators import population_of
from nearer.sampling.model import Draws, row_weights
from nearer.sampling.summaries import MAX_PAIRS, pairs_of, relative_distances

if TYPE_CHECKING:
    from nearer.embedding.posterior_embedding import PosteriorEmbedding

Groups: TypeAlias = dict[str, dict[str, Any]]
_ROWS_PER_BLOCK = 200  # differences of these in all draws are held at once


def datatree_of(model: PosteriorEmbedding, random_state: RandomState = None) -> Any:
    """Return the draws of a fitted posterior as a DataTree of ArviZ."""
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise ImportError("ArviZ's format needs arviz-base: pip install arviz-base") from error
    groups, dims, coords = groups_of(model, random_state)
    return from_dict(groups, dims=dims, coords=coords)


def groups_of(
    model: PosteriorEmbedding, random_state: RandomState = None
) -> tuple[Groups, dict[str, list[str]], dict[str, Any]]:
    """Return the groups, arrays of shape (chains, draws, ...), with names and labels of their further dimensions."""
    posterior = model._posterior
    assert isinstance(model.comparisons_, Comparisons)
    comparisons = with_positive_weight(model.comparisons_)
    n_chains = posterior.n_chains
    pairs = pairs_of(len(posterior.compared), MAX_PAIRS)
    objects = [str(label) for label in model.objects_.tolist()]
    named = posterior.compared[pairs]
    of_all = population_of(posterior.model, posterior.unknowns, by_annotator=posterior.people is not None)
    draws: dict[str, FloatArray] = {
        "place": align(posterior.draws.points, model.embedding_, seen=posterior.compared),
        "distance": relative_distances(posterior.draws.points[:, posterior.compared], pairs),
        "slope": of_all.slopes,
        "offset": of_all.offsets,
        "lapse": of_all.lapses,
    }
    draws["place"] = draws["place"][:, :, : model.embedding_.shape[1]]
    coords: dict[str, Any] = {
        "object": objects,
        "axis": np.arange(1, model.embedding_.shape[1] + 1),
        "pair": [f"{objects[a]} - {objects[b]}" for a, b in named],
        "comparison": np.arange(len(comparisons)),
    }
    dims = {"place": ["object", "axis"], "distance": ["pair"], "answer": ["trial"], "choice": ["comparison"]}
    if posterior.people is not None:
        draws |= {"person_slope": posterior.people.slopes, "person_lapse": posterior.people.lapses}
        dims |= {"person_slope": ["person"], "person_lapse": ["person"]}
        coords["person"] = [str(label) for label in posterior.people.labels.tolist()]
    log_likelihood, chances = _answers(model, comparisons)
    coords["trial"] = np.arange(log_likelihood.shape[1])
    first = _is_first_near(comparisons)
    drawn = stream(random_state, "start").random(chances.shape) < np.where(first, chances, 1 - chances)
    groups: Groups = {
        "posterior": draws,
        "log_likelihood": {"answer": log_likelihood},
        "posterior_predictive": {"choice": drawn.astype(np.int8)},
    }
    by_chain: Groups = {
        group: {name: values.reshape(n_chains, -1, *values.shape[1:]) for name, values in arrays.items()}
        for group, arrays in groups.items()
    }
    return by_chain | {"observed_data": {"choice": first.astype(np.int8)}}, dims, coords


def _is_first_near(comparisons: Comparisons) -> NDArray[np.bool_]:
    """Return whether the pair with the lower numbers was judged the nearer: answers as written all hold."""
    near, far = near_far_codes(comparisons.oriented, comparisons.n_objects)
    return near < far


def _answers(model: PosteriorEmbedding, comparisons: Comparisons) -> tuple[FloatArray, FloatArray]:
    """Return the log-likelihood of each trial, (k, trials), and the probability of each row, (k, m), in each draw."""
    trials, weights, people = trial_indices(comparisons), row_weights(comparisons), model._posterior.people
    chances = np.empty((len(model.draws_), len(comparisons)))
    person = np.zeros(len(comparisons), dtype=np.intp)
    if people is not None and comparisons.annotators is not None:
        number_of = {label: number for number, label in enumerate(people.labels.tolist())}
        person = np.array([number_of[label] for label in comparisons.annotators.tolist()])
    for number in np.unique(person):
        draws = model._draws_of(None if people is None else int(number))
        rows = np.flatnonzero(person == number)
        for some in np.array_split(rows, -(-len(rows) // _ROWS_PER_BLOCK)):
            chances[:, some] = _probabilities(draws, comparisons.oriented[some])
    log_likelihood = np.zeros((len(chances), int(trials.max()) + 1))
    np.add.at(log_likelihood.T, trials, (weights * np.log(chances)).T)
    return log_likelihood, chances


def _probabilities(draws: Draws, quadruplets: NDArray[np.integer]) -> FloatArray:
    """Return the probability of each row in each draw, (k, m)."""
    i, j, l, k = quadruplets.T  # noqa: E741
    near, far = (np.square(draws.points[:, a] - draws.points[:, b]).sum(axis=2) for a, b in ((i, j), (l, k)))
    return draws.answer_model.probability(near, far)
