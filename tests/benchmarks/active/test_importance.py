"""The unbiased error beside the true one, and the time that questions take."""

import pytest
from helpers.few import few_draws

from benchmarks.active.importance import unbiased_errors
from benchmarks.active.run import latency
from benchmarks.active.worlds import WORLDS, World, _Cloud


def test_errors_are_compared_over_runs(monkeypatch):
    few_draws(monkeypatch)
    cloud = _Cloud(1, (("noise", None), ("flipped", 0.2)), n_objects=8)
    monkeypatch.setitem(WORLDS, "tiny", World("tiny", "8 points", 8, 1, 80, cloud))
    found = unbiased_errors(2, "tiny", 80, batch=40)
    assert found.runs == 2
    assert 0.18 < found.true < 0.45  # no map is right about more than four of five such answers
    assert found.z == pytest.approx((found.unbiased - found.true) / found.standard_error)


def test_times_are_reported(monkeypatch):
    few_draws(monkeypatch)
    found = latency(12, 60)
    assert 0 < found["ask"] <= found["slowest_ask"]
    assert found["update"] > 0
