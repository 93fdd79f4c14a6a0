"""Whether more answers would help, as a table of cases."""

import pytest

from nearer.evaluation.ceiling import NoiseCeiling
from nearer.evaluation.curves import trend


@pytest.mark.parametrize(
    ("half", "last", "width", "changes", "kind"),
    [
        (0.2, 0.15, 0.04, {}, "falls"),
        (0.152, 0.15, 0.04, {}, "settled"),
        (0.14, 0.15, 0.04, {}, "settled"),
        (0.165, 0.15, 0.07, {}, "unknown"),  # a tenth, and less than its standard error
        (0.152, 0.15, 0.2, {}, "unknown"),  # an interval that tells nothing
        (0.3, 0.15, 0.2, {}, "falls"),
        (0.152, 0.15, 0.04, {"few": True}, "unknown"),
        (0.2, 0.15, 0.04, {"few": True}, "falls"),
        (0.2, 0.15, 0.04, {"ceiling": NoiseCeiling(0.149, 0.13, 0.17)}, "settled"),
        (0.165, 0.15, 0.07, {"ceiling": NoiseCeiling(0.149, 0.13, 0.17)}, "settled"),
        (0.2, 0.15, 0.04, {"ceiling": NoiseCeiling(0.1, 0.08, 0.12)}, "falls"),
        (0.2, 0.15, 0.04, {"ceiling": NoiseCeiling(0.14, 0.08, 0.16)}, "falls"),  # 7% may still be gained
        (0.37, 0.26, 0.04, {"ceiling": NoiseCeiling(0.39, 0.18, 0.5)}, "falls"),  # a ceiling that may be anywhere
        (0.3, 0.15, 0.2, {"ceiling": NoiseCeiling(0.149, 0.13, 0.17)}, "falls"),  # an error that may be anywhere
        (0.165, 0.15, 0.04, {"fall_errors": [0.005, 0.0]}, "falls"),
        (0.165, 0.15, 0.04, {"fall_errors": [0.012, 0.0]}, "unknown"),
        (0.165, 0.15, 0.04, {"fall_errors": [0.04, 0.0]}, "unknown"),
        (0.155, 0.15, 0.04, {"fall_errors": [0.004, 0.0]}, "settled"),
        (0.155, 0.15, 0.04, {"fall_errors": [0.008, 0.0]}, "unknown"),  # it may have fallen by a tenth
        (0.5, 0.49, 0.08, {}, "guessing"),
        (0.5, 0.42, 0.3, {}, "unknown"),
    ],
)
def test_where_a_curve_leads(half, last, width, changes, kind):
    lows, highs = ([error + side * width / 2 for error in (half, last)] for side in (-1, 1))
    found = trend([300, 600], [half, last], lows, highs, **changes)
    assert found.kind == kind
    assert ("would still make predictions better" in found.sentence) == (kind == "falls")
    assert ("would hardly make predictions better" in found.sentence) == (kind == "settled")


def test_the_error_at_half_of_the_size_is_taken_whatever_lies_between():
    # From the first to the last it falls; from half to all it does not.
    found = trend([50, 500, 1000], [0.4, 0.2, 0.199], [0.38, 0.19, 0.19], [0.42, 0.21, 0.21])
    assert found.kind == "settled"
    assert found.sentence.startswith("From 500 to 1,000 comparisons")


def test_near_the_ceiling_the_gain_that_is_left_is_stated():
    found = trend([300, 600], [0.18, 0.168], [0.17, 0.155], [0.19, 0.18], ceiling=NoiseCeiling(0.157, 0.134, 0.183))
    assert found.sentence.endswith("would hardly make predictions better, by 3.4% of comparisons at most.")


def test_too_few_of_what_is_held_out():
    assert "too few people to know" in trend([300, 600], [0.2, 0.2], [0.1, 0.1], [0.4, 0.4], unit="people").sentence


def test_one_size_tells_nothing():
    assert trend([500], [0.2], [0.18], [0.22]).kind == "unknown"


def test_a_narrower_level_is_no_surer():
    wide = trend([300, 600], [0.17, 0.15], [0.15, 0.13], [0.19, 0.17], 0.95).kind
    assert trend([300, 600], [0.17, 0.15], [0.1636, 0.1436], [0.1764, 0.1564], 0.47).kind == wide
