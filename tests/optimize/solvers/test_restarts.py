"""Several starts in one and two dimensions: no folded maps, the same map every time, and how many descents agreed."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, GNMDS, MVTE, SOE, STE, TSTE, NonmetricMDS
from nearer.embedding.storage import load_model, save_model
from nearer.model import StudentT
from nearer.optimize import SVRG, Factored, Outcome, Restarts
from nearer.optimize.problems.points import FactoredProblem
from nearer.optimize.problems.sources import InMemory
from nearer.optimize.solvers import descent

LINE = make_gaussian(20, 1, random_state=3)


def answers(seed, dimension=1, m=479):
    points = make_gaussian(20, dimension, random_state=seed)
    return points, sample_triplets(points, m, flipped=0.1, random_state=seed)


@pytest.mark.parametrize("method", [TSTE, CKL])
def test_maps_of_a_line_are_not_folded(method):
    one, default, ten = [], [], []
    for seed in range(12):
        points, noisy = answers(seed)
        truth = sample_triplets(points)
        for scores, solver in ((one, Factored(n_init=1)), (default, "factored"), (ten, Factored(n_init=10))):
            scores.append(method(1, solver=solver, random_state=seed).fit(noisy).score(truth))
    folded = np.array(one) < np.array(ten) - 0.05
    assert folded.sum() >= 2  # or there would be nothing to show
    assert (np.array(default) > np.array(ten) - 0.05).all()
    assert np.mean(default) > np.mean(ten) - 0.005


@pytest.mark.parametrize(
    ("solver", "dimension", "tried"),
    [
        ("factored", 1, 6),
        ("factored", 2, 4),
        ("factored", 3, 1),
        (Factored(n_init=1), 1, 1),
        (Factored(n_init=3), 1, 3),
        (Factored(start="random"), 1, 1),
        (Factored(start=LINE), 1, 1),
        (SVRG(), 1, 1),
        ("projected", 1, 1),
    ],
)
def test_how_many_descents_there_are(solver, dimension, tried):
    model = GNMDS(dimension, solver=solver, random_state=0).fit(answers(3, dimension)[1])
    assert model.restarts_.tried == tried
    assert 1 <= model.restarts_.agreed <= tried


def test_large_problems_get_one_descent(monkeypatch):
    noisy = answers(0)[1]
    monkeypatch.setattr(descent, "MAX_RESTART_WORK", len(noisy) - 1)
    assert STE(1).fit(noisy).restarts_ == Restarts(1, 1)


def test_agreement_is_reported_from_the_objectives(tmp_path):
    assert Restarts.of([0.5, 0.31, 0.3], 0.02) == (3, 2)
    agreed = [TSTE(1).fit(answers(seed)[1]).restarts_.agreed for seed in range(12)]
    assert min(agreed) < max(agreed) == 6
    assert STE(1).fit(answers(0)[1]).restarts_ == (6, 6)
    noise = sample_triplets(make_gaussian(20, 1, random_state=0), 150, flipped=0.5, random_state=0)
    model = SOE(1).fit(noise)
    assert model.restarts_.agreed < 4  # of coin tosses there is no map to agree on
    assert load_model(save_model(model, tmp_path)).restarts_ == model.restarts_
    assert isinstance(load_model(tmp_path).restarts_, Restarts)


def test_methods_with_starts_of_their_own_count_them():
    noisy = answers(0, 2)[1]
    assert NonmetricMDS(n_init=3).fit(noisy).restarts_.tried == 3
    assert MVTE(n_views=2, alpha=3.0, n_init=2).fit(noisy).restarts_.tried == 2
    assert MVTE(n_views=1, alpha=3.0).fit(noisy).restarts_.tried == 4


@pytest.mark.parametrize("dimension", [1, 2])
def test_no_start_depends_on_a_seed_or_on_names(dimension):
    noisy = answers(5, dimension)[1]
    model = CKL(dimension).fit(noisy)
    np.testing.assert_array_equal(CKL(dimension, random_state=9).fit(noisy).embedding_, model.embedding_)
    order = np.random.default_rng(0).permutation(20)
    renamed = CKL(dimension).fit(order[noisy.rows] if noisy.answers is None else order[noisy.oriented])
    np.testing.assert_allclose(
        renamed.embedding_[order] @ renamed.embedding_[order].T, model.embedding_ @ model.embedding_.T, atol=1e-6
    )
    assert renamed.restarts_ == model.restarts_


def test_three_dimensions_are_as_before():
    noisy = answers(1, 3)[1]
    default, one = (TSTE(3, solver=solver).fit(noisy) for solver in ("factored", Factored(n_init=1)))
    np.testing.assert_array_equal(default.embedding_, one.embedding_)
    assert default.n_iter_ == one.n_iter_


def test_the_number_of_threads_changes_no_bit():
    points = make_gaussian(40, 1, random_state=0)
    many = sample_triplets(points, 25_000, flipped=0.1, random_state=0)  # more than one block of the loops
    one, two = (TSTE(1, solver=Factored(n_threads=n_threads)).fit(many) for n_threads in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


class _Pressed:
    """A callback that presses Ctrl-C at the first iteration of the descent of this number."""

    def __init__(self, descent):
        self.descent, self.begun = descent, 0

    def __call__(self, progress):
        self.begun += progress.iteration == 1
        if self.begun == self.descent:
            raise KeyboardInterrupt


# The third descent is that of a wider map, which is no map itself.
@pytest.mark.parametrize(("descent", "tried"), [(2, 2), (3, 2), (4, 3)])
def test_an_interrupt_leaves_the_best_of_the_descents_so_far(descent, tried):
    noisy = answers(0)[1]
    model, first = TSTE(1), TSTE(1, solver=Factored(n_init=1)).fit(noisy)
    with pytest.raises(KeyboardInterrupt), pytest.warns(ConvergenceWarning, match="best map so far"):
        model.fit(noisy, callback=_Pressed(descent))
    assert model.restarts_.tried == tried
    assert not model.converged_
    assert model.history_[-1].objective <= first.history_[-1].objective
    assert model.embedding_.shape == (20, 1)


def test_an_interrupt_between_two_descents_leaves_the_best_so_far(monkeypatch):
    calls, plain = [], Factored.init

    def init(self, problem, start, rng):
        calls.append(self)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(self, problem, start, rng)

    monkeypatch.setattr(Factored, "init", init)
    problem = FactoredProblem(InMemory(answers(0)[1]), StudentT(1.0), 0.001, rank=1)
    found = descent.solve_with_restarts(problem, Factored(), rng=np.random.default_rng(0))
    assert found.outcome is Outcome.INTERRUPTED
    assert found.restarts.tried == 2


def test_held_out_comparisons_choose_among_the_descents():
    noisy = answers(2)[1]
    model = CKL(1, solver=Factored(validation=0.2), random_state=0).fit(noisy)
    assert model.restarts_.tried == 6
    assert model.score(noisy) > 0.75


@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("flipped", [0.0, 0.1])
def test_t_ste_has_a_finite_scale(dimension, flipped):
    points = make_gaussian(25, dimension, random_state=0)
    rows = sample_triplets(points, 600 * dimension, flipped=flipped, random_state=0)
    exact = Factored(tol=1e-10, max_iter=5000, n_init=1)
    model = TSTE(dimension, solver=exact).fit(rows)
    assert model.converged_
    assert np.abs(model.embedding_).max() < 300
    rough = TSTE(dimension, solver=Factored(n_init=1)).fit(rows)
    assert np.abs(model.embedding_).max() < 10 * np.abs(rough.embedding_).max()


def test_t_ste_without_a_penalty_has_none():
    points = make_gaussian(25, 2, random_state=0)
    exact = Factored(tol=1e-10, max_iter=5000, n_init=1)
    model = TSTE(2, trace=0.0, solver=exact).fit(sample_triplets(points, 1200, random_state=0))
    assert np.abs(model.embedding_).max() > 1e4
