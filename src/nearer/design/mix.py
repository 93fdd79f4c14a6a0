"""What questions are asked for, and the mix of them: chosen, random, repeated and catch questions.

Most questions are chosen for the information of their answers. Chosen questions are harder than others, so a share is
drawn at random and gives an unbiased error; a share repeats random questions, which gives the noise ceiling; catch
trials, whose answer is obvious, come on top and show who attends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nearer._common.parameters import check_integer, check_number

START, INFORMATION, TEST, REPEAT = "start", "information", "test", "repeat"
OTHER, AGAIN = "other", "again"
CATCH, PRACTICE = "catch", "practice"
#: What an answer counts as: one that nobody asked for is "other", the second of a person to a question is "again".
PURPOSES = (START, INFORMATION, TEST, REPEAT, OTHER, AGAIN)


@dataclass(frozen=True)
class QuestionMix:
    """The mix of questions by purpose, and the purpose of the next one.

    Shares hold over a stream of questions (`next_purpose`), over lists that are made in advance (`counts_by_list`), or
    on average over participants who are independent of each other (`purpose_at`).

    Parameters
    ----------
    test_share, repeat_share : float
        Share drawn at random, for an unbiased error; share of these that is asked again, for the noise ceiling.
    n_catch, n_practice : int
        Catch trials of each participant, in addition to the other questions; practice trials before all others.

    Examples
    --------
    >>> mix = QuestionMix(test_share=0.25, repeat_share=0.25)
    >>> mix.chosen_share
    0.5
    >>> mix.next_purpose({"test": 1, "information": 2})
    'repeat'
    """

    test_share: float = 0.1
    repeat_share: float = 0.05
    n_catch: int = 0
    n_practice: int = 0

    def __post_init__(self) -> None:
        for name in ("test_share", "repeat_share"):
            check_number(name, getattr(self, name), least=0)
        for name in ("n_catch", "n_practice"):
            check_integer(name, getattr(self, name), 0)
        if self.test_share + self.repeat_share > 1:
            raise ValueError(
                f"test_share={self.test_share:g} and repeat_share={self.repeat_share:g} are more than 1 together; "
                "make them smaller"
            )

    @property
    def chosen_share(self) -> float:
        """Share of questions that are chosen for the information of their answers."""
        return 1 - (self.test_share + self.repeat_share)

    def next_purpose(self, n_asked: Mapping[str, int]) -> str:
        """Return the purpose that is due next, given how many questions were asked for each."""
        n = sum(count for purpose, count in n_asked.items() if purpose not in (CATCH, PRACTICE)) + 1
        if n_asked.get(TEST, 0) < self.test_share * n:
            return TEST
        return REPEAT if n_asked.get(REPEAT, 0) < self.repeat_share * n else INFORMATION

    def purpose_at(self, place: int, n_questions: int, rng: np.random.Generator) -> str:
        """Return the purpose of a place, from 0, in the sequence of a participant with so many other questions."""
        if place < self.n_practice:
            return PRACTICE
        if place - self.n_practice in self.catch_positions(n_questions):
            return CATCH
        drawn = rng.random()
        if drawn < self.test_share:
            return TEST
        return REPEAT if drawn < self.test_share + self.repeat_share else INFORMATION

    def counts_by_list(self, n_questions: int, n_lists: int) -> list[dict[str, int]]:
        """Return the number of random and repeated questions of each list; shares hold over all lists together."""
        totals = {
            purpose: [int(n_questions * share * at + 0.5 + 1e-9) for at in range(n_lists + 1)]
            for purpose, share in ((TEST, self.test_share), (REPEAT, self.repeat_share))
        }
        return [{purpose: total[at + 1] - total[at] for purpose, total in totals.items()} for at in range(n_lists)]

    def catch_positions(self, n_questions: int, *, inside: bool = True) -> list[int]:
        """Return the evenly spaced positions of catch trials among others, at neither end if ``inside``."""
        n, n_catch = n_questions + self.n_catch, self.n_catch
        if inside:
            return [round((at + 1) * (n - 1) / (n_catch + 1)) for at in range(n_catch)]
        return [round((at + 0.5) * n / n_catch - 0.5) for at in range(n_catch)]
