"""Bootstrap: resamples, alignment, ellipses, and the calibration on copies of the data."""

from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import chi2
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nearer import Comparisons, ComparisonsFile, Penalty
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE, GNMDS, STE, PosteriorEmbedding
from nearer.evaluation import Bootstrap, bootstrap, procrustes_error
from nearer.evaluation.uncertainty import Simulator, choose_clearness, fit_simulator, squared_distances
from nearer.geometry import align
from nearer.sampling import NUTS

pytestmark = pytest.mark.usefixtures("one_start")


@pytest.fixture(scope="module")
def points():
    return make_gaussian(15, 2, variance=0.25, random_state=1)


@pytest.fixture(scope="module")
def answers(points):
    return sample_triplets(points, 600, flipped=0.1, random_state=1)


@pytest.fixture(scope="module")
def trust(answers):
    return bootstrap(STE(2), answers, n_resamples=30, n_simulations=15, random_state=0)


def quick(estimator, comparisons, **settings):
    return bootstrap(estimator, comparisons, **{"n_resamples": 20, "n_simulations": 0, "random_state": 0, **settings})


def test_maps_are_aligned_with_the_reference_by_a_similarity(trust):
    centred = trust.embedding - trust.embedding.mean(axis=0)
    for each in trust.maps:
        assert np.allclose(each.mean(axis=0), trust.embedding.mean(axis=0))
        # At the best turn the product is symmetric and positive, and at the best scale the residual is orthogonal.
        product = (each - each.mean(axis=0)).T @ centred
        assert np.allclose(product, product.T)
        assert np.linalg.eigvalsh(product).min() > 0
        assert np.isclose(np.vdot(each, each - trust.embedding), 0, atol=1e-9 * np.vdot(each, each))


def test_reference_is_the_map_of_all_answers(trust, answers):
    assert np.array_equal(trust.embedding, STE(2).fit(answers).embedding_)


def test_covariances_are_the_spread_around_the_reference_times_the_inflation(trust):
    away = trust.maps - trust.embedding
    expected = trust.inflation * np.einsum("bip,biq->ipq", away, away) / len(away)
    assert np.allclose(trust.covariances, expected)
    assert np.allclose(trust.std**2, expected[:, range(2), range(2)])


def test_95_percent_of_the_simulated_truths_lie_within_the_radius_of_chi_square(trust):
    assert len(trust.distances) == 15 * 15
    assert trust.radius(0.95) == pytest.approx(np.sqrt(chi2.ppf(0.95, 2)))
    assert np.mean(trust.distances <= trust.radius(0.8) ** 2) == pytest.approx(0.8, abs=0.01)
    assert trust.radius(0.5) < trust.radius(0.8) < trust.radius(0.95)


@pytest.mark.parametrize("n_axes", [1, 2, 3])
def test_radius_without_calibration_is_that_of_chi_square(n_axes):
    plain = Bootstrap(np.zeros((4, 3)), np.zeros((1, 4, 3)), np.tile(np.eye(3), (4, 1, 1)), np.arange(4))
    assert plain.radius(0.9, n_axes) == pytest.approx(np.sqrt(chi2.ppf(0.9, n_axes)))


def test_ellipses_are_level_sets_of_the_covariances(trust):
    for (x, y, longer, shorter, angle), centre, covariance in zip(
        trust.ellipses(0.9), trust.embedding, trust.covariances, strict=True
    ):
        assert (x, y) == tuple(centre)
        assert longer >= shorter > 0
        turn = np.radians(angle)
        for tip in (
            longer * np.array([np.cos(turn), np.sin(turn)]),
            shorter * np.array([-np.sin(turn), np.cos(turn)]),
        ):
            assert tip @ np.linalg.solve(covariance, tip) == pytest.approx(trust.radius(0.9) ** 2)


def test_covers_whatever_the_frame_of_the_truth(trust, points):
    moved = 7 * points @ np.array([[0.0, 1.0], [1.0, 0.0]]) - 3
    assert np.array_equal(trust.covers(points), trust.covers(moved))
    assert trust.covers(trust.embedding).all()
    assert trust.covers(points, 0.99).sum() >= trust.covers(points, 0.3).sum()
    assert trust.covers(trust.embedding[::-1]).mean() < 0.8


def test_plot_map_draws_the_ellipses(trust):
    pytest.importorskip("matplotlib").use("Agg")
    from nearer.plotting import plot_map

    ax = plot_map(trust.embedding, ellipses=trust.ellipses())
    assert len(ax.collections) >= 2


def test_repeats_with_a_seed_for_any_number_of_jobs(answers):
    with parallel_config(backend="threading"):  # processes give the same, and take seconds to start
        first, second = (quick(STE(2), answers, n_resamples=10, n_jobs=jobs) for jobs in (None, 2))
    assert np.array_equal(first.maps, second.maps)
    assert not np.array_equal(first.maps, quick(STE(2), answers, n_resamples=10, random_state=1).maps)


def test_more_answers_give_smaller_ellipses(points):
    few, many = (sample_triplets(points, m, flipped=0.1, random_state=3) for m in (300, 1200))
    sizes = [np.median(quick(GNMDS(2), each).std / np.std(GNMDS(2).fit(each).embedding_)) for each in (few, many)]
    assert sizes[1] < 0.8 * sizes[0]


def tripled(answers):
    """Three rows of each, as trials of their own and as one trial."""
    rows = np.repeat(answers.rows, 3, axis=0)
    each, three = np.arange(len(rows)), np.repeat(np.arange(len(answers)), 3)
    return Comparisons.from_triplets(rows, trials=each), Comparisons.from_triplets(rows, trials=three)


def test_rows_of_a_trial_are_resampled_together(answers):
    apart, together = tripled(answers)
    apart, whole = (np.median(quick(STE(2), each).std ** 2) for each in (apart, together))
    assert 2 < whole / apart < 12


def test_questions_join_the_rows_that_ask_the_same(answers):
    apart, together = tripled(answers)
    assert np.allclose(quick(STE(2), apart, by="questions").std, quick(STE(2), together).std, rtol=1.0)
    assert np.mean(quick(STE(2), apart, by="questions").std) > 1.4 * np.mean(quick(STE(2), apart).std)


def test_without_trials_questions_are_resampled_as_folds_keep_them_whole(answers):
    repeated = replace(tripled(answers)[0], trials=None)
    by_default, by_questions = quick(STE(2), repeated), quick(STE(2), repeated, by="questions")
    np.testing.assert_array_equal(by_default.maps, by_questions.maps)


def test_calibration_does_not_undo_what_trials_have_in_common(answers):
    apart, whole = (
        bootstrap(STE(2), each, n_resamples=20, n_simulations=8, random_state=0) for each in tripled(answers)
    )
    assert np.mean(whole.std) > 1.3 * np.mean(apart.std)


def test_annotators_are_resampled_as_persons(answers):
    by_person = replace(answers, annotators=np.arange(len(answers)) % 8)
    assert quick(STE(2), by_person, by="annotators").maps.shape == (20, 15, 2)


def test_an_object_in_no_comparison_may_lie_anywhere_in_the_cloud(answers):
    larger = Comparisons.from_triplets(answers.rows, n_objects=17)
    trust = bootstrap(STE(2), larger, n_resamples=10, n_simulations=5, random_state=0)
    assert np.allclose(trust.covariances[15:], np.cov(trust.embedding[:15].T))
    assert len(trust.distances) == 5 * 15


def test_a_map_of_one_dimension_has_no_ellipses_but_deviations(answers):
    line = bootstrap(STE(1), answers, n_resamples=10, n_simulations=5, random_state=0)
    assert line.std.shape == (15, 1)
    with pytest.raises(ValueError, match="two dimensions"):
        line.ellipses()


@pytest.mark.parametrize("solver", ["auto", "admm"])
def test_dmoe_is_tuned_once_and_its_settings_make_its_map(solver, points, monkeypatch):
    for seed in range(3):
        answers = sample_triplets(points, 150, flipped=0.1, random_state=seed)
        model = DMOE(2, solver=solver, random_state=0).fit(answers)
        with monkeypatch.context() as patch:
            patch.setattr("nearer.embedding.dmoe.cross_validate", None)  # whoever searches again fails
            again = clone(model._with_chosen_settings()).fit(answers)
        assert np.allclose(again.embedding_, model.embedding_, atol=1e-6 * np.abs(model.embedding_).max())
        assert np.allclose(again.gram_, model.gram_, atol=1e-6 * np.abs(model.gram_).max())
        assert np.allclose(again.predict_proba(answers), model.predict_proba(answers), atol=1e-6)


def test_the_bootstrap_of_dmoe_shows_its_map(answers):
    model = DMOE(2, random_state=0).fit(answers)
    assert quick(model, answers, n_resamples=10).embedding is model.embedding_


@pytest.mark.parametrize(
    "model",
    [DMOE(2, solver="admm", penalty=Penalty()), DMOE(2, solver="factored"), DMOE(2, rank="full", penalty=Penalty())],
    ids=["admm", "factored", "full"],
)
def test_settled_dmoe_for_every_kind_of_solver(model, answers):
    fitted = model.fit(answers)
    assert procrustes_error(fitted._with_chosen_settings().fit(answers).embedding_, fitted.embedding_) < 1e-6


def test_settling_leaves_the_results_of_the_search_alone(answers):
    model = DMOE(2, solver="factored").fit(answers)
    before = [dict(params) for params in model.cv_results_["params"]]
    model._with_chosen_settings()
    assert model.cv_results_["params"] == before


def test_a_posterior_brings_its_own_maps(answers):
    model = PosteriorEmbedding(2, solver=NUTS(2, n_warmup=20, n_draws=12, thin=1), random_state=0)
    with pytest.warns(ConvergenceWarning, match="chains|draws"):
        model.fit(answers)
    trust = quick(model, answers)
    assert np.array_equal(trust.covariances, model.covariances_)
    assert np.allclose(trust.ellipses(), model.ellipses())
    assert trust.maps.shape == (20, 15, 2)


def test_a_simulator_answers_with_its_own_error_rates(points, answers):
    always = Simulator(points, np.zeros(5))
    rng = np.random.default_rng(0)
    clean = sample_triplets(points, 600, random_state=1)
    assert np.array_equal(always.answers(clean, rng).oriented, clean.oriented)
    assert np.array_equal(always.answers(answers, rng).oriented, clean.oriented)
    lapsing = Simulator(points, np.full(5, 0.2)).answers(clean, rng)
    assert np.mean(lapsing.answers < 0) == pytest.approx(0.2, abs=0.05)


def test_copies_look_like_the_data_once_they_are_fitted(points):
    answers = sample_triplets(points, 500, flipped=0.15, random_state=5)
    fitted = STE(2).fit(answers)
    wrong = 1 - fitted.score(answers)

    def fit(sets):
        return [STE(2).fit(each).embedding_ for each in sets]

    rng = np.random.default_rng(0)
    found = fit_simulator(answers, fitted.embedding_, fit, rng)
    copies = [found.answers(answers, rng) for _ in range(10)]
    again = np.mean([1 - STE(2).fit(copy).score(copy) for copy in copies])
    assert again == pytest.approx(wrong, abs=0.03)


def test_imitation_takes_back_what_wrong_answers_do_to_every_map():
    """With very many answers hardly anything but the bend that flips give the map is left: copies bend it again."""
    points = make_gaussian(20, 2, variance=0.25, random_state=0)
    answers = sample_triplets(points, 3400, flipped=0.15, random_state=0)
    embedding = STE(2).fit(answers).embedding_

    def fit(sets):
        return [STE(2).fit(each).embedding_ for each in sets]

    found = fit_simulator(answers, embedding, fit, np.random.default_rng(0))
    assert procrustes_error(found.points, points) < 0.9 * procrustes_error(embedding, points)


def test_errors_are_what_a_fitted_map_lacks(points):
    centred = points - points.mean(axis=0)
    simulator = Simulator(centred, np.full(5, 0.1))
    turned = 3 * points @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + 2
    assert np.allclose(simulator.errors([turned]), 0, atol=1e-12)
    assert np.allclose(simulator.errors([np.zeros_like(points)]), 0)


def test_a_vanished_map_lies_at_the_centre(points):
    assert np.allclose(align(np.zeros((15, 2)), points), points.mean(axis=0))


def test_squared_distances_survive_an_object_that_never_moves():
    covariances = np.array([np.eye(2), np.zeros((2, 2))])
    assert squared_distances(np.ones((2, 2)), covariances)[0] == pytest.approx(2)
    assert np.isfinite(squared_distances(np.ones((2, 2)), covariances)).all()
    assert np.isfinite(squared_distances(np.ones((2, 2)), 0 * covariances)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_resamples": 3}, "n_resamples must be an integer >= 10"),
        ({"n_simulations": -1}, "n_simulations must be an integer >= 0"),
        ({"by": "annotators"}, "do not say who answered"),
        ({"by": "people"}, "by='people' is not known"),
    ],
)
def test_bad_settings_are_refused(settings, message, answers):
    with pytest.raises(ValueError, match=message):
        quick(STE(2), answers, **settings)


def test_one_unit_cannot_be_resampled(answers):
    with pytest.raises(ValueError, match="only one of the trials"):
        quick(STE(2), replace(answers, trials=np.zeros(len(answers))))


def test_a_file_is_refused(tmp_path, answers):
    np.save(tmp_path / "rows.npy", answers.rows)
    with pytest.raises(ValueError, match="in memory"):
        quick(STE(2), ComparisonsFile(tmp_path / "rows.npy"))


def test_bad_levels_axes_and_truths_are_refused(trust, points):
    with pytest.raises(ValueError, match="level"):
        trust.ellipses(95)
    with pytest.raises(ValueError, match="n_axes must be from 1 to 2"):
        trust.radius(0.95, 3)
    with pytest.raises(ValueError, match="shape"):
        trust.covers(points[:5])


@pytest.mark.parametrize("clearness", ["difference", "ratio"])
def test_copies_err_by_the_clearness_that_the_answers_err_by(clearness):
    """Noise that grows with distance goes by the ratio, that of STE by the difference; copies have that of the data."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((20, 3))
    rows = np.array([rng.choice(20, 3, replace=False) for _ in range(4000)])
    near, far = (np.sum((points[rows[:, 0]] - points[rows[:, end]]) ** 2, axis=1) for end in (1, 2))
    odds = 3 * np.log(far / near) if clearness == "ratio" else far - near
    answers = Comparisons.from_triplets(rows, rng.random(4000) < 1 / (1 + np.exp(-odds)))
    assert choose_clearness(answers, points) == clearness
    copies = Simulator(points, np.linspace(0.5, 0, 5), clearness).answers(answers, rng)
    assert choose_clearness(copies, points) == clearness


def test_annotators_are_resampled_where_enough_of_them_are_known():
    rng = np.random.default_rng(0)
    rows = np.array([rng.choice(10, 3, replace=False) for _ in range(300)])
    quick = {"n_resamples": 10, "n_simulations": 0, "random_state": 0}
    for people, by in ((np.arange(300) % 10, "annotators"), (np.arange(300) % 3, "trials"), (None, "questions")):
        trials = None if people is None else np.arange(300)
        answers = Comparisons.from_triplets(rows, annotators=people, trials=trials)
        found = bootstrap(STE(2, random_state=0), answers, **quick)
        assert found.by == by
        asked = bootstrap(STE(2, random_state=0), answers, by="trials" if by == "questions" else by, **quick)
        np.testing.assert_array_equal(found.covariances, asked.covariances)
    spread = np.einsum("bip,biq->ipq", *[found.maps - found.embedding] * 2) / 10
    np.testing.assert_allclose(found.covariances, spread)
