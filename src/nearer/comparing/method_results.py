"""What comes out of a comparison of methods, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass

from nearer._common.formatting import decimals, format_interval, format_level
from nearer.data.groups import By

_HEAD = ("method", "error", "interval", "less the first", "interval", "p (Holm)", "log loss", "seconds")


@dataclass(frozen=True)
class MethodScore:
    """How well one method predicts held-out answers.

    Attributes
    ----------
    name : str
    error, low, high : float
        Of what `predict` uses, with its interval.
    map_error : float
        Of the map, `embedding_`.
    log_loss : float
        Mean of minus the logarithm of the probability of each held-out answer; guessing has 0.693.
    seconds : float
        Of one fit, on average.
    difference, difference_low, difference_high : float or None
        Its error less that of the first method, with the interval of that; None for the first.
    p_value, p_holm : float or None
        Of no difference: by itself, and corrected for the number of methods.

    Examples
    --------
    >>> MethodScore("STE", 0.2, 0.18, 0.22, 0.2, 0.45, 0.3, None, None, None, None, None).error
    0.2
    """

    name: str
    error: float
    low: float
    high: float
    map_error: float
    log_loss: float
    seconds: float
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    p_value: float | None
    p_holm: float | None


@dataclass(frozen=True)
class MethodComparison:
    """Methods, judged by the same held-out answers.

    Attributes
    ----------
    methods : tuple of MethodScore
        In the order in which they were given; differences are to the first.
    n_folds, n_wanted : int
        Folds that all methods were judged by, and those that were asked for: fewer after Ctrl-C.
    by : {"trials", "annotators", "questions"}
        What folds keep whole.
    unit : {"trials", "annotators", "questions"}
        What intervals take as independent.
    n_answers : int
        Comparisons that were judged.
    level : float
        Of the intervals.

    Examples
    --------
    >>> ste = MethodScore("STE", 0.2, 0.18, 0.22, 0.2, 0.45, 0.3, None, None, None, None, None)
    >>> soe = MethodScore("SOE", 0.21, 0.19, 0.23, 0.21, 0.5, 0.2, 0.01, -0.01, 0.03, 0.3, 0.3)
    >>> print(MethodComparison((ste, soe), 5, 5, "trials", "annotators", 400, 0.95))
    method  error  interval        less the first  interval         p (Holm)  log loss  seconds
    STE     0.200  0.180 to 0.220                                             0.450     0.30
    SOE     0.210  0.190 to 0.230  +0.010          -0.010 to 0.030  0.3       0.500     0.20
    95% intervals; 400 comparisons held out in 5 folds of whole trials; people are taken as independent
    """

    methods: tuple[MethodScore, ...]
    n_folds: int
    n_wanted: int
    by: By
    unit: By
    n_answers: int
    level: float

    @property
    def best(self) -> str:
        """The method with the smallest error, for what that is worth: see the intervals."""
        return min(self.methods, key=lambda score: score.error).name

    @property
    def interrupted(self) -> bool:
        """Whether there are fewer folds than were asked for."""
        return self.n_folds < self.n_wanted

    def __str__(self) -> str:
        rows = [_HEAD, *map(_row, self.methods)]
        widths = [max(len(row[k]) for row in rows) for k in range(len(_HEAD))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        unit = "people" if self.unit == "annotators" else self.unit
        whole = "people" if self.by == "annotators" else self.by
        stopped = f" of {self.n_wanted}, as the run was stopped," if self.interrupted else ""
        lines.append(
            f"{format_level(self.level)} intervals; {self.n_answers} comparisons held out in {self.n_folds} "
            f"folds{stopped} "
            f"of whole {whole}; {unit} are taken as independent"
        )
        return "\n".join(lines)


def _row(score: MethodScore) -> tuple[str, ...]:
    return (
        score.name,
        decimals(score.error),
        format_interval(score.low, score.high),
        "" if score.difference is None else f"{score.difference:+.3f}",
        format_interval(score.difference_low, score.difference_high),
        "" if score.p_holm is None else f"{score.p_holm:.2g}",
        decimals(score.log_loss),
        f"{score.seconds:.2f}",
    )
