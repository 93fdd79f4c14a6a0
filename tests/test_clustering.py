"""Clusters straight from comparisons: similarities and linkage against plain loops, planted groups, symmetries."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from sklearn.base import clone, is_clusterer
from sklearn.metrics import adjusted_rand_score

from nearer import Comparisons, ComparisonsFile
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding.clustering import ComparisonHC


def planted(n, k, m, seed, wrong=0.05):
    """Return groups and triplets: points around the corners of a simplex, far apart beside their spread."""
    groups = np.arange(n) % k
    points = 6 * np.eye(k)[groups] + make_gaussian(n, k, variance=1.0, random_state=seed)
    return groups, sample_triplets(points, m, flipped=wrong, random_state=seed)


def random_quadruplets(groups, m, seed):
    """Return random pairs beside random pairs, and answers: of equal kind by a coin, else right 19 times of 20."""
    rng = np.random.default_rng(seed)
    pairs = np.array(list(combinations(range(len(groups)), 2)))
    drawn = pairs[[rng.choice(len(pairs), 2, replace=False) for _ in range(m)]]
    within = (groups[drawn[:, :, 0]] == groups[drawn[:, :, 1]]).astype(int)
    right = rng.random(m) < np.where(within[:, 0] == within[:, 1], 0.5, 0.95)
    y = np.where(within[:, 0] >= within[:, 1], 1, -1) * np.where(right, 1, -1)
    return drawn.reshape(m, 4), y


def as_partition(labels):
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist())}


def test_additive_similarity_of_triplets_is_that_of_a_plain_loop():
    _, triplets = planted(9, 3, 60, seed=0)
    counts = np.zeros((9, 9, 9))
    for anchor, near, far in triplets.rows:
        counts[anchor, near, far] += 1
    expected = np.zeros((9, 9))
    for i in range(9):
        for j in range(9):
            for k in range(9):
                expected[i, j] += counts[i, j, k] - counts[i, k, j] + counts[j, i, k] - counts[j, k, i]
    similarity = ComparisonHC(random_state=0).fit(triplets).similarity_
    np.testing.assert_array_equal(similarity, expected)
    assert np.abs(expected).sum() > 60


def test_additive_similarity_of_quadruplets_counts_near_less_far_pairs():
    rows, y = random_quadruplets(np.arange(8) % 2, 50, seed=1)
    weights = np.random.default_rng(2).uniform(0.5, 2, size=50)
    expected = np.zeros((8, 8))
    for (i, j, l, k), answer, weight in zip(rows, y, weights, strict=True):  # noqa: E741
        for a, b, sign in ((i, j, 1), (l, k, -1)):
            expected[a, b] += sign * answer * weight
            expected[b, a] += sign * answer * weight
    similarity = ComparisonHC(2, random_state=0).fit(rows, y, weights).similarity_
    np.testing.assert_allclose(similarity, expected, atol=1e-12)


def test_linkage_of_comparisons_is_that_of_a_plain_loop():
    """All sums of the plain loop differ, so that no tie is broken: real weights."""
    rows, y = random_quadruplets(np.arange(9) % 3, 400, seed=3)
    weights = np.random.default_rng(4).uniform(0.5, 2, size=400)
    tensor = np.zeros((9,) * 4)
    for (i, j, l, k), answer, weight in zip(rows, y, weights, strict=True):  # noqa: E741
        for a, b in ((i, j), (j, i)):
            for c, d in ((l, k), (k, l)):
                tensor[a, b, c, d] += answer * weight
                tensor[c, d, a, b] -= answer * weight
    clusters, partitions = [[i] for i in range(9)], []
    while len(clusters) > 1:
        scores = {}
        for p, q in combinations(range(len(clusters)), 2):
            total = 0.0
            for r, s in combinations(range(len(clusters)), 2):
                total += tensor[np.ix_(clusters[p], clusters[q], clusters[r], clusters[s])].mean()
            scores[p, q] = total
        p, q = max(scores, key=scores.get)
        clusters = [c for i, c in enumerate(clusters) if i not in (p, q)] + [clusters[p] + clusters[q]]
        partitions.append({frozenset(cluster) for cluster in clusters})
    model = ComparisonHC(linkage="4-AL", random_state=0).fit(rows, y, weights)
    for partition in partitions:
        cut = fcluster(model.linkage_matrix_, len(partition), "maxclust")
        assert as_partition(cut) == partition


@pytest.mark.parametrize(("k", "per_object"), [(2, 20), (3, 40), (4, 60)])
def test_planted_groups_and_their_number_are_found(k, per_object):
    groups, triplets = planted(60, k, 60 * per_object, seed=k)
    given = ComparisonHC(k, random_state=0).fit(triplets)
    assert adjusted_rand_score(groups, given.labels_) >= 0.9
    found = ComparisonHC(random_state=0).fit(triplets)
    assert found.n_clusters_ == k
    np.testing.assert_array_equal(found.linkage_matrix_, given.linkage_matrix_)


def test_two_groups_take_five_comparisons_an_object():
    scores = []
    for seed in range(5):
        groups, triplets = planted(100, 2, 500, seed)
        scores.append(adjusted_rand_score(groups, ComparisonHC(2, random_state=0).fit_predict(triplets)))
    assert np.median(scores) >= 0.75


@pytest.mark.parametrize(("linkage", "per_object"), [("average", 30), ("4-AL", 100)])
def test_groups_are_found_from_quadruplets(linkage, per_object):
    groups = np.arange(30) % 3
    rows, y = random_quadruplets(groups, 30 * per_object, seed=5)
    model = ComparisonHC(3, linkage=linkage, random_state=0).fit(rows, y)
    assert adjusted_rand_score(groups, model.labels_) >= 0.9
    assert model.n_features_in_ == 4


def test_groups_of_groups_are_joined_last():
    groups = np.arange(40) % 4
    points = np.array([[0, 0], [5, 0], [30, 0], [35, 0.0]])[groups] + make_gaussian(40, 2, variance=0.2, random_state=0)
    model = ComparisonHC(random_state=0).fit(sample_triplets(points, 6000, flipped=0.05, random_state=1))
    assert adjusted_rand_score(groups // 2, fcluster(model.linkage_matrix_, 2, "maxclust")) == 1
    assert adjusted_rand_score(groups, fcluster(model.linkage_matrix_, 4, "maxclust")) >= 0.9


@pytest.mark.parametrize("linkage", ["average", "4-AL"])
def test_the_tree_is_one_that_scipy_takes(linkage):
    _, triplets = planted(20, 2, 300, seed=0)
    model = ComparisonHC(linkage=linkage, random_state=0).fit(triplets)
    assert is_valid_linkage(model.linkage_matrix_)
    assert (np.diff(model.linkage_matrix_[:, 2]) >= 0).all()
    for count in (1, 2, 5, 20):
        labels = ComparisonHC(count, linkage=linkage, random_state=0).fit_predict(triplets)
        assert as_partition(labels) == as_partition(fcluster(model.linkage_matrix_, count, "maxclust"))
        assert list(dict.fromkeys(labels.tolist())) == list(range(count))


@pytest.mark.parametrize("linkage", ["average", "4-AL"])
def test_a_weight_of_two_counts_as_two_rows(linkage):
    _, triplets = planted(20, 2, 200, seed=1)
    weights = np.where(np.arange(200) % 3 == 0, 2, 1)
    weighted = ComparisonHC(linkage=linkage, random_state=0).fit(triplets.rows, sample_weight=weights)
    repeated = ComparisonHC(linkage=linkage, random_state=0).fit(np.repeat(triplets.rows, weights, axis=0))
    np.testing.assert_array_equal(weighted.similarity_, repeated.similarity_)
    np.testing.assert_allclose(weighted.linkage_matrix_, repeated.linkage_matrix_)
    np.testing.assert_array_equal(weighted.labels_, repeated.labels_)


@pytest.mark.parametrize("n", [30, 210])  # eigenvalues of large matrices are found by iteration
def test_other_numbers_for_the_objects_give_the_same_clusters(n):
    _, triplets = planted(n, 3, 15 * n, seed=2)
    number = np.random.default_rng(0).permutation(n)
    model = ComparisonHC(3, random_state=0).fit(triplets.rows)
    renamed = ComparisonHC(3, random_state=0).fit(number[triplets.rows])
    np.testing.assert_array_equal(renamed.similarity_[np.ix_(number, number)], model.similarity_)
    np.testing.assert_allclose(renamed.linkage_matrix_[:, 2], model.linkage_matrix_[:, 2], atol=1e-8)
    assert as_partition(renamed.labels_[number]) == as_partition(model.labels_)


def test_an_answer_of_minus_one_is_the_row_the_other_way_round():
    _, triplets = planted(15, 2, 150, seed=3)
    turned = ComparisonHC(random_state=0).fit(triplets.rows[:, [0, 2, 1]], y=-np.ones(150, dtype=int))
    np.testing.assert_array_equal(turned.linkage_matrix_, ComparisonHC(random_state=0).fit(triplets).linkage_matrix_)
    np.testing.assert_array_equal(turned.fit_predict(triplets.rows[:, [0, 2, 1]], -np.ones(150)), turned.labels_)


def test_labels_and_frames_are_taken():
    pandas = pytest.importorskip("pandas")
    _, triplets = planted(12, 2, 200, seed=4)
    names = np.array([f"object {index:02}" for index in range(12)])
    model = ComparisonHC(2, random_state=0).fit(names[triplets.rows])
    frame = pandas.DataFrame(names[triplets.rows], columns=["anchor", "near", "far"])
    assert model.objects_.tolist() == names.tolist()
    assert (model.n_objects_, model.n_features_in_) == (12, 3)
    np.testing.assert_array_equal(ComparisonHC(2, random_state=0).fit(frame).labels_, model.labels_)


def test_random_answers_make_no_groups():
    """A true null: each answer is a coin. Found in about 1 of 20 sets; 5 of 20 would be far too many."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = np.array([rng.permutation(25)[:3] for _ in range(250)])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = ComparisonHC(random_state=seed).fit(rows)
        assert (model.n_clusters_ == 1) == any("no groups stand out" in str(each.message) for each in caught)
        found += model.n_clusters_ > 1
    assert found < 5


def test_copies_of_answers_make_no_groups_either():
    rng = np.random.default_rng(1)
    rows = np.array([rng.permutation(25)[:3] for _ in range(100)])
    with pytest.warns(UserWarning, match="no groups stand out"):
        assert ComparisonHC(random_state=0).fit(np.repeat(rows, 20, axis=0)).n_clusters_ == 1


def test_rows_of_one_trial_are_one_answer():
    """Random stars: one act of judgment says of its anchor which ten others are nearer than ten more."""
    rng = np.random.default_rng(2)
    stars = [rng.permutation(40) for _ in range(6)]
    rows = np.array([(star[0], near, far) for star in stars for near in star[1:11] for far in star[11:21]])
    trials = np.repeat(np.arange(6), 100)
    together = Comparisons.from_triplets(rows, trials=trials)
    with pytest.warns(UserWarning, match="no groups stand out"):
        ComparisonHC(random_state=0).fit(together)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ComparisonHC(random_state=0).fit(rows).n_clusters_ > 1  # 600 answers that agree like this are no chance


def test_objects_that_nothing_connects_are_named():
    _, triplets = planted(20, 2, 400, seed=5)
    apart = np.concatenate([triplets.rows, [[20, 21, 22], [22, 21, 20]]])
    with pytest.warns(UserWarning, match=r"no comparison connects 3 objects \(20, 21, 22\) to the others"):
        assert len(ComparisonHC(2, random_state=0).fit_predict(apart)) == 23
    unseen = Comparisons.from_triplets(triplets.rows, n_objects=27)
    with pytest.warns(UserWarning, match=r"no comparison connects 7 objects \(20, 21, 22, 23, 24, \.\.\.\)"):
        ComparisonHC(2, random_state=0).fit(unseen)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ComparisonHC(2, random_state=0).fit(triplets)


def test_rows_of_weight_zero_say_nothing():
    _, triplets = planted(15, 2, 200, seed=6)
    weights = (np.arange(200) < 150).astype(float)
    some = ComparisonHC(random_state=0).fit(triplets.rows, sample_weight=weights)
    np.testing.assert_array_equal(
        some.linkage_matrix_, ComparisonHC(random_state=0).fit(triplets.rows[:150]).linkage_matrix_
    )


@pytest.mark.parametrize(("linkage", "n"), [("average", 4), ("4-AL", 4), ("average", 250)])
def test_answers_that_cancel_still_end_in_a_tree(linkage, n):
    rows = np.column_stack([np.zeros(n - 2), np.arange(1, n - 1), np.arange(2, n)]).astype(int)
    rows = np.concatenate([rows, rows[:, [0, 2, 1]]])
    with pytest.warns(UserWarning, match="no groups stand out"):
        model = ComparisonHC(linkage=linkage).fit(rows)
    assert is_valid_linkage(model.linkage_matrix_)
    assert model.labels_.tolist() == [0] * n


def test_the_interface_of_clusterers():
    model = ComparisonHC(3, linkage="4-AL", random_state=1)
    assert is_clusterer(model)
    assert clone(model).get_params() == {"n_clusters": 3, "linkage": "4-AL", "random_state": 1}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_clusters": 0}, "n_clusters must be an integer >= 1"),
        ({"n_clusters": 7}, "at most 6, got 7"),
        ({"n_clusters": 2.5}, "n_clusters must be an integer"),
        ({"linkage": "ward"}, "linkage must be 'average' or '4-AL', got 'ward'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        ComparisonHC(**settings).fit([[0, 1, 2], [3, 4, 5], [0, 3, 5]])


def test_bad_comparisons_are_refused(tmp_path):
    with pytest.raises(ValueError, match="itself"):
        ComparisonHC().fit([[0, 0, 1]])
    with pytest.raises(ValueError, match=r"shape|columns|3 or 4"):
        ComparisonHC().fit([[0, 1], [1, 2]])
    np.save(tmp_path / "rows.npy", np.array([[0, 1, 2], [1, 2, 0]]))
    with pytest.raises(ValueError, match="in memory"):
        ComparisonHC().fit(ComparisonsFile(tmp_path / "rows.npy"))
