"""Power: more people have more, without an effect it is the size, and studies are what they are said to be."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from nearer.cli.main import main
from nearer.comparing import Power, power, predict_power
from nearer.design import Design, estimate_noise
from nearer.design.planning.simulation import draw_ground_truth

SMALL = Design(6, 2)


@pytest.fixture
def quick(monkeypatch):
    """Studies that detect the effect every other time, without an analysis."""
    counts = iter(range(1000))
    monkeypatch.setattr(power, "_STUDIES", dict.fromkeys(power._STUDIES, lambda *_: lambda _: next(counts) % 4 == 0))


def test_more_people_have_more_power():
    few, many = (predict_power("groups", Design(8, 2), n, 15, 1.0, n_replications=12, random_state=0) for n in (4, 16))
    assert few.power + 0.4 < many.power
    assert few.low < few.power < few.high
    assert (few.size + many.size) / 2 < 0.25


def test_an_effect_of_none_has_the_power_of_the_size():
    found = predict_power("groups", SMALL, 6, 30, 0.0, n_replications=24, random_state=1)
    assert found.low <= 0.05 <= found.high
    assert found.power <= 0.2
    assert found.n_null == 12


@pytest.mark.parametrize(("of", "strong", "weak"), [("models", 0.95, 0.0), ("people", 1.5, 0.0)])
def test_strong_effects_are_detected_and_weak_ones_are_not(of, strong, weak):
    found = [predict_power(of, SMALL, 10, 60, each, n_replications=4, random_state=0) for each in (strong, weak)]
    assert found[0].power >= 0.6
    assert found[1].power <= 0.4


def truth_and_answers(study, effect, n_moved=0, n_people=12, n_answers=2000):
    """A truth without noise, and the share of each person's answers that is true of its map."""
    rng = np.random.default_rng(3)
    truth = draw_ground_truth(Design(10, 2, noise=0.0, n_annotators=n_people), rng)
    asked = {}
    ask = power._ask_each
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(power, "_ask_each", lambda *given: asked.setdefault("answers", ask(*given)))
        study(truth, n_answers, effect, n_moved, rng)
    answers = asked["answers"]
    near, far = truth.distances_of(answers.oriented).T
    return truth, answers, np.bincount(answers.annotators, near <= far) / n_answers


def test_one_group_sees_some_objects_elsewhere():
    _, answers, right = truth_and_answers(power._study_of_groups, 1.0, n_moved=1)
    assert np.bincount(answers.annotators).tolist() == [2000] * 12
    assert (right[:6] == 1).all()
    assert (right[6:] < 0.98).all()
    moved = truth_and_answers(power._study_of_groups, 1.0, n_moved=10)[2]
    assert moved[6:].max() < right[6:].min()


def test_people_weigh_axes_as_much_as_is_said():
    assert (truth_and_answers(power._study_of_people, 0.0)[2] == 1).all()
    some, much = (truth_and_answers(power._study_of_people, each)[2] for each in (0.3, 1.5))
    assert much.mean() < some.mean() < 1


def test_a_model_has_the_correlation_that_is_said():
    rng = np.random.default_rng(0)
    first, other = (pdist(rng.normal(size=(12, 2))) for _ in range(2))
    for wanted in (0.05, 0.3, 0.95):
        model = power._correlated(first, other, wanted)
        assert spearmanr(first, model).statistic == pytest.approx(wanted, abs=0.005)
        assert model.min() >= 0


def test_seeds_are_kept_and_the_first_studies_are_the_same_of_more():
    again = [predict_power("groups", SMALL, 4, 20, 1.0, n_replications=2, random_state=5).to_dict() for _ in range(2)]
    assert {**again[0], "seconds": 0} == {**again[1], "seconds": 0}
    assert Power.from_dict(again[0]).to_dict() == again[0]


def test_a_pilot_says_what_maps_and_people_are_like():
    truth = draw_ground_truth(Design(6, 2, noise=0.05), np.random.default_rng(0))
    pilot = estimate_noise(truth.ask(300, np.random.default_rng(1)).comparisons, 2, random_state=0)
    found = predict_power("groups", SMALL, 8, 60, 2.0, moved=0.5, pilot=pilot, n_replications=4, random_state=0)
    assert (found.power, found.n_moved) == (1.0, 3)


def test_an_interrupt_keeps_what_there_is(monkeypatch):
    counts = iter(range(100))

    def detect(_):
        if next(counts) == 5:
            raise KeyboardInterrupt
        return True

    monkeypatch.setitem(power._STUDIES, "groups", lambda *_: detect)
    found = predict_power("groups", SMALL, 4, 20, 1.0, n_replications=9, random_state=0)
    assert (found.n_studies, found.n_null, found.n_wanted, found.interrupted) == (3, 2, 9, True)
    assert "3 of 3 simulated studies (of 9, as the run was stopped)" in str(found)
    assert "do not rely" in str(found)
    counts = iter([5])
    with pytest.raises(KeyboardInterrupt):
        predict_power("groups", SMALL, 4, 20, 1.0, n_replications=9, random_state=0)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"of": "maps"}, "choose one of groups, people, models"),
        ({"design": Design(8, 2, n_annotators=5)}, "leave n_annotators out"),
        ({"n_people": 2}, "2 people in each group no p-value falls below 0.12"),
        ({"effect": -1.0}, "effect must be a finite number >= 0"),
        ({"of": "models", "effect": 1.5}, "effect=1.5 of models must be at most 1"),
        ({"of": "models", "moved": 0.5}, "is for groups"),
        ({"moved": 1.5}, "at most 1"),
        ({"of": "people", "design": Design(6, 1)}, "2 to 8 dimensions, got 1"),
        ({"n_answers": 10**7}, "n_people times n_answers"),
        ({"pilot": 3}, "estimate_noise"),
    ],
)
def test_bad_input_is_refused_at_once(changed, sentence):
    given = {"of": "groups", "design": SMALL, "n_people": 6, "n_answers": 20, "effect": 0.5, **changed}
    with pytest.raises(ValueError, match=sentence):
        predict_power(**given)


def test_several_sizes_are_a_table(quick, capsys):
    ask = ["plan", "--objects", "8", "--power", "groups", "--effect", "1", "--studies", "4", "--answers", "20"]
    assert main([*ask, "--people", "4,8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [["people", "answers"], ["4", "20"], ["8", "20"]]
    assert main([*ask, "--people", "4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["powers"][0]["n_people"] == 4


def test_options_that_do_nothing_are_refused(capsys):
    ask = ["plan", "--objects", "8", "--power", "groups", "--effect", "1", "--people", "4"]
    for arguments, sentence in (
        (ask, "add --answers"),
        ([*ask, "--answers", "9", "--at", "5"], "--at does nothing for --power"),
        ([*ask, "--answers", "9", "--against", "truth"], "--against does nothing for --power"),
        (["plan", "--objects", "8", "--people", "4"], "--people belongs to --power"),
    ):
        assert main(arguments) == 2
        assert sentence in capsys.readouterr().err
