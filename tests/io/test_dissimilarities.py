"""Reading dissimilarities: the same judgments in every layout, directions, and what is refused."""

import json

import numpy as np
import pytest
from helpers.tool_files import OBJECTS, PAIRS, N, distances, mat, named, npy, ratings, table, workbook

from nearer.cli.main import main
from nearer.io import read_dissimilarities

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TRUTH = {(OBJECTS[a], OBJECTS[b]): distances()[a, b] for a, b in PAIRS}
ROWS = [[a, b, value] for (a, b), value in TRUTH.items()]
HALF = np.where(np.tri(N, k=-1).T > 0, distances(), np.nan)


def as_pairs(found):
    """Return the dissimilarity of each pair, by names in the order of OBJECTS."""
    a, b = found.pairs
    labels = [tuple(sorted((found.objects[i], found.objects[j]))) for i, j in zip(a, b, strict=True)]
    return dict(zip(labels, found.of_people[0], strict=True))


@pytest.fixture
def read(tmp_path):
    def reader(content, name="m.csv", **options):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return read_dissimilarities(tmp_path / name, **options)

    return reader


FORMS = {
    "matrix": (table(named(distances())), "m.csv"),
    "above the diagonal": (table(named(HALF)).replace(b"nan", b""), "m.csv"),
    "zeros below": (table(named(np.nan_to_num(HALF))), "m.csv"),
    "semicolons": (table(named(distances()), ";").replace(b".", b","), "m.csv"),
    "pairs": (table([["item1", "item2", "dissimilarity"], *ROWS]), "m.csv"),
    "pairs, the other way": (table([["left", "right", "distance"], *([b, a, d] for a, b, d in ROWS)]), "m.csv"),
    "in prose order": (
        table([["rating of difference", "word a", "word b"], *([d, a, b] for a, b, d in ROWS)]),
        "m.csv",
    ),
    "npz": (None, "m.npz"),
    "mat": (mat(D=distances(), names=np.array(OBJECTS, object)), "m.mat"),
    "triangle": (mat(rdmutv=distances()[np.triu_indices(N, 1)][None], stimuli=np.array(OBJECTS)), "m.mat"),
    "json lines": ("\n".join(json.dumps({"item1": a, "item2": b, "distance": d}) for a, b, d in ROWS), "m.jsonl"),
    "workbook": (None, "m.xlsx"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(form, read, tmp_path):
    content, name = FORMS[form]
    if form == "npz":
        np.savez(tmp_path / "a.npz", D=distances(), objects=np.array(OBJECTS))
        content = (tmp_path / "a.npz").read_bytes()
    elif form == "workbook":
        pytest.importorskip("openpyxl")
        pytest.importorskip("python_calamine", reason="reads workbooks: pip install python-calamine")
        content = workbook(D=named(distances()))
    found = as_pairs(read(content, name))
    assert found.keys() == TRUTH.keys()
    scale = 1.0 if form != "triangle" else np.sqrt(np.mean(np.square(list(TRUTH.values()))))
    for pair, value in TRUTH.items():
        assert found[pair] == pytest.approx(value / scale)


def test_arrays_and_unnamed_matrices_are_numbered(read):
    expected = distances()[np.triu_indices(N, 1)]
    for found in (
        read_dissimilarities(distances()),
        read(table(distances().tolist())),
        read(npy(distances()), "m.npy"),
    ):
        assert found.objects == ["1", "2", "3", "4", "5", "6"]
        np.testing.assert_allclose(found.of_people[0], expected)
    people = read_dissimilarities(np.array([distances(at) for at in range(3)]))
    assert people.people == ("1", "2", "3")
    np.testing.assert_allclose(people.of_people[1], distances(1)[np.triu_indices(N, 1)])


@pytest.mark.parametrize(
    ("name", "high_is", "known_by"),
    [("similarity", "similar", "name"), ("dissimilarity", "different", "name"), ("rating", "different", "assumed")],
)
def test_the_name_of_the_column_says_the_direction(name, high_is, known_by, read):
    found = read(table([["item1", "item2", name], *ROWS]))
    assert (found.high_is, found.known_by) == (high_is, known_by)
    assert [each.code for each in found.findings] == ["assumed-direction"] * (known_by == "assumed")
    sign = 1 if high_is == "different" else -1
    np.testing.assert_allclose(found.combined(), sign * read_dissimilarities(distances()).combined(), atol=1e-12)


def test_the_diagonal_says_the_direction_and_the_option_turns_it_round(read):
    similar = table(named(np.exp(-distances())))
    found, turned = read(similar), read(similar, high_is="different")
    assert (found.high_is, found.known_by) == ("similar", "diagonal")
    assert (turned.high_is, turned.known_by) == ("different", "option")
    np.testing.assert_allclose(found.combined(), -turned.combined())


def test_confusions_or_similarities_is_a_question(read):
    counts = table(named(np.diag([9] * 5 + [11]) + 1))
    with pytest.raises(ValueError, match=r"--kind confusions .*--high-is similar"):
        read(counts)
    assert read(counts, kind="confusions").kind == "confusions"
    assert read(counts, high_is="similar").kind == "matrix"
    rows = [[OBJECTS[a], OBJECTS[b], int(a == b) * 8 + 1] for a in range(N) for b in range(N)]
    long = read(table([["stimulus", "response", "n"], *rows]), kind="confusions")
    assert long.n_answers == N * 8 + N * N


def test_same_or_different_as_words_and_as_counts_agree(read):
    rng = np.random.default_rng(0)
    words = [[a, b, rng.choice(["same", "different"])] for a, b, _ in ROWS for _ in range(6)]
    found = read(table([["a", "b", "response"], *words]))
    counts = {}
    for a, b, word in words:
        counts.setdefault((a, b), []).append(word == "same")
    rows = [[a, b, sum(of), 6 - sum(of)] for (a, b), of in counts.items()]
    np.testing.assert_allclose(found.combined(), read(table([["a", "b", "same", "different"], *rows])).combined())
    total = [[a, b, same, 6] for a, b, same, _ in rows]
    np.testing.assert_allclose(found.combined(), read(table([["a", "b", "same", "n"], *total])).combined())
    assert found.kind == "same-different"


def test_piles_by_definition(read):
    rows = [["p", "ant", 1], ["p", "bee", 1], ["p", "cow", 2], ["q", "ant", "x"], ["q", "bee", "y"], ["q", "cow", "y"]]
    found = read(table([["person", "item", "pile"], *rows]))
    assert dict(zip(["ab", "ac", "bc"], found.combined(), strict=True)) == {"ab": 0.5, "ac": 1.0, "bc": 0.5}


def test_a_file_for_each_person(read, tmp_path):
    for person in ("ann", "bob"):
        (tmp_path / f"{person}.csv").write_bytes(table(named(distances(ord(person[0])))))
    found = read_dissimilarities([tmp_path / "ann.csv", tmp_path / "bob.csv"])
    assert found.people == ("ann", "bob")
    np.testing.assert_allclose(found.of_people[1], distances(ord("b"))[np.triu_indices(N, 1)])


def test_rows_that_cannot_be_used(read):
    rows = [*ratings(0), ("ant", "ant", 1), ("ant", "", 3), ("ant", "bee", "x"), ("ant", "bee", 77), ("", "", "")]
    text = table([["item1", "item2", "rating"], *rows])
    with pytest.raises(ValueError, match=r"3 rows cannot be used") as error:
        read(text, scale=(1, 7))
    for part in ("there is no object_2", "the rating 'x' is not a number", "the rating '77' is not from 1 to 7"):
        assert part in str(error.value)
    found = read(text, scale=(1, 7), skip_bad=True)
    assert (found.n_bad, found.n_answers) == (3, 15)
    assert {each.code for each in found.findings} == {"identical-pairs", "not-judged", "assumed-direction"}


def test_rows_are_selected(read):
    rows = [[*row, block] for row, block in zip(ROWS, ["main"] * 14 + ["practice"], strict=True)]
    assert read(table([["item1", "item2", "distance", "block"], *rows]), exclude={"block": "practice"}).n_answers == 14


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"MATLAB 7.3 MAT-file" + bytes(600), "m.mat", "MATLAB 7.3.*-v7"),
        (mat(D=distances())[:200], "m.mat", "m.mat"),
        (mat(rdmutv=np.ones((1, 4)), stimuli=np.array(OBJECTS)), "m.mat", "4 distances do not belong to 6 stimuli"),
        (table([["item1", "item2", "rating"], ["a", "b", 1], ["b", "a", 1]]), "m.csv", "about 2 objects"),
        (table([["x", "a", "b", "a"], ["a", 0, 1, 2], ["b", 1, 0, 2], ["a", 2, 2, 0]]), "m.csv", "'a' twice"),
    ],
)
def test_what_is_refused(content, name, message, read):
    with pytest.raises(ValueError, match=message):
        read(content, name)


def test_a_refusal_names_the_command_that_reads_the_file(tmp_path, capsys):
    rows = [[a, b, value] for a, b, value in ratings(0)]
    (tmp_path / "m.csv").write_bytes(table([["Wort", "Vergleich", "Urteil"], *rows]))
    assert main(["check", str(tmp_path / "m.csv")]) == 2
    assert "--columns object_1=Wort,object_2=Vergleich,rating=Urteil --kind ratings" in capsys.readouterr().err
