"""Questions about objects with features: chosen before the first answer, and from what features and answers say."""

import numpy as np
import pytest

from nearer import Comparisons
from nearer.data.features import Features
from nearer.datasets import make_gaussian
from nearer.design import Questions, outlook
from nearer.design.active.posterior import prior_posterior, update_posterior
from nearer.embedding import PosteriorEmbedding
from nearer.embedding.storage import load_model, save_model
from nearer.sampling.features import FeatureKernel, feature_basis
from nearer.sampling.model import Model, Prior

POINTS = make_gaussian(12, 2, random_state=0)
LABELS = np.array([f"o{k}" for k in range(12)])
VECTORS = POINTS @ np.random.default_rng(0).normal(size=(2, 30))
FEATURES = Features(VECTORS, LABELS, "vectors")

pytestmark = pytest.mark.usefixtures("quick")


def answers_to(rows):
    position = {label: at for at, label in enumerate(LABELS.tolist())}
    asked = np.array([[position[each] for each in row] for row in np.asarray(rows).tolist()])
    near, far = (((POINTS[asked[:, 0]] - POINTS[asked[:, place]]) ** 2).sum(axis=1) for place in (1, 2))
    return LABELS[np.where((near < far)[:, None], asked, asked[:, [0, 2, 1]])]


def basis_of(features=FEATURES):
    return feature_basis([FeatureKernel.of(features, LABELS)], LABELS)


def shared_orders(points):
    """Return how often draws order two distances as the truth does."""
    rng = np.random.default_rng(1)
    i, j, k = np.array([rng.permutation(12)[:3] for _ in range(300)]).T

    def is_nearer(at):
        return ((at[i] - at[j]) ** 2).sum(axis=1) < ((at[i] - at[k]) ** 2).sum(axis=1)

    return np.mean([np.mean(is_nearer(draw) == is_nearer(POINTS)) for draw in points])


def test_the_prior_draws_objects_that_are_alike_near_each_other():
    assert shared_orders(prior_posterior(12, 2, 0, basis_of()).draws.points) > 0.56
    assert abs(shared_orders(prior_posterior(12, 2, 0, None).draws.points) - 0.5) < 0.03


def test_the_first_questions_are_chosen_from_the_prior():
    asking = Questions(LABELS, features=FEATURES, test_share=0.2, random_state=0)
    batch = asking.ask(10)
    assert batch.purposes.count("information") >= 7
    assert set(batch.purposes) == {"information", "test"}
    assert len(asking.peek(5)) == 5
    assert Questions(LABELS, random_state=0).ask(10).purposes.count("information") == 0


def test_after_a_few_answers_the_posterior_is_that_of_features_and_answers():
    asking = Questions(LABELS, features=FEATURES, random_state=0)
    for _ in range(3):
        asking.tell(answers_to(asking.ask(4)))
        asking.update(progress=False)
    assert shared_orders(asking._learner.result[0].draws.points) > 0.65
    assert asking.model_.feature_share_["vectors"].mean > 0.5
    chosen = np.isin(asking.purposes_, "information")
    assert chosen.any()
    assert np.array_equal(asking.comparisons_.was_chosen, chosen)


def test_objects_in_no_answer_are_drawn_given_their_features():
    rng = np.random.default_rng(0)
    rows = answers_to(np.array([rng.permutation(LABELS[:9])[:3] for _ in range(60)]))
    comparisons = Comparisons.from_triplets(rows, objects=LABELS)

    def correlation(features):
        points = update_posterior(comparisons, 2, 0, features=features).draws.points
        distances = np.linalg.norm(points[:, 9:, None] - points[:, None, :9], axis=3).mean(axis=0)
        truth = np.linalg.norm(POINTS[9:, None] - POINTS[None, :9], axis=2)
        return np.corrcoef(distances.ravel(), truth.ravel())[0, 1]

    assert correlation(basis_of()) > 0.6 > correlation(None) + 0.2


def test_chains_continue_with_the_unknowns_of_features():
    rng = np.random.default_rng(0)
    rows = answers_to(np.array([rng.permutation(LABELS)[:3] for _ in range(70)]))
    people = np.array(["a", "b"] * 35)
    basis = basis_of()

    def posterior(k, before=None):
        some = Comparisons.from_triplets(rows[:k], objects=LABELS, annotators=people[:k])
        return update_posterior(some, 2, k, before, features=basis)

    first = posterior(60)
    again = posterior(62, first)
    assert again.n_answers_at_restart == 60  # chains went on
    assert abs(shared_orders(again.draws.points) - shared_orders(first.draws.points)) < 0.1


def test_new_objects_come_with_the_features_that_were_waiting_for_them():
    asking = Questions(LABELS[:10], features=FEATURES, random_state=0)
    assert len(asking.features_[0].values) == 10
    asking.ask(3)
    asking.add(LABELS[10:])
    asking.update(progress=False)
    assert len(asking.features_[0].values) == 12
    assert {"o10", "o11"} <= set(np.asarray(asking.ask(20)).ravel().tolist())


def test_chains_begin_anew_where_objects_change_the_directions_of_features(caplog):
    asking = Questions(LABELS[:10], features=FEATURES, random_state=0)
    asking.tell(answers_to(asking.ask(6)))
    asking.update(progress=False)
    asking.add(LABELS[10:])
    asking.update(progress=False)
    assert asking._learner.result[0].draws.points.shape[1] == 12
    assert "could not be updated" not in caplog.text


def test_questions_are_stored_with_their_features(tmp_path):
    asking = Questions(LABELS, features={"vectors": FEATURES, "words": VECTORS[:, :2]}, random_state=0)
    asking.tell(answers_to(asking.ask(4)))
    again = load_model(save_model(asking, tmp_path))
    assert [each.name for each in again.features_] == ["vectors", "words"]
    assert np.array_equal(again.features_[1].values, VECTORS[:, :2])


def test_features_of_other_objects_are_refused():
    with pytest.raises(ValueError, match="describes none of the objects"):
        Questions(["cat", "dog", "cow", "hen"], features=FEATURES)


def test_the_prior_covariance_is_that_of_prior_draws():
    basis = basis_of()
    model = Model(np.zeros(12), 0.0, 1, Prior(), features=basis)
    rng = np.random.default_rng(0)
    (unknowns,) = model.draw_prior(1, rng)
    many = np.tile(unknowns, (20_000, 1))
    last = model.size - 2
    many[:, :12] = rng.standard_normal((20_000, 12))
    many[:, model.core_size : last] = rng.standard_normal((20_000, last - model.core_size))
    axis = np.array([model.mixed(each)[:12] for each in many])
    assert np.abs(np.cov(axis.T) - model.prior_covariance(unknowns[None])).max() < 0.06
    assert Model(np.zeros(12), 0.0, 1, Prior()).prior_covariance(unknowns[None]) is None


def test_an_outlook_expects_less_of_answers_where_features_tell_the_same():
    asking = Questions(LABELS, features=FEATURES, random_state=0)
    asking.tell(answers_to(asking.ask(24)))
    with_features = outlook(asking.model_, asking.comparisons_, 24, random_state=0)
    plain = PosteriorEmbedding(2, max_components=2, random_state=0).fit(asking.comparisons_)
    without = outlook(plain, asking.comparisons_, 24, random_state=0)
    assert with_features.error_now < without.error_now
    assert with_features.gain < without.gain
