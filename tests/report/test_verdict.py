"""The one rule of trust, as a table of cases, and the three lines that it is stated in."""

import pytest
from helpers.report_sample import color_results, empty_results, weights_results

from nearer.report.verdict import more_to_ask, share_of_way, verdict
from nearer.study import StudyResults

GOOD, FAIR, POOR = 0.08, 0.2, 0.3  # errors of maps, where chance is 0.5 and the ceiling 0.074
NOT_CONVERGED = {"severity": "warning", "code": "not-converged", "title": "t", "text": "t"}
VAGUE = {"ceiling": 0.39, "ceiling_low": 0.177, "ceiling_high": 0.5}


def about_people(code, *people):
    return {"severity": "warning", "code": code, "title": "t", "text": "t", "concerned": people}


def judged(
    map=GOOD,
    reliability=0.95,
    ellipses=0.1,
    findings=(),
    flags=(),
    reliability_low=None,
    people=True,
    summary=None,
    **error,
):
    results = color_results(
        findings=[
            {"severity": each, "title": "t", "text": "t"} if isinstance(each, str) else each for each in findings
        ],
        ellipse_size=ellipses,
        **({} if summary is None else {"summary": summary}),
    )
    results["error"] |= {"map": map, "map_low": map, "map_high": map} | error
    results["reproducibility"] = None if reliability is None else {"reliability": reliability, "low": reliability_low}
    results["annotators"] = [{"name": "A", "flags": list(flags)}, {"name": "B", "flags": []}] if people else None
    return verdict(StudyResults.from_dict(results))


@pytest.mark.parametrize(
    ("case", "trust", "advice"),
    [
        ({}, "good", "Next: you can trust this map."),
        ({"ellipses": None}, "good", "Next: you can trust this map."),
        ({"findings": ["note", "good"]}, "good", "Next: you can trust this map."),
        ({"findings": ["warning"]}, "fair", "Next: read the warning; then you can trust this map."),
        ({"flags": ["answers in reverse"]}, "fair", "look at the person who is flagged; then you can trust this map."),
        (
            {"findings": ["warning", "warning"], "flags": ["answers in reverse"]},
            "fair",
            "Next: read the 2 warnings and look at the person who is flagged; then you can trust this map.",
        ),
        (
            {"people": False},
            "fair",
            "judge people by maps of the others (without --quick); then you can trust this map.",
        ),
        ({"reliability": 0.89}, "fair", "use its predictions, and its distances only roughly; for these ask for"),
        ({"ellipses": 0.5}, "fair", "and its distances only roughly"),
        ({"reliability_low": 0.4}, "fair", "and its distances only roughly"),
        ({"reliability": 0.5}, "fair", "but not its distances; for these ask for about 9 times as many answers"),
        ({"ellipses": 0.9}, "fair", "but not its distances"),
        (
            {"reliability": 0.5, "findings": ["warning", "warning"], "flags": ["answers in reverse"]},
            "fair",
            "\nAlso: read the 2 warnings and look at the person who is flagged.",
        ),
        ({"reliability": None}, "fair", "use its predictions; nothing is known of its distances."),
        ({"map": FAIR}, "fair", "trust the broad layout, but not who is the nearest neighbor of whom"),
        ({"map": FAIR, "reliability": 0.5}, "poor", "trust neither the layout nor the distances yet"),
        ({"map": POOR}, "poor", "read this map with caution, it is wrong too often"),
        ({"map": 0.45}, "poor", "read this map with caution, it is wrong too often"),
        ({"map": POOR, "findings": ["warning"]}, "poor", "\nAlso: read the warning."),
        ({"findings": [NOT_CONVERGED]}, "fair", "--set solver=thorough.\nAlso: read the warning."),
        ({"map": 0.46, "map_low": 0.42, "map_high": 0.5}, "poor", "Next: do not use this map"),
        ({"map": 0.44, "map_low": 0.42, "map_high": 0.46, "ceiling": 0.45}, "poor", "it is wrong too often"),
        # Intervals decide, not the figures inside them.
        ({"map": POOR, "map_high": 0.5}, "unknown", "Next: do not rely on this map yet"),
        ({"map": 0.31, "map_low": 0.16, "map_high": 0.54} | VAGUE, "unknown", "do not rely on this map yet"),
        ({"map": 0.23, "map_low": 0.14, "map_high": 0.34} | VAGUE, "unknown", "do not rely on this map yet"),
        ({"map": 0.2, "map_low": 0.1, "map_high": 0.46}, "unknown", "do not rely on this map yet"),
        ({"map": 0.31, "map_low": 0.28, "map_high": 0.34} | VAGUE, "poor", "it is wrong too often"),
        ({"map": GOOD, "map_high": 0.23}, "fair", "who is the nearest neighbor of whom"),
        ({"map": 0.16, "ceiling": 0.16, "ceiling_low": 0.03, "ceiling_high": 0.17}, "good", "you can trust this map."),
        ({"map": 0.18, "ceiling": 0.16, "ceiling_low": 0.03, "ceiling_high": 0.17}, "fair", "nearest neighbor of whom"),
        ({"findings": ["error", "error"]}, "poor", "resolve the 2 errors before you rely on this map."),
        ({"findings": ["error"], "reliability": 0.99}, "poor", "resolve the error before you rely on this map."),
    ],
)
def test_the_map_is_trusted_if_predictions_and_distances_are_good_and_nothing_contradicts(case, trust, advice):
    found = judged(**case)
    assert found.trust == trust
    assert advice in "\n".join(found.lines[2:])
    assert (found.lines[2] == "Next: you can trust this map.") == (trust == "good")


@pytest.mark.parametrize(
    ("finding", "advice"),
    [
        (about_people("at-chance", "p07"), "the person who is flagged (--exclude person=p07)"),
        (about_people("at-chance", "p 7", "p08"), "the 2 people who are flagged (--exclude 'person=p 7,p08')"),
        (about_people("too-fast", *"abcd"), "the 4 people who are flagged (--exclude person=...)"),
        (
            about_people("copies", "p07", "p08"),
            "flagged people, but for one of each with the same answers (--exclude person=...)",
        ),
    ],
)
def test_no_trust_is_promised_of_a_map_of_answers_that_are_to_be_left_out(finding, advice):
    found = judged(findings=[finding], flags=["answers at chance"])
    assert found.trust == "fair"
    assert found.lines[2:] == (f"Next: read the warning and fit again without {advice}.",)
    assert "trust" not in str(found)
    limited = judged(findings=[finding], flags=["answers at chance"], reliability=0.5)
    assert limited.lines[3] == f"Also: read the warning and fit again without {advice}."


def test_no_line_is_too_long_to_read():
    counts = {"n_triads": 1329, "n_possible_triads": 7770}
    findings = [about_people("at-chance", "person7", "person8"), *["warning"] * 3]
    found = judged(reliability=0.75, findings=findings, flags=["answers at chance"], ellipses=0.5, summary=counts)
    assert max(map(len, found.lines)) <= 165


def test_the_lines_have_the_figures_of_both_parts():
    predictions, distances, _ = judged().lines
    ceiling = "(guessing: 50%, noise ceiling: 7.4%)"
    assert predictions == f"Predictions are good: the map gets 8% of unseen comparisons wrong {ceiling}."
    assert distances == "Distances are reproducible: other answers would give much the same ones (reliability 0.95)."


def test_nothing_is_said_of_distances_that_were_not_measured():
    results = color_results(findings=[], annotators=None, reproducibility=None, ellipse_size=None)
    results["error"]["map"] = results["error"]["map_high"] = GOOD
    assert verdict(StudyResults.from_dict(results)).lines[1] == "Whether distances are reproducible is not known."


def test_after_placing_the_verdict_is_about_the_map_before():
    results = color_results()
    results["placed"] = {"objects": results["objects"][-2:], "n_answers": 40}
    assert (
        verdict(StudyResults.from_dict(results))
        .lines[0]
        .startswith("2 objects were placed on a map of 66, and what follows is about that map, without them. ")
    )


@pytest.mark.parametrize("reliability", [0.02, 0.5])
def test_a_low_reliability_stands_beside_no_reassuring_figure(reliability):
    line = judged(reliability=reliability, ellipses=0.05).lines[1]
    assert line == f"Distances are not reproducible (reliability {reliability:.2f})."


def test_at_chance_no_reliability_reassures():
    found = judged(map=0.47, map_low=0.44, map_high=0.51, reliability=0.97)
    assert found.lines[0].startswith("Predictions are no better than guessing: ")
    assert found.lines[1] == "Distances mean nothing where predictions may be no better than guessing."


def test_large_ellipses_are_named_where_the_reliability_does_not_tell():
    assert "a typical place is known only to within 50% of the typical distance" in judged(ellipses=0.5).lines[1]


def test_a_vague_ceiling_or_a_wide_error_promises_nothing():
    vague = judged(map=0.31, map_low=0.29, map_high=0.33, **VAGUE)
    assert "noise ceiling" not in vague.lines[0]
    wide = judged(map=0.31, map_low=0.16, map_high=0.54, **VAGUE)
    assert "anything from 16% to 54% is possible with so few answers" in wide.lines[0]
    for each in (vague, wide):
        assert "trust" not in str(each)


def test_what_is_too_few_is_what_was_held_out():
    assert "with so few people" in judged(map=0.31, map_low=0.16, map_high=0.54, unit="annotators").lines[0]


def test_without_a_map_error_the_whole_solution_is_judged():
    assert "11% of unseen" in judged(map=None, map_low=None, map_high=None).lines[0]


def test_without_errors_nothing_is_claimed():
    assert verdict(StudyResults.from_dict(empty_results())).trust == "unknown"


def test_other_questions_are_asked_for_until_most_were_asked():
    def asked(n_triads):
        counts = {"n_triads": n_triads, "n_possible_triads": 7770}
        return more_to_ask(StudyResults.from_dict(empty_results(reproducibility={"reliability": 0.5}, summary=counts)))

    assert "to other questions (1,329 of 7,770 triads were asked)" in asked(1329)
    assert "of more people (7,000 of 7,770 triads were asked already)" in asked(7000)


@pytest.mark.parametrize("ceiling", [None, 0.0, 0.1, 0.5])
def test_the_way_leads_from_chance_to_the_ceiling(ceiling):
    assert share_of_way(0.5, ceiling, 0.5) == 0
    assert share_of_way(ceiling or 0.0, ceiling, 0.5 + 1e-6) == pytest.approx(1)


@pytest.mark.parametrize(
    ("reproducibility", "grade", "words"),
    [
        ([0.9, 0.8, 0.6, 0.4], "good", "4 dimensions are reproducible"),
        ([0.9, 0.8, 0.1, 0.1], "fair", "2 of 4 dimensions are reproducible"),
        ([0.9, 0.1, 0.1, 0.1], "poor", "1 of 4 dimensions is reproducible"),
        ([0.1, 0.1, 0.1, 0.1], "poor", "None of 4 dimensions is reproducible"),
        (None, "unknown", "4 dimensions of unknown reproducibility"),
    ],
)
def test_dimensions_are_judged_by_their_reproducibility(reproducibility, grade, words):
    results = weights_results()
    results["weights"]["reproducibility"] = reproducibility
    found = verdict(StudyResults.from_dict(results))
    assert found.distances == grade
    assert found.lines[1].startswith(words)
    assert "istance" not in " ".join(found.lines)
