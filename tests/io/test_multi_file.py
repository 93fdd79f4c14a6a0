"""Many files: one table of all of them, whoever wrote each."""

import gzip
import os

import numpy as np
import pytest

from nearer._common.findings import Source
from nearer.io import BadAnswers, read_answers, write_answers
from nearer.io.multi_file import file_list

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

HEADER = ["item1", "item2", "item3", "odd", "rt", "trial"]
WORDS = ["cat", "dog", "cow", "car", "bus", "van"]


def rows_of(person, number=6):
    """Return answers of one person: a third of the words each time, and the first is odd."""
    rng = np.random.default_rng(person)
    for trial in range(1, number + 1):
        shown = [WORDS[at] for at in rng.permutation(len(WORDS))[:3]]
        yield [*shown, shown[0], str(700 + trial), str(trial)]


def write(path, rows, header=HEADER, delimiter=",", encoding="utf-8", end="\n"):
    text = end.join(delimiter.join(row) for row in [header, *rows])
    path.write_bytes((text + end).encode(encoding))
    return path


@pytest.fixture
def folder(tmp_path):
    """Six people, a file each, none like the other; and what lies beside them."""
    data = tmp_path / "data"
    data.mkdir()
    write(data / "p1.csv", rows_of(1))
    write(data / "p2.csv", rows_of(2), encoding="utf-8-sig", end="\r\n")
    write(data / "p3.csv", rows_of(3), delimiter=";")
    turned = [5, 3, 4, 0, 2, 1]
    write(data / "p4.csv", [[row[at] for at in turned] for row in rows_of(4)], [HEADER[at] for at in turned])
    write(data / "p5.tsv", rows_of(5), [name.upper() for name in HEADER], delimiter="\t")
    plain = write(
        tmp_path / "plain.csv", rows_of(6), ["object_1", "object_2", "object_3", "odd_one_out", "rt", "trial"]
    )
    (data / "p6.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    (data / "README.txt").write_text("what these files are\n")
    (data / ".DS_Store").write_bytes(b"\0\0")
    (data / "~$p1.csv").write_bytes(b"x")
    (data / "p7.csv").write_text("\n")
    (data / "photo.png").write_bytes(b"\x89PNG")
    return data


def one_table():
    """Return the same answers as one table, with a column that says who gave them."""
    rows = [[*row, f"p{person}"] for person in range(1, 7) for row in rows_of(person)]
    return dict(zip([*HEADER, "person"], map(list, zip(*rows, strict=True)), strict=True))


def told(comparisons):
    return sorted(map(tuple, comparisons.objects[comparisons.oriented].tolist()))


def test_files_of_any_make_are_one_table(folder):
    answers, whole = read_answers(folder), read_answers(one_table())
    assert (answers.kind, len(answers), answers.source) == ("odd-one-out", 36, "6 files in data")
    assert told(answers.comparisons) == told(whole.comparisons)
    assert answers.annotators.tolist() == whole.annotators.tolist()
    assert np.allclose(answers.seconds, whole.seconds)
    assert (answers.comparisons.sample_weight == whole.comparisons.sample_weight).all()
    assert len(np.unique(answers.trial_of)) == 36  # trial 1 of one file is not that of another
    assert answers.files[[0, 35]].tolist() == ["p1.csv", "p6.csv.gz"]
    assert answers.lines[6:9].tolist() == [2, 3, 4]
    some = answers[10:]
    assert some.files[0] == "p2.csv"
    assert some.line(0) == "p2.csv:6"


def test_what_is_passed_over_and_who_answered_are_reported(folder):
    with pytest.warns(
        UserWarning, match="no column identifies who answered, so that each file is a person by name: 'p1'"
    ):
        notes = read_answers(folder).report.notes
    (passed,) = [note for note in notes if "ignored" in note]
    assert all(name in passed for name in ("README.txt", ".DS_Store", "~$p1.csv", "p7.csv"))
    assert "5 files" in passed
    assert not any("no column 'item1'" in note for note in notes)  # object_1 is item1 by another name


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of Unix systems")
@pytest.mark.parametrize("pattern", ["", "p*"])
def test_a_pipe_and_a_link_to_nothing_are_reported_and_do_not_hang(pattern, folder):
    os.mkfifo(folder / "p8.csv")
    (folder / "p9.csv").symlink_to(folder / "gone.csv")
    with pytest.warns(UserWarning, match=r"ignored.*'p8\.csv', 'p9\.csv'"):
        assert len(read_answers(folder / pattern)) == 36


@pytest.mark.parametrize("how", ["folder", "pattern", "several"])
def test_files_are_named_in_three_ways(how, folder):
    files = sorted(folder.glob("p[1-4].csv"))
    sources = {"folder": folder, "pattern": str(folder / "p[1-4].csv"), "several": list(map(str, files))}
    assert len(read_answers(sources[how])) == (36 if how == "folder" else 24)


def test_rules_go_by_the_name_of_the_file(folder):
    answers = read_answers(folder, exclude={"person": "p2"}, where="rt > 702", also=["odd"])
    assert set(answers.annotators) == {"p1", "p3", "p4", "p5", "p6"}
    assert len(answers) == 5 * 4
    assert [left.n_rows for left in answers.report.left_out] == [6, 10]
    odd = [row[3] for person in (1, 3, 4, 5, 6) for row in rows_of(person)][2:6]
    assert answers.also["odd"][:4].tolist() == odd
    with pytest.raises(ValueError, match="6 files in data: there is no column 'group'"):
        read_answers(folder, keep={"group": "A"})


def test_a_column_that_some_files_lack_is_reported(folder):
    write(folder / "p1.csv", [[*row, "A"] for row in rows_of(1)], [*HEADER, "group"])
    answers = read_answers(folder, also=["group"])
    assert answers.also["group"].tolist() == ["A"] * 6 + [""] * 30
    assert any("5 files have no column 'group': 'p2.csv'" in note for note in answers.report.notes)
    assert set(read_answers(folder, keep={"group": "A"}).annotators) == {"p1"}


def test_who_answered_stands_in_some_files(folder):
    write(folder / "p1.csv", [[*row, "Ada"] for row in rows_of(1)], [*HEADER, "subject"])
    answers = read_answers(folder)
    assert answers.annotators[[0, 6]].tolist() == ["Ada", "p2"]
    assert read_answers(folder, columns={"annotator": None}).annotators is None
    with pytest.raises(ValueError, match="no column 'who'"):
        read_answers(folder, columns={"annotator": "who"})


def test_bad_rows_name_file_and_line(folder):
    write(folder / "p3.csv", [*rows_of(3), ["cat", "dog", "cow", "banana", "1", "9"]])
    with pytest.raises(BadAnswers, match=r"\n  p3.csv:8: the answer 'banana' is none of the objects shown"):
        read_answers(folder)
    answers = read_answers(folder, skip_bad=True)
    assert (answers.report.n_bad, answers.report.bad_rows[0].source) == (1, Source("p3.csv", 8))


def test_a_file_of_another_kind_is_refused_or_passed_over(folder):
    write(folder / "z.csv", [["cat", "dog", "car"]], ["anchor", "near", "far"])
    with pytest.raises(ValueError, match=r"z.csv holds answers of kind triplet, and the others are of kind odd"):
        read_answers(folder)
    write(folder / "y.csv", [["cat", "animal"]], ["object", "family"])
    with pytest.raises(ValueError, match=r"2 files do not match .* y.csv has columns that make no question"):
        read_answers(folder)
    write(folder / "x.csv", [["cat", *row] for row in rows_of(8)], ["item1", *HEADER])
    with pytest.raises(ValueError, match=r"3 files do not match .* x.csv has two columns 'item1'"):
        read_answers(folder)
    (folder / "x.csv").unlink()
    answers = read_answers(folder, skip_bad=True)
    assert len(answers) == 36
    assert any("2 files were ignored: y.csv" in note for note in answers.report.notes)


def test_what_a_code_means_is_decided_by_all_files(tmp_path):
    """Of the first file alone nobody could tell whether 1 is the first option or the second of two."""
    for name, answer in (("a.csv", "1"), ("b.csv", "2")):
        write(tmp_path / name, [["cat", "dog", "car", answer]], ["anchor", "left", "right", "answer"])
    with pytest.raises(ValueError, match="may count from 0 or from 1"):
        read_answers(tmp_path / "a.csv")
    assert read_answers(tmp_path).places.tolist() == [0, 1]


def test_labels_are_numbers_in_all_files_or_in_none(tmp_path):
    write(tmp_path / "a.csv", [["1.0", "2.0", "3.0"]], ["anchor", "near", "far"])
    write(tmp_path / "b.csv", [["1", "2", "4"]], ["anchor", "near", "far"])
    assert read_answers(tmp_path).comparisons.objects.tolist() == ["1", "2", "3", "4"]
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"anchor": [4], "near": [1], "far": [3]}), tmp_path / "c.parquet")
    assert read_answers(tmp_path).comparisons.objects.tolist() == ["1", "2", "3", "4"]


def test_one_person_in_two_folders_and_one_name_in_many(tmp_path):
    for session in ("one", "two"):
        (tmp_path / session).mkdir()
        write(tmp_path / session / "p1.csv", rows_of(1))
        write(tmp_path / session / f"q-{session}.csv", rows_of(2))
    answers = read_answers(str(tmp_path / "*" / "*.csv"))
    assert sorted(set(answers.annotators)) == ["p1", "q-one", "q-two"]
    assert len(np.unique(answers.trial_of)) == 24
    assert answers.files[0] == "one/p1.csv"
    assert file_list(str(tmp_path / "*" / "p1.csv")).people == ("one", "two")


def test_files_that_were_written_here_are_joined(tmp_path):
    whole = read_answers(one_table())
    for number in range(2):
        write_answers(whole[number * 18 : number * 18 + 18], tmp_path / f"{number}.csv")
    answers = read_answers(tmp_path)
    assert told(answers.comparisons) == told(whole.comparisons)
    assert len(answers) == 36
    assert answers.annotators.tolist() == whole.annotators.tolist()
    assert len(np.unique(answers.trial_of)) == 36


def test_a_digest_knows_names_and_contents(folder):
    files = file_list(folder)
    assert files.digest() == file_list(list(reversed(files.paths))).digest()
    before = files.digest()
    (folder / "p1.csv").rename(folder / "p8.csv")
    assert file_list(folder).digest() != before


def test_nothing_to_read_ends_with_a_sentence(tmp_path):
    (tmp_path / "inner").mkdir()
    with pytest.raises(ValueError, match=r"without a file of answers.*its folders are 'inner'"):
        read_answers(tmp_path)
    with pytest.raises(ValueError, match=r"no file of answers is named like .*\*.csv"):
        read_answers(str(tmp_path / "*.csv"))
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(ValueError, match="holds a map, not answers"):
        read_answers(tmp_path)
    with pytest.raises(ValueError, match="there is no file to read"):
        read_answers([])


def test_names_that_are_long_numbers_stay_as_they_are(tmp_path):
    """A person, a file or an object may be a number that looks like a file and a line in one."""
    cat, dog, owl = "4294967298", "8589934594", "4294967299"
    for name in ("5551234567.csv", "5551234568.csv"):
        write(tmp_path / name, [[cat, dog, owl, dog], [dog, cat, owl, cat]], ["anchor", "left", "right", "answer"])
    answers = read_answers(tmp_path)
    assert any("by name: '5551234567', '5551234568'" in note for note in answers.report.notes)
    write(tmp_path / "5551234567.csv", [[cat, dog, owl, "8589934595"]], ["anchor", "left", "right", "answer"])
    wanted = (
        rf"\n  5551234567.csv:2: the answer '8589934595' is none of the objects shown; shown were '{dog}' and '{owl}'"
    )
    with pytest.raises(BadAnswers, match=wanted):
        read_answers(tmp_path)
    with pytest.raises(ValueError, match=rf"no row is left: .* person is not '{cat}'"):
        read_answers(tmp_path, keep={"person": cat})
