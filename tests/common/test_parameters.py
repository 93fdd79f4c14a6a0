"""Checks of parameters: what counts as an integer or a number, and what the error says."""

import numpy as np
import pytest

from nearer._common.parameters import check_counts, check_integer, check_number


@pytest.mark.parametrize("value", [2, np.int8(2), np.uint64(2)])
def test_integers_of_any_make_come_back_as_python_has_them(value):
    assert type(check_integer("k", value, 2)) is int


@pytest.mark.parametrize("value", [True, np.True_, 2.0, "2", None, 1, 10**50, np.array([2])])
def test_what_is_no_integer_within_bounds_is_quoted(value):
    with pytest.raises(ValueError, match="k must be an integer >= 2 and at most 10,000, got "):
        check_integer("k", value, 2, 10_000)


def test_counts_name_the_first_that_is_wrong():
    check_counts(rank=1, memory=np.int64(5))
    with pytest.raises(ValueError, match="memory must be an integer >= 1, got 0"):
        check_counts(rank=1, memory=0, patience=0)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(1)])
def test_numbers_come_back_as_floats(value):
    assert type(check_number("mu", value, above=0)) is float


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, True, "1", None, [1.0]])
def test_what_is_no_finite_number_above_a_bound_is_refused(value):
    with pytest.raises(ValueError, match="mu must be a finite number > 0, got "):
        check_number("mu", value, above=0)


def test_a_bound_that_is_allowed():
    assert check_number("nu", 0, least=0) == 0.0
    with pytest.raises(ValueError, match="nu must be a finite number >= 0, got -1"):
        check_number("nu", -1, least=0)
