"""Chosen questions are harder than random ones, and whoever reads answers to them is told so."""

from contextlib import nullcontext

import pytest

from nearer.data.comparisons import Comparisons
from nearer.io import read_answers, write_answers

TABLE = {"anchor": [*"aab"], "near": [*"bbc"], "far": [*"cca"]}


def notes_of(purposes, told=False, **options):
    with pytest.warns(UserWarning, match="harder than random ones") if told else nullcontext():
        return read_answers({**TABLE, "purpose": purposes}, **options).report.notes


def test_an_error_over_chosen_questions_is_said_to_be_too_large():
    (note,) = notes_of(["information", "test", "information"], told=True)
    assert "2 of 3 questions were chosen to be informative" in note
    assert "that of the 1 random one, which `nearer ask` reports, is unbiased" in note
    (note,) = notes_of(["information", "", "start"], told=True)
    assert "random questions among them would give an unbiased one" in note


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("purposes", [["start", "test", "repeat"], ["information", "main", "test"], ["", "", ""]])
def test_other_columns_of_that_name_say_nothing(purposes):
    assert not any("chosen" in note for note in notes_of(purposes))


@pytest.mark.filterwarnings("error")
def test_who_asks_for_the_column_is_not_told():
    assert notes_of(["information", "test", "test"], also=["purpose"]) == ()


def test_comparisons_say_which_questions_were_chosen():
    with pytest.warns(UserWarning, match="chosen"):
        answers = read_answers({**TABLE, "purpose": ["information", "test", "test"]})
    assert answers.comparisons.chosen.tolist() == [True, False, False]
    assert read_answers(TABLE).comparisons.chosen is None


@pytest.mark.parametrize("name", ["answers.csv", "answers.tsv", "answers.npz", "answers.parquet"])
def test_that_comes_back_from_files(name, tmp_path):
    written = Comparisons.from_triplets([("a", "b", "c"), ("b", "c", "d"), ("c", "a", "d")], chosen=[0, 1, 0])
    with pytest.warns(UserWarning, match="1 of 3 questions were chosen"):
        read = read_answers(write_answers(written, tmp_path / name)).comparisons
    assert read.chosen.tolist() == [False, True, False]
