"""What was written is read back exactly, in every format."""

from dataclasses import replace

import numpy as np
import pytest

from nearer.data.comparisons import Comparisons
from nearer.io import read_answers, write_answers

LABELS = [
    "=cmd()",
    "'=x",
    "''+1",
    "-3",
    "@a",
    "\tb",
    "<script>",
    "a,b",
    'say "hi"',
    "two\nlines",
    " space ",
    "ä猫",
    "c\rd",
]


def triplet_answers(n=40, with_places=True, slow=0.0):
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(len(LABELS))[:3] for _ in range(n)])
    labels = np.array(sorted(LABELS))
    side = rng.integers(2, size=n)
    near, far = labels[rows[:, 1]], labels[rows[:, 2]]
    table = {
        "anchor": labels[rows[:, 0]],
        "seconds": rng.exponential(1.7, n) + slow,
        "confidence": rng.integers(1, 5, n) / 3,
        "worker": np.array(["p 1", "=q", "r"])[rng.integers(3, size=n)],
    }
    if with_places:
        table |= {"left": np.where(side, far, near), "right": np.where(side, near, far), "answer": near}
    else:
        table |= {"near": near, "far": far}
    return read_answers(table)


def three_answers():
    table = {"a": ["x", "y", "z"], "b": ["y", "z", "w"], "c": ["z", "w", "=v"], "odd": ["z", "y", "same"]}
    return read_answers(table | {"worker": ["p", "q", "q"]})


def ranked_answers():
    return read_answers({"anchor": ["x", "w"], "ranking": ["y;z;w", "z;x"], "rt": [1.5, None]})


def pair_answers():
    table = {"i": ["x", "y"], "j": ["y", "z"], "l": ["z", "w"], "k": ["w", "x"], "weight": [0.1, 1 / 3]}
    return read_answers(table)


ANSWERS = {
    "triplets": triplet_answers,
    "triplets without places": lambda: triplet_answers(with_places=False),
    "odd one out": three_answers,
    "rankings": ranked_answers,
    "quadruplets": pair_answers,
}


def assert_same(one, other, kind=True):
    """Check that two sets of answers say the same, to the last bit."""
    if kind:
        assert one.kind == other.kind
    assert one.answer_of.tolist() == other.answer_of.tolist()
    for name in ("rows", "answers", "weights", "annotators", "trials", "objects"):
        assert_same_array(getattr(one.comparisons, name), getattr(other.comparisons, name), name)
    for name in ("annotators", "seconds", "confidences", "places"):
        assert_same_array(getattr(one, name), getattr(other, name), name)


def assert_same_array(one, other, name):
    assert (one is None) == (other is None), name
    if one is not None:
        assert one.dtype.kind == other.dtype.kind, name
        np.testing.assert_array_equal(one, other, name)


@pytest.mark.parametrize("what", ANSWERS)
@pytest.mark.parametrize("name", ["answers.csv", "answers.tsv", "answers.csv.gz", "answers.parquet", "answers.npz"])
def test_own_files_come_back_exactly(tmp_path, what, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    answers = ANSWERS[what]()
    assert_same(read_answers(write_answers(answers, tmp_path / name)), answers)


@pytest.mark.parametrize("what", ["triplets", "triplets without places"])
@pytest.mark.parametrize(
    ("preset", "ending"), [("salmon", "csv"), ("jspsych", "csv"), ("jspsych", "json"), ("cblearn", "npz")]
)
def test_exports_to_other_programs_come_back_exactly(tmp_path, what, preset, ending):
    answers = ANSWERS[what]()
    path = write_answers(answers, tmp_path / f"answers.{ending}", preset)
    assert_same(read_answers(path), answers)


@pytest.mark.parametrize("name", ["answers.csv", "answers.parquet", "answers.npz"])
def test_comparisons_with_answers_and_integers(tmp_path, name):
    known = {"weights": [0.1, 1e-20, 3], "annotators": ["p", "q", "q"], "trials": ["t1", "t 2", "t1"]}
    comparisons = Comparisons.from_triplets([[0, 1, 2], [2, 1, 3], [3, 0, 1]], y=[1, -1, 1], n_objects=6, **known)
    read = read_answers(write_answers(comparisons, tmp_path / name)).comparisons
    expected = np.arange(6) if name != "answers.csv" else np.arange(6).astype(str)
    assert_same_array(read.objects, expected, "objects")
    for column in ("rows", "answers", "weights", "annotators", "trials"):
        assert_same_array(getattr(read, column), getattr(comparisons, column), column)


def test_slow_answers_do_not_become_milliseconds(tmp_path):
    slow = 99.0  # below what is read as milliseconds when it is read first, and slower when it comes back
    answers = triplet_answers(slow=slow)
    answers = replace(answers, seconds=answers.seconds + slow)
    for name, preset in (("own.csv", None), ("salmon.csv", "salmon"), ("jspsych.json", "jspsych")):
        read = read_answers(write_answers(answers, tmp_path / name, preset))
        np.testing.assert_array_equal(read.seconds, answers.seconds)


def test_a_preset_may_be_said_of_what_was_written(tmp_path):
    answers = triplet_answers()
    for preset, name in (("salmon", "a.csv"), ("jspsych", "a.json"), ("cblearn", "a.npz")):
        assert_same(read_answers(write_answers(answers, tmp_path / name, preset), preset=preset), answers)
    with pytest.raises(ValueError, match="of kind 'triplet', not 'grid'"):
        read_answers(tmp_path / "a.npz", "grid")
    with pytest.raises(ValueError, match="has the columns of jspsych, not of cblearn"):
        read_answers(tmp_path / "a.json", preset="cblearn")


def test_order_of_objects_is_kept_in_npz(tmp_path):
    comparisons = Comparisons.from_triplets([("b", "c", "d")], objects=["d", "c", "b", "a"])
    read = read_answers(write_answers(comparisons, tmp_path / "answers.npz")).comparisons
    assert read.objects.tolist() == ["d", "c", "b", "a"]
    assert read.rows.tolist() == comparisons.rows.tolist()


def test_formulas_are_inert_in_exported_text(tmp_path):
    answers = triplet_answers(200)
    for name, preset in (("own.csv", None), ("salmon.csv", "salmon"), ("jspsych.csv", "jspsych")):
        import csv

        path = write_answers(answers, tmp_path / name, preset)
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                for column, cell in row.items():
                    number = column in ("answer", "place", "weight", "seconds", "response_time", "rt")
                    assert number or not cell.startswith(("=", "+", "-", "@", "\t", "\r")), (column, cell)


def test_foreign_apostrophes_are_left_alone(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("anchor,near,far\n'=x,b,c\n")
    assert read_answers(path).comparisons.objects.tolist() == ["'=x", "b", "c"]


def test_rows_of_several_comparisons_share_a_trial_in_exports(tmp_path):
    answers = three_answers()
    for preset, name in (("salmon", "a.csv"), ("jspsych", "a.json")):
        read = read_answers(write_answers(answers, tmp_path / name, preset))
        assert read.kind == "triplet"
        assert np.bincount(np.unique(read.comparisons.trials, return_inverse=True)[1]).tolist() == [2, 2]
        assert read.comparisons.weights.tolist() == [0.5] * 4


@pytest.mark.parametrize(
    ("first", "name", "preset", "sentence"),
    [
        (None, "answers.xlsx", None, r"must end in \.csv or"),
        (None, "answers.csv", "cblearn", r"must end in \.npz"),
        (None, "answers.csv", "salmon", "quadruplets"),
        (None, "answers.csv", "psychopy", "preset='psychopy'"),
        ("a\0b", "answers.csv", None, "NUL"),
        ("a\ud800", "answers.csv", None, "no text"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, first, name, preset, sentence):
    answers = pair_answers() if first is None else Comparisons.from_triplets([(first, "c", "d")])
    with pytest.raises(ValueError, match=sentence):
        write_answers(answers, tmp_path / name, preset)


def test_own_files_may_be_edited(tmp_path):
    path = write_answers(three_answers(), tmp_path / "answers.csv")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], *lines[3:]]))  # without the first answer
    read = read_answers(path)
    assert len(read) == 1
    assert read.answer_of.tolist() == [0, 0]
    path.write_text("\n".join(line.replace("odd-one-out", "nonsense") for line in lines))
    with pytest.raises(ValueError, match="nearer_kind"):
        read_answers(path)
    with np.load(write_answers(three_answers(), tmp_path / "answers.npz")) as data:
        np.savez(tmp_path / "answers.npz", **(dict(data) | {"nearer_kind": "nonsense"}))
    with pytest.raises(ValueError, match="nearer_kind"):
        read_answers(tmp_path / "answers.npz")
