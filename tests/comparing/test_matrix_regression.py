import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import rankdata, spearmanr

from nearer.comparing import PartialMantelTest, WeightedModels, mantel, partial_mantel, weigh_models
from nearer.comparing.matrix_regression import _coordinates

RNG = np.random.default_rng(0)
PLACES = RNG.normal(size=(15, 5))
SEEN, MODEL, GIVEN, FURTHER = (
    cdist(each, each) for each in (PLACES[:, :3], PLACES[:, 1:], PLACES[:, :2], PLACES[:, 2:4])
)


def partial_by_regression(first, second, given, measure):
    """The correlation of residuals of least squares with a constant."""
    values = [squareform(each) for each in (first, second, *given)]
    values = [rankdata(each) for each in values] if measure == "spearman" else values
    design = np.column_stack([np.ones(len(values[0])), *values[2:]])
    left = [each - design @ np.linalg.lstsq(design, each, rcond=None)[0] for each in values[:2]]
    return np.corrcoef(*left)[0, 1]


@pytest.mark.parametrize("measure", ["spearman", "pearson"])
@pytest.mark.parametrize("given", [[GIVEN], [GIVEN, FURTHER], [GIVEN, 2 * GIVEN]])
def test_the_partial_correlation_is_that_of_residuals(measure, given):
    found = partial_mantel(SEEN, MODEL, given, measure=measure, n_permutations=9, random_state=0)
    assert found.correlation == pytest.approx(partial_by_regression(SEEN, MODEL, given, measure))
    assert found.n_given == len(given)


def test_coordinates_have_the_distances_that_they_were_found_for():
    np.testing.assert_allclose(cdist(_coordinates(SEEN), _coordinates(SEEN)), SEEN, atol=1e-9)
    assert _coordinates(SEEN).shape == (15, 3)
    assert _coordinates(SEEN, 0.5).shape[1] < 3


def test_a_common_cause_that_is_given_is_no_relation():
    """Both depend on z: mantel rejects nearly always, the partial test seldom."""
    rejected = np.zeros(2)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(15, 2))
        seen, model = (squareform(pdist(z + 0.5 * rng.normal(size=z.shape))) for _ in range(2))
        tests = (
            mantel(seen, model, n_permutations=99, random_state=seed),
            partial_mantel(seen, model, [squareform(pdist(z))], n_permutations=99, random_state=seed),
        )
        rejected += [test.p_value <= 0.05 for test in tests]
    assert rejected[0] >= 57
    assert rejected[1] <= 8  # 13 of 60 by permutations of residuals of matrices


def test_what_is_not_given_is_found_and_the_order_of_objects_does_not_matter():
    found = partial_mantel(SEEN, FURTHER, [GIVEN], n_permutations=199, random_state=0)
    assert found.p_value <= 0.02
    order = RNG.permutation(15)
    again = partial_mantel(*(each[np.ix_(order, order)] for each in (SEEN, FURTHER)), [GIVEN[np.ix_(order, order)]],
                           n_permutations=199, random_state=0)  # fmt: skip
    assert again.correlation == pytest.approx(found.correlation)
    assert PartialMantelTest.from_dict(found.to_dict()) == found


def test_partial_tests_need_something_to_test():
    with pytest.raises(ValueError, match="at least one other"):
        partial_mantel(SEEN, MODEL, [])
    with pytest.raises(ValueError, match="explain the model completely"):
        partial_mantel(SEEN, GIVEN, [GIVEN])
    noise = RNG.normal(size=(15, 40))
    with pytest.raises(ValueError, match="dimensions"):
        partial_mantel(SEEN, MODEL, [cdist(noise, noise)])
    with pytest.raises(ValueError, match="not known"):
        partial_mantel(np.where(SEEN[0, 1] == SEEN, np.nan, SEEN), MODEL, [GIVEN])
    with pytest.raises(ValueError, match="are 0"):
        partial_mantel(SEEN, MODEL, [np.zeros((15, 15))])
    with pytest.raises(ValueError, match="15, 14"):
        partial_mantel(SEEN, MODEL[:14, :14], [GIVEN])
    with pytest.raises(ValueError, match="kendall"):
        partial_mantel(SEEN, MODEL, [GIVEN], measure="kendall")


def axes(n=16, noise=0.0, seed=1):
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(n, 3)) * [1.0, 0.6, 0.0]
    models = {f"axis {k}": np.abs(each[:, None] - each) for k, each in enumerate(places.T[:2])}
    further = rng.normal(size=n)
    models["other"] = np.abs(further[:, None] - further)
    return squareform(pdist(places, "cityblock") * np.exp(noise * rng.normal(size=n * (n - 1) // 2))), models


def test_weights_of_sums_of_models_are_found_exactly():
    seen, models = axes()
    found = weigh_models(seen, models, n_permutations=19, random_state=0)
    assert found.held_out == pytest.approx(1)
    spreads = [squareform(each).std() for each in models.values()]
    expected = np.array([spreads[0], spreads[1], 0]) / sum(spreads[:2])
    np.testing.assert_allclose(found.weights, expected, atol=1e-9)
    assert found.p_value == 0.05
    assert found.single.max() < 0.98
    assert found.equal < 0.98


def test_held_out_correlations_are_those_of_a_regression_of_one_half():
    seen, models = axes(noise=0.3)
    found = weigh_models(seen, models, n_splits=1, n_permutations=1, random_state=3)
    halves = halves_of_first_split(16, 3)
    expected = []
    for learned, judged in (halves, halves[::-1]):
        part = np.ix_(learned, learned), np.ix_(judged, judged)
        design = np.column_stack([squareform(each[part[0]]) for each in models.values()])
        response = squareform(seen[part[0]])
        weights = nnls(design - design.mean(axis=0), response - response.mean())[0]
        predicted = sum(w * squareform(each[part[1]]) for w, each in zip(weights, models.values(), strict=True))
        expected.append(spearmanr(predicted, squareform(seen[part[1]])).statistic)
    assert found.held_out == pytest.approx(np.mean(expected))


def halves_of_first_split(n, seed):
    from nearer._common.randomness import stream

    order = stream(seed, "split").permutation(n)
    return order[: n // 2], order[n // 2 :]


def test_a_model_that_is_the_wrong_way_round_gets_no_weight():
    seen, models = axes()
    backward = {"backward": 10 - 9 * np.eye(16) - seen, "other": models["other"]}
    np.fill_diagonal(backward["backward"], 0)
    assert weigh_models(seen, backward, n_permutations=1, random_state=0).weights[0] == 0


def test_unrelated_models_explain_nothing_of_held_out_objects():
    """Permutation p-values are uniform, whatever the models have in common."""
    p_values = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        base = rng.normal(size=(12, 1))
        models = {str(k): squareform(pdist(base + 0.3 * rng.normal(size=base.shape))) for k in range(3)}
        found = weigh_models(
            squareform(pdist(rng.normal(size=(12, 2)))), models, n_splits=3, n_permutations=39, random_state=seed
        )
        p_values.append(found.p_value)
    assert 0.35 < np.mean(p_values) < 0.65
    assert np.mean(np.array(p_values) <= 0.1) < 0.25


def test_weights_need_objects_and_models():
    seen, models = axes()
    with pytest.raises(ValueError, match="8 objects or more"):
        weigh_models(seen[:7, :7], {name: each[:7, :7] for name, each in models.items()})
    with pytest.raises(ValueError, match="no models"):
        weigh_models(seen, {})
    with pytest.raises(ValueError, match="'flat' are the same"):
        weigh_models(seen, {"flat": 1 - np.eye(16)})
    found = weigh_models(seen, models, n_splits=1, n_permutations=1, random_state=0)
    assert "learned weights" in found.summary()
    assert WeightedModels.from_dict(found.to_dict()).names == found.names
