"""The descent on a device: that of NumPy, decision for decision, also with steps repeated in place."""

import threading
import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.model import CrowdKernel, DistanceHinge, Hinge, Logistic, StudentT, TwoSidedHinge
from nearer.optimize import SVRG, Factored, FactoredOnDevice, Outcome, Projected, solve
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import InMemory, OnDevice
from nearer.optimize.solvers import descent, device_lbfgs
from nearer.optimize.solvers.descent import solve_with_restarts
from nearer.optimize.solvers.device_lbfgs import for_device, record_if_possible, step_in_place

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # a second one takes five times as long over so little, in waiting
SMOOTH = [Hinge(2), TwoSidedHinge(0.5, 2), Logistic(), StudentT(2.0), CrowdKernel(1.0), DistanceHinge()]
KINKED = Hinge(1)


def noisy(n=12, m=150, seed=0):
    """Answers at random: nothing fits them, and line searches are needed."""
    return Comparisons.from_quadruplets(random_quadruplets(np.random.default_rng(seed), n, m, "triplets"), n_objects=n)


def easy(n=15, m=500, seed=0):
    return sample_triplets(make_gaussian(n, 2, random_state=seed), m, random_state=seed)


def problems(comparisons, loss, dtype="float32", trace=0.003, **settings):
    host = InMemory(comparisons)
    there = OnDevice.copy_of(host, "cpu", dtype)
    return FactoredProblem(host, loss, trace, **settings), FactoredProblem(there, loss, trace, **settings)


def run(problem, solver, start=None, **arguments):
    return solve(problem, solver, start, rng=np.random.default_rng(0), **arguments)


def iterates(problem, solver, start=None):
    """Return every map on the way, and the number of steps of the driver."""
    state = solver.init(problem, start, np.random.default_rng(0))
    maps, n_steps = [solver.value(state)], 0
    while solver.done(problem, state) is None:
        state = solver.step(problem, state)
        n_steps += 1
        if not np.array_equal(solver.value(state), maps[-1]):
            maps.append(solver.value(state))
    return maps, n_steps


def check_same_steps(monkeypatch, both, start=None, begin="spectral"):
    """Compare all maps on the way, in float64, where rounding does not hide a decision."""
    monkeypatch.setattr(device_lbfgs, "TICKS_PER_LOOK", 1)
    expected, n_iter = iterates(both[0], Factored(start=begin), start)
    found, n_ticks = iterates(both[1], FactoredOnDevice(device="cpu", dtype="float64", start=begin), start)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max())
    return n_iter, n_ticks


@pytest.mark.parametrize("begin", ["spectral", "random"])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_takes_the_same_steps(loss, begin, monkeypatch):
    check_same_steps(monkeypatch, problems(noisy(), loss, "float64"), begin=begin)


def test_takes_the_same_steps_from_a_map_and_with_a_ridge(monkeypatch):
    start = np.random.default_rng(3).normal(size=(12, 2))
    check_same_steps(monkeypatch, problems(noisy(), Hinge(), "float64", ridge=0.05), start)


def test_the_steps_include_shorter_ones_and_changes_of_the_penalty(monkeypatch):
    """Or the comparisons above would compare little."""
    both = problems(noisy(), StudentT(2.0), "float64", trace=1e-5)
    n_iter, n_ticks = check_same_steps(monkeypatch, both, 3 * np.random.default_rng(3).normal(size=(12, 2)))
    assert n_ticks > n_iter
    state = run(both[1], FactoredOnDevice(device="cpu", dtype="float64")).state
    assert int(state.descent.stage) == len(state.path) - 1 == 2


@pytest.mark.parametrize(("loss", "seed"), [(StudentT(2.0), 2), (CrowdKernel(1.0), 3)], ids=str)
def test_a_pair_that_a_new_penalty_makes_useless_gives_its_place_to_the_next(loss, seed, monkeypatch):
    numbers, true = [], descent._next_penalty

    def further(state):
        after = true(state)
        numbers.append((len(state.pairs), len(after.pairs)))
        return after

    monkeypatch.setattr(descent, "_next_penalty", further)
    check_same_steps(monkeypatch, problems(noisy(20, 300, seed), loss, "float64", trace=0.0003, rank=3))
    assert (5, 4) in numbers  # or this would test nothing


@pytest.mark.parametrize("loss", [*SMOOTH, KINKED], ids=str)
def test_float32_ends_as_low(loss):
    for comparisons in (noisy(), easy()):
        host, there = problems(comparisons, loss)
        expected, found = run(host, Factored()), run(there, FactoredOnDevice(device="cpu"))
        assert found.outcome.ok
        # The kinks of the plain hinge hold descents where they happen to be.
        tolerance = 0.05 if loss == KINKED else 1e-4
        assert found.objective == pytest.approx(expected.objective, rel=tolerance)
        assert found.value.dtype == np.float64
        assert host.objective_and_gradient(found.value)[0] == pytest.approx(found.objective, rel=1e-5)


def test_history_falls_and_ends_with_the_objective():
    _, there = problems(noisy(), Logistic())
    seen = []
    found = run(there, FactoredOnDevice(device="cpu"), callback=seen.append)
    objectives = [line.objective for line in found.history]
    assert objectives == sorted(objectives, reverse=True)
    assert [line.iteration for line in found.history] == list(range(0, found.n_iter + 1, 10))
    assert seen == found.history[1:]


def test_iterations_may_run_out_between_two_looks():
    host, there = problems(noisy(), Logistic())
    found = run(there, FactoredOnDevice(device="cpu", max_iter=13, tol=1e-9, path=()))
    assert found.outcome is Outcome.MAX_ITER
    assert found.history[-1].iteration == found.n_iter == 13
    assert host.objective_and_gradient(found.value)[0] == pytest.approx(found.objective, rel=1e-5)


def test_after_the_end_ticks_change_nothing():
    _, there = problems(easy(), Logistic())
    solver = FactoredOnDevice(device="cpu")
    state = run(there, solver).state
    later = state
    for _ in range(5):
        later = solver.step(there, later)
    for name, before, after in zip(state.descent._fields, state.descent, later.descent, strict=True):
        assert torch.equal(before, after), name


def test_a_start_without_a_gradient_is_the_end():
    _, there = problems(easy(), Hinge())
    found = run(there, FactoredOnDevice(device="cpu"), np.zeros((15, 2)))
    assert (found.outcome, found.n_iter) == (Outcome.CONVERGED, 0)


def test_stalls_where_no_step_improves():
    """At a tolerance of 0 only the limit of floating-point numbers ends a descent."""
    _, there = problems(noisy(), Logistic())
    found = run(there, FactoredOnDevice(device="cpu", tol=0.0))
    assert found.outcome in (Outcome.STALLED, Outcome.CONVERGED)
    assert np.isfinite(found.value).all()


def test_two_runs_are_one():
    first, second = (run(problems(noisy(), StudentT(2.0))[1], FactoredOnDevice(device="cpu")) for _ in range(2))
    np.testing.assert_array_equal(first.value, second.value)
    assert first.history == second.history or str(first.history) == str(second.history)


def test_relabelling_objects_changes_nothing():
    comparisons, order = easy(), np.random.default_rng(3).permutation(15)
    other = Comparisons.from_triplets(order[comparisons.rows], n_objects=15)
    first, second = (
        run(problems(each, Logistic())[1], FactoredOnDevice(device="cpu")) for each in (comparisons, other)
    )
    assert second.objective == pytest.approx(first.objective, rel=1e-6)
    grams = [points @ points.T for points in (first.value, second.value[order])]
    np.testing.assert_allclose(grams[1], grams[0], atol=1e-3 * np.abs(grams[0]).max())


def test_nine_of_ten_ticks_do_not_wait_for_the_device(monkeypatch):
    """Whatever reads a tensor on the host would wait, and leave a GPU idle."""
    _, there = problems(noisy(), Logistic())
    solver = FactoredOnDevice(device="cpu")
    state = solver.init(there, None, np.random.default_rng(0))
    read = []

    def spied(name, true):
        def reads(tensor, *arguments, **options):
            read.append(name)
            return true(tensor, *arguments, **options)

        monkeypatch.setattr(torch.Tensor, name, reads)

    for name in ("item", "tolist", "cpu", "numpy", "__bool__", "__float__", "__int__", "__index__", "nonzero"):
        spied(name, getattr(torch.Tensor, name))
    for _ in range(9):
        state = solver.step(there, state)
    assert read == []
    solver.step(there, state)
    assert read == ["tolist"]


def test_nine_of_ten_ticks_do_not_wait_for_a_gpu():
    """The driver's own word for it, where there is one."""
    if not torch.cuda.is_available():
        pytest.skip("PyTorch finds no CUDA device: that nothing is read was tested on PyTorch's CPU device alone")
    there = FactoredProblem(OnDevice.copy_of(InMemory(noisy()), "cuda"), Logistic(), 0.003)
    solver = FactoredOnDevice(device="cuda")
    state = solver.init(there, None, np.random.default_rng(0))
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(9):
            state = solver.step(there, state)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_all_starts_are_those_of_factored(rank):
    host, there = problems(easy(), Logistic(), rank=rank)
    expected = solve_with_restarts(host, Factored(), rng=np.random.default_rng(0))
    found = solve_with_restarts(there, FactoredOnDevice(device="cpu"), rng=np.random.default_rng(0))
    assert found.restarts == expected.restarts
    assert found.objective == pytest.approx(expected.objective, rel=1e-4)
    assert found.state is None  # or several would fill the device


def test_random_starts_are_those_of_factored():
    host, there = problems(noisy(), Logistic())
    expected = solve_with_restarts(host, Factored(n_init=3), rng=np.random.default_rng(0))
    found = solve_with_restarts(there, FactoredOnDevice(device="cpu", n_init=3), rng=np.random.default_rng(0))
    assert found.restarts == expected.restarts
    assert found.objective == pytest.approx(expected.objective, rel=1e-4)


def test_refuses_what_a_device_cannot_do():
    host, there = problems(easy(), Logistic())
    solver = FactoredOnDevice(device="cpu")
    with pytest.raises(ValueError, match=r"take nearer\.optimize\.Factored"):
        solve(host, solver)
    with pytest.raises(ValueError, match="validation"):
        solve(there, replace(solver, validation=0.1))
    with pytest.raises(ValueError, match="tol must be"):
        solve(there, replace(solver, tol=-1.0))
    with pytest.raises(ValueError, match="no float64"):
        solve(there, replace(solver, device="mps", dtype="float64"))
    with pytest.raises(ValueError, match="name of one device"):
        FactoredOnDevice(device="auto").copy(host.source, 2)


def test_settings_carry_over():
    solver = Factored(tol=1e-6, memory=3, n_init=2, max_iter=77)
    assert for_device(solver, None) is solver
    there = for_device(solver, "cpu")
    assert isinstance(there, FactoredOnDevice)
    assert (there.tol, there.memory, there.n_init, there.max_iter) == (1e-6, 3, 2, 77)
    assert (there.dtype, there.device) == ("float32", "cpu")
    assert for_device(FactoredOnDevice(device="cuda", dtype="float64"), "cpu").dtype == "float64"
    for other in (SVRG(), Projected(2)):
        with pytest.raises(ValueError, match=f"{type(other).__name__} runs on the CPU"):
            for_device(other, "cpu")
        assert for_device(other, "auto") is other


class Pair(NamedTuple):
    a: object
    b: object


def exchanged(pair):
    """Each becomes what the other was: what is written too early shows."""
    return Pair(pair.b + 1, pair.a)


def problem(loss, device="cpu"):
    rows = random_quadruplets(np.random.default_rng(0), 12, 150, "triplets")
    source = OnDevice.copy_of(InMemory(Comparisons.from_quadruplets(rows, n_objects=12)), device, "float64")
    return FactoredProblem(source, loss, 1e-5)


def test_a_step_in_place_is_that_step():
    pair = Pair(torch.tensor(1.0), torch.tensor(10.0))
    kept = pair.a, pair.b
    step_in_place(exchanged, pair)
    assert (pair.a, pair.b) == (torch.tensor(11.0), torch.tensor(1.0))
    assert kept[0] is pair.a
    assert kept[1] is pair.b


@pytest.mark.parametrize("loss", [Logistic(), StudentT(2.0)], ids=str)
def test_a_descent_in_place_is_that_descent(loss, monkeypatch):
    expected = solve(problem(loss), FactoredOnDevice(device="cpu", dtype="float64"))

    def written_over(step, state):
        def tick(now):
            step_in_place(step, now)
            return now

        return tick, type(state)(*(tensor.clone() for tensor in state))

    monkeypatch.setattr(device_lbfgs, "record_if_possible", written_over)
    found = solve(problem(loss), FactoredOnDevice(device="cpu", dtype="float64"))
    np.testing.assert_array_equal(found.value, expected.value)
    assert (found.n_iter, found.outcome) == (expected.n_iter, expected.outcome)
    assert str(found.history) == str(expected.history)


def test_elsewhere_than_on_cuda_a_step_stays_as_it_is():
    pair = Pair(torch.tensor(1.0), torch.tensor(10.0))
    assert record_if_possible(exchanged, pair) == (exchanged, pair)


def test_what_cannot_be_recorded_is_done_step_by_step(monkeypatch):
    def fails(step, state):
        raise RuntimeError("operation not permitted when stream is capturing\nmore of it")

    monkeypatch.setattr(device_lbfgs, "record_step", fails)
    monkeypatch.setattr(device_lbfgs, "_recording_failed", threading.Event())
    pair = Pair(SimpleNamespace(device=SimpleNamespace(type="cuda")), None)
    with pytest.warns(RuntimeWarning, match=r"could not be recorded.*stream is capturing\); its operations") as caught:
        assert record_if_possible(exchanged, pair) == (exchanged, pair)
    assert "more of it" not in str(caught[0].message)
    with warnings.catch_warnings():  # it is told once, and not tried again
        warnings.simplefilter("error")
        assert record_if_possible(exchanged, pair) == (exchanged, pair)


def test_a_gpu_repeats_a_descent():
    if not torch.cuda.is_available():
        pytest.skip(
            "PyTorch finds no CUDA device: steps in place were tested on PyTorch's CPU device, recording was not"
        )
    there, solver = problem(Logistic(), "cuda"), FactoredOnDevice(device="cuda", dtype="float64")
    state = solver.init(there, None, np.random.default_rng(0))
    plain = state.descent._make(tensor.clone() for tensor in state.descent)
    for _ in range(30):
        plain = device_lbfgs._tick(there, plain, state.path, solver.tol)
        found = state.tick(state.descent)
    assert found is state.descent
    np.testing.assert_allclose(found.iterate.cpu().numpy(), plain.iterate.cpu().numpy(), rtol=1e-6, atol=1e-9)
