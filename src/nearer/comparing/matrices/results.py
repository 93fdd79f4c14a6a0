"""What comes out of a comparison of a map with models, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass

from nearer._common.formatting import format_level
from nearer.comparing.matrices.ceiling import NoiseCeilingOfMatrix
from nearer.comparing.matrices.measures import NAMES, Measure


@dataclass(frozen=True)
class ModelFit:
    """How well one model explains the distances of a map.

    Attributes
    ----------
    name : str
    estimate, low, high : float
        By the measure of the comparison, with its interval over objects.
    people_low, people_high : float or None
        Its interval over people, where there are maps of resampled people.
    p_value : float
        Of the Mantel test.
    measures : dict of str to float
        The estimate by every measure.
    ties : float
        The share of pairs of its distances that are equal.

    Examples
    --------
    >>> ModelFit("pitch", 0.8, 0.7, 0.9, None, None, 0.001, {"spearman": 0.8}, 0.0).estimate
    0.8
    """

    name: str
    estimate: float
    low: float
    high: float
    people_low: float | None
    people_high: float | None
    p_value: float
    measures: dict[str, float]
    ties: float


@dataclass(frozen=True)
class ModelDifference:
    """By how much one model explains the distances better than another.

    Attributes
    ----------
    first, second : str
    difference, low, high : float
        First less second, with its interval over objects.
    p_value, p_holm : float
        Over objects: by itself, and corrected for all pairs of models.
    people_low, people_high, people_p : float or None
        The same over people, not corrected.

    Examples
    --------
    >>> ModelDifference("pitch", "loudness", 0.2, 0.1, 0.3, 0.002, 0.004).difference
    0.2
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    p_value: float
    p_holm: float
    people_low: float | None = None
    people_high: float | None = None
    people_p: float | None = None


@dataclass(frozen=True)
class MatrixComparison:
    """A matrix of distances and models of it.

    Attributes
    ----------
    models : tuple of ModelFit
        In the order in which they were given.
    differences : tuple of ModelDifference
        Of all pairs of models.
    ceiling : NoiseCeilingOfMatrix or None
    measure : {"spearman", "kendall", "tau-a", "pearson"}
    n_objects, n_pairs : int
        That all matrices know.
    level : float
        Of the intervals.
    notes : tuple of str
        What a reader should know.

    Examples
    --------
    >>> pitch = ModelFit("pitch", 0.8, 0.7, 0.9, None, None, 0.001, {"spearman": 0.8, "kendall": 0.6}, 0.0)
    >>> print(MatrixComparison((pitch,), (), NoiseCeilingOfMatrix(0.81, 0.9), "spearman", 12, 66, 0.95))
    Spearman's correlation over 66 pairs of 12 objects
    pitch: 0.800 (95% interval over objects 0.700 to 0.900); Mantel test p = 0.001; kendall 0.600
    noise ceiling: 0.810 to 0.900; pitch may reach it
    """

    models: tuple[ModelFit, ...]
    differences: tuple[ModelDifference, ...]
    ceiling: NoiseCeilingOfMatrix | None
    measure: Measure
    n_objects: int
    n_pairs: int
    level: float
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{NAMES[self.measure]} over {self.n_pairs} pairs of {self.n_objects} objects"]
        for model in self.models:
            people = (
                "" if model.people_low is None else f", over people {model.people_low:.3f} to {model.people_high:.3f}"
            )
            others = ", ".join(f"{key} {value:.3f}" for key, value in model.measures.items() if key != self.measure)
            lines += [
                f"{model.name}: {model.estimate:.3f} ({format_level(self.level)} interval over objects "
                f"{model.low:.3f} to "
                f"{model.high:.3f}{people}); Mantel test p = {model.p_value:.2g}; {others}"
            ]
        if self.ceiling is not None:
            lines.append(f"noise ceiling: {self.ceiling.low:.3f} to {self.ceiling.high:.3f}{self._reached()}")
        for each in self.differences:
            people = (
                ""
                if each.people_low is None
                else f"; over people {each.people_low:.3f} to {each.people_high:.3f}, p = {each.people_p:.2g}"
            )
            lines.append(
                f"{each.first} less {each.second}: {each.difference:+.3f} (over objects {each.low:.3f} to "
                f"{each.high:.3f}, p = {each.p_holm:.2g} after Holm{people})"
            )
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _reached(self) -> str:
        assert self.ceiling is not None
        there = [model.name for model in self.models if model.high >= self.ceiling.low]
        return f"; {', '.join(there)} may reach it" if there else "; every model leaves something unexplained"
