"""The smallest error that any map could have, as far as it is known: the noise ceiling and its interval.

It says something only if its interval is informative: no wider than 0.15, and not reaching near chance from an error
that is markedly better. Where it is vague, nothing may be measured by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from nearer.common.words import percent

NEAR_CHANCE = 0.45  # an error that may be above this may be a coin's
SURELY_CHANCE = 0.4  # one that is known to be above this is as good as a coin's
WIDE = 0.15  # an interval beyond this tells little


class Best(NamedTuple):
    """A noise ceiling with its interval.

    Examples
    --------
    >>> Best(0.16, 0.13, 0.18).vague, Best(0.39, 0.18, 0.5).vague
    (False, True)
    """

    error: float
    low: float
    high: float

    @property
    def vague(self) -> bool:
        """Whether the interval leaves open what is possible."""
        return self.high - self.low > WIDE or (self.high >= NEAR_CHANCE and self.low < SURELY_CHANCE)

    @property
    def within(self) -> str:
        """The interval in words."""
        return f"{percent(self.low)} to {percent(self.high)}"

    @classmethod
    def read(cls, figures: Mapping[str, Any]) -> Best | None:
        """Return the ceiling among the figures of findings or results; one without an interval is taken as exact."""
        error = figures.get("ceiling")
        if error is None:
            return None
        low, high = (figures.get(f"ceiling_{end}") for end in ("low", "high"))
        return cls(error, error if low is None else low, error if high is None else high)

    @classmethod
    def known(cls, figures: Mapping[str, Any]) -> Best | None:
        """Return the ceiling among figures, if there is one and it is not vague."""
        found = cls.read(figures)
        return None if found is None or found.vague else found
