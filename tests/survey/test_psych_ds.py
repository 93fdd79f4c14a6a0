"""The dataset that is published: its layout, and that each column is described."""

import csv
import json

import pytest

from nearer.cli.main import main
from nearer.io import read_answers
from nearer.survey.psych_ds import write_psych_ds

KINDS = ("triplet", "odd-one-out", "most-central", "2 of 5")


def written(served, out):
    """Return the metadata and the rows of the dataset of a study."""
    write_psych_ds(served.folder, out)
    (table,) = (out / "data").iterdir()
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return json.loads((out / "dataset_description.json").read_text(encoding="utf-8")), rows, table


@pytest.mark.parametrize("kind", KINDS)
def test_every_column_is_described_and_no_other(serve, tmp_path, kind):
    conditions = {"conditions.a": {}, "conditions.b": {}}
    served = serve(kind=kind, questions={"per_person": 2, "practice": 1, "cant_tell": True}, **conditions)
    served.person().finish()
    served.person().finish(lambda _: ())
    about, rows, table = written(served, tmp_path / "out")
    assert (about["@context"], about["@type"], about["name"]) == ("https://schema.org/", "Dataset", "Things")
    assert [each["name"] for each in about["variableMeasured"]] == list(rows[0])
    assert all(each["@type"] == "PropertyValue" and each["description"] for each in about["variableMeasured"])
    assert about["description"].startswith('2 answers, and 2 "can\'t tell", of 2 participants')
    assert table.name == f"study-{served.folder.name}_data.csv"
    assert len({row["trial"] for row in rows}) == len(rows) == 4
    assert {row["condition"] for row in rows} == {"a", "b"}
    answers = read_answers(table, kind=None, separate_labels=True)
    assert (len(answers), answers.report.n_undecided) == (2, 2)


def test_nothing_that_names_a_person_is_in_it(serve, tmp_path):
    served = serve()
    served.person(PROLIFIC_PID="p123", SESSION_ID="s456").finish()
    written(served, tmp_path / "out")
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert not any(word in text for text in texts for word in ("p123", "s456", served.people()[0].code))


def test_one_of_before_is_replaced_and_nothing_else(serve, tmp_path, capsys):
    served = serve()
    served.person().finish()
    out = tmp_path / "out"
    for _ in range(2):
        assert main(["survey", "export", str(served.folder), "-o", str(out)]) == 0
    assert "dataset_description.json" in capsys.readouterr().out
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "text.txt").write_text("mine")
    with pytest.raises(ValueError, match="is no dataset of Psych-DS"):
        write_psych_ds(served.folder, tmp_path / "mine")
