import pytest
from sample import color_results, empty_results

from nearer.report._words import share_of_way, verdict


def judged(findings=(), **error):
    results = color_results(findings=[{"level": level} for level in findings])
    results["error"] = results["error"] | error
    return verdict(results)


def test_a_good_map_is_trusted():
    good = judged(map=0.08, map_low=0.07, map_high=0.09)
    assert good.trust == "good"
    assert "8% of unseen comparisons wrong (guessing: 50%, the best possible: 7.4%)" in good.sentence
    assert "4,000 answers of 12 people about 68 objects, and you can trust it." in good.sentence


def test_trust_falls_with_the_error():
    order = [judged(map=error, map_low=error, map_high=error).trust for error in (0.1, 0.2, 0.3, 0.45)]
    assert order == ["good", "fair", "poor", "poor"]


def test_an_interval_that_holds_chance_is_not_trusted():
    assert "you should not trust it" in judged(map=0.3, map_low=0.1, map_high=0.5).sentence


def test_an_error_in_the_answers_goes_before_a_low_error_of_the_map():
    assert judged(["error", "error"], map=0.08).trust == "poor"
    assert "the 2 errors below" in judged(["error", "error"], map=0.08).sentence
    assert "the warning below" in judged(["warning", "good"], map=0.08).sentence


def test_a_map_better_than_the_ceiling_is_as_good_as_the_answers_allow():
    assert "as good as the answers allow" in judged(map=0.05, map_high=0.06).sentence


def test_without_a_ceiling_the_best_possible_is_not_known():
    unknown = judged(map=0.1, map_high=0.11, ceiling=None)
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
