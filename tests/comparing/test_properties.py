"""Property fitting against plain regressions, PERMANOVA over distances, and chance."""

import json
from itertools import permutations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import ortho_group

from nearer.comparing import fit_properties
from nearer.comparing.regression import NullModel, Regression, near_copies, read_line, welch_pseudo_f

RNG = np.random.default_rng(0)
N = 24
MAP = RNG.normal(size=(N, 3)) * [3.0, 2.0, 1.0] + [5.0, 0.0, -2.0]
SIZE = MAP @ [1.0, -2.0, 0.5] + 3 * RNG.normal(size=N) + 100
WORDS = [("low", "mid", "high")[int(k)] for k in np.digitize(MAP[:, 0] + RNG.normal(size=N), [4, 6])]
FEW = {"n_permutations": 99, "n_resamples": 50, "random_state": 0}


def r2_of(points, values):
    design = np.column_stack([np.ones(len(points)), points])
    slopes, *_ = np.linalg.lstsq(design, values, rcond=None)
    return 1 - np.sum((values - design @ slopes) ** 2) / np.sum((values - values.mean()) ** 2), slopes[1:]


def test_numbers_are_regressed_on_the_map():
    fit = fit_properties(MAP, {"size": SIZE}, **FEW)["size"]
    r2, slopes = r2_of(MAP, SIZE)
    assert fit.r2 == pytest.approx(r2, abs=1e-12)
    assert fit.adjusted_r2 == pytest.approx(1 - (1 - r2) * (N - 1) / (N - 4), abs=1e-12)
    np.testing.assert_allclose(fit.direction, slopes / np.linalg.norm(slopes), atol=1e-10)
    assert fit.kind == "number"
    assert fit.low < fit.adjusted_r2 < fit.high


def test_each_object_left_out_is_predicted_by_a_fit_to_the_others():
    missed, by_mean = 0.0, 0.0
    for k in range(N):
        others = np.arange(N) != k
        design = np.column_stack([np.ones(N), MAP])
        slopes, *_ = np.linalg.lstsq(design[others], SIZE[others], rcond=None)
        missed += (SIZE[k] - design[k] @ slopes) ** 2
        by_mean += (SIZE[k] - SIZE[others].mean()) ** 2
    found = fit_properties(MAP, {"size": SIZE}, **FEW)["size"]
    assert found.predicted_r2 == pytest.approx(1 - missed / by_mean, abs=1e-10)


def test_words_share_the_map_as_permanova_over_distances_says():
    fit = fit_properties(MAP, {"height": WORDS}, **FEW)["height"]
    squares, words = squareform(pdist(MAP)) ** 2, np.array(WORDS)
    total = squares.sum() / (2 * N)
    within = sum(squares[np.ix_(words == w, words == w)].sum() / (2 * (words == w).sum()) for w in np.unique(words))
    assert fit.r2 == pytest.approx(1 - within / total, abs=1e-12)
    assert fit.adjusted_r2 == pytest.approx(1 - (within / (N - 3)) / (total / (N - 1)), abs=1e-12)
    assert {word: each.n_objects for word, each in fit.categories.items()} == {
        word: WORDS.count(word) for word in ("high", "low", "mid")
    }
    for word, each in fit.categories.items():
        np.testing.assert_allclose(each.center, MAP[words == word].mean(axis=0), atol=1e-12)
    missed = sum(np.sum((x - MAP[(words == w) & (np.arange(N) != k)].mean(axis=0)) ** 2)
                 for k, (x, w) in enumerate(zip(MAP, WORDS, strict=True)))  # fmt: skip
    by_mean = sum(np.sum((MAP[k] - MAP[np.arange(N) != k].mean(axis=0)) ** 2) for k in range(N))
    assert fit.predicted_r2 == pytest.approx(1 - missed / by_mean, abs=1e-10)


@pytest.mark.parametrize("column", [[3.0, 1.0, 2.0, 5.0, 4.0, 9.0], ["a", "a", "b", "b", "a", "b"]])
def test_p_values_are_those_of_all_permutations(column):
    few = MAP[:6, :2] - MAP[:6, :2].mean(axis=0)

    def statistic(order):
        of = Regression.of(few[list(order)], column)
        return of.r2 if of.categories is None else welch_pseudo_f(of.points[None], of.categories)[0]

    found = statistic(range(6))
    exact = np.mean([statistic(order) >= found * (1 - 1e-9) for order in permutations(range(6))])
    drawn = Regression.of(few, column).p_value(NullModel(), 4000, np.random.default_rng(0))
    assert drawn == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 4000) + 1e-3)


@pytest.mark.parametrize("words", [False, True])
def test_without_a_relation_one_test_in_twenty_rejects(words):
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(300):
        values = rng.standard_t(3, size=15)  # far from normal
        column = ["up" if value > 0.3 else "down" for value in values] if words else values.tolist()
        p_values.append(Regression.of(rng.exponential(size=(15, 2)), column).p_value(NullModel(), 99, rng))
    rejected = np.mean(np.array(p_values) <= 0.05)
    assert 0.01 <= rejected <= 0.1  # 0.05 by 4 standard errors


def test_intervals_hold_the_share_and_nothing_for_nothing():
    rng, held = np.random.default_rng(6), {0.0: 0, 0.5: 0}
    for share in held:
        for _ in range(60):
            points = rng.normal(size=(25, 2))
            values = np.sqrt(share) * points[:, 0] + np.sqrt(1 - share) * rng.normal(size=25)
            low, high = Regression.of(points, values.tolist()).interval(200, 0.95, rng)
            held[share] += low <= share <= high
    assert min(held.values()) >= 49  # of 60; 57 are expected


def test_resampled_shares_are_those_of_repeated_objects():
    counts = np.random.default_rng(1).multinomial(N, np.full(N, 1 / N), size=3).astype(float)
    numbers, words = Regression.of(MAP, SIZE.tolist()), Regression.of(MAP, WORDS)
    for row in range(3):
        rows = np.repeat(np.arange(N), counts[row].astype(int))
        assert numbers._by_numbers(counts)[0][row] == pytest.approx(r2_of(MAP[rows], SIZE[rows])[0], abs=1e-10)
        again = Regression.of(MAP[rows], [WORDS[k] for k in rows])
        assert words._by_words(counts)[0][row] == pytest.approx(again.r2, abs=1e-10)


def test_no_turn_move_or_scale_of_the_map_matters_and_directions_turn_along():
    turn = ortho_group.rvs(3, random_state=0)
    columns = {"size": SIZE, "height": WORDS}
    plain, turned = fit_properties(MAP, columns, **FEW), fit_properties(3 * MAP @ turn + 7, columns, **FEW)
    for one, other in zip(plain, turned, strict=True):
        for figure in ("r2", "adjusted_r2", "predicted_r2", "low", "high", "p_value", "p_holm"):
            assert getattr(one, figure) == pytest.approx(getattr(other, figure), abs=1e-9)
    np.testing.assert_allclose(turned["size"].direction, np.array(plain["size"].direction) @ turn, atol=1e-9)


def test_missing_values_are_left_out_and_unfittable_attributes_say_why():
    partly = [None, float("nan"), *SIZE[2:].tolist()]
    names = [f"thing {k}" for k in range(N)]
    fits = fit_properties(MAP, {"size": partly, "file": names, "one": [1.0] * N, "void": [None] * N}, **FEW)
    assert fits["size"].r2 == pytest.approx(r2_of(MAP[2:], SIZE[2:])[0], abs=1e-12)
    assert (fits["size"].n_objects, len(fits)) == (N - 2, 1)
    text = str(fits)
    assert "objects without a value are left out: 'size'" in text
    assert "file is not fitted: 24 words for 24 objects are no categories to compare" in text
    assert "one is not fitted: its values are all the same" in text
    assert "void is not fitted: fewer than two objects" in text
    with pytest.raises(ValueError, match="a value for each of the 24 objects, got 3"):
        fit_properties(MAP, {"size": [1, 2, 3]})
    assert str(fit_properties(MAP, {"one": [1.0] * N})).startswith("one is not fitted")


def test_tables_and_json_have_all_figures():
    fits = fit_properties(MAP, {"size": SIZE, "height": WORDS}, **FEW)
    header, *rows = fits.tables()["properties.csv"]
    assert rows[0][header.index("x3")] == fits["size"].direction[2]
    assert rows[1][header.index("x1")] is None
    assert json.loads(json.dumps(fits.to_dict()))["fits"][1]["categories"]["low"]["n_objects"] == WORDS.count("low")
    assert [fit.p_holm for fit in fits] == [min(1.0, 2 * min(fit.p_value for fit in fits))] * 2
    assert str(fits).splitlines()[2].startswith("height     3 categories  24")


def test_a_name_that_is_not_there_says_which_are():
    places = np.random.default_rng(0).normal(size=(8, 2))
    fits = fit_properties(places, {"size": np.arange(8), "same": [1] * 8}, n_permutations=9, n_resamples=9)
    with pytest.raises(KeyError, match="no attribute 'weight'; there are 'size'"):
        fits["weight"]
    with pytest.raises(KeyError, match="all the same"):
        fits["same"]


def rejections(worlds, **options):
    """Return the share of worlds, pairs of a map and an attribute, whose p-value is at most 0.05."""
    found = [fit_properties(points, {"a": column}, n_permutations=199, n_resamples=1, random_state=0, **options)
             for points, column in worlds]  # fmt: skip
    return np.mean([fits["a"].p_value <= 0.05 for fits in found])


def random_walks(rng, n=30):
    return np.cumsum(rng.normal(size=(n, 2)), axis=0), np.cumsum(rng.normal(size=n)).tolist()


def test_what_is_smooth_along_the_same_line_is_tested_along_it():
    rng = np.random.default_rng(0)
    worlds = [random_walks(rng) for _ in range(100)]
    assert rejections(worlds) > 0.5
    assert rejections(worlds, along=np.arange(30.0)) <= 0.12  # 0.05 by 3 standard errors
    real = [(points, (points[:, 0] + np.array(own)).tolist()) for points, own in worlds]
    assert rejections(real, along=np.arange(30.0)) > 0.4


def test_surrogates_are_as_smooth_as_what_they_stand_for():
    rng = np.random.default_rng(1)
    distances = read_line(np.sort(rng.random(20)), 20)
    centering = np.eye(20) - 1 / 20
    values = centering @ rng.normal(size=(20, 2))
    drawn = NullModel(distances=distances).draw(values, 50, rng)
    quadratic = np.einsum("kni,nm,kmj->kij", drawn, centering @ distances @ centering, drawn)
    np.testing.assert_allclose(quadratic, np.broadcast_to(values.T @ distances @ values, quadratic.shape), atol=1e-9)
    np.testing.assert_allclose(drawn.sum(axis=1), 0, atol=1e-12)


def test_blocks_are_taken_out_and_objects_permuted_within_them():
    rng = np.random.default_rng(2)
    block = np.repeat(np.arange(5), 8)
    worlds = [(rng.normal(size=(5, 2))[block] * 2 + rng.normal(size=(40, 2)),
               (rng.normal(size=5)[block] * 2 + rng.normal(size=40)).tolist()) for _ in range(100)]  # fmt: skip
    assert rejections(worlds) > 0.3
    assert rejections(worlds, within=block) <= 0.12
    real = [(points, (points[:, 0] + np.array(own)).tolist()) for points, own in worlds]
    assert rejections(real, within=block) > 0.9
    fits = fit_properties(worlds[0][0], {"day": (block * 1.0).tolist(), "word": [f"d{k}" for k in block]}, within=block)
    assert "the same for all objects of each block" in fits.not_fitted["day"]
    assert "the same for all objects of each block" in fits.not_fitted["word"]


def test_near_copies_are_noted_and_can_be_averaged():
    rng = np.random.default_rng(3)
    thing = np.repeat(np.arange(12), 4)
    worlds = [(rng.normal(size=(12, 2))[thing] + 0.05 * rng.normal(size=(48, 2)),
               (rng.normal(size=12)[thing] + 0.05 * rng.normal(size=48)).tolist()) for _ in range(100)]  # fmt: skip
    assert rejections(worlds) > 0.3
    assert rejections(worlds, copies=thing) <= 0.12
    fits = fit_properties(worlds[0][0], {"a": worlds[0][1]}, **FEW)
    assert "of 48 objects lie much nearer to another" in str(fits)
    assert "neighbors on the map have similar values of a" in str(fits)
    words = ["red" if k % 2 else "blue" for k in range(48)]
    averaged = fit_properties(worlds[0][0], {"a": worlds[0][1], "w": words}, copies=thing, **FEW)
    assert (averaged.n_objects, averaged.notes) == (12, ())
    assert averaged["a"].r2 == pytest.approx(r2_of(*(means(each, thing) for each in worlds[0]))[0])
    assert "different words" in averaged.not_fitted["w"]


def means(values, thing):
    return np.array([np.asarray(values)[thing == k].mean(axis=0) for k in np.unique(thing)])


def test_independent_objects_are_seldom_called_near_copies():
    rng = np.random.default_rng(4)
    assert np.mean([near_copies(rng.normal(size=(30, 2)), rng).any() for _ in range(40)]) <= 0.1


def test_categories_may_be_of_any_spread():
    rng = np.random.default_rng(5)
    words = ["common"] * 30 + ["rare"] * 8
    spread = np.repeat([1.0, 3.0], [30, 8])[:, None]
    assert rejections([(rng.normal(size=(38, 2)) * spread, words) for _ in range(100)]) <= 0.12  # R2: 0.35
    apart = np.repeat([0.0, 3.0], [30, 8])[:, None] * [1.0, 0.0]
    assert rejections([(rng.normal(size=(38, 2)) * spread + apart, words) for _ in range(50)]) > 0.5
    alone = ["one", *words[1:]]
    assert np.isfinite(fit_properties(rng.normal(size=(38, 2)), {"w": alone}, **FEW)["w"].p_value)


def test_randomizations_that_cannot_be_done_say_why():
    with pytest.raises(ValueError, match="within and along are two ways"):
        fit_properties(MAP, {"a": SIZE}, within=[1] * N, along=np.arange(N))
    with pytest.raises(ValueError, match=r"along must have shape \(24,\) or \(24, 24\)"):
        fit_properties(MAP, {"a": SIZE}, along=[1.0, 2.0])
    with pytest.raises(ValueError, match="along must be numbers"):
        fit_properties(MAP, {"a": SIZE}, along=["a"] * N)
    with pytest.raises(ValueError, match="along is the same"):
        fit_properties(MAP, {"a": SIZE}, along=[1.0] * N)
    with pytest.raises(ValueError, match="a single object"):
        fit_properties(MAP, {"a": SIZE}, within=range(N))
    with pytest.raises(ValueError, match="copies needs a thing"):
        fit_properties(MAP, {"a": SIZE}, copies=[1])
