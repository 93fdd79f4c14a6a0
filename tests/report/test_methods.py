"""The paragraph for a paper says what the results say, and nothing that they do not."""

import pytest
from helpers.report_sample import color_results, empty_results

from nearer.report.page import assemble
from nearer.report.sections import methods
from nearer.study import StudyResults


def words(results):
    found = methods(StudyResults.from_dict(results))
    return found and " ".join(found["lines"])


def said(**changes):
    return words(color_results(**changes))


def test_data_method_dimension_error_and_regions_are_reported():
    told = said(regions={"kind": "confidence", "n_resamples": 100, "unit": "annotators"})
    assert told.startswith(
        "The 4,000 answers of 12 people about 68 objects (triplet) were read as 4,000 comparisons of distances, "
        "without 12 undecided answers."
    )
    assert (
        "A map of 2 dimensions was fitted with nearer 0.1.0 (seed 20261115) by distributional "
        "margin based ordinal embedding (DMOE)." in told
    )
    assert "Of 1, 2, 3, 4 and 5 dimensions, 2 is the smallest number" in told
    assert (
        "In 5-fold cross-validation that kept trials whole such maps had an error of 0.124 on held-out comparisons"
        in told
    )
    assert "(95% interval 0.113 to 0.136; guessing: 0.500; noise ceiling of" in told
    assert told.endswith(
        "95% confidence regions of the positions, from 100 bootstrap resamples of annotators; they assume that the "
        "dimensions of the map are enough."
    )


def test_the_rule_by_which_drawing_ended_is_reported():
    rule = {"n_chains": 4, "n_draws": 1512, "n_distances": 2278, "rhat": 1.0071, "bulk": 839.2, "tail": 1090.4}
    told = said(convergence=rule | {"max_rhat": 1.01, "min_effective": 400, "tolerance": 0.0002, "is_met": True})
    assert (
        "4 chains drew until R-hat of all 2,278 distances was below 1.01, and their bulk and tail effective sample "
        "sizes above 400 (at most 1.0071, at least 839 and 1,090, of 1,512 draws; Vehtari et al. 2021)." in told
    )
    told = said(convergence=rule | {"tolerance": 0.001, "is_met": False})
    assert "4 chains did not draw until more draws would correct at most 0.1% of predictions; R-hat" in told
    assert "Vehtari" not in said(convergence=None)


CHOSEN = {"name": "TSTE", "parameters": {"trace": 0.03}}


def test_a_method_that_was_chosen_among_several_is_named():
    told = said(regions=None, settings={"method": "BestOf", "chosen": {"method": CHOSEN}})
    assert (
        "by t-distributed stochastic triplet embedding (TSTE) with trace 0.03, which predicted held-out answers best "
        "among several methods." in told
    )
    assert "bootstrap" not in told


def test_a_posterior_has_credible_regions():
    assert said(regions={"kind": "credible"}).endswith("95% credible regions of the positions.")


@pytest.mark.parametrize(
    ("n_dimensions", "ending"),
    [(15, "projected from draws in up to 15 dimensions."), (2, "assume that the dimensions of the map are enough.")],
)
def test_ellipses_of_draws_of_no_more_dimensions_than_the_map_assume_that_these_are_enough(n_dimensions, ending):
    assert said(regions={"kind": "credible", "n_dimensions": n_dimensions}).endswith(ending)


@pytest.mark.parametrize(
    ("key", "gone"),
    [("error", "cross-validation"), ("dimension", "standard error"), ("covariances", "Ellipses"), ("seed", "seed")],
)
def test_what_was_not_measured_is_not_mentioned(key, gone):
    assert gone in said()
    assert gone not in said(**{key: None})


def test_without_a_method_there_is_no_paragraph():
    assert words(empty_results()) is None


def test_a_name_is_no_markup():
    page = assemble(StudyResults.from_dict(color_results(settings={"method": "<b>DMOE</b>"})), {})
    found = page[page.index('<section id="methods"') :].partition("</section>")[0]
    assert "<b>" not in found
    assert "&lt;b&gt;DMOE" in found


def test_the_method_that_dimensions_were_chosen_by_is_named():
    how = {"rule": "one standard error", "method": {"name": "SOE"}}
    told = said(dimension={"candidates": [1, 2, 4], "errors": [0.3, 0.1, 0.1], "chosen": 2} | how)
    assert (
        "Of 1, 2 and 4 dimensions, 2 is the smallest number in which the held-out error of maps by soft ordinal "
        "embedding (SOE) lies" in told
    )


@pytest.mark.parametrize("of", ["comparisons", "trials"])
def test_what_was_resampled_is_named(of):
    regions = {"kind": "confidence", "n_resamples": 1000, "unit": of}
    assert f"from 1,000 bootstrap resamples of {of};" in said(regions=regions)


@pytest.mark.parametrize("weighed", [True, False])
def test_weights_of_people_are_reported(weighed):
    told = said(settings={"method": "CKL", "run": {"weigh_annotators": weighed}, "weighed": True})
    assert ("weighted by the reliability" in told) == weighed


def test_where_all_people_count_alike_nobody_is_said_to_count_less():
    run = {"weigh_annotators": True}
    assert "weighted by the reliability" not in said(settings={"method": "CKL", "run": run, "weighed": False})
    assert "weighted by the reliability" in said(settings={"method": "CKL", "run": run, "weighed": True})


def test_after_placing_the_figures_are_reported_to_be_of_the_map_before():
    last = color_results()["objects"][-2:]
    told = said(placed={"objects": last, "n_answers": 40})
    assert told.startswith("The 4,000 answers of 12 people about 66 objects (triplet)")
    assert "2 further objects were placed on that map by 40 further answers" in told
    assert told.endswith("no figure above takes them in.")


def test_reproducibility_is_reported_with_its_formula():
    assert (
        "Spearman correlations of the distances on maps of two halves of whole trials (mean of 5 random splits), "
        "stepped up to all answers by the Spearman-Brown formula, gave a reliability of 0.94." in said()
    )
    assert "Spearman" not in said(reproducibility=None)


def test_one_is_no_plural():
    source = {"kind": "triplet", "n_answers": 1, "n_bad": 1, "n_undecided": 1}
    summary = {"n_objects": 68, "n_comparisons": 1}
    assert said(source=source, summary=summary).startswith(
        "The 1 answer about 68 objects (triplet) was read as 1 comparison of distances, "
        "without 1 undecided answer and 1 row that could not be read."
    )


def test_a_level_is_not_rounded():
    assert "97.5% interval" in said(level=0.975)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "CKL", "run": [1]},
        {"method": "BestOf", "chosen": {"method": ["CKL"]}},
    ],
)
def test_damaged_settings_are_refused(settings):
    with pytest.raises(ValueError, match=r"settings\."):
        StudyResults.from_dict(color_results(settings=settings))


def test_the_ceiling_has_its_interval_where_it_is_known():
    error = color_results()["error"]
    assert "share: 0.074)." in said(error=error)
    assert "share: 0.074, 95% interval 0.061 to 0.090)." in said(
        error=error | {"ceiling_low": 0.061, "ceiling_high": 0.09}
    )


def test_people_at_chance_are_mentioned():
    flagged = {
        "severity": "warning",
        "code": "at-chance",
        "title": "2 people answer at chance",
        "text": "Look at them.",
    }
    assert "2 people answer at chance, judged by maps of the others; no answers were left out for it." in said(
        findings=[flagged]
    )
    assert "at chance" not in said(findings=[])
