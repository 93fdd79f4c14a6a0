"""The messy study: what is planted in it is there, and it is the same everywhere."""

import hashlib
import warnings

import numpy as np
import pytest

from nearer.datasets.example import CATCH
from nearer.datasets.lab_files import GUESSING, TEST, lab_files, lab_positions, lab_rows, write_lab
from nearer.embedding import CKL
from nearer.evaluation import procrustes_error
from nearer.io import read_answers

RIGHT = {frozenset(question): question[2] for question in CATCH}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    at = tmp_path_factory.mktemp("lab")
    write_lab(at)
    return at


def test_the_files_are_the_same_on_every_machine():
    everything = b"".join(name.encode() + content for name, content in lab_files().items())
    assert hashlib.sha256(everything).hexdigest() == "089a8cda4418d4bd7f23e34652ed9d68c81baeb3985e8697294d5ee402435074"
    assert len(everything) < 200_000
    assert lab_rows() != lab_rows(seed=1)


def test_careful_people_pass_the_catch_questions_and_two_do_not():
    right = {
        name: sum(row[6] == RIGHT[frozenset(row[3:6])] for row in rows if row[8]) for name, rows in lab_rows().items()
    }
    right.pop(TEST)
    assert len(right) == 40
    assert max(right.pop(name) for name in GUESSING) <= 3
    assert min(right.values()) >= 5


def test_the_folder_is_read_in_one_go(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        answers = read_answers(
            folder / "data", keep={"block": "main"}, exclude={"person": [TEST, *GUESSING]}, also=["group"]
        )
    assert answers.source == "41 files in data"
    assert len(set(answers.annotators)) == 38
    assert len(answers) + answers.report.n_undecided == 38 * 66
    assert answers.report.left_out[0].n_rows == 41 * 4
    assert set(answers.also["group"]) == {"novice", "expert"}
    truth = lab_positions()
    for group, other in (("novice", "expert"), ("expert", "novice")):
        model = CKL(2, random_state=0).fit(answers[answers.also["group"] == group].comparisons)
        mine, theirs = (procrustes_error(model.embedding_, truth[each]) for each in (group, other))
        assert mine < 0.8 * theirs


def test_a_third_of_the_instruments_is_moved_by_half_of_the_spread():
    novice, expert = lab_positions().values()
    moved = np.linalg.norm(expert - novice, axis=1)
    assert (moved > 0).sum() == 8
    spread = np.sqrt(((novice - novice.mean(axis=0)) ** 2).sum(axis=1).mean())
    np.testing.assert_allclose(moved[moved > 0], spread / 2)
