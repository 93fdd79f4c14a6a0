"""An answer may be written as a row that is true, or as the reversed row with y = -1: nothing may tell them apart.

Every public function and class that takes comparisons or answers is found by the names of its parameters, and has a
case here or a reason why it needs none.
"""

import importlib
import inspect
import re
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from nearer import Comparisons
from nearer.checking import check, check_errors
from nearer.comparing import compare_groups, compare_methods, compare_people
from nearer.datasets import make_gaussian, sample_triplets
from nearer.design import Design, estimate_noise, outlook, predict_error
from nearer.embedding import STE, TSTE, PosteriorEmbedding
from nearer.embedding.clustering import ComparisonHC
from nearer.evaluation import (
    WholeKFold,
    accuracy_scorer,
    annotator_reliability,
    bootstrap,
    choose_dimension,
    comparison_error,
    held_out_error,
    learning_curve,
    margin_statistics,
    margins,
    neg_log_loss_scorer,
    noise_ceiling,
    reliability_weights,
    split_half,
)
from nearer.io import read_answers, write_answers
from nearer.plotting import agreement, plot_shepard
from nearer.sampling import Microcanonical
from nearer.study import RunSettings, fit_study, run_study

pytestmark = [
    pytest.mark.usefixtures("one_start"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
API = Path(__file__).parents[1] / "docs" / "api"
PARAMETERS = {"comparisons", "X", "answers", "questions"}
POINTS = make_gaussian(10, 2, random_state=0)
N = 300


@cache
def judgments():
    """The same answers, true rows and reversed ones: people, noise, and some questions that are repeated."""
    rng = np.random.default_rng(0)
    rows = sample_triplets(POINTS, N, flipped=0.15, random_state=1).rows[rng.integers(N, size=N)]
    turn = rng.random(N) < 0.1
    rows = np.where(turn[:, None], rows[:, [0, 2, 1]], rows)
    known = {"annotators": np.arange(N) % 6, "trials": np.arange(N), "n_objects": 10}
    true, back = np.ones(N, dtype=int), -np.ones(N, dtype=int)
    return Comparisons.from_triplets(rows, true, **known), Comparisons.from_triplets(rows[:, [0, 2, 1]], back, **known)


def answers_of(comparisons):
    """Answers as they are read, with these comparisons."""
    rows = judgments()[0].rows
    people = (np.arange(N) % 6).astype(str)
    table = {"anchor": rows[:, 0], "near": rows[:, 1], "far": rows[:, 2], "annotator": people}
    read = read_answers({name: values.tolist() for name, values in table.items()})
    return replace(read, comparisons=replace(comparisons, objects=read.comparisons.objects))


def quick():
    return STE(2, trace=0.02, random_state=0)


@cache
def fitted():
    return quick().fit(judgments()[0])


@cache
def posterior():
    return PosteriorEmbedding(2, solver=Microcanonical.for_cross_validation(), random_state=0).fit(judgments()[0])


def written(comparisons, folder):
    return read_answers(write_answers(comparisons, folder / "answers.csv")).comparisons.oriented


CASES = {
    "design.outlook": lambda c, _: outlook(posterior(), c, 50, random_state=0),
    "evaluation.annotator_reliability": lambda c, _: annotator_reliability(quick(), c, random_state=0),
    "evaluation.reliability_weights": lambda c, _: reliability_weights(
        annotator_reliability(quick(), judgments()[0], random_state=0), c
    ),
    "evaluation.noise_ceiling": lambda c, _: noise_ceiling(c),
    "checking.check": lambda c, _: check(answers_of(c), random_state=0),
    "checking.check_errors": lambda c, _: check_errors(answers_of(c)),
    "embedding.clustering.ComparisonHC": lambda c, _: ComparisonHC(3, random_state=0).fit(c).labels_,
    "comparing.compare_groups": lambda c, _: compare_groups(
        c, np.where(c.annotators < 3, "a", "b"), n_components=2, n_permutations=19, random_state=0
    ),
    "comparing.compare_methods": lambda c, _: compare_methods(c, {"STE": quick(), "TSTE": TSTE(2)}, random_state=0),
    "comparing.compare_people": lambda c, _: compare_people(c, random_state=0),
    "io.write_answers": written,
    "evaluation.accuracy_scorer": lambda c, _: accuracy_scorer(fitted(), c),
    "evaluation.comparison_error": lambda c, _: comparison_error(c, POINTS),
    "evaluation.margin_statistics": lambda c, _: margin_statistics(c, POINTS),
    "evaluation.margins": lambda c, _: margins(c, POINTS),
    "evaluation.neg_log_loss_scorer": lambda c, _: neg_log_loss_scorer(fitted(), c),
    "evaluation.WholeKFold": lambda c, _: [test for _, test in WholeKFold(3, random_state=0).split(c)],
    "evaluation.choose_dimension": lambda c, _: choose_dimension(quick(), c, (1, 2), random_state=0),
    "evaluation.held_out_error": lambda c, _: held_out_error(quick(), c, random_state=0),
    "evaluation.learning_curve": lambda c, _: learning_curve(quick(), c, n_repeats=1, random_state=0),
    "design.estimate_noise": lambda c, _: estimate_noise(c, 2, random_state=0),
    "design.predict_error": lambda c, _: predict_error(
        Design(10, 2), 150, questions=c, estimator=quick(), n_replications=2, random_state=0
    ),
    "plotting.agreement": lambda c, _: agreement(fitted(), c),
    "plotting.plot_shepard": lambda c, _: [
        collection.get_offsets() for collection in plot_shepard(fitted(), c).collections
    ],
    "evaluation.split_half": lambda c, _: split_half(quick(), c, n_splits=2, random_state=0),
    "study.RunSettings": lambda c, _: RunSettings().for_answers(c),
    "study.fit_study": lambda c, _: (
        fit_study(answers_of(c), RunSettings("STE", 2, {"trace": 0.02}, n_resamples=0)).model.embedding_
    ),
    "study.run_study": lambda c, folder: (
        run_study(answers_of(c), RunSettings("STE", 2, {"trace": 0.02}, quick=True), folder).results.embedding
    ),
    "evaluation.bootstrap": lambda c, _: bootstrap(quick(), c, n_resamples=10, n_simulations=4, random_state=0),
}
NEED_NONE = {
    "design.Questions": "is told which object was chosen",
    "datasets.simulate_answers": "asks questions, whose answers it draws",
}


def public():
    """Yield names and objects of the public modules."""
    for page in API.glob("*.md"):
        for module in re.findall(r"automodule:: nearer\.([\w.]+)", page.read_text(encoding="utf-8")):
            found = importlib.import_module(f"nearer.{module}")
            yield from ((f"{module}.{name}", getattr(found, name)) for name in found.__all__)


def takes_comparisons(thing):
    methods = [thing]
    if inspect.isclass(thing):
        methods = [method for name, method in inspect.getmembers(thing, inspect.isfunction) if name[0] != "_"]
    return any(PARAMETERS & inspect.signature(method).parameters.keys() for method in methods if callable(method))


ESTIMATORS = {
    name: thing
    for name, thing in public()
    if name.startswith("embedding.") and name.count(".") == 1 and inspect.isclass(thing) and hasattr(thing, "fit")
}


def test_every_public_function_that_takes_comparisons_has_a_case():
    found = {name for name, thing in public() if takes_comparisons(thing)} - ESTIMATORS.keys()
    assert found - CASES.keys() - NEED_NONE.keys() == set()
    assert {*CASES, *NEED_NONE} - {name for name, _ in public()} == set()
    assert len(ESTIMATORS) > 10


FASTER = {
    "embedding.MLDS": {"n_components": 1},
    "embedding.PosteriorEmbedding": {"n_components": 2, "solver": Microcanonical.for_cross_validation()},
    "embedding.MVTE": {"n_views": 2, "alpha": 3.0, "n_init": 1},  # the search for them is a matter of whole fits
    "embedding.BestOf": {"n_splits": 2},
    "embedding.SPE": {"tol": 0.01},
    "embedding.SPoSE": {"penalty": 0.1, "n_splits": 0},  # few weights are 0: a tie is answered as it is written
}


def assert_alike(first, second, where=""):
    """Compare results part by part, numbers to rounding."""
    assert type(first) is type(second), where
    if is_dataclass(first):
        for field in fields(first):
            if field.name not in ("comparisons", "posterior", "seconds"):
                assert_alike(getattr(first, field.name), getattr(second, field.name), f"{where}.{field.name}")
    elif isinstance(first, dict):
        assert first.keys() == second.keys(), where
        for key in first:
            assert_alike(first[key], second[key], f"{where}[{key!r}]")
    elif isinstance(first, list | tuple):
        assert len(first) == len(second), where
        for number, pair in enumerate(zip(first, second, strict=True)):
            assert_alike(*pair, f"{where}[{number}]")
    elif isinstance(first, float | np.ndarray) and np.asarray(first).dtype.kind == "f":
        np.testing.assert_allclose(first, second, rtol=1e-6, atol=1e-9, err_msg=where)
    elif isinstance(first, np.ndarray):
        assert first.tolist() == second.tolist(), where
    elif hasattr(first, "embedding_"):
        assert_alike(first.embedding_, second.embedding_, f"{where}.embedding_")
    elif not callable(first):
        assert first == second, where


@pytest.mark.parametrize("name", CASES)
def test_reversed_rows_give_the_same(name, tmp_path):
    true, back = (CASES[name](each, tmp_path) for each in judgments())
    assert_alike(true, back, name)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_learns_the_same_from_reversed_rows(name):
    """And predicts the rows as they are written."""
    estimator, found = ESTIMATORS[name], []
    settings = FASTER.get(name, {})
    for comparisons in judgments():
        model = estimator(random_state=0, **settings).fit(comparisons)
        of_rows = model.decision_function(comparisons) * comparisons.answers
        found.append(
            [model.embedding_, of_rows, model.predict(comparisons) * comparisons.answers, model.score(comparisons)]
        )
    assert_alike(*found, name)
