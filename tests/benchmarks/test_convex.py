import json
import sys

import numpy as np
import pytest

from benchmarks import convex
from benchmarks.__main__ import main
from benchmarks.convex import FORMS, build_model, compare_with_scs, default_problem, solve_with_scs
from benchmarks.triplets import Size
from nearer import Penalty
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import DMOE
from nearer.model import TwoSidedHinge
from nearer.optimize import ADMM, nearest_psd
from nearer.optimize.problems.gram import Problem


@pytest.fixture
def problem():
    return default_problem(sample_triplets(make_gaussian(12, 3, random_state=0), 100, random_state=0))


@pytest.fixture
def scs():
    return pytest.importorskip("scs", reason="scs is not installed; it comes with: pip install scs")


def test_the_problem_is_the_one_that_dmoe_solves():
    train = sample_triplets(make_gaussian(12, 3, random_state=0), 100, random_state=0)
    model = DMOE(penalty=Penalty(), solver=ADMM(tol=1e-8)).fit(train)
    assert default_problem(train).objective(model.gram_) == pytest.approx(model.history_[-1].objective, rel=1e-7)


@pytest.mark.parametrize("form", FORMS)
def test_the_model_states_the_objective(problem, form):
    # At any G of the cone, with the other variables set by its margins, x^T P x / 2 + c^T x is the objective, up to
    # the constant that the eliminated form leaves out.
    factor = np.random.default_rng(0).normal(size=(12, 3))
    gram = nearest_psd(factor @ factor.T)
    data = build_model(problem, form).data
    rows, columns = np.triu_indices(12)[::-1]
    x = gram[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2))
    short = 1 - problem.margins(gram)
    extra = {"hinges": [short.clip(min=0), (-short).clip(min=0)], "residuals": [short], "eliminated": []}[form]
    x = np.concatenate([x, *extra])
    full = data["P"] + data["P"].T
    full.setdiag(data["P"].diagonal())
    constant = 1.0 if form == "eliminated" else 0.0
    assert x @ (full @ x) / 2 + data["c"] @ x + constant == pytest.approx(problem.objective(gram))
    slack = data["b"] - data["A"] @ x
    equalities = len(short) if form != "eliminated" else 0
    assert np.allclose(slack[:equalities], 0)


@pytest.mark.parametrize("form", FORMS)
def test_scs_finds_our_minimum(problem, form, scs):
    model = build_model(problem, form)
    theirs = problem.objective(model.gram(solve_with_scs(model, 1e-8)))
    ours = convex._reached(problem, ADMM(tol=1e-8))
    assert theirs == pytest.approx(ours, rel=1e-6)


def test_both_solvers_are_close_to_the_minimum_and_the_ratio_is_theirs_to_ours(scs):
    found = compare_with_scs(Size(12, 100), repeats=1)
    ours, *theirs = found.rows
    assert ours["ratio"] == 1.0
    assert len(theirs) == len(FORMS)
    for row in theirs:
        assert row["ratio"] == row["seconds"] / ours["seconds"]
        assert row["eps"] in convex.TOLERANCES
    assert all(-1e-7 < row["excess"] <= 1e-4 for row in found.rows)


def test_scs_gets_the_loosest_tolerance_that_is_close_enough(problem, monkeypatch):
    tried = []
    best = convex._reached(problem, ADMM(tol=1e-8))

    def fake(model, eps):
        tried.append(eps)
        return np.zeros(1)

    monkeypatch.setattr(convex, "solve_with_scs", fake)
    values = {1e-3: 1.01 * best, 1e-4: best * (1 + 5e-5)}
    monkeypatch.setattr(Problem, "objective", lambda *_: values[tried[-1]])
    monkeypatch.setattr("benchmarks.convex.Model.gram", lambda *_: None)
    assert convex._scs(problem, "residuals", best, 1.0, repeats=2)["eps"] == 1e-4
    assert tried == [1e-3, 1e-4, 1e-4, 1e-4]


def test_other_losses_are_refused(problem):
    other = Problem(problem.margins, TwoSidedHinge(nu=0.5), problem.weights, trace=0.1)
    with pytest.raises(ValueError, match="default loss of DMOE"):
        build_model(other, "residuals")


def test_a_fit_that_stopped_early_gives_no_figure(problem, monkeypatch, capsys):
    with pytest.raises(ValueError, match="did not meet its stopping rule"):
        convex._reached(problem, ADMM(tol=1e-8, max_iter=5))
    monkeypatch.setattr(convex, "LIMITS", {Size(12, 100): 2.0})
    monkeypatch.setattr(convex, "SETTINGS", {"hasty": DMOE(penalty=Penalty(), solver=ADMM(tol=1e-8, max_iter=5))})
    assert main(["convex", "--repeats", "1"]) == 2
    printed = capsys.readouterr().err
    assert "DMOE: the iterations ran out before the stopping rule was met" in printed
    assert "'hasty' at size 12x100 did not meet" in printed


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(convex, "LIMITS", {Size(12, 100): 2.0})
    monkeypatch.setattr(convex, "SCS_SIZE", Size(12, 100))


def test_the_command_reports_settings_and_scs(quick, scs, capsys):
    assert main(["convex", "--repeats", "1", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["setting"] for row in answer["table"]] == list(convex.SETTINGS)
    assert all(row["relative_gap"] <= 1e-4 for row in answer["table"])
    assert [row["solver"] for row in answer["scs"]] == ["nearer", *(f"scs, {form}" for form in FORMS)]


def test_without_scs_the_rest_is_reported(quick, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "scs", None)
    assert main(["convex", "--repeats", "1"]) == 0
    out = capsys.readouterr().out
    assert "trace alone, one-sided" in out
    assert "pip install scs" in out
