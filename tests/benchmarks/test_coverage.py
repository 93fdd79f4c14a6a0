"""The coverage benchmark: its records, its figures, and that it goes on where it was stopped."""

import json

import numpy as np
import pytest

from benchmarks import coverage, records
from benchmarks.__main__ import main
from benchmarks.coverage import Condition, Coverage, coverage_text, judged
from nearer.evaluation import Bootstrap


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(coverage.CONDITIONS, "tiny", Condition(12, 2, 250, flipped=0.1))
    monkeypatch.setattr(coverage, "bootstrap", few_simulations)


def few_simulations(estimator, answers, *, n_resamples, random_state):
    from nearer.evaluation import bootstrap

    return bootstrap(estimator, answers, n_resamples=n_resamples, n_simulations=3, random_state=random_state)


def test_points_have_a_mean_squared_distance_of_1():
    points, answers = Condition(20_000, 3, 50).data(seed=0, replication=0)
    assert 2 * np.var(points, axis=0, ddof=1).sum() == pytest.approx(1, abs=0.03)
    assert len(answers) == 50
    assert not np.array_equal(points, Condition(20_000, 3, 50).data(seed=0, replication=1)[0])


@pytest.mark.usefixtures("tiny")
def test_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    first = Coverage(tmp_path, ["tiny"], ["STE"], replications=1, resamples=10).execute()
    assert first[0]["replications"] == 1
    calls = []
    monkeypatch.setattr(coverage, "bootstrap", lambda *a, **k: calls.append(1) or few_simulations(*a, **k))
    run = Coverage(tmp_path, ["tiny"], ["STE"], replications=2, resamples=10)
    (row,) = run.execute()
    assert len(calls) == 1
    records = [json.loads(line) for line in run.path.read_text().splitlines()]
    assert row["coverage"] == pytest.approx(np.mean([record["covered"]["0.95"] for record in records]))
    text = coverage_text(run, [row])
    assert "12 objects in 2-D, 250 triplets, 10% of answers exchanged" in text


def test_judged_counts_objects_and_measures_circles():
    rng = np.random.default_rng(0)
    embedding = rng.normal(size=(200, 2))
    maps = embedding + 0.1 * rng.normal(size=(500, 200, 2))
    trust = Bootstrap(embedding, maps, np.tile(0.01 * np.eye(2), (200, 1, 1)), np.arange(200))
    figures = judged(trust, embedding + 0.1 * rng.normal(size=(200, 2)))
    size = np.sqrt(np.mean(np.sum((embedding - embedding.mean(axis=0)) ** 2, axis=1)))
    assert figures["covered"]["0.95"] == pytest.approx(0.95, abs=0.05)
    assert figures["plain_covered"] == pytest.approx(figures["covered"]["0.95"], abs=0.03)
    assert figures["radius"] == pytest.approx(0.1 * np.sqrt(5.991) / size, rel=1e-3)
    assert figures["error"] == pytest.approx(0.1 * np.sqrt(2) / size, rel=0.1)


def test_answers_of_a_student_kernel_are_wrong_where_distances_are_alike():
    condition = Condition(200, 2, 20_000, freedom=3.0)
    points, answers = condition.data(0, 0)
    squares = ((points[answers.rows[:, :1]] - points[answers.rows[:, 1:]]) ** 2).sum(axis=2)
    ratio = np.abs(np.log((3 + 10 * squares[:, 0]) / (3 + 10 * squares[:, 1])))
    wrong = squares[:, 0] > squares[:, 1]
    for low in (0.0, 0.5, 1.0):  # the odds are the square of the ratio
        some = (ratio > low) & (ratio < low + 0.1)
        assert wrong[some].mean() == pytest.approx(1 / (1 + np.exp(2 * (low + 0.05))), abs=0.05)
    np.testing.assert_array_equal(condition.data(0, 0)[1].rows, answers.rows)


def test_the_command_takes_every_method_by_its_name(tmp_path, monkeypatch):
    """Posterior is not written in capital letters."""
    asked = []
    monkeypatch.setattr(coverage.Coverage, "execute", lambda work: asked.extend(work.methods) or [])
    monkeypatch.setattr(records, "write_tables", lambda *arguments: None)
    for method in coverage.METHODS:
        assert main(["coverage", "--methods", method, "--out", str(tmp_path)]) == 0
    assert asked == list(coverage.METHODS)


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="'nothing' is not known; choose among flips"):
        Coverage(tmp_path, ["nothing"])
