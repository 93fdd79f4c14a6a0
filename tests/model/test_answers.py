"""The answer model: against the formula written out, finite differences, all possible answers, and compiled loops."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_expit
from scipy.stats import logistic, norm

import nearer
from nearer.model import AnswerModel, CrowdKernel, StudentT
from nearer.model.answers import LINKS, answer_derivatives, answer_probability, log_answer_probability
from nearer.optimize.kernels import posterior

ROOT = Path(nearer.__file__).parent
OTHER_SHARES = {"split"}  # of questions that somebody answered both ways, in the noise ceiling
LAPSES = pytest.mark.parametrize("lapse", [0.0, 0.03, 0.5])


def distances(n=50, seed=0):
    return np.random.default_rng(seed).exponential(size=(2, n))


def written_out(model, near, far):
    ratio = ((model.offset + far) / (model.offset + near)) ** model.slope
    return model.lapse / 2 + (1 - model.lapse) * ratio / (1 + ratio)


def log_likelihood(model, near, far):
    return log_answer_probability(log_expit(model.log_odds(near, far)), model.lapse).answer


@LAPSES
def test_probability_is_the_formula(lapse):
    model, (near, far) = AnswerModel(3.0, 0.2, lapse), distances()
    np.testing.assert_allclose(model.probability(near, far), written_out(model, near, far), rtol=1e-12)
    np.testing.assert_allclose(model.probability(near, far) + model.probability(far, near), 1, rtol=1e-12)
    np.testing.assert_allclose(log_likelihood(model, near, far), np.log(written_out(model, near, far)), rtol=1e-11)


def test_people_and_draws_broadcast():
    slopes, lapses = np.array([[1.0], [4.0]]), np.array([[0.0], [0.2]])
    near, far = distances(7)
    together = AnswerModel(slopes, 0.5, lapses).probability(near, far)
    each = [
        AnswerModel(float(slope), 0.5, float(lapse)).probability(near, far)
        for slope, lapse in zip(slopes[:, 0], lapses[:, 0], strict=True)
    ]
    np.testing.assert_array_equal(together, each)


def test_other_log_odds_and_links():
    eta, lapse = np.linspace(-4, 4, 9), 0.1
    np.testing.assert_allclose(answer_probability(eta, lapse), 0.05 + 0.9 / (1 + np.exp(-eta)))
    np.testing.assert_allclose(answer_probability(eta, lapse, LINKS["probit"]), 0.05 + 0.9 * norm.cdf(eta))
    near, far = distances()
    for loss, model in ((StudentT(3.0), AnswerModel(2.0, 3.0)), (CrowdKernel(0.3), AnswerModel(1.0, 0.3))):
        np.testing.assert_allclose(loss.probability_of(near, far), model.probability(near, far), rtol=1e-12)


def test_log_probabilities_do_not_underflow():
    near, far = np.array([1e3]), np.array([1e-3])
    np.testing.assert_allclose(log_likelihood(AnswerModel(500.0, 0.0), near, far), 500 * np.log(1e-6))
    np.testing.assert_allclose(log_likelihood(AnswerModel(500.0, 0.0, 0.1), near, far), np.log(0.05))
    log_attentive = np.log(np.array([1e-8, 0.3, 1.0]))
    for lapse in (0.0, 0.2):
        found = log_answer_probability(log_attentive, lapse)
        np.testing.assert_allclose(np.exp(found.answer), lapse / 2 + (1 - lapse) * np.exp(log_attentive))
        np.testing.assert_allclose(np.exp(found.attentive + found.answer), (1 - lapse) * np.exp(log_attentive))


@LAPSES
def test_derivatives_are_those_of_finite_differences(lapse):
    odds, step = np.linspace(-5, 5, 11), 1e-6
    found = answer_derivatives(odds, lapse)
    by_odds = (answer_probability(odds + step, lapse) - answer_probability(odds - step, lapse)) / (2 * step)
    by_lapse = (answer_probability(odds, lapse + step) - answer_probability(odds, lapse - step)) / (2 * step)
    np.testing.assert_array_equal(found.probability, answer_probability(odds, lapse))
    np.testing.assert_allclose(found.by_odds, by_odds, atol=1e-9)
    np.testing.assert_allclose(found.by_lapse, by_lapse, atol=1e-9)
    np.testing.assert_allclose(found.scores, [by_odds / found.probability, by_lapse / found.probability], atol=1e-6)


def test_log_odds_have_the_gradient_of_finite_differences():
    model, (near, far), step = AnswerModel(3.0, 0.2), distances(), 1e-6
    by_near, by_far = model.log_odds_gradient(near, far)
    np.testing.assert_allclose(
        by_near, (model.log_odds(near + step, far) - model.log_odds(near - step, far)) / (2 * step), rtol=1e-6
    )
    np.testing.assert_allclose(
        by_far, (model.log_odds(near, far + step) - model.log_odds(near, far - step)) / (2 * step), rtol=1e-6
    )


@LAPSES
def test_information_is_the_expected_square_of_the_score(lapse):
    model, (near, far) = AnswerModel(3.0, 0.2, lapse), distances()
    yes = answer_derivatives(model.log_odds(near, far), lapse)
    no = yes._replace(probability=1 - yes.probability, by_odds=-yes.by_odds, by_lapse=-yes.by_lapse)
    expected = [0.0, 0.0, 0.0]
    for answer in (yes, no):
        odds, of_lapse = answer.scores
        for place, product in enumerate((odds * odds, odds * of_lapse, of_lapse * of_lapse)):
            expected[place] = expected[place] + answer.probability * product
    np.testing.assert_allclose(yes.information, expected, rtol=1e-9)


def test_information_is_finite_where_an_answer_is_certain():
    found = answer_derivatives(100 * np.log(np.array([1e18]))).information
    assert np.isfinite(found).all()


def test_compiled_predictions_are_those_of_the_model():
    rng = np.random.default_rng(0)
    points, slopes, offsets, lapses = (
        rng.normal(size=(4, 6, 2)),
        rng.uniform(1, 9, 4),
        rng.uniform(0.1, 2, 4),
        rng.random(4) / 2,
    )
    rows = np.array([rng.permutation(6)[:4] for _ in range(80)], dtype=np.int32)
    found = np.empty(len(rows))
    posterior.predict(points, slopes, offsets, lapses, rows, 0, len(rows), found)
    near, far = (np.square(points[:, a] - points[:, b]).sum(axis=2) for a, b in (rows[:, :2].T, rows[:, 2:].T))
    expected = AnswerModel(slopes[:, None], offsets[:, None], lapses[:, None]).probability(near, far).mean(axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_compiled_likelihood_and_its_derivatives_are_those_of_the_model():
    rng = np.random.default_rng(0)
    squares, rows, n_people = rng.exponential(size=30), rng.integers(30, size=(700, 2)).astype(np.int32), 3
    people, weights = np.sort(rng.integers(n_people, size=700)).astype(np.int32), rng.uniform(0.5, 2, 700)
    slopes, lapses, offset = rng.uniform(1, 9, n_people), rng.uniform(0.01, 0.5, n_people), 0.3
    by_log, by_slope, by_lapse = np.zeros(30), np.zeros(n_people), np.zeros(n_people)
    logs = np.log(offset + squares)
    total = posterior._log_likelihood(logs, rows, weights, people, slopes, lapses, by_log, by_slope, by_lapse)
    model = AnswerModel(slopes[people], offset, lapses[people])
    near, far = squares[rows].T
    odds_scores, lapse_scores = answer_derivatives(model.log_odds(near, far), model.lapse).scores
    np.testing.assert_allclose(total, weights @ log_likelihood(model, near, far))
    np.testing.assert_allclose(by_lapse, np.bincount(people, weights * lapse_scores))
    np.testing.assert_allclose(by_slope, np.bincount(people, weights * odds_scores * model.log_ratio(near, far)))
    pulls = weights * odds_scores * model.slope
    np.testing.assert_allclose(
        by_log, np.bincount(rows[:, 1], pulls, 30) - np.bincount(rows[:, 0], pulls, 30), atol=1e-9
    )


def mixtures_with_guessing(source):
    """Return the lines that mix an answer with guesses: half a lapse rate, or x / 2 + (1 - x) y by any name."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.BinOp):
            continue
        half = halved(node)
        if half is not None and re.search("lapse|guess", half):
            lines.append(node.lineno)
        if isinstance(node.op, ast.Add):
            halves = {halved(side) for side in (node.left, node.right)} - {None}
            rests = {rest for side in (node.left, node.right) for rest in complements(side)}
            if halves & rests - OTHER_SHARES:
                lines.append(node.lineno)
    return sorted(set(lines))


def halved(node):
    """Return x where an expression is half of x."""
    if not isinstance(node, ast.BinOp):
        return None
    left, right = ast.unparse(node.left), ast.unparse(node.right)
    if isinstance(node.op, ast.Div) and right in ("2", "2.0"):
        return left
    if isinstance(node.op, ast.Mult) and "0.5" in (left, right):
        return right if left == "0.5" else left
    return None


def complements(node):
    """Return every x of which an expression has 1 - x."""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub) and ast.unparse(part.left) in ("1", "1.0"):
            yield ast.unparse(part.right)


@pytest.mark.parametrize(
    "line",
    [
        "lapse / 2 + (1 - lapse) * expit(odds)",
        "(1 - self.lapse_) * expit(odds) + self.lapse_ / 2",
        "0.5 * lapses[person] + (1 - lapses[person]) * right",
        "np.logaddexp(meant, np.log(mixture.lapse / 2))",
        "pi / 2 + (1.0 - pi) * chance",
    ],
)
def test_the_formula_is_recognized(line):
    assert mixtures_with_guessing(line) == [1]


def test_no_other_module_writes_the_formula_out():
    inside = (ROOT / "model", ROOT / "optimize" / "kernels")
    others = [path for path in ROOT.rglob("*.py") if not any(path.is_relative_to(folder) for folder in inside)]
    assert len(others) > 100
    found = {str(path.relative_to(ROOT)): mixtures_with_guessing(path.read_text(encoding="utf-8")) for path in others}
    assert {path: lines for path, lines in found.items() if lines} == {}
    assert mixtures_with_guessing((ROOT / "model" / "answers.py").read_text(encoding="utf-8"))


ETA = np.array([-6.0, -1.3, 0.0, 0.4, 5.0])


@pytest.mark.parametrize(("link", "distribution"), [("probit", norm), ("logit", logistic)])
def test_link_probabilities_and_derivatives(link, distribution):
    found = LINKS[link]
    np.testing.assert_allclose(found.probability(ETA), distribution.cdf(ETA))
    np.testing.assert_allclose(found.log_probability(ETA), distribution.logcdf(ETA))
    for function, derivative in (
        (found.log_probability, found.slope),
        (lambda eta: -found.slope(eta), found.curvature),
    ):
        differences = np.diagonal(approx_fprime(ETA, function))
        np.testing.assert_allclose(derivative(ETA), differences, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_far_in_the_tails_nothing_overflows(link):
    eta = np.array([-300.0, -40.0, 40.0, 300.0])
    for function in (LINKS[link].log_probability, LINKS[link].slope, LINKS[link].curvature):
        assert np.isfinite(function(eta)).all()
