import numpy as np
import pytest

from nearer import Penalty
from nearer.embedding.dmoe_search import FixedSettings, candidate_paths

OPEN = FixedSettings(Penalty.open())


def candidates(given=OPEN, n_components=2, solver="auto", **more):
    return [each for path in candidate_paths(given, n_components, solver, **more) for each in path.candidates]


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        (FixedSettings(Penalty(0.07, None, None, None)), lambda each: each.penalty.trace == 0.07),
        (FixedSettings(Penalty(None, 7.0, None, None)), lambda each: each.penalty.ridge == 7),
        (
            FixedSettings(Penalty(None, None, 0.7, None)),
            lambda each: each.penalty.diagonal == 0.7 and each.rank == "full",
        ),
        (
            FixedSettings(Penalty(None, None, None, 7.0)),
            lambda each: each.penalty.specificity == 7 and each.rank == "full",
        ),
        (FixedSettings(Penalty.open(), nu=0.7), lambda each: each.nu == 0.7),
        (FixedSettings(Penalty.open(), power=2), lambda each: each.power == 2),
        (FixedSettings(Penalty.open(), power=1), lambda each: each.power == 1 and each.rank == "full"),
        (FixedSettings(Penalty.open(), power=3), lambda each: each.power == 3 and each.rank != "full"),
        (FixedSettings(Penalty.open(), rank="full"), lambda each: each.rank == "full"),
        (FixedSettings(Penalty.open(), rank=7), lambda each: each.rank == 7),
    ],
)
def test_what_is_given_is_in_every_candidate(given, holds):
    found = candidates(given)
    assert found
    assert all(holds(each) for each in found)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("solver", ["auto", "admm", "closed", "factored"])
def test_candidates_are_settled_and_suit_the_solver(solver):
    for each in candidates(solver=solver):
        assert not each.penalty.is_open
        assert {"auto": True, "factored": each.rank == 2}.get(solver, each.rank == "full")
        if solver == "closed":
            assert (each.penalty.trace, each.nu, each.power) == (0, 1, 2)


def test_both_penalties_are_spanned():
    """From just below where the map vanishes to almost nothing, and from no ridge to a strong one."""
    traces = [each.penalty.trace for each in candidates()]
    ridges = [each.penalty.ridge for each in candidates()]
    assert max(traces) > 0.5
    assert min(traces) < 0.005
    assert (min(ridges), max(ridges)) == (0, 10)


def test_the_dimension_of_the_map_is_among_the_ranks():
    assert {each.rank for each in candidates(n_components=5)} == {"full", 2, 5, 10}


def test_few_comparisons_are_for_full_matrices():
    assert {each.rank for each in candidates(per_object=1.0)} == {"full"}
    assert all(path.trust == 1 for path in candidate_paths(OPEN, 2, "auto", per_object=50))
    assert min(path.trust for path in candidate_paths(OPEN, 2, "auto", per_object=5)) == 0.5
    assert candidates(FixedSettings(Penalty.open(), rank=3), per_object=1.0)  # unless a rank was asked for
    assert candidates(solver="factored", per_object=1.0)


def test_nothing_is_left_of_what_contradicts_itself():
    assert candidates(FixedSettings(Penalty(None, None, 0.4, None), rank=3)) == []
    full = candidates(FixedSettings(Penalty(0.0, None, 1.0, np.inf), rank="full"))
    assert full
    assert all(each.penalty.ridge > 0 for each in full)  # without any penalty there is no solution
