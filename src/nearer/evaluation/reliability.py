"""Reliability in figures and in words; where the figures come from is told in `nearer.reproducibility`."""

from __future__ import annotations

#: From this reliability on distances can be trusted, and from this one on at least what is near and what is far.
DISTANCES_GOOD, DISTANCES_FAIR = 0.9, 0.6
#: The same for the size of 95% ellipses, as a share of the typical distance between two objects.
ELLIPSES_GOOD, ELLIPSES_FAIR = 0.4, 0.8
_MOST_TIMES = 20  # as many answers: beyond, a number is no advice


def reproduced(reliability: float) -> str:
    """Say how far distances are reproducible.

    Examples
    --------
    >>> reproduced(0.7)
    'would come out alike only roughly with other answers'
    """
    if reliability >= DISTANCES_GOOD:
        return "would come out much the same with other answers"
    if reliability >= DISTANCES_FAIR:
        return "would come out alike only roughly with other answers"
    return "would come out quite differently with other answers"


def stepped_up(half: float, times: float = 2.0) -> float:
    """Return the reliability of so many times the answers: the formula of Spearman and Brown.

    Examples
    --------
    >>> round(stepped_up(0.6), 6), stepped_up(-0.1)
    (0.75, 0.0)
    """
    half = max(half, 0.0)
    return times * half / (1 + (times - 1) * half)


def more_answers(reliability: float) -> str:
    """Say how many answers distances would need to be trusted, as a multiple of those there are.

    Examples
    --------
    >>> more_answers(0.75), more_answers(0.88), more_answers(0.1)
    ('about 3 times as many answers', 'somewhat more answers', 'many more answers')
    """
    times = times_needed(reliability)
    if times < 1.5:
        return "somewhat more answers"
    return f"about {times:.0f} times as many answers" if times <= _MOST_TIMES else "many more answers"


def times_needed(reliability: float, wanted: float = DISTANCES_GOOD) -> float:
    """Return how many times as many answers would bring a reliability to the wanted one.

    Examples
    --------
    >>> round(times_needed(0.75, 0.9), 6), times_needed(0.0)
    (3.0, inf)
    """
    return float("inf") if reliability <= 0 else wanted * (1 - reliability) / (reliability * (1 - wanted))
