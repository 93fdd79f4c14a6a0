"""A map that was made with features shows nothing about them: as models they are refused, as attributes left out."""

import csv

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from nearer.cli.main import main
from nearer.comparing import compare_maps, compare_matrices
from nearer.comparing.shared_features import check_models, own_columns
from nearer.data.features import Features
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import PosteriorEmbedding
from nearer.io import write_answers

N = 14
POINTS = make_gaussian(N, 2, random_state=0)
VECTORS = POINTS @ np.random.default_rng(0).normal(size=(2, 24)) + 0.2 * np.random.default_rng(1).normal(size=(N, 24))
ANSWERS = sample_triplets(POINTS, 120, flipped=0.05, random_state=1)


def fitted(features):
    return PosteriorEmbedding(2, features=features, solver="fast", random_state=0).fit(ANSWERS)


@pytest.fixture(scope="module")
def model():
    return fitted({"vectors": VECTORS})


@pytest.fixture(scope="module")
def plain():
    return fitted(None)


@pytest.mark.parametrize(
    "matrix",
    [
        cdist(VECTORS, VECTORS),
        cdist(VECTORS, VECTORS) ** 2,
        cdist(VECTORS, VECTORS, "cosine"),
        cdist(VECTORS, VECTORS, "correlation"),
        cdist(VECTORS, VECTORS) + 0.01 * np.ptp(cdist(VECTORS, VECTORS)) * np.triu(np.ones((N, N)), 1),
    ],
    ids=["euclidean", "squares", "cosine", "correlation", "nearly"],
)
def test_distances_of_the_same_features_are_refused(model, plain, matrix):
    matrix = np.triu(matrix) + np.triu(matrix).T
    with pytest.raises(ValueError, match="the features 'vectors' that the map was made with"):
        compare_matrices(model, {"network": matrix}, n_permutations=19, n_resamples=10, random_state=0)
    assert check_models(plain, {"network": matrix}) == ()


def test_other_models_are_compared_with_a_note(model, plain):
    other = cdist(POINTS[:, :1], POINTS[:, :1])

    def notes(of):
        return compare_matrices(of, {"x": other}, n_permutations=19, n_resamples=10, random_state=0).notes

    assert any("made partly of the features 'vectors'" in note for note in notes(model))
    assert not any("features" in note for note in notes(plain))


def test_maps_of_the_same_features_are_said_to_share_them(model, plain):
    assert any("both maps were made with" in note for note in compare_maps(model, model).notes)
    others = compare_maps(model, plain).notes
    assert any("partly of the features" in note for note in others)
    assert not any("both maps" in note for note in others)
    assert not any("features" in note for note in compare_maps(plain, plain).notes)


def test_columns_among_the_features_are_found(plain):
    few = Features(POINTS @ [[1.0, 2.0], [0.5, -1.0]], name="sizes")
    model = fitted([few])
    columns = {
        "same": few.values[:, 0].tolist(),
        "sum": (3 * few.values[:, 0] - few.values[:, 1]).tolist(),
        "other": np.random.default_rng(4).normal(size=N).tolist(),
        "words": ["a", "b"] * (N // 2),
        "gaps": [None, *few.values[1:, 1].tolist()],
    }
    assert own_columns(model, columns) == dict.fromkeys(("same", "sum", "gaps"), "sizes")
    assert own_columns(plain, columns) == {}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A quick study with features, and tables of the same objects."""
    folder = tmp_path_factory.mktemp("shared")
    labels = [f"o{k:02}" for k in range(N)]
    from nearer import Comparisons

    named = np.array(labels)[ANSWERS.rows]
    write_answers(Comparisons.from_triplets(named, ANSWERS.answers), folder / "answers.csv")
    with (folder / "vectors.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["object", *range(24)], *([name, *row] for name, row in zip(labels, VECTORS.tolist(), strict=True))]
        )
    with (folder / "attributes.csv").open("w", newline="", encoding="utf-8") as file:
        rows = [[name, row[3], at[0]] for name, row, at in zip(labels, VECTORS.tolist(), POINTS.tolist(), strict=True)]
        csv.writer(file).writerows([["object", "third", "place"], *rows])
    arguments = [folder / "answers.csv", "--features", folder / "vectors.csv", "-o", folder / "map", "--quick"]
    assert main(["fit", *map(str, arguments)]) == 0
    return folder


def test_the_command_refuses_the_file_of_the_features(study, capsys):
    arguments = [str(study / "map"), "--with", str(study / "vectors.csv"), "--features"]
    assert main(["compare", *arguments]) == 2
    assert "a map of the answers alone" in capsys.readouterr().err


def test_attributes_that_are_features_are_left_out(study, capsys):
    assert main(["axes", str(study / "map"), "--attributes", str(study / "attributes.csv")]) == 0
    out, err = capsys.readouterr()
    assert "'third' is not fitted: the map was made with it" in err
    assert "made partly of the features" in err
    assert "place" in out
    assert "third" not in out
