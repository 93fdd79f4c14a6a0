"""PosteriorEmbedding where people may differ: predictions of each, maps of each, and what is refused."""

import numpy as np
import pytest
from helpers.people import planted_weights

from nearer import Comparisons
from nearer.checking import predictive_checks
from nearer.embedding import PosteriorEmbedding
from nearer.embedding.storage import load_model, save_model
from nearer.evaluation import leave_one_out
from nearer.sampling import Microcanonical

QUICK = Microcanonical(n_chains=2, n_warmup=400, n_steps=1200, n_starts=2, n_climb=50)


@pytest.fixture(scope="module")
def planted():
    steps = np.where(np.arange(10) % 2 == 0, 1.0, -1.0)
    return planted_weights(np.column_stack([steps, -steps]), 90, n_objects=10)


@pytest.fixture(scope="module")
def model(planted):
    return PosteriorEmbedding(2, people="maps", solver=QUICK, max_components=3, random_state=0).fit(planted.comparisons)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_predictions_are_those_of_who_answers(model, planted):
    answers = planted.comparisons
    common = PosteriorEmbedding(2, solver=QUICK, max_components=3, random_state=0).fit(answers)
    rows = answers[::7]
    assert model.score(rows) > common.score(rows) + 0.03
    # The same question, asked of two people who go by different axes.
    question = Comparisons.from_triplets(np.repeat(rows.rows[:40], 2, axis=0), annotators=["p00", "p01"] * 40)
    chances = model.predict_proba(question)[:, 1].reshape(-1, 2)
    assert np.abs(chances[:, 0] - chances[:, 1]).mean() > 0.1
    np.testing.assert_allclose(model.decision_function(question) > 0, chances.ravel() > 0.5)


def test_somebody_unknown_is_a_new_person(model, planted):
    rows = planted.comparisons.rows[:20]
    nobody = model.predict_proba(rows)
    stranger = model.predict_proba(Comparisons.from_triplets(rows, annotators=["stranger"] * 20))
    np.testing.assert_array_equal(nobody, stranger)
    known = model.predict_proba(Comparisons.from_triplets(rows, annotators=["p00"] * 20))
    assert np.abs(nobody - 0.5).mean() < np.abs(known - 0.5).mean()


def test_people_may_differ_in_noise_alone(planted):
    model = PosteriorEmbedding(2, solver=QUICK, max_components=3, random_state=0).fit(planted.comparisons)
    assert model.differences_ is None
    rows = planted.comparisons.rows[:20]
    one, other = (
        model.predict_proba(Comparisons.from_triplets(rows, annotators=[name] * 20))[:, 1] for name in ("p00", "p01")
    )
    assert ((one > 0.5) == (other > 0.5)).mean() > 0.9
    assert (one != other).any()
    with pytest.raises(ValueError, match="all people share one map"):
        model.map_of("p00")


def test_the_map_of_a_person_is_laid_onto_the_common_one(model):
    found = model.map_of("p03")
    assert found.maps.shape[1:] == model.embedding_.shape
    weights = model.differences_.weights[model.differences_.people.tolist().index("p03")]
    ratio = found.maps.mean(axis=0).var(axis=0) / model.embedding_.var(axis=0)
    # A person who stretches an axis sees objects farther apart along it.
    assert (ratio[0] > ratio[1]) == (weights[0] > weights[1])
    assert found.covariances.shape == (10, 2, 2)
    with pytest.raises(ValueError, match="nobody called 'zoe' has answered"):
        model.map_of("zoe")


def test_what_is_known_of_people_is_stored(model, planted, tmp_path):
    again = load_model(save_model(model, tmp_path))
    np.testing.assert_array_equal(again.predict_proba(planted.comparisons), model.predict_proba(planted.comparisons))
    np.testing.assert_array_equal(again.differences_.weights, model.differences_.weights)
    assert again.differences_.weight_spread == model.differences_.weight_spread


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_new_objects_are_placed_for_all(planted):
    model = PosteriorEmbedding(2, people="maps", solver=QUICK, max_components=3, random_state=0)
    model.fit(planted.comparisons)
    model.place([(10, 0, other) for other in range(1, 10)] * 3)
    assert model.embedding_.shape == (11, 2)
    people = model.differences_.people
    about = Comparisons.from_triplets([(10, 0, 5)] * len(people), annotators=people, n_objects=11)
    assert model.predict_proba(about)[:, 1].mean() > 0.6
    assert model.map_of("p00").maps.shape[1] == 11


@pytest.mark.parametrize("of_model", [leave_one_out, predictive_checks])
def test_what_knows_of_noise_alone_refuses_maps_of_people(model, of_model):
    with pytest.raises(ValueError, match="differ in more than noise"):
        of_model(model)


def test_axes_that_people_weigh_stay_as_they_are(model):
    assert model.differences_.axes_identified
    with pytest.raises(ValueError, match="it cannot be rotated"):
        model._rotate(np.eye(2))


@pytest.mark.parametrize(
    ("settings", "annotators", "message"),
    [
        ({"people": "views"}, ["a", "b"], "people must be one of 'noise', 'weights', 'maps'"),
        ({"people": "maps"}, None, "do not say who answered"),
        ({"people": "weights"}, ["a", "a"], "all answers are of one person"),
    ],
)
def test_what_cannot_be_fitted_is_refused(settings, annotators, message):
    rows = Comparisons.from_triplets([[0, 1, 2], [1, 2, 0]], annotators=annotators)
    with pytest.raises(ValueError, match=message):
        PosteriorEmbedding(2, **settings).fit(rows)
