import json
import math
import re
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest

from benchmarks.accuracy.datasets import find_file
from nearer import Comparisons
from nearer._common.formatting import intcomma
from nearer.datasets import make_gaussian, sample_triplets
from nearer.datasets.synthetic import distinct_rows
from nearer.design import Design, estimate_noise, plan, plot_plan, predict_error, theorem_bound, theorem_excess
from nearer.design.planning import plans
from nearer.design.planning.plans import crossing, monotone
from nearer.design.planning.prediction import Replication
from nearer.design.planning.simulation import capped_rates, draw_ground_truth
from nearer.embedding import TSTE
from nearer.optimize.problems.margins import pair_distances

pytestmark = pytest.mark.usefixtures("one_start")
KINDS = ["triplet", "quadruplet", "odd-one-out", "most-central", "grid", "ranking", "ranked-grid"]
QUICK = TSTE(n_components=2, trace=0.02)


def truth_of(**settings):
    design = Design(**{"n_objects": 25, "n_components": 3, "noise": 0.12, **settings})
    return draw_ground_truth(design, np.random.default_rng(0))


def asked_with_ratios(**settings):
    """A ground truth, answers to many triplets, and how far the logarithms of their two distances are apart."""
    truth = truth_of(**settings)
    asked = truth.ask(200_000, np.random.default_rng(1))
    i, j, _, k = asked.rows.T
    return truth, asked, np.abs(np.log(pair_distances(truth.points, i, j) / pair_distances(truth.points, i, k)))


@cache
def pilot_of(n_pilot=300, **settings):
    """The noise estimated from the first answers of a study, and all of its answers and some more to judge by."""
    truth = truth_of(n_components=2, **settings)
    asked = truth.ask(600, np.random.default_rng(1))
    first = asked.part(0, n_pilot)
    return estimate_noise(first.comparisons, 2, random_state=0), asked, truth.ask(4000, np.random.default_rng(2))


@cache
def quick_plan(**settings):
    settings = {"target_error": 0.2, "estimator": QUICK, "n_replications": 3, "random_state": 0, **settings}
    described = {field.name: settings.pop(field.name) for field in fields(Design) if field.name in settings}
    return plan(Design(20, 2, **described), **settings)


class TestTheorem:
    def test_is_the_papers_formula(self):
        n, p, m, mu, nu, delta = 50, 3, 7000, 0.7, 0.4, 0.1
        first = 4 * mu * (1 + nu) * math.sqrt(32 * n * p * math.log(n) / m)
        second = 8 * mu * (1 + nu) * math.sqrt(2 * math.log(2 / delta) / m)
        assert theorem_excess(n, p, m, mu=mu, nu=nu, delta=delta) == pytest.approx(first + second)

    def test_bound_is_the_smallest_number_that_meets_the_excess(self):
        m = theorem_bound(30, 2, 0.5, mu=0.3)
        assert theorem_excess(30, 2, m, mu=0.3) <= 0.5 < theorem_excess(30, 2, m - 1, mu=0.3)

    @pytest.mark.parametrize("nu", [0.0, 0.5, 3.0])
    @pytest.mark.parametrize("mu", [0.25, 0.6, 2.0])
    def test_squared_loss_is_nowhere_steeper_than_its_constant(self, mu, nu):
        margins = np.linspace(-4 * mu, 4 * mu, 20_001)
        loss = np.maximum(1 - margins, 0) ** 2 + nu * np.maximum(margins - 1, 0) ** 2
        steepest = np.abs(np.diff(loss) / np.diff(margins)).max()
        constant = theorem_excess(9, 2, 100, mu=mu, power=2, nu=nu) / theorem_excess(9, 2, 100, mu=mu, nu=0)
        assert steepest == pytest.approx(constant, rel=1e-3)

    @pytest.mark.parametrize("wrong", [{"mu": 0}, {"nu": -1}, {"delta": 1}, {"power": 3}])
    def test_invalid_arguments_are_rejected(self, wrong):
        with pytest.raises(ValueError, match="wanted mu > 0"):
            theorem_bound(10, 2, 0.1, **wrong)
        with pytest.raises(ValueError, match="excess=0"):
            theorem_bound(10, 2, 0)


class TestAnswers:
    @pytest.mark.parametrize("kind", KINDS)
    def test_without_noise_all_answers_are_right(self, kind):
        truth = truth_of(kind=kind, noise=0.0)
        asked = truth.ask(300, np.random.default_rng(1))
        i, j, l, k = asked.rows.T  # noqa: E741
        assert (pair_distances(truth.points, i, j) < pair_distances(truth.points, l, k)).all()
        assert asked.is_correct.all()
        assert len(asked.rows) == 300 * truth.design.comparisons_per_answer

    @pytest.mark.parametrize("n_annotators", [None, 8])
    @pytest.mark.parametrize("noise_model", ["close-calls", "guesses"])
    @pytest.mark.parametrize("kind", KINDS)
    def test_noise_is_the_share_of_wrong_comparisons(self, kind, noise_model, n_annotators):
        truth = truth_of(kind=kind, noise_model=noise_model, n_annotators=n_annotators)
        asked = truth.ask(20_000, np.random.default_rng(1))
        assert 1 - asked.is_correct.mean() == pytest.approx(0.12, abs=0.012)

    @pytest.mark.parametrize("noise", [0.4, 0.49])
    @pytest.mark.parametrize("n_annotators", [2, 8, 30])
    def test_noise_of_guesses_is_reached_with_capped_rates(self, n_annotators, noise):
        for seed in range(10):
            design = Design(25, 2, noise, noise_model="guesses", n_annotators=n_annotators)
            truth = draw_ground_truth(design, np.random.default_rng(seed))
            asked = truth.ask(20_000, np.random.default_rng(seed))
            assert 1 - asked.is_correct.mean() == pytest.approx(noise, abs=0.015)

    def test_capped_rates_have_their_mean_and_keep_their_proportions(self):
        rng = np.random.default_rng(0)
        for _ in range(200):
            sizes, mean = np.exp(2 * rng.normal(size=rng.integers(1, 12))), rng.random()
            rates = capped_rates(sizes, mean)
            assert rates.mean() == pytest.approx(mean)
            assert rates.max() <= 1
            free = rates < 1
            assert np.ptp((rates / sizes)[free]) < 1e-12
            assert (rates / sizes)[free].max() >= (1 / sizes[~free]).max(initial=0)

    def test_close_calls_follow_the_logistic_rule(self):
        truth, asked, ratio = asked_with_ratios(noise=0.2)
        for low, high in [(0.0, 0.1), (0.5, 0.6), (1.0, 1.1)]:
            chosen = (ratio >= low) & (ratio < high)
            expected = np.mean(1 / (1 + np.exp(-truth.slopes[0] * ratio[chosen])))
            assert asked.is_correct[chosen].mean() == pytest.approx(expected, abs=0.015)

    def test_guesses_do_not_depend_on_the_distances(self):
        _, asked, ratio = asked_with_ratios(noise=0.2, noise_model="guesses")
        close = ratio < np.median(ratio)
        assert asked.is_correct[close].mean() == pytest.approx(asked.is_correct[~close].mean(), abs=0.01)

    def test_annotators_differ(self):
        assert np.ptp(np.log(truth_of(n_annotators=8).slopes)) > 0.2
        assert len(truth_of().slopes) == 1

    def test_odd_one_out_and_most_central_are_what_their_names_say(self):
        for kind, rule in (("odd-one-out", np.argmin), ("most-central", np.argmax)):
            truth = truth_of(kind=kind, noise=0.0)
            for rows in truth.ask(50, np.random.default_rng(2)).rows.reshape(50, 2, 4):
                a, b, c = np.unique(rows)
                pairs = [(a, b), (a, c), (b, c)]
                table = pair_distances(truth.points, *np.array(pairs).T)
                side = rows[:, :2] if kind == "odd-one-out" else rows[:, 2:]
                assert {tuple(sorted(pair)) for pair in side.tolist()} == {pairs[rule(table)]}

    def test_comparisons_of_one_answer_are_one_trial_of_weight_one(self):
        comparisons = truth_of(kind="ranking", n_shown=4).ask(30, np.random.default_rng(0)).comparisons
        assert np.bincount(comparisons.trials, comparisons.weights) == pytest.approx(np.ones(30))

    def test_questions_are_asked_again(self):
        questions = truth_of().ask(500, np.random.default_rng(3)).comparisons
        reverse = Comparisons.from_triplets(questions.rows, y=-np.ones(500, dtype=int), n_objects=25)
        again = truth_of().ask_again(questions, np.random.default_rng(4))
        assert (again.rows == truth_of().ask_again(reverse, np.random.default_rng(4)).rows).all()
        old = np.column_stack([questions.rows[:, :1], np.sort(questions.rows[:, 1:])])
        new = np.column_stack([again.rows[:, :1], np.sort(again.rows[:, [1, 3]])])
        assert sorted(map(tuple, old.tolist())) == sorted(map(tuple, new.tolist()))

    def test_a_pair_is_perceived_once_within_an_answer(self):
        trial = [[0, 1, 2], [1, 0, 2], [2, 0, 1]]
        for noise_model in ("close-calls", "guesses"):
            design = Design(3, 2, 0.4, noise_model=noise_model)
            questions = Comparisons.from_triplets(trial * 200, trials=np.repeat(np.arange(200), 3))
            asked = draw_ground_truth(design, np.random.default_rng(0), questions).ask_again(
                questions, np.random.default_rng(1)
            )
            for rows in asked.rows.reshape(200, 3, 4):
                wins = [sum(set(row[:2]) == pair for row in rows.tolist()) for pair in ({0, 1}, {0, 2}, {1, 2})]
                assert sorted(wins) == [0, 1, 2]  # an order, never a cycle

    def test_drawn_objects_are_different_and_uniform(self):
        for n_objects in (4, 100):
            rows = distinct_rows(40_000, 3, n_objects, np.random.default_rng(0))
            assert (np.diff(np.sort(rows), axis=1) > 0).all()
            share = np.bincount(rows[:, 0], minlength=n_objects) / len(rows)
            assert share == pytest.approx(np.full(n_objects, 1 / n_objects), abs=0.01)


class TestDesign:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"noise": 0.5}, "one half is guessing"),
            ({"kind": "duel"}, "is none of triplet"),
            ({"noise_model": "flip"}, "is none of close-calls"),
            ({"n_objects": 2}, "shows 3 objects"),
            ({"n_components": 0}, "n_components must be an integer"),
            ({"n_annotators": 1.5}, "n_annotators must be an integer"),
            ({"decay": -1}, "decay=-1"),
            ({"n_shown": 4}, "for rankings and grids"),
            ({"kind": "ranking", "n_chosen": 2}, "no n_chosen"),
            ({"kind": "grid", "n_shown": 3, "n_chosen": 3}, "one is not"),
        ],
    )
    def test_invalid_settings_are_rejected(self, settings, message):
        with pytest.raises(ValueError, match=message):
            Design(**{"n_objects": 10, "n_components": 2, **settings})


class TestSearch:
    def test_errors_that_rise_are_leveled(self):
        sizes, errors = np.array([10, 20, 40]), np.array([0.4, 0.3, 0.1])
        assert monotone(sizes, errors) == pytest.approx(errors)
        assert monotone(sizes, np.array([0.4, 0.2, 0.3])) == pytest.approx([0.4, 0.25, 0.25])

    def test_crossing_is_interpolated_in_the_logarithm(self):
        sizes = np.array([10, 100, 1000])
        errors = 0.5 - 0.1 * np.log10(sizes)
        assert crossing(sizes, errors, 0.25) == pytest.approx(10**2.5)
        assert crossing(sizes, errors, 0.45) == 10
        assert crossing(sizes, errors, 0.2) == pytest.approx(1000)

    def test_answers_of_a_small_size_are_the_first_of_a_larger_one(self):
        grown = next(Replication.draw(1, 0, Design(12, 2)))
        small = grown._split(50)[0].rows
        assert (grown._split(9000)[0].rows[:50] == small).all()
        assert (grown._split(50)[0].rows == small).all()


class TestPredictedError:
    def test_agrees_with_an_independent_simulation(self):
        reached = []
        for seed in range(6):
            points = make_gaussian(40, 3, random_state=seed)
            train = sample_triplets(points, 600, flipped=0.1, random_state=seed)
            test = sample_triplets(points, 4000, flipped=0.1, random_state=seed + 1000)
            reached.append(1 - TSTE(3, trace=0.02, n_objects=40).fit(train).score(test))
        design = Design(40, 3, noise=0.1, noise_model="guesses", decay=0.0)
        settings = {"estimator": TSTE(3, trace=0.02), "random_state": 0}
        predicted = predict_error(design, 600, **settings)
        assert predicted.error == pytest.approx(np.mean(reached), rel=0.07)
        assert predicted.low <= predicted.error <= predicted.high

    def test_error_against_answers_has_the_noise_as_its_floor(self):
        settings = {"estimator": QUICK, "n_replications": 3, "random_state": 0}
        answers, truth = (
            predict_error(Design(15, 2, 0.15), 3000, against=side, **settings) for side in ("answers", "truth")
        )
        assert truth.floor == 0 < truth.error < 0.12
        assert answers.floor == 0.15 < answers.error < 0.2

    def test_invalid_settings_are_rejected(self):
        questions = Comparisons.from_triplets([[0, 1, 2]] * 150)
        with pytest.raises(ValueError, match="only 150 questions"):
            predict_error(Design(3, 2), 100, questions=questions)
        for settings, message in (
            ({"questions": questions}, "are about 3 objects"),
            ({"pilot": questions}, "pilot must come from estimate_noise, got Comparisons"),
            ({"against": "people"}, "neither 'answers' nor 'truth'"),
            ({"estimator": "DMOE"}, "estimator must be one of"),
        ):
            with pytest.raises(ValueError, match=message):
                predict_error(Design(5, 2), 10, **settings)
        for function in (plan, predict_error):
            with pytest.raises(ValueError, match=r"design must be a Design, .* got 20"):
                function(20, 2)


class TestPlan:
    def test_is_the_same_for_the_same_seed(self):
        assert quick_plan().to_dict() == quick_plan.__wrapped__().to_dict()

    def test_more_noise_or_a_lower_target_take_more_answers(self):
        base = quick_plan()
        assert quick_plan(noise=0.16).n_answers > base.n_answers
        assert quick_plan(target_error=0.16).n_answers > base.n_answers
        assert quick_plan(against="truth").n_answers < base.n_answers

    def test_its_number_reaches_the_target(self):
        found = quick_plan(n_replications=8)
        reached = predict_error(Design(20, 2), found.n_answers, estimator=QUICK, n_replications=12, random_state=99)
        assert reached.error == pytest.approx(0.2, abs=0.025)

    def test_informative_kinds_need_fewer_answers(self):
        ranking, triplet = quick_plan(kind="ranking", n_shown=4), quick_plan()
        assert ranking.n_answers < triplet.n_answers / 2
        assert ranking.n_comparisons == 6 * ranking.n_answers

    def test_cost_and_work_follow_from_the_number(self):
        found = quick_plan(price=0.25, n_annotators=7)
        assert found.cost == 0.25 * found.n_answers
        assert found.cost_low <= found.cost <= found.cost_high
        assert found.answers_per_annotator == math.ceil(found.n_answers / 7)
        text = str(found)
        for part in (
            f"{intcomma(found.n_answers)} answers",
            "With 7 people, each gives",
            f"They cost {found.cost:.2f}",
            "The least error to be expected is 0.100: 10% of the new answers are wrong",
        ):
            assert part in text

    def test_no_figure_has_more_than_three_decimals(self):
        text = str(quick_plan(noise=0.1234567, target_error=0.2345678, price=0.1, level=0.8))
        assert "0.235;" in text
        assert not re.search(r"\d\.\d{4}", text)

    def test_the_theorem_is_mentioned_only_if_it_bounds_the_risk(self):
        found = quick_plan()
        assert "heorem" not in str(found)
        assert theorem_excess(20, 2, found.n_comparisons) > 1
        many = replace(found, n_comparisons=10**7)
        assert f"at most {theorem_excess(20, 2, 10**7):.3f} above the least possible" in str(many)

    def test_the_curve_falls_and_brackets_the_target(self):
        found = quick_plan()
        assert (np.diff(found.errors) <= 0).all()
        assert (found.lows <= found.errors).all()
        assert (found.errors <= found.highs).all()
        assert found.errors[0] > 0.2 >= found.errors[-1]
        assert found.theorem_answers == theorem_bound(20, 2, 0.1)
        assert json.loads(json.dumps(found.to_dict()))["study"]["n_objects"] == 20

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"target_error": 0.1}, r"10% are wrong.*against='truth'"),
            ({"target_error": 0.0, "against": "truth"}, "errors stay above 0"),
            ({"target_error": 0.5}, "aim below it"),
            ({"most_answers": 100}, r"would be more than most_answers=\d+"),
            ({"price": -1}, "price must be a finite number >= 0, got -1"),
        ],
    )
    def test_targets_out_of_reach_are_rejected(self, settings, message):
        with pytest.raises(ValueError, match=message):
            quick_plan(**settings)

    def test_figure(self):
        found = quick_plan()
        ax = plot_plan(found)
        assert ax.get_ylabel() == "error on new answers"
        assert f"{intcomma(found.n_answers)} answers" in ax.get_title(loc="left")
        assert plot_plan(replace(found, against="truth", floor=0.0), ax=ax) is ax

    @pytest.mark.parametrize("noise", [0.2, 0.4, 0.46])
    def test_its_defaults_reach_a_target_whatever_the_noise(self, noise):
        found = plan(Design(12, 2, noise), estimator=QUICK, n_replications=2, random_state=0)
        assert noise < found.target_error < 0.5
        assert noise > 0.4 or found.target_error == pytest.approx(noise + 0.05)

    def test_studies_that_are_too_noisy_leave_the_upper_end_open(self):
        found = replace(quick_plan(price=0.1), high=None, cost_high=None)
        assert "some are too noisy to get there: more than" in str(found)
        assert "or more)" in str(found)
        assert "or more)" in plot_plan(found).get_title(loc="left")
        assert crossing(np.array([10, 100]), np.array([0.4, 0.3]), 0.2) == np.inf

    def test_the_answers_of_a_pilot_are_included(self):
        pilot, _, _ = pilot_of()
        settings = {"estimator": QUICK, "n_replications": 4, "random_state": 0}
        found = plan(Design(25, 2, pilot.noise), pilot.noise + 0.06, pilot=pilot, **settings)
        assert found.n_pilot == 300
        assert "The 300 answers of the pilot are included; further questions are drawn at random." in str(found)
        assert "drawn from the posterior of the pilot" in str(found)
        assert found.floor == pytest.approx(pilot.noise, abs=0.04)


class TestNoise:
    @pytest.mark.parametrize("noise", [0.1, 0.25])
    def test_is_found_without_repeated_questions(self, noise):
        asked = draw_ground_truth(Design(40, 2, noise), np.random.default_rng(0)).ask(2500, np.random.default_rng(1))
        estimate = estimate_noise(asked.comparisons, 2, random_state=0)
        assert estimate.noise == pytest.approx(noise, abs=0.02)
        assert estimate.low < estimate.noise < estimate.high

    def test_noise_of_guesses(self):
        pilot, asked, _ = pilot_of(n_pilot=600, noise=0.2, noise_model="guesses")
        assert pilot.noise == pytest.approx(1 - asked.is_correct.mean(), abs=0.05)
        assert np.median(pilot.posterior.draws_.lapses) > 0.15

    def test_weighs_trials_as_one_answer(self):
        asked = draw_ground_truth(Design(25, 2, 0.15, "odd-one-out"), np.random.default_rng(0)).ask(
            800, np.random.default_rng(1)
        )
        estimate = estimate_noise(asked.comparisons, 2, random_state=0)
        assert estimate.n_answers == 800
        assert estimate.noise == pytest.approx(0.15, abs=0.03)

    def test_noise_does_not_depend_on_orientation(self):
        pilot, asked, _ = pilot_of()
        rows = asked.part(0, 300).comparisons.rows
        turned = Comparisons.from_triplets(rows[:, [0, 2, 1]], -np.ones(300, dtype=int), n_objects=25)
        assert estimate_noise(turned, 2, random_state=0).noise == pytest.approx(pilot.noise, rel=1e-9)

    def test_noise_of_few_answers_is_rejected(self):
        with pytest.raises(ValueError, match="estimated from 10 answers"):
            estimate_noise(Comparisons.from_triplets([[0, 1, 2]] * 10), 2)


class TestPilot:
    @pytest.mark.parametrize("noise_model", ["close-calls", "guesses"])
    def test_the_interval_covers_the_outcome(self, noise_model):
        pilot, asked, tested = pilot_of(noise=0.2, noise_model=noise_model)
        estimator = QUICK.set_params(n_objects=25)
        found = predict_error(Design(25, 2), 600, pilot=pilot, estimator=estimator, n_replications=39, random_state=0)
        reached = 1 - estimator.fit(asked.comparisons).score(tested.comparisons)
        assert found.low <= reached <= found.high
        assert found.high - found.low < 0.15

    def test_maps_are_learned_from_its_answers_and_further_ones(self):
        pilot, asked, _ = pilot_of()
        study = Replication(Design(25, 2), np.random.default_rng(0), pilot=pilot)
        train, test = study._split(500)
        assert train.n_answers == 500
        assert test.n_answers == 4000
        own = {tuple(row) for row in asked.part(0, 300).rows.tolist()}
        assert {tuple(row) for row in train.rows[:300].tolist()} == own
        few, _ = study._split(100)
        assert (few.rows == train.rows[:100]).all()

    @pytest.mark.parametrize("n_objects", [12, 40])
    def test_another_number_of_objects_is_a_new_study(self, n_objects):
        pilot, _, _ = pilot_of()
        study = Replication(Design(n_objects, 2), np.random.default_rng(0), pilot=pilot)
        assert study.pilot is None
        assert study.truth.points.shape == (n_objects, 2)
        noises = [pilot.draw_ground_truth(Design(n_objects, 2), np.random.default_rng(seed)) for seed in range(20)]
        shares = [
            truth.error_rate(truth.draw_pairs(2000, np.random.default_rng(0))[2], np.random.default_rng(0))
            for truth in noises
        ]
        assert np.mean(shares) == pytest.approx(pilot.noise, abs=0.04)

    def test_annotators_differ_as_those_of_the_pilot(self):
        asked = truth_of(n_components=2, noise=0.2).ask(400, np.random.default_rng(1)).comparisons
        people = np.arange(400) % 8
        known = Comparisons.from_triplets(asked.rows, asked.answers, annotators=people, n_objects=25)
        alone, apart = (estimate_noise(each, 2, random_state=0) for each in (asked, known))
        design = Design(25, 2)
        assert len(alone.draw_ground_truth(design, np.random.default_rng(0)).slopes) == 1
        assert np.ptp(apart.draw_ground_truth(design, np.random.default_rng(0)).slopes) > 0

    @pytest.mark.slow
    @pytest.mark.skipif(find_file("music") is None, reason="music.npz is neither in ../shared/data nor in $NEARER_DATA")
    def test_predicts_music_at_5000_from_smaller_sizes(self):
        with np.load(find_file("music")) as stored:
            music = Comparisons.from_triplets(stored["triplets"], n_objects=400)
        quick = TSTE(9, trace=0.02, n_objects=400)
        train, rest = music.split(6107, random_state=0)
        further, judged = rest.split(len(rest) - 2000, random_state=1)
        known = estimate_noise(train, 9, random_state=0)
        found = predict_error(
            Design(400, 9), 5000, pilot=known, questions=rest, estimator=quick, n_replications=4, random_state=0
        )
        reached = 1 - quick.fit(train.concatenate([train, further])).score(judged)
        assert found.error == pytest.approx(reached, rel=0.12)


def test_the_median_is_a_number_where_half_of_the_studies_reach_the_target(monkeypatch):
    sizes, curves = np.array([100, 200, 400]), np.array([[0.4, 0.3, 0.19], [0.4, 0.35, 0.3]])
    monkeypatch.setattr(plans, "_search", lambda *_, **__: (sizes, curves))
    found = plan(Design(15, 2), 0.2, n_replications=2, random_state=0)
    assert 200 < found.n_answers <= 400
    assert found.high is None
