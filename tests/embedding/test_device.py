"""Estimators on a device: the same problem gives the same map, wherever it is solved.

Every test runs on the devices that are there. On PyTorch's "cpu" the code is that of a GPU but for the Triton loop.
"""

import functools
import re

import numpy as np
import pytest
from sklearn.base import clone

from nearer import Comparisons, Penalty
from nearer._common.devices import available_device
from nearer.data import ComparisonsFile
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, DMOE, FORTE, GNMDS, SOE, STE, TSTE
from nearer.embedding.storage import load_model, save_model
from nearer.optimize import SVRG, Factored, FactoredOnDevice, Projected

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # a second one takes five times as long over so little, in waiting
DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available() + ["mps"] * torch.backends.mps.is_available()
FACTORED_DMOE = {"solver": "factored", "nu": 0.2, "penalty": Penalty(0.01, ridge=0.0)}
METHODS = {
    "STE": STE,
    "GNMDS": GNMDS,
    "SOE": SOE,
    "TSTE": TSTE,
    "CKL": CKL,
    "DMOE": functools.partial(DMOE, **FACTORED_DMOE),
    "DMOE-ridge": functools.partial(DMOE, **FACTORED_DMOE | {"penalty": Penalty(0.01, ridge=0.5)}),
}
N = 30
POINTS = make_gaussian(N, 3, random_state=0)
TRAIN, TEST = sample_triplets(POINTS, 1500, random_state=0), sample_triplets(POINTS)
RNG = np.random.default_rng(5)
NOISY = Comparisons.from_triplets(TRAIN.rows, np.where(RNG.random(1500) < 0.2, -1, 1), weights=RNG.uniform(size=1500))
every_device = pytest.mark.parametrize("device", DEVICES)
every_method = pytest.mark.parametrize("name", METHODS)


def gram(model):
    return model.embedding_ @ model.embedding_.T


@functools.cache
def fitted(name, n_components, noisy, device=None):
    return METHODS[name](n_components, device=device).fit(NOISY if noisy else TRAIN)


@every_device
@pytest.mark.parametrize(("n_components", "noisy"), [(1, False), (2, True), (3, False), (3, True)])
@every_method
def test_the_same_problem_gives_the_same_map(name, n_components, noisy, device):
    host, there = (fitted(name, n_components, noisy, each) for each in (None, device))
    assert there.converged_
    assert there.history_[-1].objective == pytest.approx(host.history_[-1].objective, rel=1e-4)
    assert there.score(TEST) == pytest.approx(host.score(TEST), abs=0.001)
    assert there.restarts_.tried == host.restarts_.tried
    assert there.trace_ == pytest.approx(host.trace_, rel=1e-5)
    assert isinstance(there.solver_, FactoredOnDevice)


def test_a_gpu_is_among_the_devices():
    if DEVICES == ["cpu"]:
        pytest.skip("PyTorch finds no GPU: that it agrees was tested on PyTorch's CPU device alone")
    assert available_device("auto") in DEVICES


@pytest.mark.parametrize("model", [STE(solver="svrg"), STE(solver=Factored(validation=0.1)), DMOE()], ids=repr)
def test_auto_is_the_processor_where_no_device_can_do_it(model, monkeypatch, tmp_path):
    monkeypatch.setattr("nearer.optimize.solvers.device_lbfgs.available_device", lambda device: "cpu")
    model.set_params(device="auto", random_state=0).fit(TRAIN)
    assert not isinstance(model.solver_, FactoredOnDevice)
    np.save(tmp_path / "rows.npy", TRAIN.rows)
    assert isinstance(STE(device="auto").fit(TRAIN).solver_, FactoredOnDevice)
    assert isinstance(STE(device="auto").fit(ComparisonsFile(tmp_path / "rows.npy")).solver_, Factored)


@every_device
def test_fitting_again_gives_the_same(device):
    first, second = fitted("STE", 2, True, device), STE(2, device=device).fit(NOISY)
    if device == "cpu":
        np.testing.assert_array_equal(second.embedding_, first.embedding_)
    # Additions on a GPU have no fixed order.
    np.testing.assert_allclose(gram(second), gram(first), atol=0.01 * np.abs(gram(first)).max())


@every_device
def test_quadruplets(device):
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(N), (1500, 1)), axis=1)[:, :4]
    i, j, l, k = rows.T  # noqa: E741
    y = np.where(((POINTS[i] - POINTS[j]) ** 2).sum(1) < ((POINTS[l] - POINTS[k]) ** 2).sum(1), 1, -1)
    host, there = (STE(3, device=each).fit(rows, y) for each in (None, device))
    assert there.history_[-1].objective == pytest.approx(host.history_[-1].objective, rel=1e-4)
    assert there.score(TEST) == pytest.approx(host.score(TEST), abs=0.001)


@every_device
def test_thousands_of_objects_start_alike(device):
    """Beyond 300 objects the start comes from a Krylov space, whose products are made on the device."""
    points = make_gaussian(400, 2, random_state=1)
    train, test = (sample_triplets(points, 20_000, random_state=seed) for seed in (0, 1))
    host, there = (STE(2, solver=Factored(n_init=1), device=each).fit(train) for each in (None, device))
    assert there.history_[-1].objective == pytest.approx(host.history_[-1].objective, rel=1e-4)
    assert there.score(test) == pytest.approx(host.score(test), abs=0.001)


def test_relabelling_objects_changes_nothing():
    order = np.random.default_rng(3).permutation(N)
    first, second = fitted("CKL", 2, False, "cpu"), CKL(2, device="cpu").fit(order[TRAIN.rows])
    np.testing.assert_allclose(gram(second)[np.ix_(order, order)], gram(first), atol=1e-3 * np.abs(gram(first)).max())


def test_objects_in_no_comparison_stay_at_the_origin():
    model = STE(2, n_objects=N + 3, device="cpu").fit(TRAIN.rows)
    np.testing.assert_allclose(model.embedding_[:N], fitted("STE", 2, False, "cpu").embedding_, atol=1e-6)
    np.testing.assert_array_equal(model.embedding_[N:], 0)


def test_a_map_that_vanishes_says_so():
    with pytest.warns(UserWarning, match="trace well below 1"):
        model = STE(trace=1.01, device="cpu").fit(TRAIN)
    np.testing.assert_array_equal(model.embedding_, 0)


def test_partial_fit_and_place_go_on():
    model = STE(2, device="cpu").fit(TRAIN.rows[:1000])
    model.partial_fit(TRAIN.rows[1000:])
    assert model.score(TEST) == pytest.approx(fitted("STE", 2, False).score(TEST), abs=0.01)
    new = [[N, 0, 1], [N, 2, 3], [1, N, 5]]
    assert model.place(new).shape == (1, 2)


def test_cloned_and_saved(tmp_path):
    model = fitted("STE", 2, False, "cpu")
    assert clone(model).device == "cpu"
    again = load_model(save_model(model, tmp_path / "model"))
    assert again.device == "cpu"
    assert again.solver_.device == "cpu"
    np.testing.assert_array_equal(again.predict(TEST), model.predict(TEST))
    older = save_model(fitted("STE", 2, False), tmp_path / "older")
    written = (older / "model.json").read_text()
    assert '"device": null' in written
    (older / "model.json").write_text(re.sub(r'"device": null,?', "", written))
    assert load_model(older).device is None


def test_settings_of_a_solver_carry_over():
    model = STE(2, solver=Factored(tol=1e-6, n_init=2), device="cpu", random_state=0).fit(TRAIN)
    assert (model.solver_.tol, model.restarts_.tried) == (1e-6, 2)
    passed = STE(2, solver=FactoredOnDevice(device="cpu", dtype="float64")).fit(TRAIN)
    assert passed.history_[-1].objective == pytest.approx(fitted("STE", 2, False).history_[-1].objective, rel=1e-6)
    tuned = DMOE(2, solver="factored", device="cpu").fit(TRAIN)
    assert tuned.score(TEST) == pytest.approx(DMOE(2, solver="factored").fit(TRAIN).score(TEST), abs=0.002)


def test_auto_is_the_compiled_loops_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    model = STE(2, device="auto").fit(TRAIN)
    assert type(model.solver_) is Factored
    np.testing.assert_array_equal(model.embedding_, fitted("STE", 2, False).embedding_)


@pytest.mark.parametrize("solver", ["projected", "svrg", Projected(2), SVRG()], ids=str)
def test_other_solvers_run_on_the_cpu_alone(solver):
    with pytest.raises(ValueError, match="runs on the CPU: leave device out"):
        STE(solver=solver, device="cpu").fit(TRAIN)


@pytest.mark.parametrize("solver", ["auto", "admm", "closed", "paper"])
def test_the_convex_problem_runs_on_the_cpu_alone(solver):
    with pytest.raises(ValueError, match="convex problem"):
        DMOE(solver=solver, device="cpu").fit(TRAIN)


def test_files_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", TRAIN.rows)
    with pytest.raises(ValueError, match="needs all comparisons in memory"):
        STE(device="cpu").fit(ComparisonsFile(tmp_path / "rows.npy"))


def test_held_out_comparisons_are_refused():
    with pytest.raises(ValueError, match="validation"):
        STE(solver=Factored(validation=0.1), device="cpu").fit(TRAIN)


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="no device 'cuda:77' here"):
        STE(device="cuda:77").fit(TRAIN)
    with pytest.raises(ValueError, match="device must be"):
        DMOE(solver="factored", device="gpu").fit(TRAIN)
    assert "device" not in FORTE().get_params()
