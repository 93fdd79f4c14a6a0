"""What the page says of a run that left something out, in words that must be true."""

import re
from html import unescape

import numpy as np
import pytest
from helpers.report_sample import color_results, empty_results

from nearer.checking import message_of
from nearer.checking.sample_size import curve_finding, curve_trend
from nearer.evaluation import LearningCurve
from nearer.evaluation.ceiling import NoiseCeiling
from nearer.report.page import assemble
from nearer.study import StudyResults

STOPPED = "the run was stopped before its end"


def page_of(results):
    return assemble(StudyResults.from_dict(results), {})


def section(page, name):
    found = re.search(f'<section id="{name}".*?</section>(?=<section id|\n</main>)', page, flags=re.DOTALL)
    return found and found.group(0)


def test_notes_come_first_and_word_by_word():
    page = page_of(color_results(notes=["answers of 12 people are weighted", "essen.csv was read as <b>"]))
    assert "<bdi>answers of 12 people are weighted</bdi>" in section(page, "notes")
    assert "<bdi>essen.csv was read as &lt;b&gt;</bdi>" in section(page, "notes")
    assert "Notes on this run</h2>" in page
    assert page.index('id="notes"') < page.index('id="map"')


@pytest.mark.parametrize("changes", [{}, {"notes": []}])
def test_without_notes_there_is_no_section_of_them(changes):
    assert section(page_of(color_results(**changes)), "notes") is None


def test_the_options_that_leave_something_out_are_named():
    page = page_of(color_results(covariances=None, learning_curve=None, annotators=None))
    assert "nearer fit --help" not in page
    assert "leave out --quick (or --resamples 0)." in section(page, "map")
    for name in ("learning", "annotators"):
        assert "not measured in this run. To have it measured, leave out --quick." in section(page, name)


LEFT_OUT = [
    ("map", "covariances", "places", "ellipses"),
    ("trust", "error", "error", "held-out error"),
    ("trust", "reproducibility", "distances", "reproducibility of distances"),
    ("findings", "findings", "findings", "findings"),
    ("learning", "learning_curve", "curve", "learning curve"),
    ("annotators", "annotators", "annotators", "reliability of annotators"),
]


@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize(("name", "key", "part", "_"), LEFT_OUT)
def test_where_the_notes_say_why_no_option_is_blamed(stopped, name, key, part, _):
    told = {"interrupted": True} if stopped else {"missing": [part]}
    words = section(page_of(color_results(**told, **{key: None})), name)
    assert "The notes on this run say why." in words
    assert "--quick" not in words


def test_a_note_on_another_part_explains_nothing():
    words = section(page_of(color_results(missing=["places"], learning_curve=None)), "learning")
    assert "leave out --quick" in words


def test_a_page_says_what_was_placed_on_its_map():
    results = color_results()
    results["placed"] = {"objects": results["objects"][-3:], "n_answers": 12_345, "n_unsure": 1}
    results["placed"]["commands"] = ["nearer place old new.csv -o larger"]
    page = page_of(results)
    assert "65 objects · 4,000 answers (triplet) · 3 objects placed by 12,345 answers" in page
    assert "Rings are the 3 objects placed on the map after it was fitted" in section(page, "map")
    assert "1 of them has too few answers, and an ellipse as wide as the map." in section(page, "map")
    assert "nearer place old new.csv" in section(page, "settings")
    assert "The same files, versions, seed and commands give the same map." in section(page, "settings")


@pytest.mark.parametrize("wrong", [["no such object"], color_results()["objects"]])
def test_objects_that_were_placed_are_the_last_of_the_map(wrong):
    with pytest.raises(ValueError, match=r"placed\.objects must be the last of the objects"):
        StudyResults.from_dict(color_results(placed={"objects": wrong}))


@pytest.mark.parametrize(("n_components", "turns"), [(1, False), (2, False), (3, True)])
def test_only_a_map_of_three_axes_is_said_to_turn(n_components, turns):
    words = section(page_of(color_results(n_components)), "map")
    keys = re.search(r'<p class="keys".*?</p>', words, flags=re.DOTALL).group(0)
    assert ("3-D" in keys) == ("turn" in keys) == turns


def test_thousands_are_separated_by_commas_all_over_the_page():
    results = color_results()
    results["source"] |= {"n_answers": 37_234}
    results["summary"] |= {"n_comparisons": 1_234_567}
    results["margins"] = {"edges": [-1, 0, 1], "counts": [20_000, 45_678], "share_negative": 0.1}
    results["learning_curve"] = [{"n_comparisons": size, "error": 0.2} for size in (12_500, 25_000)]
    page = re.sub(r"<script.*?</script>|<style.*?</style>", "", page_of(results), flags=re.DOTALL)
    assert "37,234 answers" in page
    assert "1,234,567" in page
    assert "12,500" in section(page_of(results), "learning")
    assert not re.findall(r"(?<![#\da-f.])\d{5,}(?![\da-f])", page.replace("20261115", ""))


def test_whether_more_answers_help_is_reported_as_the_doctor_tells_it():
    curve = LearningCurve(*np.array([[1000, 2000], [0.152, 0.15], [0.14, 0.14], [0.16, 0.16]]))
    step = [
        dict(zip(("n_comparisons", "error", "low", "high"), row, strict=True))
        for row in zip(*_columns(curve), strict=True)
    ]
    ceiling = NoiseCeiling(0.074, 0.074, 0.074)
    finding = curve_finding(curve_trend(curve, few=False, ceiling=ceiling, level=0.95, unit="answers"))
    assert finding.code == "learned"
    told = {"kind": "settled", "sentence": message_of(finding).text}
    assert message_of(finding).text in unescape(
        section(page_of(color_results(learning_curve=step, trend=told)), "learning")
    )


def _columns(curve):
    return (each.tolist() for each in (curve.sizes, curve.errors, curve.lows, curve.highs))


def test_a_ceiling_that_failed_is_not_blamed_on_the_questions():
    results = color_results(missing=["ceiling"])
    results["error"]["ceiling"] = None
    assert "is not known. The notes on this run say why." in section(page_of(results), "trust")
    assert "Too few questions were asked twice" in section(page_of(results | {"missing": []}), "trust")


def test_a_dimension_that_nobody_chose_is_not_called_given():
    words = section(page_of(color_results(dimension=None)), "dimensions")
    assert "The number of dimensions was not chosen by cross-validation in this run." in words
    assert "given" not in words


def test_the_choice_of_dimensions_is_reported_as_it_was_made():
    words = section(page_of(color_results()), "dimensions")
    assert "2 dimensions were chosen by the rule of one standard error." in words
    assert "error is at most one standard error above the lowest." in words
    assert "Whiskers are one standard error." in words
    assert "dashed" not in words


def test_one_of_anything_is_singular():
    results = color_results(annotators=color_results()["annotators"][:1])
    results["source"] |= {"n_answers": 1}
    results["summary"] |= {"n_comparisons": 1, "n_annotators": 1}
    results["learning_curve"] = [{"n_comparisons": 1, "error": 0.5}]
    results["dimension"] |= {"chosen": 1}
    results["margins"] = {"edges": [-1, 1], "counts": [1], "share_negative": 0.0}
    results["citations"] = results["citations"][:1]
    for n in (1, 2):
        few = {"objects": results["objects"][:n], "embedding": [[float(k)] for k in range(n)], "scree": [1.0]}
        page = page_of(results | few | {"attributes": {}, "covariances": None})
        words = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
        assert re.findall(r"\b1 (?:object|answer|comparison|dimension|work|error|people|work)s?\b", words)
        assert not re.findall(r"\b[01] (?:objects|answers|comparisons|dimensions|works|people)\b|of 1 person ag", words)


def test_one_person_alone_is_not_measured_for_want_of_others():
    results = color_results(annotators=None)
    results["summary"] |= {"n_annotators": 1}
    assert "All answers are of one person" in section(page_of(results), "annotators")


def test_results_without_a_summary_are_a_page():
    assert "with a column of annotators" in section(page_of(empty_results()), "annotators")


@pytest.mark.parametrize(("evidence", "told"), [([0.1, 0.9], "2 dimensions (probability 90%)"), ([1.0], "1 dimension")])
def test_a_posterior_tells_how_probable_its_dimension_is(evidence, told):
    settings = color_results()["settings"] | {"chosen": {"dimension": len(evidence), "dimension_evidence": evidence}}
    page = assemble(StudyResults.from_dict(color_results(settings=settings, dimension=None)), {})
    assert f"The answers call for {told}" in page
    assert f"The posterior called for {told}" in page


def of_posterior(**chosen):
    settings = color_results()["settings"] | {"chosen": chosen}
    return color_results(settings=settings, dimension=None)


def test_a_map_of_fewer_dimensions_than_the_answers_call_for_says_so():
    page = assemble(StudyResults.from_dict(of_posterior(dimension=5, dimension_evidence=[0.0, 0.0, 0.0, 0.2, 0.8])), {})
    assert "The answers call for 5 dimensions (probability 80%). The map shows 2 of them. Predictions use all" in page


def test_a_dimension_that_few_answers_do_not_determine_is_nowhere_reported():
    page = assemble(
        StudyResults.from_dict(of_posterior(dimension=2, dimension_evidence=[0.0, 0.1, 0.1, 0.1, 0.1, 0.2, 0.4])), {}
    )
    assert "The answers call for 2 dimensions. Along more than 2 the places of objects cannot be told apart." in page
    assert "The posterior called for 2 dimensions." in page
    assert "7 dimensions" not in page


@pytest.mark.parametrize("found_by", ["test", "learning curve", "held-out error"])
@pytest.mark.parametrize("given", [None, 2])
def test_guesses_call_for_no_dimension(found_by, given):
    results = of_posterior(dimension=None if found_by == "test" else 2, dimension_evidence=[0.0, 0.1, 0.1, 0.8])
    results["settings"]["run"] = (results["settings"].get("run") or {}) | {"n_components": given}
    if found_by == "learning curve":
        results["findings"] = [
            {"severity": "warning", "code": "no-signal", "title": "No signal", "text": "None.", "examples": []}
        ]
    if found_by == "held-out error":
        results["error"] = {"held_out": 0.45, "low": 0.39, "high": 0.51, "chance": 0.5}
    page = assemble(StudyResults.from_dict(results), {})
    assert "call for" not in page
    assert "called for" not in page
    assert "dimension evidence" not in page
    assert ("No dimension can be determined" in page) == (given is None)
