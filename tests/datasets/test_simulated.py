"""Simulated answers: frequencies against probabilities in closed form."""

from itertools import combinations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, softmax
from scipy.stats import binom, chisquare, norm

from nearer.datasets import draw_questions, make_gaussian, sample_triplets, simulate_answers
from nearer.model import CrowdKernel, StudentT

POINTS = np.array([[0.0, 0.0], [1.0, 0.5], [1.5, 0.0], [0.5, 2.0]])
COPIES = 8000


def squared(a, b):
    return float(((POINTS[a] - POINTS[b]) ** 2).sum())


def within(count, chance, n=COPIES):
    return binom.ppf(1e-5, n, chance) <= count <= binom.ppf(1 - 1e-5, n, chance)


def chance_of(noise, near, far, slope):
    """The models' own probabilities, in closed form."""
    if noise == "logistic":
        return expit(slope * (far - near))
    if noise == "probit":
        return norm.cdf(slope * (far - near))
    return float(StudentT(2.0).probability_of(np.array([slope * near]), np.array([slope * far]))[0])


@pytest.mark.parametrize("noise", ["logistic", "probit", "tste"])
@pytest.mark.parametrize("question", [[0, 1, 2], [2, 3, 1], [0, 1, 2, 3], [0, 3, 1, 2]], ids=str)
def test_frequencies_of_two_pairs(noise, question):
    answers = simulate_answers(POINTS, [question] * COPIES, noise, slope=0.7, alpha=2.0, random_state=0).answers
    near, far = squared(*question[:2]), squared(question[0] if len(question) == 3 else question[2], question[-1])
    assert within((answers == 1).sum(), chance_of(noise, near, far, 0.7))


def luce(slope, kernel):
    return softmax(kernel(slope * np.array([squared(1, 2), squared(0, 2), squared(0, 1)])))


def thurstone(slope):
    """The pair of least felt distance under normal errors of variance 1/2: an integral over its own error."""
    means = slope * np.array([squared(1, 2), squared(0, 2), squared(0, 1)])
    scale = np.sqrt(0.5)
    chances = []
    for k, mean in enumerate(means):
        rest = np.delete(means, k)
        density = lambda x, mean=mean, rest=rest: norm.pdf(x, mean, scale) * norm.sf(x, rest, scale).prod()  # noqa: E731
        chances.append(quad(density, mean - 8, mean + 8)[0])
    return np.array(chances)


@pytest.mark.parametrize(
    ("noise", "chances"),
    [
        ("logistic", luce(0.7, lambda d2: -d2)),
        ("tste", luce(0.7, lambda d2: -1.5 * np.log1p(d2 / 2.0))),
        ("probit", thurstone(0.7)),
    ],
    ids=["logistic", "tste", "probit"],
)
def test_frequencies_of_the_odd_one(noise, chances):
    answered = simulate_answers(
        POINTS, [[0, 1, 2]] * COPIES, noise, kind="odd-one-out", slope=0.7, alpha=2.0, random_state=1
    )
    odd = answered.rows[::2, 2]
    assert chances.sum() == pytest.approx(1)
    assert chisquare(np.bincount(odd, minlength=3), COPIES * chances).pvalue > 1e-5


def test_an_odd_one_is_two_comparisons_of_one_trial():
    questions = draw_questions(10, 40, "odd-one-out", random_state=0)
    points = make_gaussian(10, 2, random_state=0)
    answered = simulate_answers(points, questions, None, kind="odd-one-out", random_state=0)
    assert answered.rows.shape == (80, 3)
    assert answered.trials.tolist() == np.repeat(np.arange(40), 2).tolist()
    assert (answered.weights == 0.5).all()
    for row, question in enumerate(questions):
        first, second = answered.rows[2 * row : 2 * row + 2]
        assert sorted(first) == sorted(second) == sorted(question)
        assert first.tolist() == second[[1, 0, 2]].tolist()
        closest = min(
            combinations(question.tolist(), 2), key=lambda pair: ((points[pair[0]] - points[pair[1]]) ** 2).sum()
        )
        assert set(first[:2].tolist()) == set(closest)


def test_without_noise_points_answer_as_they_lie():
    points = make_gaussian(12, 3, random_state=0)
    truth = sample_triplets(points)
    answered = simulate_answers(points, truth.rows[:, [0, 2, 1]], None, random_state=0)
    assert (answered.answers == -1).all()
    np.testing.assert_array_equal(answered.rows, truth.rows[:, [0, 2, 1]])


def test_ties_are_answered_at_random():
    grid = np.arange(3)[:, None] * 0.1
    answers = simulate_answers(grid, [[1, 0, 2]] * COPIES, None, random_state=0).answers
    assert within((answers == 1).sum(), 0.5)


def test_lapses_and_flips_combine_with_noise():
    near, far = squared(0, 1), squared(0, 2)
    chance = expit(0.7 * (far - near))
    chance = 0.7 * chance + 0.3 / 2
    chance = 0.9 * chance + 0.1 * (1 - chance)
    answers = simulate_answers(POINTS, [[0, 1, 2]] * COPIES, slope=0.7, lapses=0.3, flipped=0.1, random_state=2).answers
    assert within((answers == 1).sum(), chance)


def test_lapses_of_the_odd_one_fall_on_all_three():
    questions = [[0, 1, 2]] * COPIES
    answered = simulate_answers(POINTS, questions, None, kind="odd-one-out", lapses=0.6, random_state=3)
    flipped = simulate_answers(POINTS, questions, None, kind="odd-one-out", flipped=0.5, random_state=4)
    right = int(np.argmin([squared(1, 2), squared(0, 2), squared(0, 1)]))
    for rows, share in ((answered.rows, 0.2), (flipped.rows, 0.25)):
        counts = np.bincount(rows[::2, 2], minlength=3)
        assert within(counts[right], 1 - 2 * share)
        assert all(within(counts[k], share) for k in range(3) if k != right)


def test_a_function_is_a_model_of_noise():
    chance = CrowdKernel(0.3).probability_of
    answers = simulate_answers(POINTS, [[0, 1, 2]] * COPIES, chance, random_state=5).answers
    expected = float(chance(np.array([squared(0, 1)]), np.array([squared(0, 2)]))[0])
    assert within((answers == 1).sum(), expected)


def test_people_differ_as_they_are_reported_to():
    answered = simulate_answers(POINTS, [[0, 1, 3]] * COPIES, None, people=4, lapses=[0, 0, 1, 1], random_state=0)
    names, counts = np.unique(answered.annotators, return_counts=True)
    assert names.tolist() == [f"person {k}" for k in (1, 2, 3, 4)]
    assert (counts == COPIES // 4).all()
    right = answered.answers == (1 if squared(0, 1) < squared(0, 3) else -1)
    rates = [right[answered.annotators == name].mean() for name in names]
    assert rates[:2] == [1, 1]
    assert all(0.4 < rate < 0.6 for rate in rates[2:])


def test_more_noise_changes_only_the_answers_it_must():
    points = make_gaussian(15, 2, random_state=0)
    questions = draw_questions(15, 400, random_state=0)
    settings = [{"flipped": 0.0}, {"flipped": 0.1}, {"flipped": 0.3}]
    plain, some, more = (simulate_answers(points, questions, random_state=0, **each).answers for each in settings)
    assert (plain == simulate_answers(points, questions, random_state=0).answers).all()
    assert ((plain != some) <= (plain != more)).all()
    assert (plain != more).sum() > (plain != some).sum() > 0


def test_questions_and_answers_have_streams_of_their_own():
    """With one seed for both, who is named has nothing to do with how the question was drawn."""
    questions = draw_questions(40, 4000, "odd-one-out", random_state=0)
    flat = np.zeros((40, 1))
    answered = simulate_answers(flat, questions, kind="odd-one-out", random_state=0)
    numbers = questions.mean(axis=1)
    named = (questions == answered.rows[::2, [2]]).argmax(axis=1)
    assert abs(np.corrcoef(numbers, named)[0, 1]) < 5 / np.sqrt(4000)
    assert chisquare(np.bincount(named)).pvalue > 1e-5


def test_answers_of_a_study_are_simulated_to_its_questions():
    from nearer import Comparisons

    study = Comparisons.from_triplets([("a", "b", "c"), ("c", "a", "b")])
    answered = simulate_answers([[0.0], [1.0], [5.0]], study, None)
    assert answered.objects.tolist() == ["a", "b", "c"]
    assert answered.answers.tolist() == [1, -1]


@pytest.mark.parametrize(("kind", "total"), [("triplet", 30), ("quadruplet", 15), ("odd-one-out", 10)])
def test_all_questions_are_drawn_once(kind, total):
    questions = draw_questions(5, total, kind, random_state=0)
    width = 4 if kind == "quadruplet" else 3
    assert questions.shape == (total, width)
    assert all(len(set(row)) == width for row in questions.tolist())
    if kind == "triplet":
        asked = {(row[0], frozenset(row[1:])) for row in questions.tolist()}
    elif kind == "quadruplet":
        asked = {frozenset([frozenset(row[:2]), frozenset(row[2:])]) for row in questions.tolist()}
    else:
        asked = {frozenset(row) for row in questions.tolist()}
    assert len(asked) == total
    with pytest.raises(ValueError, match=f"{total} different questions"):
        draw_questions(5, total + 1, kind)


@pytest.mark.parametrize("kind", ["quadruplet", "odd-one-out"])
@pytest.mark.parametrize("size", [4, 9])
def test_questions_are_drawn_evenly(kind, size):
    """By either way: few are drawn until they differ, many from a list of all."""
    counts = {}
    for seed in range(1500):
        for row in draw_questions(5, size, kind, random_state=seed).tolist():
            key = frozenset(map(frozenset, (row[:2], row[2:]))) if kind == "quadruplet" else frozenset(row)
            counts[key] = counts.get(key, 0) + 1
    total = 15 if kind == "quadruplet" else 10
    assert len(counts) == total
    spread = np.sqrt(1500 * size / total * (1 - size / total))
    assert max(abs(np.array([*counts.values()]) - 1500 * size / total)) < 5 * max(spread, 1)


def test_triplets_are_those_of_sample_triplets():
    points = make_gaussian(20, 2, random_state=0)
    asked = draw_questions(20, 100, random_state=7)
    rows = sample_triplets(points, 100, random_state=7).rows
    np.testing.assert_array_equal(np.sort(asked[:, 1:], axis=1), np.sort(rows[:, 1:], axis=1))
    np.testing.assert_array_equal(asked[:, 0], rows[:, 0])


@pytest.mark.parametrize(
    ("questions", "settings", "message"),
    [
        ([[0, 1, 2]], {"noise": "loud"}, "noise must be one of"),
        ([[0, 1, 2]], {"kind": "quadruplet"}, "does not go with rows of 3"),
        ([[0, 1, 2]], {"kind": "pair"}, "kind must be one of"),
        ([[0, 1]], {}, "rows of three or four"),
        ([["a", "b", "c"]], {}, "positions of objects"),
        ([[0, 1, 9]], {}, "9"),
        ([[0, 1, 2]], {"slope": 0.0}, "slope must be above 0"),
        ([[0, 1, 2]], {"lapses": [0.1, 0.2]}, "one for each of the people"),
        ([[0, 1, 2]], {"noise": lambda near, far: far - near + 9}, "a probability for each question"),
        ([[0, 1, 2]], {"noise": lambda near, far: far, "kind": "odd-one-out"}, "compares two pairs"),
    ],
)
def test_what_makes_no_sense_is_refused(questions, settings, message):
    with pytest.raises(ValueError, match=message):
        simulate_answers(POINTS, questions, **settings)
