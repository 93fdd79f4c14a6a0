import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from benchmarks.accuracy.datasets import find_file
from nearer import Comparisons
from nearer.datasets.synthetic import unrank_questions
from nearer.evaluation.ceiling import _ERROR_GRID, _end, _Mixture, _QuestionCounts, noise_ceiling
from nearer.io import read_answers


def asked(shares, repeats, rng, **columns):
    """Questions about 30 objects, answered independently with these shares of +1."""
    rows = np.column_stack(unrank_questions(np.arange(len(shares)), 30))
    which = np.repeat(np.arange(len(shares)), repeats)
    y = np.where(rng.random(len(which)) < shares[which], 1, -1)
    return Comparisons.from_triplets(rows[which], y, n_objects=30, **columns)


def mixture_of(minority, answers, n_alike):
    n_alike = np.array(n_alike, dtype=float)
    counts = _QuestionCounts(np.array(minority), np.array(answers), n_alike, n_alike, n_alike)
    return _Mixture.of(counts, np.ones(len(n_alike), dtype=bool))


@pytest.mark.parametrize("disagree", [0.05, 0.2, 0.45])
@pytest.mark.parametrize("repeats", [2, 3])
def test_two_or_three_answers_leave_the_bounds_of_their_rate_of_disagreement(repeats, disagree):
    """All questions equally hard at one end, toss-ups among sure questions at the other, in closed form."""
    split = disagree if repeats == 2 else 1.5 * disagree  # of three answers, two of the three pairs disagree or none
    mixture = mixture_of([0, 1], [repeats, repeats], [1e6 * (1 - split), 1e6 * split])
    assert _end([mixture], -1, 1e-3) == pytest.approx((1 - np.sqrt(1 - 2 * disagree)) / 2, abs=2e-3)
    assert _end([mixture], 1, 1e-3) == pytest.approx(disagree, abs=2e-3)


def test_more_answers_bring_the_bounds_together():
    widths = []
    for repeats in (2, 4, 6, 20):
        minority = np.arange(repeats // 2 + 1)
        shares = 0.4 * binom.pmf(minority, repeats, 0.5) + 0.6 * binom.pmf(minority, repeats, 0.03)
        shares = shares + (minority < repeats - minority) * (
            0.4 * binom.pmf(repeats - minority, repeats, 0.5) + 0.6 * binom.pmf(repeats - minority, repeats, 0.03)
        )
        mixture = mixture_of(minority, np.full(len(minority), repeats), 1000 * shares)
        low, high = _end([mixture], -1, 1e-3), _end([mixture], 1, 1e-3)
        assert low - 2e-3 <= 0.4 * 0.5 + 0.6 * 0.03 <= high + 2e-3
        widths.append(high - low)
    assert (np.diff(widths) < 0).all()
    assert widths[0] > 0.08 > 0.005 > widths[-1]


@pytest.mark.parametrize("tilt", [-30.0, 0.0, 200.0])
def test_the_fit_is_the_maximum(tilt):
    """Its directional derivatives towards all points of the grid are at most 0: the condition of a maximum."""
    rng = np.random.default_rng(0)
    answers = rng.integers(2, 30, size=40)
    mixture = mixture_of(rng.binomial(answers // 2, 0.4), answers, np.ones(40))
    mass = mixture.fit(tilt)
    gradient = mixture.chances.T @ (mixture.n / (mixture.chances @ mass)) + tilt * _ERROR_GRID
    assert mass.min() >= 0
    assert mass.sum() == pytest.approx(1)
    assert (gradient - gradient @ mass).max() < 1e-4


@pytest.mark.parametrize("repeats", [2, 3, 6, 20])
def test_the_interval_holds_the_ceiling_where_some_questions_are_toss_ups_and_others_clear(repeats):
    rng, held = np.random.default_rng(0), 0
    for _ in range(20):
        found = noise_ceiling(asked(np.where(rng.random(300) < 0.4, 0.5, 0.028), repeats, rng))
        held += found.low <= 0.2168 <= found.high
        assert found.is_bound or repeats > 3
        assert ("would narrow it" in str(found)) == found.is_bound
    assert held >= 17


SPREADS = {
    "beta": lambda rng, n: rng.beta(0.5, 0.5, n),
    "equal": lambda rng, n: np.where(rng.random(n) < 0.5, 0.1, 0.9),
    "logistic": lambda rng, n: expit(3 * rng.normal(size=n)),
    "lapses": lambda rng, n: 0.05 + 0.9 * rng.beta(0.4, 0.4, n),
}


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize(("n_questions", "repeats"), [(800, 2), (300, 5), (300, 12)])
@pytest.mark.parametrize("n_studies", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_the_mean_of_the_minority_share_is_found(spread, n_questions, repeats, n_studies):
    rng = np.random.default_rng(0)
    ends, held = [], 0
    for _ in range(n_studies):
        shares = SPREADS[spread](rng, n_questions)
        found = noise_ceiling(asked(shares, repeats, rng))
        truth = np.minimum(shares, 1 - shares).mean()
        ends.append((found.error - truth, found.at_most - truth))
        held += found.low <= truth <= found.high
    below, above = np.mean(ends, axis=0)
    assert below < 0.006
    assert above > -0.006
    assert repeats < 12 or above - below < 0.01
    assert held >= 0.9 * n_studies - 1


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
    given = np.where((rng.random(len(question)) < flipped)[:, None], turned, rows[question])
    again = np.flatnonzero(undecided)
    other_way = given[again][:, [0, 2, 1]]
    return Comparisons.from_triplets(
        np.concatenate([given, other_way]),
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
