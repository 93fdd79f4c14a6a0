"""The one rule of trust, as a table of cases."""

import pytest
from helpers.report_sample import color_results, empty_results

from nearer.report.verdict import verdict
from nearer.report.wording import share_of_way
from nearer.study.schema import checked

GOOD, FAIR, POOR = 0.08, 0.2, 0.3  # errors of maps, where chance is 0.5 and the ceiling 0.074
VAGUE = {"ceiling": 0.39, "ceiling_low": 0.177, "ceiling_high": 0.5}
ELLIPSES = ", as the place of a typical object is known only to within {}% of the typical distance between two objects."


def judged(map=GOOD, reliability=0.95, ellipses=0.1, findings=(), flags=(), reliability_low=None, **error):
    results = color_results(findings=[{"level": level} for level in findings], ellipse_size=ellipses)
    results["error"] |= {"map": map, "map_low": map, "map_high": map} | error
    results["reproducibility"] = None if reliability is None else {"reliability": reliability, "low": reliability_low}
    results["annotators"] = [{"name": "A", "flags": list(flags)}, {"name": "B", "flags": None}]
    return verdict(results)


@pytest.mark.parametrize(
    ("case", "trust", "advice"),
    [
        ({}, "good", "you can trust it."),
        ({"ellipses": None}, "good", "you can trust it."),
        ({"findings": ["note", "good"]}, "good", "you can trust it."),
        ({"findings": ["warning"]}, "fair", "you can trust it once you have read the warning."),
        ({"flags": ["answers at chance"]}, "fair", "once you have seen to the person who is flagged."),
        (
            {"findings": ["warning", "warning"], "flags": ["answers at chance"]},
            "fair",
            "once you have read the 2 warnings and seen to the person who is flagged.",
        ),
        ({"reliability": 0.89}, "fair", "its predictions can be trusted, its distances only roughly."),
        ({"ellipses": 0.5}, "fair", f"its predictions can be trusted, its distances only roughly{ELLIPSES.format(50)}"),
        ({"reliability_low": 0.4}, "fair", "its predictions can be trusted, its distances only roughly."),
        ({"reliability": 0.5}, "fair", "its predictions can be trusted, its distances cannot yet."),
        ({"ellipses": 0.9}, "fair", f"its predictions can be trusted, its distances cannot yet{ELLIPSES.format(90)}"),
        (
            {"reliability": 0.5, "findings": ["warning", "warning"], "flags": ["answers at chance"]},
            "fair",
            "its distances cannot yet; also read the 2 warnings and see to the person who is flagged.",
        ),
        ({"reliability": None}, "fair", "but whether its distances can is not known."),
        ({"map": FAIR}, "fair", "you can trust its broad layout, but not who is the nearest neighbour of whom."),
        ({"map": FAIR, "reliability": 0.5}, "poor", "neither its layout nor its distances can be trusted yet."),
        ({"map": POOR}, "poor", "you should read it with caution: it is wrong too often."),
        ({"map": 0.45}, "poor", "you should read it with caution: it is wrong too often."),
        ({"map": POOR, "findings": ["warning"]}, "poor", "it is wrong too often; also read the warning."),
        ({"map": 0.46, "map_low": 0.42, "map_high": 0.5}, "poor", "you should not trust it."),
        ({"map": 0.44, "map_low": 0.42, "map_high": 0.46, "ceiling": 0.45}, "poor", "it is wrong too often."),
        # Intervals decide, not the figures inside them.
        ({"map": POOR, "map_high": 0.5}, "unknown", "you should not rely on it yet."),
        ({"map": 0.31, "map_low": 0.16, "map_high": 0.54} | VAGUE, "unknown", "you should not rely on it yet."),
        ({"map": 0.23, "map_low": 0.14, "map_high": 0.34} | VAGUE, "unknown", "you should not rely on it yet."),
        ({"map": 0.2, "map_low": 0.1, "map_high": 0.46}, "unknown", "you should not rely on it yet."),
        ({"map": 0.31, "map_low": 0.28, "map_high": 0.34} | VAGUE, "poor", "it is wrong too often."),
        ({"map": GOOD, "map_high": 0.23}, "fair", "who is the nearest neighbour of whom."),
        ({"map": 0.16, "ceiling": 0.16, "ceiling_low": 0.03, "ceiling_high": 0.17}, "good", "you can trust it."),
        (
            {"map": 0.18, "ceiling": 0.16, "ceiling_low": 0.03, "ceiling_high": 0.17},
            "fair",
            "nearest neighbour of whom.",
        ),
        ({"findings": ["error", "error"]}, "poor", "before you have seen to the 2 errors."),
        ({"findings": ["error"], "reliability": 0.99}, "poor", "before you have seen to the error."),
    ],
)
def test_the_map_is_trusted_if_predictions_and_distances_are_good_and_nothing_contradicts(case, trust, advice):
    found = judged(**case)
    assert found.trust == trust
    assert found.sentence.endswith(advice)
    assert found.sentence.endswith("and you can trust it.") == (trust == "good")


def test_the_sentence_has_the_figures_of_both_parts():
    sentence = judged().sentence
    assert "8% of unseen comparisons wrong (guessing: 50%, the best possible: 7.4%)" in sentence
    assert "its distances would come out much the same with other answers (reliability 0.95)" in sentence
    assert "4000 answers of 12 people about 68 objects" in sentence


def test_results_of_an_older_version_say_nothing_of_distances():
    results = color_results(findings=[], annotators=None, format=1)
    results["error"]["map"] = results["error"]["map_high"] = GOOD
    del results["reproducibility"], results["ellipse_size"]
    assert verdict(checked(results)).sentence.endswith("whether its distances can is not known.")


def test_after_placing_the_verdict_is_about_the_map_before():
    results = color_results()
    results["placed"] = {"objects": results["objects"][-2:], "n_answers": 40}
    sentence = verdict(results).sentence
    assert sentence.startswith(
        "2 objects were placed on a map of 66, and what follows is about that map, without them."
    )
    assert "4000 answers of 12 people about 66 objects" in sentence


def test_a_map_better_than_the_ceiling_is_as_good_as_the_answers_allow():
    assert "as good as the answers allow" in judged(map=0.05).sentence
    assert "as good as the answers allow" not in judged(map=0.05, map_low=0.0, map_high=0.2).sentence


def test_a_vague_ceiling_or_a_wide_error_promises_nothing():
    vague = judged(map=0.31, map_low=0.29, map_high=0.33, **VAGUE).sentence
    assert "best possible error not known" in vague
    wide = judged(map=0.31, map_low=0.16, map_high=0.54, **VAGUE).sentence
    assert "it may be anything from 16% to 54%: too few answers to tell how good it is" in wide
    for sentence in (vague, wide):
        assert "as good as" not in sentence
        assert "of the way" not in sentence
        assert "can be trusted" not in sentence


def test_what_is_too_few_is_what_was_held_out():
    assert "too few people to tell" in judged(map=0.31, map_low=0.16, map_high=0.54, unit="annotators").sentence


def test_without_a_ceiling_the_best_possible_is_not_known():
    unknown = judged(map=0.1, ceiling=None)
    assert "best possible error not known" in unknown.sentence
    assert unknown.trust == "good"


def test_without_a_map_error_the_whole_solution_is_judged():
    assert "11% of unseen" in judged(map=None, map_low=None, map_high=None).sentence


def test_without_errors_nothing_is_claimed():
    assert verdict(empty_results()).trust == "unknown"


@pytest.mark.parametrize("ceiling", [None, 0.0, 0.1, 0.5])
def test_the_way_leads_from_chance_to_the_ceiling(ceiling):
    assert share_of_way(0.5, ceiling, 0.5) == 0
    assert share_of_way(ceiling or 0.0, ceiling, 0.5 + 1e-6) == pytest.approx(1)
