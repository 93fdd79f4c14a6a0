"""A map and models: estimates over shared pairs, intervals over objects and people, the noise ceiling."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr, t

from nearer import Comparisons
from nearer.cli.main import main
from nearer.comparing import (
    compare_matrices,
    distance_matrix,
    full_posterior,
    matrices,
    matrix_noise,
    people_matrices,
)
from nearer.comparing.matrix_tests import MEASURES, MatrixNoise
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, STE, PosteriorEmbedding
from nearer.evaluation.dimension import NO_DIMENSION

FEW = {"n_permutations": 19, "n_resamples": 60}


def matrix(points):
    return squareform(pdist(points))


def noisy(points, size, rng):
    return matrix(points + size * rng.normal(size=points.shape))


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_estimates_are_over_pairs_that_all_know(rng):
    points = rng.normal(size=(9, 2))
    own, model, other = matrix(points), noisy(points, 0.5, rng), noisy(points, 1.0, rng)
    other[8] = other[:, 8] = np.nan
    other[0, 1] = other[1, 0] = np.nan
    found = compare_matrices(own, {"model": model, "other": other}, **FEW, random_state=0)
    known = np.triu(np.ones((8, 8), dtype=bool), 1)
    known[0, 1] = False
    assert (found.n_objects, found.n_pairs) == (8, 27)
    for fit, values in zip(found.models, (model, other), strict=True):
        assert fit.estimate == pytest.approx(spearmanr(own[:8, :8][known], values[:8, :8][known]).statistic)


def test_the_interval_over_objects_is_that_of_a_loop(rng):
    points = rng.normal(size=(6, 2))
    own, model = matrix(points), noisy(points, 0.5, rng)
    found = compare_matrices(own, {"m": model}, n_permutations=1, n_resamples=30, random_state=np.random.default_rng(7))
    twin = np.random.default_rng(7)
    twin.permutation(6)  # of the Mantel test
    drawn = []
    for _ in range(30):
        while len(set(order := twin.integers(6, size=6))) < 3:
            pass
        pairs = [(order[a], order[b]) for a in range(6) for b in range(a + 1, 6) if order[a] != order[b]]
        drawn.append(spearmanr(*zip(*[(own[pair], model[pair]) for pair in pairs], strict=True)).statistic)
    np.testing.assert_allclose([found.models[0].low, found.models[0].high], np.quantile(drawn, [0.025, 0.975]))


def test_intervals_hold_what_many_objects_would_show():
    rng, many = np.random.default_rng(1), np.random.default_rng(0).normal(size=(400, 2))
    truth = spearmanr(squareform(noisy(many, 0.2, rng)), squareform(noisy(many, 0.6, rng))).statistic
    held, none = [], []
    for seed in range(20):
        points = rng.normal(size=(15, 2))
        models = {name: noisy(points, 0.6, rng) for name in "ab"}
        found = compare_matrices(noisy(points, 0.2, rng), models, n_permutations=1, n_resamples=60, random_state=seed)
        held += [fit.low <= truth <= fit.high for fit in found.models]
        none.append(found.differences[0].p_value > 0.05)
    assert np.mean(held) > 0.8  # 0.96 and 0.92 of 300 with 12 and 25 objects
    assert np.mean(none) > 0.8  # 0.98 of 150


def test_a_better_model_is_found_better(rng):
    points = rng.normal(size=(20, 2))
    models = {"good": noisy(points, 0.1, rng), "bad": noisy(points, 2.0, rng), "none": matrix(rng.normal(size=(20, 2)))}
    found = compare_matrices(matrix(points), models, n_permutations=199, n_resamples=200, random_state=0)
    assert [(each.first, each.second) for each in found.differences] == [
        ("good", "bad"), ("good", "none"), ("bad", "none"),
    ]  # fmt: skip
    assert found.differences[0].p_holm < 0.05
    assert found.differences[0].low > 0
    assert found.models[0].p_value == 1 / 200


def scattered(n):
    """Matrices of n objects that scatter by a given size around the same distances, drawn one after the other."""
    rng = np.random.default_rng(0)
    pairs = np.triu_indices(n, 1)
    centre = rng.normal(size=len(pairs[0]))

    def made(size):
        values = np.zeros((n, n))
        values[pairs] = centre + size * rng.normal(size=len(centre))
        return values + values.T

    return made


@pytest.mark.parametrize("measure", MEASURES)
def test_true_distances_reach_the_upper_end_and_another_map_the_lower(measure):
    # Draws are the distances and errors, and so is the truth.
    made, spread = scattered(60), 0.7
    noise = MatrixNoise(*(np.array([made(spread) for _ in range(10)]) for _ in range(2)))
    own, truth = made(0.0), made(spread)
    found = noise.ceiling(own, np.triu_indices(60, 1), measure)
    fits = compare_matrices(own, {"truth": truth}, measure=measure, n_permutations=1, n_resamples=10, random_state=0)
    assert fits.models[0].estimate == pytest.approx(found.high, abs=0.03)
    again = compare_matrices(made(spread), {"truth": truth}, measure=measure, n_permutations=1, n_resamples=10)
    assert again.models[0].estimate == pytest.approx(found.low, abs=0.03)


def test_draws_of_a_posterior_have_the_same_two_ends():
    made, size = scattered(60), 0.6
    noise = MatrixNoise(*(np.array([made(size) for _ in range(20)]) for _ in range(2)))
    found = noise.ceiling(made(0.0), np.triu_indices(60, 1), "pearson")
    assert found.low == pytest.approx(1 / (1 + size**2), abs=0.02)
    assert found.high == pytest.approx(np.sqrt(found.low), abs=0.02)


@pytest.fixture(scope="module")
def answers():
    points = make_gaussian(12, 2, random_state=1)
    rows = sample_triplets(points, 500, flipped=0.1, random_state=1)
    return points, replace(rows, annotators=np.arange(500) % 10)


@pytest.fixture(scope="module")
def solid():
    """Objects that lie as far apart in each of three dimensions, and a posterior behind their map of two."""
    points = 4 * np.linalg.qr(np.random.default_rng(2).normal(size=(16, 3)))[0]
    return points, PosteriorEmbedding(2, max_components=6, random_state=0).fit(
        sample_triplets(points, 900, random_state=2)
    )


def test_models_are_compared_in_all_dimensions_whatever_is_shown(solid):
    points, full = solid
    flat = STE(2, random_state=0).fit(full.comparisons_)
    assert full_posterior(full) is full
    other = full_posterior(flat, random_state=0)
    assert other.draws_.points.shape[2] == 15
    assert full_posterior(PosteriorEmbedding(2, solver="variational").fit(full.comparisons_)).dimension_ >= 3
    models = {"truth": matrix(points), "x": np.abs(points[:, :1] - points[:, 0])}
    found = compare_matrices(flat, models, noise=matrix_noise(other, random_state=0), **FEW, random_state=0)
    assert found.models[0].estimate > 0.97
    assert "distances are in all dimensions; the answers call for 3, and the map shows 2" in found.notes
    # The distances on the map: its two axes are favored, and no two draws of it know of a third.
    shown = compare_matrices(matrix(flat.embedding_), models, **FEW, random_state=0)
    assert shown.models[0].estimate < 0.96
    assert found.ceiling.low > 0.9
    assert found.ceiling.high < found.models[0].estimate + 0.02


def test_the_upper_end_of_a_flat_posterior_is_too_high(solid):
    points, full = solid
    flat = PosteriorEmbedding(2, random_state=0).fit(full.comparisons_)
    of_flat = MatrixNoise(*(np.array([matrix(each) for each in flat.sample(20, k)]) for k in (0, 1)))
    pairs = np.triu_indices(16, 1)
    reached = spearmanr(pdist(points), pdist(flat.embedding_)).statistic
    assert of_flat.ceiling(matrix(flat.embedding_), pairs, "spearman").high > reached + 0.02
    of_full = matrix_noise(flat, random_state=0).ceiling(distance_matrix(full).matrix, pairs, "spearman")
    assert (
        of_full.high < spearmanr(pdist(points), squareform(distance_matrix(full).matrix, checks=False)).statistic + 0.02
    )


def test_a_map_without_all_dimensions_has_no_comparison_of_models(solid, monkeypatch):
    points, full = solid

    def refuse(*_, **__):
        raise ValueError("its comparisons are not in memory")

    monkeypatch.setattr(matrices, "full_posterior", refuse)
    models = {"truth": matrix(points), "x": np.abs(points[:, :1] - points[:, 0])}
    found = compare_matrices(STE(2, random_state=0).fit(full.comparisons_), models, **FEW, random_state=0)
    assert found.differences == ()
    assert "on a map of 2 dimensions, and no models are compared with each other: its comparisons" in str(found)


def test_a_true_model_reaches_about_the_ceiling(answers):
    points, rows = answers
    model = full_posterior(STE(2, trace=0.03, random_state=0).fit(rows), random_state=0)
    noise = matrix_noise(model, random_state=0)
    found = compare_matrices(model, {"truth": matrix(points)}, noise=noise, **FEW, random_state=0)
    assert found.ceiling.low - 0.06 < found.models[0].estimate < found.ceiling.high + 0.06
    assert "truth may reach it" in str(found)


def test_intervals_over_people_come_from_maps_of_resampled_people(answers):
    points, rows = answers
    model = full_posterior(CKL(2, random_state=0).fit(rows), random_state=0)
    people = people_matrices(model, 10, random_state=0)
    assert people.shape == (10, 12, 12)
    truth = matrix(points)
    found = compare_matrices(model, {"truth": truth, "none": truth[::-1, ::-1]}, people=people, **FEW, random_state=0)
    r = [spearmanr(squareform(each, checks=False), squareform(truth)).statistic for each in people]
    fit = found.models[0]
    assert fit.people_low == pytest.approx(fit.estimate - t.ppf(0.975, 9) * np.std(r, ddof=1))
    assert found.differences[0].people_p_value < 0.01


def test_people_can_be_resampled_without_a_chosen_dimension(answers, rng):
    coins = Comparisons.from_triplets(
        np.array([rng.choice(12, 3, replace=False) for _ in range(60)]), annotators=np.arange(60) % 2, n_objects=12
    )
    assert people_matrices(CKL(2, random_state=0).fit(coins), 10, random_state=0).shape == (10, 12, 12)


def test_the_map_of_guesses_is_compared_without_a_dimension(tmp_path, capsys):
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(12), (150, 1)), axis=1)[:, :3]
    coins = Comparisons.from_triplets([[f"o{k}" for k in row] for row in rows])
    guesses = PosteriorEmbedding(solver="variational", random_state=0).fit(coins)
    assert guesses.dimension_ is None
    model = matrix(np.random.default_rng(0).normal(size=(12, 2)))
    assert f"all dimensions; {NO_DIMENSION}" in str(compare_matrices(guesses, {"model": model}, random_state=0))

    file, folder = tmp_path / "answers.csv", str(tmp_path / "map")
    file.write_text("anchor,near,far\n" + "".join(f"o{a},o{b},o{c}\n" for a, b, c in rows), encoding="utf-8")
    table = [["", *coins.objects], *([label, *line] for label, line in zip(coins.objects, model, strict=True))]
    (tmp_path / "model.csv").write_text("\n".join(",".join(map(str, line)) for line in table), encoding="utf-8")
    assert main(["fit", str(file), "-o", folder, "--quick", "--set", "budget=1"]) == 0
    assert main(["compare", folder, "--with", str(tmp_path / "model.csv")]) == 0
    printed = capsys.readouterr().out
    assert NO_DIMENSION in printed
    assert "None" not in printed


def test_people_must_be_known(answers):
    model = STE(2, random_state=0).fit(replace(answers[1], annotators=None))
    with pytest.raises(ValueError, match="say who answered"):
        people_matrices(model, 10)


def test_what_cannot_be_compared_is_refused(rng):
    own = matrix(rng.normal(size=(6, 2)))
    with pytest.raises(ValueError, match="at least one matrix"):
        compare_matrices(own, {})
    with pytest.raises(ValueError, match="'m' is about 5 objects"):
        compare_matrices(own, {"m": own[:5, :5]})
    with pytest.raises(ValueError, match="model 'm': dissimilarities must be symmetric"):
        compare_matrices(own, {"m": np.triu(own)})
    hole = own.copy()
    hole[3:] = hole[:, 3:] = np.nan
    with pytest.raises(ValueError, match="at least 4 objects"):
        compare_matrices(own, {"m": hole})


def test_a_note_recommends_tau_a_for_ties(rng):
    own = matrix(rng.normal(size=(10, 2)))
    groups = np.arange(10) % 2
    model = {"groups": (groups[:, None] != groups).astype(float)}
    assert any("tau-a" in note for note in compare_matrices(own, model, **FEW, random_state=0).notes)
    assert compare_matrices(own, model, measure="tau-a", **FEW, random_state=0).notes == ()


def test_objects_that_nobody_compared_are_left_out(answers):
    rows = answers[1]
    model, n = CKL(2, n_objects=18, random_state=0).fit(rows), rows.n_objects
    lines = np.abs(np.subtract.outer(np.arange(18.0), np.arange(18.0)))
    full = full_posterior(model, random_state=0)
    found = compare_matrices(full, {"line": lines}, n_resamples=10, n_permutations=19, random_state=0)
    assert found.n_objects == n < 18
    assert f"{18 - n} objects that nobody compared left out" in found.notes
    own = distance_matrix(full).matrix[:n, :n]
    again = compare_matrices(own, {"line": lines[:n, :n]}, n_resamples=10, n_permutations=19, random_state=0)
    assert found.models[0].estimate == pytest.approx(again.models[0].estimate)


def test_the_mantel_test_is_of_the_pairs_that_all_models_know(rng):
    own, other, third = (squareform(pdist(rng.normal(size=(8, 2)))) for _ in range(3))
    third[:2, 2:5] = third[2:5, :2] = np.nan
    found = compare_matrices(own, {"a": other, "b": third}, n_resamples=10, n_permutations=199, random_state=0)
    masked = np.where(np.isnan(third), np.nan, other)
    alone = compare_matrices(own, {"a": masked}, n_resamples=10, n_permutations=199, random_state=0)
    assert found.models[0].estimate == alone.models[0].estimate
    assert found.models[0].p_value == alone.models[0].p_value


def test_a_model_may_be_named_by_a_number(rng):
    own = squareform(pdist(rng.normal(size=(6, 2))))
    found = compare_matrices(own, {3: own > 1}, n_resamples=10, n_permutations=19, random_state=0)
    assert found.models[0].name == "3"
    assert "3 predicts many equal distances" in str(found)


def test_maps_of_people_must_have_all_objects(rng):
    own = squareform(pdist(rng.normal(size=(6, 2))))
    larger = np.stack([squareform(pdist(rng.normal(size=(7, 2)))) for _ in range(3)])
    with pytest.raises(ValueError, match=r"people must have the shape \(k, 6, 6\)"):
        compare_matrices(own, {"a": own}, people=larger, n_resamples=10, n_permutations=19)


def test_no_dot_is_cut_by_the_edge_of_the_figure(rng):
    own = squareform(pdist(rng.normal(size=(6, 2))))
    found = compare_matrices(own, {"itself": own}, n_resamples=10, n_permutations=19, random_state=0)
    assert found.plot().get_xlim()[1] > 1
