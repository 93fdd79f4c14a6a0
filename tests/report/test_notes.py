"""What the page says of a run that left something out, in words that must be true."""

import re

import pytest
from sample import color_results, empty_results

from nearer.report._results import checked
from nearer.report.page import assemble

STOPPED = "the run was stopped before its end"


def page_of(results):
    return assemble(checked(results), {})


def section(page, name):
    found = re.search(f'<section id="{name}".*?</section>(?=<section id|\n</main>)', page, flags=re.DOTALL)
    return found and found.group(0)


def test_notes_come_first_and_word_by_word():
    page = page_of(color_results(notes=["answers of 12 people are weighted", "essen.csv was read as <b>"]))
    assert "<bdi>answers of 12 people are weighted</bdi>" in section(page, "notes")
    assert "<bdi>essen.csv was read as &lt;b&gt;</bdi>" in section(page, "notes")
    assert "Notes on this run</h2>" in page
    assert page.index('id="notes"') < page.index('id="map"')


@pytest.mark.parametrize("changes", [{}, {"notes": None}, {"notes": []}])
def test_without_notes_there_is_no_section_of_them(changes):
    assert section(page_of(color_results(**changes)), "notes") is None


def test_the_options_that_leave_something_out_are_named():
    page = page_of(color_results(covariances=None, learning_curve=None, annotators=None))
    assert "nearer fit --help" not in page
    assert "leave out --quick (or --resamples 0)." in section(page, "map")
    for name in ("learning", "annotators"):
        assert "not measured in this run. To have it measured, leave out --quick." in section(page, name)


@pytest.mark.parametrize("note", [STOPPED, "no {part}: there are too few answers"])
@pytest.mark.parametrize(
    ("name", "key", "part"),
    [
        ("map", "covariances", "ellipses"),
        ("trust", "error", "held-out error"),
        ("findings", "findings", "findings"),
        ("learning", "learning_curve", "learning curve"),
        ("annotators", "annotators", "reliability of annotators"),
    ],
)
def test_where_the_notes_say_why_no_option_is_blamed(note, name, key, part):
    words = section(page_of(color_results(notes=[note.format(part=part)], **{key: None})), name)
    assert "The notes on this run say why." in words
    assert "--quick" not in words


def test_a_note_on_another_part_explains_nothing():
    words = section(page_of(color_results(notes=["no ellipses: too few answers"], learning_curve=None)), "learning")
    assert "leave out --quick" in words


def test_ellipses_lost_by_placing_objects_are_not_blamed_on_an_option():
    page = page_of(color_results(covariances=None, notes=["3 objects were placed on the map of 65 others"]))
    assert "no ellipses after placing objects" in section(page, "map")
    assert "--quick" not in section(page, "map")


def test_a_ceiling_that_failed_is_not_blamed_on_the_questions():
    results = color_results(notes=["no noise ceiling: something is wrong"])
    results["error"]["ceiling"] = None
    assert "is not known. The notes on this run say why." in section(page_of(results), "trust")
    assert "Too few questions were asked twice" in section(page_of(results | {"notes": []}), "trust")


def test_a_dimension_that_nobody_chose_is_not_called_given():
    words = section(page_of(color_results(dimension=None)), "dimensions")
    assert "The number of dimensions was not chosen by cross-validation in this run." in words
    assert "given" not in words


def test_the_choice_of_dimensions_is_told_as_it_was_made():
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
