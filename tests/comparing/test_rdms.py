"""Distances for rsatoolbox and back: values and conventions are those of rsatoolbox 0.3.2."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from nearer.comparing import compare_groups, distance_matrix, from_rdms, to_rdms
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE, NonmetricMDS, PosteriorEmbedding
from nearer.sampling import Microcanonical

POINTS = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0], [0.0, 2.0]])
# calc_rdm(Dataset(POINTS, obs_descriptors={"conds": list("abcd")}), method="euclidean", descriptor="conds").to_dict(),
# joined with that of other points: squared distances over the number of channels.
BY_RSATOOLBOX = {
    "dissimilarities": np.array([[12.5, 0.5, 2.0, 10.0, 6.5, 2.5], [10.0, 26.0, 8.0, 40.0, 2.0, 50.0]]),
    "descriptors": {},
    "rdm_descriptors": {"index": [0, 1], "session": ["one", "two"]},
    "pattern_descriptors": {"conds": ["a", "b", "c", "d"], "index": [0, 1, 2, 3]},
    "dissimilarity_measure": "squared euclidean",
}
SHORT = Microcanonical(n_chains=2, n_warmup=200, n_steps=400, thin=20, n_starts=1, n_climb=20)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def answers():
    found = sample_triplets(make_gaussian(6, 2, random_state=0), flipped=0.1, random_state=0)
    return replace(found, objects=np.array(list("fedcba")), annotators=np.arange(60) % 6)


def test_distances_of_points_are_those_that_rsatoolbox_computes():
    ours = to_rdms({"one": cdist(POINTS, POINTS)})["dissimilarities"]
    np.testing.assert_allclose(ours**2 / POINTS.shape[1], BY_RSATOOLBOX["dissimilarities"][:1], atol=1e-9)


def test_what_rsatoolbox_has_is_read_with_names():
    one, two = from_rdms(BY_RSATOOLBOX)
    assert (one.name, two.name, one.objects) == ("one", "two", ["a", "b", "c", "d"])
    np.testing.assert_allclose(one.matrix, cdist(POINTS, POINTS, "sqeuclidean") / 2)
    np.testing.assert_allclose(two.matrix[0], [0, 10, 26, 8])
    assert NonmetricMDS(2, random_state=0).fit_dissimilarities(one.matrix).embedding_.shape == (4, 2)


def test_a_map_goes_there_and_back(answers):
    model = STE(2, random_state=0).fit(answers)
    record = to_rdms(model)
    assert record["pattern_descriptors"] == {"object": list("fedcba")}
    (again,) = from_rdms(record)
    np.testing.assert_allclose(again.matrix, distance_matrix(model).matrix, atol=1e-12)
    assert again.objects == list("fedcba")


def test_draws_and_people_are_descriptors(answers):
    model = PosteriorEmbedding(2, people="maps", max_components=2, solver=SHORT, random_state=0).fit(answers)
    draws = to_rdms(model, "draw", n_draws=5, random_state=0)
    assert draws["dissimilarities"].shape == (5, 15)
    assert draws["rdm_descriptors"] == {"draw": [0, 1, 2, 3, 4]}
    assert np.ptp(draws["dissimilarities"], axis=0).min() > 0
    people = to_rdms(model, "person")
    assert people["rdm_descriptors"]["person"] == [str(number) for number in range(6)]
    maps = model.map_of(model.differences_.people[3]).maps
    expected = np.mean([cdist(points, points) for points in maps], axis=0)
    np.testing.assert_allclose(from_rdms(people)[3].matrix, expected)


def test_groups_of_a_comparison_are_descriptors(answers):
    found = compare_groups(answers, np.arange(60) % 6 < 3, n_components=2, n_permutations=99, random_state=0)
    record = to_rdms(found)
    assert record["rdm_descriptors"] == {"group": [str(group) for group in found.groups]}
    for row, points in zip(from_rdms(record), found.maps, strict=True):
        np.testing.assert_allclose(row.matrix, cdist(points, points), atol=1e-12)
        assert row.objects == found.objects.tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dissimilarities": [[1.0, 2.0]]}, "no number of pairs"),
        ({"pattern_descriptors": {"x": list("abcd"), "y": list("abcd")}}, "names=..."),
        ({"pattern_descriptors": {"conds": list("aacd")}}, "each of 4 objects once"),
    ],
)
def test_what_cannot_be_read_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        from_rdms(BY_RSATOOLBOX | change)


def test_matrices_of_other_objects_do_not_go_together(answers):
    model = STE(2, random_state=0).fit(answers)
    with pytest.raises(ValueError, match="other objects"):
        to_rdms({"a": model, "b": replace(distance_matrix(model), objects=np.array(list("abcdef")))})
    with pytest.raises(ValueError, match="PosteriorEmbedding"):
        to_rdms(model, "draw")


def test_rsatoolbox_takes_them_and_gives_them_back(answers, tmp_path):
    rdm = pytest.importorskip("rsatoolbox.rdm", reason="rsatoolbox is not installed; the values above are its own")
    from rsatoolbox.data import Dataset

    model = STE(2, random_state=0).fit(answers)
    ours = rdm.RDMs(**to_rdms({"ours": model, "same": model}))
    points = Dataset(model.embedding_, obs_descriptors={"object": model.objects_})
    theirs = rdm.calc_rdm(points, method="euclidean", descriptor="object")
    order = [theirs.pattern_descriptors["object"].index(label) for label in model.objects_]
    squares = theirs.get_matrices()[0][np.ix_(order, order)] * 2
    np.testing.assert_allclose(ours.get_matrices()[0] ** 2, squares, atol=1e-9)
    assert rdm.compare(ours, ours, method="tau-a").shape == (2, 2)
    ours.save(str(tmp_path / "rdms.hdf5"))
    for again in (from_rdms(ours)[1], from_rdms(rdm.load_rdm(str(tmp_path / "rdms.hdf5")))[1]):
        assert (again.name, again.objects) == ("same", list("fedcba"))
        np.testing.assert_allclose(again.matrix, distance_matrix(model).matrix, atol=1e-9)
