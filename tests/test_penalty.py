import numpy as np
import pytest
from conftest import random_quadruplets

from nearer import Penalty
from nearer.losses import TwoSidedHinge
from nearer.margins import MarginMap
from nearer.problem import Problem


def problem(m=40):
    rows = random_quadruplets(np.random.default_rng(0), 8, m, "triplets")
    return Problem(MarginMap.from_quadruplets(rows, 8), TwoSidedHinge(), np.full(m, 2.0))


def test_units():
    penalized = Penalty(trace=0.3, ridge=4.0, diagonal=0.5, specificity=16.0).of(problem())
    assert penalized.trace == pytest.approx(0.3 * penalized.vanishing_trace)
    assert penalized.ridge == pytest.approx(4 / 80)
    assert penalized.specificity == pytest.approx(16 / 80)
    assert penalized.margins.diagonal == 0.5


def test_the_vanishing_trace_is_that_of_the_weighted_diagonal():
    assert Penalty(diagonal=0.2).of(problem()).vanishing_trace != Penalty().of(problem()).vanishing_trace


def test_infinite_specificity_is_none():
    assert not Penalty().of(problem()).has_specificities


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trace": -0.1}, "trace"),
        ({"trace": np.nan}, "trace"),
        ({"ridge": np.inf}, "ridge"),
        ({"diagonal": -1}, "diagonal"),
        ({"specificity": 0}, "specificity"),
        ({"specificity": np.nan}, "specificity"),
        ({"trace": "0.1"}, "trace"),
        ({"specificity": None}, "specificity"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Penalty(**settings)
