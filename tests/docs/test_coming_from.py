"""docs/coming-from.md: what it says about this side is so."""

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from nearer import datasets, embedding
from nearer.data.comparisons import Comparisons
from nearer.datasets import draw_questions, make_gaussian, sample_triplets, simulate_answers
from nearer.embedding import CKL, FORTE, GNMDS, LORE, SOE, STE, TSTE, NonmetricMDS
from nearer.evaluation import comparison_error, procrustes_error
from nearer.io import read_answers
from nearer.optimize import Factored

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
DEFAULTS = PAGE.split("### Equal names, other defaults")[1].split("\n###")[0]
OF_A_METHOD = re.findall(r"^\| .* of (SOE|STE|TSTE|CKL|GNMDS)\b[^|]*\|[^|]*\| `(\w+)=([^`]+)`", DEFAULTS, re.MULTILINE)
POINTS = make_gaussian(12, 2, variance=1, random_state=0)
TRIPLETS = sample_triplets(POINTS, 300, flipped=0.1, random_state=0).rows


def test_all_defaults_are_looked_at():
    assert len(OF_A_METHOD) == 8
    assert {method for method, _, _ in OF_A_METHOD} == {"SOE", "STE", "TSTE", "CKL", "GNMDS"}


@pytest.mark.parametrize(("method", "name", "value"), OF_A_METHOD)
def test_defaults_are_those_of_the_table(method, name, value):
    default = inspect.signature(getattr(embedding, method)).parameters[name].default
    assert default == ast.literal_eval(value)


def test_iterations_and_starts_are_those_of_the_tables():
    assert f"`solver=Factored(max_iter={Factored().max_iter})`" in DEFAULTS
    model = NonmetricMDS()
    assert (model.n_init, model.max_iter) == (4, 3000)
    assert "one of four starts, of at most 3000\niterations each" in PAGE


def test_answers_are_given_as_the_table_says():
    y = np.where(np.arange(300) % 3 == 0, -1, 1)
    turned = np.where(y[:, None] == 1, TRIPLETS, TRIPLETS[:, [0, 2, 1]])
    expected = STE(2).fit(TRIPLETS).embedding_
    for signs in (y, y == 1):
        np.testing.assert_allclose(STE(2).fit(turned, signs).embedding_, expected)
    with pytest.raises(ValueError, match="0 and 1"):
        STE(2).fit(turned, (y == 1).astype(int))
    counts = 1 + np.arange(300) % 2
    repeated = STE(2).fit(np.repeat(TRIPLETS, counts, axis=0)).embedding_
    weighted = STE(2).fit(TRIPLETS, sample_weight=counts).embedding_
    assert procrustes_error(weighted, repeated) < 1e-4


def test_predictions_are_about_rows_as_written():
    model = STE(2).fit(TRIPLETS)
    np.testing.assert_array_equal(model.predict(TRIPLETS), -model.predict(TRIPLETS[:, [0, 2, 1]]))
    assert set(model.predict(TRIPLETS)) == {1, -1}
    assert comparison_error(TRIPLETS, np.zeros((12, 2))) == 0.5


def test_a_missing_object_needs_the_number_of_objects():
    few = TRIPLETS[(TRIPLETS < 11).all(axis=1)]
    with pytest.raises(ValueError, match="n_objects"):
        STE(2).fit(few).score(TRIPLETS)
    assert STE(2, n_objects=12).fit(few).score(TRIPLETS) > 0.7


def test_maps_are_the_same_each_time_and_start_where_they_are_asked_to():
    np.testing.assert_array_equal(SOE(2).fit(TRIPLETS).embedding_, SOE(2).fit(TRIPLETS).embedding_)
    elsewhere = POINTS[::-1]
    told, untold = (SOE(2, solver=Factored(start=start, max_iter=1)) for start in (elsewhere, "spectral"))
    with pytest.warns(UserWarning, match="iteration"):
        away = [procrustes_error(model.fit(TRIPLETS).embedding_, elsewhere) for model in (told, untold)]
    assert away[0] < 0.2 < 0.5 < away[1]


def test_an_offset_of_zero_is_refused():
    with pytest.raises(ValueError, match="mu must be"):
        CKL(2, mu=0.0).fit(TRIPLETS)


@pytest.mark.parametrize("method", [STE, CKL, GNMDS])
def test_methods_over_a_gram_matrix_are_there(method):
    assert method(2, solver="projected").fit(TRIPLETS).score(TRIPLETS) > 0.8


def test_quadruplets_are_taken_everywhere():
    rows = TRIPLETS[:, [0, 1, 0, 2]]
    for method in (SOE, STE, TSTE, CKL, GNMDS):
        model = method(2).fit(rows)
        assert model.score(rows) > 0.8
        assert model.predict(rows).shape == (300,)


def test_an_odd_one_out_keeps_its_comparisons_in_one_trial():
    answers = read_answers({"item1": [5], "item2": [1], "item3": [2], "odd": [5]})
    assert answers.comparisons.objects[answers.comparisons.rows].tolist() == [[1, 2, 5], [2, 1, 5]]
    assert len(set(answers.comparisons.trials)) == 1
    assert isinstance(Comparisons.from_triplets(TRIPLETS, np.ones(300)), Comparisons)


CBLEARN = PAGE.split("## cblearn")[1].split("\n###")[0]
OURS = " ".join(line.split(" | ")[-1] for line in CBLEARN.splitlines() if line.startswith("| `"))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:fetch|draw|simulate|sample|make)_\w+)", OURS))))
def test_functions_of_the_table_are_there(name):
    assert hasattr(datasets, name)


def test_simulated_answers_are_called_as_the_table_says():
    clean = simulate_answers(POINTS, TRIPLETS, None)
    assert comparison_error(clean, POINTS) == 0
    noisy = simulate_answers(POINTS, TRIPLETS, lambda near, far: norm.cdf((far**0.5 - near**0.5) / 0.1), random_state=0)
    assert 0 < comparison_error(noisy, POINTS) < 0.15
    assert len(draw_questions(12, 12 * 11 * 10 // 2)) == len(sample_triplets(POINTS))


def test_objects_may_be_tuples():
    rows = Comparisons.from_triplets([[("red", 1), ("red", 2), ("blue", 1)]])
    assert ("red", 2) in rows.objects.tolist()


def test_the_dimension_is_found_as_the_table_says():
    assert LORE().fit(TRIPLETS).dimension_ == FORTE(2).fit(TRIPLETS).embedding_.shape[1] == 2
