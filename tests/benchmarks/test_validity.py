"""Rates with their standard errors, resumed where a run was stopped, and the page made of them."""

from functools import partial

import numpy as np
import pytest

from benchmarks.validity.__main__ import MODULES, PAGE, page, row, simulations
from benchmarks.validity.rates import Estimate, Outcome, Rate, Records, complete


def draw(rng, chance, trials=1):
    return Outcome(int(rng.binomial(trials, chance)), trials)


def test_the_standard_error_counts_runs_and_not_trials():
    rng = np.random.default_rng(0)
    # Trials of one run that all agree are worth one.
    agreeing = Estimate.of([Outcome(20 * int(rng.random() < 0.3), 20) for _ in range(400)])
    assert agreeing.standard_error == pytest.approx(np.sqrt(0.3 * 0.7 / 400), rel=0.1)
    independent = Estimate.of([draw(rng, 0.3, 20) for _ in range(400)])
    assert independent.standard_error == pytest.approx(np.sqrt(0.3 * 0.7 / 8000), rel=0.15)


@pytest.mark.parametrize("trials", [1, 600])
@pytest.mark.parametrize("hit", [0, 1])
def test_runs_that_all_agree_leave_some_uncertainty(hit, trials):
    found = Estimate.of([Outcome(hit * trials, trials)] * 500)
    share = (500 * hit + 1.96**2 / 2) / (500 + 1.96**2)  # of Agresti and Coull
    assert found.rate == hit
    assert found.standard_error == pytest.approx(np.sqrt(share * (1 - share) / (500 + 1.96**2)))
    # The interval is around the adjusted share.
    assert found.within(abs(hit - 0.009), abs(hit - 0.009))
    assert not found.within(abs(hit - 0.0095), abs(hit - 0.0095))


def test_a_bias_has_the_standard_error_of_a_mean():
    errors = np.random.default_rng(0).normal(0.1, 0.2, 400)
    found = Estimate.of([Outcome(error) for error in errors])
    assert found.rate == pytest.approx(errors.mean())
    assert found.standard_error == pytest.approx(errors.std(ddof=1) / 20)
    assert "| +" in row(Rate("a figure", "a world", "bias", lambda rng: Outcome(0)), found)


def test_a_stopped_simulation_goes_on_with_the_same_outcomes(tmp_path):
    rate = Rate("a test", "nothing there", "size", partial(draw, chance=0.5), n_runs=30)
    whole = Records("whole", tmp_path)
    complete([rate], whole, n_jobs=1)
    stopped = Records("stopped", tmp_path)
    stopped.outcomes[rate.name] = whole.outcomes[rate.name][:13]
    stopped.write()
    again = Records("stopped", tmp_path)
    complete([rate], again, n_jobs=1)
    assert Records("stopped", tmp_path).outcomes == whole.outcomes


def test_a_rate_outside_its_range_is_marked():
    rate = Rate("a test", "nothing there", "size", partial(draw, chance=0.5), low=0.03, high=0.07)
    assert "\\*" in row(rate, Estimate(0.2, 0.02, 200))
    assert "(\\*)" in row(rate, Estimate(0.08, 0.02, 200))  # but its interval reaches into it
    assert "\\*" not in row(rate, Estimate(0.05, 0.02, 200))


def test_a_small_target_is_not_rounded_away():
    rate = Rate("test", "world", "size", lambda rng: Outcome(0), high=0.004)
    assert "| 0% to 0.4% |" in row(rate, Estimate(0.0, 0.0, 200))


def test_the_page_is_that_of_the_records():
    assert not MODULES or PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", MODULES)
def test_names_of_rates_are_unique(name):
    names = [rate.name for rate in simulations(name).RATES]
    assert len(set(names)) == len(names)
    assert set(Records(name).outcomes) <= set(names), "records of rates that are no longer simulated"


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_every_rate_can_be_simulated(name):
    for rate in simulations(name).RATES:
        outcome = rate.run(0)
        assert (-outcome.trials if rate.kind == "bias" else 0) <= outcome.hits <= outcome.trials
