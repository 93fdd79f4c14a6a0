"""Plans of studies whose objects come with features: truths that depend on them, and maps with and without them."""

import json

import numpy as np
import pytest

from nearer import Comparisons
from nearer.data.features import Features
from nearer.datasets import make_gaussian, sample_triplets
from nearer.design import Design, estimate_noise, plan, plot_plan, predict_error
from nearer.design.planning import plans
from nearer.design.planning.features import ASSUMED_SHARES, StudyFeatures
from nearer.design.planning.plans import TargetNotReached
from nearer.design.planning.prediction import Replication, learned_margins
from nearer.design.planning.simulation import draw_ground_truth
from nearer.embedding import TSTE, PosteriorEmbedding
from nearer.optimize.problems.margins import error_from_margins, pair_distances

N = 24
LABELS = np.array([f"o{number:02}" for number in range(N)])
POINTS = make_gaussian(N, 2, random_state=0)
VECTORS = POINTS @ np.random.default_rng(0).normal(size=(2, 30))
FEATURES = Features(VECTORS, LABELS[::-1], "vectors")  # in another order than the objects
POINTS = POINTS[::-1]
QUICK = PosteriorEmbedding(2, max_components=2, solver="fast", n_jobs=1, random_state=0)
SETTINGS = {"estimator": QUICK, "random_state": 0}


def answers(n, n_objects=N, seed=1):
    """Answers about some of the objects, those called o00, o01, ..., one in ten of them wrong."""
    rows = sample_triplets(POINTS[:n_objects], n, flipped=0.1, random_state=seed).rows
    return Comparisons.from_triplets(LABELS[rows])


@pytest.fixture(scope="module")
def pilot():
    """Of answers about 18 of the 24 objects that have features."""
    return estimate_noise(answers(100, 18), 2, features=FEATURES, random_state=0)


def distances(points):
    return pair_distances(points, *np.triu_indices(len(points), 1))


def test_true_maps_depend_on_the_features_as_far_as_they_explain_them():
    similar = []
    for share in (0.0, 0.5, 0.95):
        known = StudyFeatures.assumed(FEATURES, share)
        studies = Replication.draw(10, 0, Design(N, 2, decay=0.0), features=known)
        pairs = [(study.truth.points, study.features[0]) for study in studies]
        assert all(each.objects.tolist() == list(range(N))[::-1] or len(each.objects) == N for _, each in pairs)
        orders = [(distances(points), distances(each.values[np.argsort(each.objects)])) for points, each in pairs]
        similar.append(np.mean([np.corrcoef(one, other)[0, 1] for one, other in orders]))
        spread = np.mean([points.var() for points, _ in pairs])
        assert spread == pytest.approx(1, abs=0.2)
    assert similar[0] == pytest.approx(0, abs=0.1)
    assert similar[0] < similar[1] - 0.1 < similar[2] - 0.3


def test_a_smaller_study_has_some_of_the_objects():
    known = StudyFeatures.assumed([FEATURES, Features(VECTORS[:12], LABELS[:12], "some")])
    assert known.shares["some"].high == pytest.approx(ASSUMED_SHARES[1] / 2)
    studies = list(Replication.draw(3, 0, Design(10, 2), features=known))
    rows = [study.features[0].values for study in studies]
    assert all(each.shape == (10, 30) for each in rows)
    assert not np.array_equal(rows[0], rows[1])
    for study in studies:
        whole, some = study.features
        assert 3 <= len(some.objects) < 10
        assert study.truth.points.shape == (10, 2)
        assert set(some.objects.tolist()) <= set(whole.objects.tolist())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"features": FEATURES, "feature_share": 1}, r"feature_share=1 must be below 1"),
        ({"features": FEATURES, "feature_share": -0.1}, "feature_share must be"),
        ({"feature_share": 0.5}, "is the share of features; give these, too"),
        ({"features": VECTORS[:20]}, "features describe 20 objects, and the study has 24; give a row for each"),
        ({"features": FEATURES, "estimator": TSTE(2)}, "TSTE takes no features; take PosteriorEmbedding or DMOE"),
    ],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        predict_error(Design(N, 2), 50, **settings)


def test_features_of_a_pilot_are_those_it_was_estimated_with(pilot):
    with pytest.raises(ValueError, match="are those of estimate_noise"):
        predict_error(Design(N, 2), 50, pilot=pilot, features=FEATURES)
    assert pilot.features.is_learned
    assert pilot.features.shares["vectors"].mean > 0.6


def test_features_that_know_the_map_lower_the_error_and_shuffled_ones_do_not(pilot):
    shuffled = Features(VECTORS, np.random.default_rng(3).permutation(LABELS), "vectors")
    wrong = estimate_noise(answers(100, 18), 2, features=shuffled, random_state=0)
    knowing, knowing_nothing = (
        predict_error(Design(N, 2), 130, pilot=each, n_replications=5, **SETTINGS) for each in (pilot, wrong)
    )
    assert knowing.error < knowing.without_features.error - 0.04
    assert knowing_nothing.error > knowing_nothing.without_features.error - 0.015
    assert knowing.without_features.floor == knowing.floor
    assert knowing.to_dict()["feature_share"]["vectors"]["mean"] > 0.6


def test_objects_without_answers_belong_to_a_study_that_goes_on(pilot):
    assert pilot.comparisons.n_objects == N
    assert pilot.is_continued_by(Design(N, 2))
    study = Replication(Design(N, 2), np.random.default_rng(0), pilot=pilot, features=pilot.features)
    maps = [pilot.draw_ground_truth(Design(N, 2), np.random.default_rng(seed)).points for seed in range(20)]
    order = np.argsort(pilot.comparisons.objects)
    unheard = np.isin(np.triu_indices(N, 1), np.arange(18, N)).any(axis=0)
    for chosen in (unheard, ~unheard):
        alike = [np.corrcoef(distances(points[order])[chosen], distances(POINTS)[chosen])[0, 1] for points in maps]
        assert np.mean(alike) > 0.6
    assert study.pilot.n_answers == 100


def test_other_objects_lie_where_people_who_judge_alike_put_their_features(pilot):
    alike = []
    for seed in range(10):
        study = Replication(Design(15, 2), np.random.default_rng(seed), pilot=pilot, features=pilot.features)
        assert study.pilot is None
        rows = study.features[0].values[np.argsort(study.features[0].objects)]
        alike.append(np.corrcoef(distances(study.truth.points), distances(rows))[0, 1])
    assert np.mean(alike) > 0.6


def test_features_without_labels_are_in_the_order_of_the_answers():
    given = answers(100, 18)
    values = FEATURES.of(given.objects)
    pilot = estimate_noise(given, 2, features=values, random_state=0)
    study = Replication(Design(18, 2), np.random.default_rng(0), pilot=pilot, features=pilot.features)
    np.testing.assert_array_equal(study.features[0].values, values)
    assert study.features[0].objects.tolist() == list(range(18))


def test_a_plan_says_what_it_takes_with_and_without():
    settings = {"features": FEATURES, "feature_share": 0.9, "n_replications": 1, **SETTINGS}
    found = plan(Design(N, 2), 0.22, **settings)
    alone = found.without_features
    assert found.n_answers < alone.n_answers / 1.5
    text = str(found)
    assert f"Without features it takes about {alone.n_answers}" in text
    assert "Features explain a share of the variance of places (assumed): vectors 90%." in text
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["without_features"]["n_answers"] == alone.n_answers
    assert stored["feature_share"] == {"vectors": {"mean": 0.9, "low": 0.9, "high": 0.9}}
    ax = plot_plan(found)
    assert [each.get_text() for each in ax.get_legend().get_texts()] == ["without features", "with features"]


def test_a_target_that_features_alone_reach_is_named(monkeypatch):
    def search(*_, with_features):
        if not with_features:
            raise TargetNotReached
        return np.array([10, 20]), np.array([[0.2, 0.15]])

    monkeypatch.setattr(plans, "_search", search)
    found = plan(Design(N, 2), 0.3, features=FEATURES, n_replications=1, **SETTINGS)
    assert found.without_features is None
    assert "10 answers or fewer bring the error" in str(found)
    assert "Without features the target is out of reach." in str(found)


@pytest.mark.slow
def test_intervals_hold_the_errors_of_finished_studies():
    """Of studies with features that are simulated, and go on from a pilot, nine in ten."""
    held, better = [], []
    known = StudyFeatures.assumed(FEATURES)
    for seed in range(24):
        rng = np.random.default_rng([17, seed])
        coordinates = known.draw_coordinates(known.of(LABELS), N, 2, rng)
        truth = draw_ground_truth(Design(N, 2, 0.15), rng, coordinates=coordinates)
        asked, tested = truth.ask(200, rng), truth.ask(4000, rng).comparisons
        first = Comparisons.from_triplets(LABELS[asked.part(0, 100).comparisons.rows])
        numbers = first.reindex(LABELS)
        pilot = estimate_noise(numbers, 2, features=FEATURES, random_state=seed)
        estimator = QUICK.set_params(features=list(known.of(LABELS)), n_objects=N)
        found = predict_error(Design(N, 2), 200, pilot=pilot, estimator=QUICK, n_replications=19, random_state=seed)
        reached = error_from_margins(learned_margins(estimator, asked.comparisons, tested), tested.sample_weight)
        held.append(found.low <= reached <= found.high)
        better.append(found.without_features.error - found.error)
    assert 0.7 <= np.mean(held) <= 1
    assert np.mean(better) > 0.005
