import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln, comb, expit
from scipy.stats import beta

from nearer import Comparisons
from nearer.datasets.synthetic import unrank_questions
from nearer.evaluation.ceiling import _count, _Counts, _on_grid, noise_ceiling
from nearer.formats import read_answers
from nearer.lab.accuracy.datasets import find_file


def asked(shares, repeats, rng, **columns):
    """Questions about 30 objects, answered independently with these shares of +1."""
    rows = np.column_stack(unrank_questions(np.arange(len(shares)), 30))
    which = np.repeat(np.arange(len(shares)), repeats)
    y = np.where(rng.random(len(which)) < shares[which], 1, -1)
    return Comparisons.from_triplets(rows[which], y, n_objects=30, **columns)


def test_likelihood_and_mean_are_those_of_the_model():
    counts = _Counts(np.array([1]), np.array([5]), np.ones(1), np.ones(1), np.ones(1))
    lapse, shape = 0.1, 0.7

    def density(b, power):
        q = lapse + (1 - 2 * lapse) * b
        binomial = comb(5, 1) * (q * (1 - q) ** 4 + q**4 * (1 - q))
        return 2 * beta.pdf(b, shape, shape) * q**power * binomial

    evidence, first, second = (quad(density, 0, 0.5, args=(power,))[0] for power in range(3))
    found = _on_grid(counts, np.array([lapse]), np.log([shape]))[:, 0, 0]
    assert found[0] == pytest.approx(np.log(evidence / comb(5, 1)), rel=1e-3)
    assert found[1] == pytest.approx(first / evidence, rel=1e-3)
    assert found[2] == pytest.approx(second / evidence - (first / evidence) ** 2, rel=1e-2)


def test_without_repeats_the_mean_is_that_of_the_beta_in_closed_form():
    counts = _Counts(np.array([0]), np.array([1]), np.ones(1), np.ones(1), np.ones(1))
    for shape in (0.1, 1.0, 5.0):
        closed = 0.5 - 4**-shape * np.exp(-np.log(shape) - betaln(shape, shape))
        assert _on_grid(counts, np.zeros(1), np.log([shape]))[1, 0, 0] == pytest.approx(closed, rel=3e-3)


SPREADS = {
    "beta": lambda rng, n: rng.beta(0.5, 0.5, n),
    "flips": lambda rng, n: np.where(rng.random(n) < 0.5, 0.1, 0.9),
    "logistic": lambda rng, n: expit(3 * rng.normal(size=n)),
    "lapses": lambda rng, n: 0.05 + 0.9 * rng.beta(0.4, 0.4, n),
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(("n_questions", "repeats", "bias"), [(800, 2, 0.025), (300, 5, 0.012)])
def test_the_mean_of_the_minority_share_is_found(spread, n_questions, repeats, bias):
    rng = np.random.default_rng(0)
    off, held, plugged = [], 0, []
    for _ in range(20):
        shares = SPREADS[spread](rng, n_questions)
        comparisons = asked(shares, repeats, rng)
        found = noise_ceiling(comparisons)
        truth = np.minimum(shares, 1 - shares).mean()
        counts = _count(comparisons)
        off.append(found.error - truth)
        plugged.append(counts.n_alike @ counts.minority / counts.n_answers - truth)
        held += found.low <= truth <= found.high
    assert abs(np.mean(off)) < bias
    assert abs(np.mean(off)) < abs(np.mean(plugged))  # the share that is seen
    assert held >= 15


def test_answers_that_always_agree_leave_no_error_and_coins_leave_half():
    rng = np.random.default_rng(0)
    sure = noise_ceiling(asked(np.ones(300), 3, rng))
    assert sure.error < 0.005
    assert sure.low < 0.001
    coins = noise_ceiling(asked(np.full(300, 0.5), 6, rng))
    assert coins.error > 0.46
    assert coins.high > 0.495


def test_writing_a_question_the_other_way_round_changes_nothing():
    comparisons = asked(np.random.default_rng(0).random(100), 3, np.random.default_rng(1))
    turned = Comparisons.from_triplets(comparisons.rows[:, [0, 2, 1]], -comparisons.answers, n_objects=30)
    assert noise_ceiling(turned) == noise_ceiling(comparisons)


def test_too_few_repeated_questions_give_none():
    rng = np.random.default_rng(0)
    assert noise_ceiling(asked(np.full(200, 0.3), 1, rng)) is None
    assert noise_ceiling(asked(np.full(19, 0.3), 3, rng)) is None
    assert noise_ceiling(asked(np.full(20, 0.3), 3, rng)) is not None


def test_rows_of_one_trial_and_answers_of_one_person_are_no_repeats():
    shares, rng = np.full(60, 0.3), np.random.default_rng(0)
    of_questions = np.repeat(np.arange(60), 4)
    assert noise_ceiling(asked(shares, 4, rng, trials=of_questions)) is None
    assert noise_ceiling(asked(shares, 4, rng, annotators=of_questions)) is None
    alone = noise_ceiling(asked(shares, 4, rng, annotators=["me"] * 240, trials=np.arange(240)))
    assert alone.n_answers == 240
    pairs = noise_ceiling(asked(shares, 4, rng, annotators=np.tile(["a", "a", "b", "b"], 60)))
    assert (pairs.n_questions, pairs.n_answers) == (60, 120)


def test_questions_count_by_their_weights():
    rng = np.random.default_rng(0)
    shares = np.repeat([0.0, 0.5], 150)
    comparisons = asked(shares, 12, rng)
    weighted = [
        Comparisons.from_triplets(comparisons.rows, comparisons.answers, weights=np.repeat(each, 1800), n_objects=30)
        for each in ([1, 1e-6], [1e-6, 1])
    ]
    easy, hard = (noise_ceiling(each).error for each in weighted)
    assert easy < 0.05
    assert hard > 0.3
    assert easy < noise_ceiling(comparisons).error < hard


def split_answers(undecided, rng, flipped=0.0):
    """Answers of (questions, people), those undecided split into both comparisons with half the weight each."""
    rows = np.column_stack(unrank_questions(np.arange(len(undecided)), 30))
    question, person = (each.ravel() for each in np.indices(undecided.shape))
    turned = rows[question][:, [0, 2, 1]]
    said = np.where((rng.random(len(question)) < flipped)[:, None], turned, rows[question])
    again = np.flatnonzero(undecided)
    other_way = said[again][:, [0, 2, 1]]
    return Comparisons.from_triplets(
        np.concatenate([said, other_way]),
        weights=np.concatenate([np.where(undecided, 0.5, 1.0).ravel(), np.full(len(again), 0.5)]),
        annotators=np.concatenate([person, person[again]]),
        trials=np.concatenate([np.arange(undecided.size), again]),
        n_objects=30,
    )


def test_half_of_what_nobody_can_tell_is_wrong_whatever_is_predicted():
    found = noise_ceiling(split_answers(np.ones((40, 4), bool), np.random.default_rng(0)))
    assert (found.error, found.low, found.high) == (0.5, 0.5, 0.5)
    assert (found.n_questions, found.n_answers) == (40, 160)


@pytest.mark.parametrize("whole_questions", [False, True])
@pytest.mark.parametrize("repeats", [2, 5])
def test_undecided_answers_add_half_their_share_to_the_error_of_the_others(repeats, whole_questions):
    rng = np.random.default_rng(0)
    undecided = rng.random((400, 1 if whole_questions else repeats)) < 0.4
    undecided = np.broadcast_to(undecided, (400, repeats))
    sure = noise_ceiling(split_answers(undecided, rng))
    assert sure.error == pytest.approx(undecided.mean() / 2, abs=0.005)
    noisy = split_answers(undecided, rng, flipped=0.1)
    others = noise_ceiling(noisy[noisy.weights == 1])
    assert noise_ceiling(noisy).error == pytest.approx(undecided.mean() / 2 + (1 - undecided.mean()) * others.error)


def test_read_answers_that_cannot_tell_give_a_ceiling_of_one_half():
    questions = [(f"o{a}", f"o{b}", f"o{c}") for a in range(6) for b in range(6) for c in range(b) if a not in (b, c)]
    people = [f"p{number}" for number in range(3)]
    rows = [(*question, "can't tell", person) for question in questions for person in people]
    columns = map(list, zip(*rows, strict=True))
    table = dict(zip(("anchor", "left", "right", "answer", "annotator"), columns, strict=True))
    assert noise_ceiling(read_answers(table, undecided="split").comparisons).error == 0.5


@pytest.mark.parametrize("extreme", [1e300, 1e-320])
def test_extreme_weights_leave_all_figures_finite(extreme):
    comparisons = asked(np.full(60, 0.3), 4, np.random.default_rng(0))
    weights = np.where(np.arange(240) % 7 == 0, extreme, 1.0)
    found = noise_ceiling(Comparisons.from_triplets(comparisons.rows, comparisons.answers, weights=weights))
    assert 0 <= found.low <= found.error <= found.high <= 0.5
    tiny = noise_ceiling(
        Comparisons.from_triplets(comparisons.rows, comparisons.answers, weights=np.full(240, extreme))
    )
    assert tiny.error == pytest.approx(noise_ceiling(comparisons).error)


@pytest.mark.parametrize(("name", "reached"), [("cars", 0.197), ("eggs30", 0.206)])
def test_no_map_does_better_than_the_ceiling_of_real_answers(name, reached):
    """The errors are those that DMOE reaches in cross-validation."""
    path = find_file(name)
    if path is None:
        pytest.skip(f"{name}.npz is neither in ../shared/data nor in $NEARER_DATA")
    with np.load(path, allow_pickle=False) as stored:
        found = noise_ceiling(Comparisons.from_triplets(stored["triplets"], annotators=stored["worker"]))
    assert 0.1 < found.low < reached
