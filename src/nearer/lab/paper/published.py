"""What the paper reports: errors on held-out triplets, with ties counted as satisfied, over 20 trials.

Its tables have no column for 500 comparisons. GNMDS, STE and TSTE are the rank-limited GNMDS-p, STE-p and TSTE-p.
"""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """Minimum, median, maximum and standard deviation of the error."""

    min: float
    median: float
    max: float
    std: float


def published(experiment: str, size: int, method: str) -> Published | None:
    """Return what the paper reports for this case, if it does.

    Examples
    --------
    >>> published("music", 1000, "DMOE").median
    0.291
    >>> published("music", 500, "DMOE") is None
    True
    """
    return _TABLES.get((experiment, size), {}).get(method)


_TABLES = {
    ("synthetic", 200): {
        "GNMDS": Published(0.419, 0.447, 0.476, 0.016),
        "STE": Published(0.397, 0.426, 0.461, 0.016),
        "TSTE": Published(0.440, 0.468, 0.498, 0.014),
        "DMOE": Published(0.372, 0.390, 0.410, 0.011),
    },
    ("synthetic", 1000): {
        "GNMDS": Published(0.318, 0.341, 0.359, 0.009),
        "STE": Published(0.375, 0.385, 0.401, 0.007),
        "TSTE": Published(0.426, 0.441, 0.466, 0.011),
        "DMOE": Published(0.281, 0.298, 0.305, 0.008),
    },
    ("synthetic", 10000): {
        "GNMDS": Published(0.143, 0.147, 0.154, 0.007),
        "STE": Published(0.219, 0.234, 0.251, 0.007),
        "TSTE": Published(0.238, 0.257, 0.271, 0.011),
        "DMOE": Published(0.142, 0.146, 0.151, 0.008),
    },
    ("music", 200): {
        "GNMDS": Published(0.391, 0.403, 0.416, 0.007),
        "STE": Published(0.444, 0.455, 0.475, 0.008),
        "TSTE": Published(0.416, 0.436, 0.458, 0.011),
        "DMOE": Published(0.372, 0.385, 0.400, 0.007),
    },
    ("music", 1000): {
        "GNMDS": Published(0.307, 0.317, 0.332, 0.007),
        "STE": Published(0.397, 0.415, 0.429, 0.007),
        "TSTE": Published(0.377, 0.389, 0.406, 0.007),
        "DMOE": Published(0.281, 0.291, 0.307, 0.007),
    },
    ("music", 5000): {
        "GNMDS": Published(0.225, 0.239, 0.257, 0.006),
        "STE": Published(0.252, 0.275, 0.294, 0.011),
        "TSTE": Published(0.243, 0.259, 0.297, 0.013),
        "DMOE": Published(0.216, 0.227, 0.244, 0.007),
    },
}
