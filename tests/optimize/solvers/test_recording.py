"""Steps that are done in place and repeated, as a GPU does them: the same as those that are not."""

import threading
import warnings
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from helpers.drawn_rows import random_quadruplets

from nearer import Comparisons
from nearer.model import Logistic, StudentT
from nearer.optimize import FactoredOnDevice, solve
from nearer.optimize.problems.device import OnDevice
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers import device_lbfgs, recording
from nearer.optimize.solvers.recording import in_place, repeatable

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # a second one takes five times as long over so little, in waiting


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
    in_place(exchanged, pair)
    assert (pair.a, pair.b) == (torch.tensor(11.0), torch.tensor(1.0))
    assert kept[0] is pair.a
    assert kept[1] is pair.b


@pytest.mark.parametrize("loss", [Logistic(), StudentT(2.0)], ids=str)
def test_a_descent_in_place_is_that_descent(loss, monkeypatch):
    expected = solve(problem(loss), FactoredOnDevice(device="cpu", dtype="float64"))

    def written_over(step, state):
        def tick(now):
            in_place(step, now)
            return now

        return tick, type(state)(*(tensor.clone() for tensor in state))

    monkeypatch.setattr(device_lbfgs, "repeatable", written_over)
    found = solve(problem(loss), FactoredOnDevice(device="cpu", dtype="float64"))
    np.testing.assert_array_equal(found.value, expected.value)
    assert (found.n_iter, found.outcome) == (expected.n_iter, expected.outcome)
    assert str(found.history) == str(expected.history)


def test_elsewhere_than_on_cuda_a_step_stays_as_it_is():
    pair = Pair(torch.tensor(1.0), torch.tensor(10.0))
    assert repeatable(exchanged, pair) == (exchanged, pair)


def test_what_cannot_be_recorded_is_done_step_by_step(monkeypatch):
    def fails(step, state):
        raise RuntimeError("operation not permitted when stream is capturing\nmore of it")

    monkeypatch.setattr(recording, "recorded", fails)
    monkeypatch.setattr(recording, "_failed", threading.Event())
    pair = Pair(SimpleNamespace(device=SimpleNamespace(type="cuda")), None)
    with pytest.warns(RuntimeWarning, match=r"could not be recorded.*stream is capturing\); its operations") as caught:
        assert repeatable(exchanged, pair) == (exchanged, pair)
    assert "more of it" not in str(caught[0].message)
    with warnings.catch_warnings():  # it is told once, and not tried again
        warnings.simplefilter("error")
        assert repeatable(exchanged, pair) == (exchanged, pair)


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
