"""What a study is: objects, the shape of their map, how people are asked and how often they are wrong.

Every way of asking comes down to one rule. An answer shows some *pairs* of objects; the person feels a distance for
each and puts the pairs in order, nearest first; the answer tells part of that order: which *ranks* are nearer than
which. The odd one of three tells that the first pair comes before the second and the third; the most central of three
that the first and the second come before the third; a ranking tells it all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import percent, pluralize
from nearer._common.parameters import check_integer
from nearer.io.answers import Kind

NoiseModel: TypeAlias = Literal["close-calls", "guesses"]
Against: TypeAlias = Literal["answers", "truth"]

# Principal variances of maps of seven real sets fell as k^-1.1 by t-STE and as k^-2.6 by CKL, in the median; the
# extremes were 0.3 and 3.7.
DECAY = 2.0
#: That are simulated: more take hours, and gigabytes.
MOST_COMPARISONS = 10_000_000
_GRIDS = ("grid", "ranked-grid")
_MOST = {"n_objects": 100_000, "n_components": 1000, "n_annotators": 1_000_000, "n_shown": 50, "n_chosen": 50}


@dataclass(frozen=True)
class Design:
    """What a study is like: its objects, the people and how they are asked.

    Attributes
    ----------
    n_objects, n_components : int
        n objects, whose true map has p dimensions.
    noise : float in [0, 0.5)
        Share of comparisons that are answered wrongly. `estimate_noise` finds it from a pilot study.
    kind : str
        How people are asked, as in `nearer.io.Answers`.
    noise_model : {"close-calls", "guesses"}
        People feel each distance with an error in proportion to it, so that close calls are wrong more often: a
        question is answered rightly with probability 1 / (1 + (d2(near) / d2(far))^s), where s follows from the noise.
        Or they guess twice as many answers as are wrong, whatever the distances.
    decay : float >= 0
        The true points are Gaussian, and their k-th principal variance is k^-decay. 0 is a round cloud, in which no
        direction matters more than another and which takes the most answers. Maps of real answers had 0.3 to 3.7.
    n_annotators : int, optional
        The sharpness of each, or how often each guesses, is lognormal with a spread of one half. Without: all alike.
    n_shown, n_chosen : int, optional
        Objects beside the anchor in a ranking (3) or grid (6), and how many of these are chosen in a grid (2).

    Examples
    --------
    >>> Design(30, 2, kind="ranking", n_shown=4).comparisons_per_answer
    6
    """

    n_objects: int
    n_components: int
    noise: float = 0.1
    kind: Kind = "triplet"
    noise_model: NoiseModel = "close-calls"
    decay: float = DECAY
    n_annotators: int | None = None
    n_shown: int | None = None
    n_chosen: int | None = None

    def __post_init__(self) -> None:
        self._check_counts()
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind={self.kind!r} is none of {', '.join(get_args(Kind))}")
        if self.noise_model not in get_args(NoiseModel):
            raise ValueError(f"noise_model={self.noise_model!r} is none of {', '.join(get_args(NoiseModel))}")
        if not 0 <= self.noise < 0.5:
            raise ValueError(f"noise={self.noise} must be in [0, 0.5): one half is answering at random")
        if not (np.isfinite(self.decay) and self.decay >= 0):
            raise ValueError(f"decay={self.decay} must be 0 or more")
        shown, chosen = self.shown_and_chosen
        if (self.n_shown, self.n_chosen) != (None, None) and self.kind not in ("ranking", *_GRIDS):
            raise ValueError(f"n_shown and n_chosen are for rankings and grids; a {self.kind} has no choice of them")
        if self.n_chosen is not None and self.kind == "ranking":
            raise ValueError("a ranking has no n_chosen; all objects shown are put in order")
        if not 1 <= chosen < shown:
            raise ValueError(f"n_chosen={chosen} of n_shown={shown}: at least one is chosen and one is not")
        if self.n_objects < self.n_seen:
            raise ValueError(
                f"one {self.kind} answer shows {self.n_seen} objects, but n_objects={self.n_objects}; take more objects"
            )
        if self.n_components >= self.n_objects:
            raise ValueError(
                f"{pluralize(self.n_objects, 'object')} have a map of {self.n_objects - 1} dimensions at most, "
                f"got {self.n_components}; take fewer (--dimensions, n_components)"
            )

    def _check_counts(self) -> None:
        for name, most in _MOST.items():
            value = getattr(self, name)
            if value is not None or name in ("n_objects", "n_components"):
                check_integer(name, value, 1, most)

    def check_answers(self, n_answers: int, name: str = "n_answers") -> None:
        """Refuse a number of answers that is none, or more than can be simulated."""
        check_integer(name, n_answers, 1, MOST_COMPARISONS // self.comparisons_per_answer)

    def __str__(self) -> str:
        model = "most of them close calls" if self.noise_model == "close-calls" else "guessed whatever the distances"
        shape = "all axes alike" if self.decay == 0 else f"the k-th axis has a variance of k^-{self.decay:g}"
        wrong = f"{percent(self.noise)} of them wrong, {model}" if self.noise else "none of them wrong"
        return f"{self.of_objects} ({shape}), with {self.kind} answers, {wrong}"

    @property
    def of_objects(self) -> str:
        """Objects and dimensions in words."""
        return f"of {pluralize(self.n_objects, 'object')} in {pluralize(self.n_components, 'dimension')}"

    @property
    def shown_and_chosen(self) -> tuple[int, int]:
        """Objects shown beside the anchor, and how many are chosen."""
        shown = (6 if self.kind in _GRIDS else 3) if self.n_shown is None else self.n_shown
        return shown, 2 if self.n_chosen is None and self.kind in _GRIDS and shown > 2 else self.n_chosen or 1

    @property
    def n_seen(self) -> int:
        """How many objects one answer is about."""
        return int(self.pairs.max()) + 1

    @property
    def pairs(self) -> NDArray[np.intp]:
        """Which of the objects seen form the pairs that are put in order, shape (pairs, 2).

        Examples
        --------
        >>> Design(30, 2, kind="odd-one-out").pairs.tolist()
        [[0, 1], [0, 2], [1, 2]]
        """
        if self.kind == "quadruplet":
            return np.array([[0, 1], [2, 3]])
        if self.kind in ("odd-one-out", "most-central"):
            return np.array([[0, 1], [0, 2], [1, 2]])
        others = 2 if self.kind == "triplet" else self.shown_and_chosen[0]
        return np.array([[0, other] for other in range(1, others + 1)])

    @property
    def ranks(self) -> NDArray[np.intp]:
        """Which ranks an answer tells to be nearer than which, shape (comparisons, 2).

        Examples
        --------
        >>> Design(30, 2, kind="odd-one-out").ranks.tolist(), Design(30, 2, kind="most-central").ranks.tolist()
        ([[0, 1], [0, 2]], [[0, 2], [1, 2]])
        """
        n_pairs = len(self.pairs)
        first, second = np.triu_indices(n_pairs, 1)
        if self.kind == "odd-one-out":
            told = first == 0
        elif self.kind == "most-central":
            told = second == n_pairs - 1
        elif self.kind == "grid":
            chosen = self.shown_and_chosen[1]
            told = (first < chosen) & (second >= chosen)
        elif self.kind == "ranked-grid":
            told = first < self.shown_and_chosen[1]
        else:
            told = np.ones(len(first), dtype=bool)
        ranks: NDArray[np.intp] = np.column_stack([first, second])[told]
        return ranks

    @property
    def comparisons_per_answer(self) -> int:
        """How many comparisons follow from one answer."""
        return len(self.ranks)
