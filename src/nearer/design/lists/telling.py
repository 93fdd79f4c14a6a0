"""What is told about lists of questions, in words and in figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nearer._common.formatting import decimals, format_interval, intcomma, pluralize, quote_all
from nearer.design.lists.making import Made
from nearer.design.mix import CATCH

_WORDS = {
    "start": "to begin with",
    "information": "chosen for what they tell",
    "test": "random",
    "repeat": "asked again",
    CATCH: "catch trials",
}


def told(made: Made, files: Sequence[Path]) -> str:
    """Return what was made, for people.

    Examples
    --------
    >>> from nearer.design.lists.making import Asking, make
    >>> print(told(make(Asking(20, ["ant", "bee", "cat", "dog", "eel"], people=["ann", "bob"]), None), [Path("q.csv")]))
    2 participants, 20 questions each, about 5 objects (triplet)
    of 40 trials: 34 to begin with, 4 random, 2 asked again
    4 random questions give an honest error: keep the column purpose with the answers
    written: q.csv
    """
    return "\n".join([*_so_far(made), *_lists(made), _honest(made), f"written: {', '.join(map(str, files))}"])


def _so_far(made: Made) -> list[str]:
    """Return what the answers so far say."""
    lines = []
    if made.error is not None:
        lines.append(
            f"error so far, on {pluralize(made.error.n_answers, 'random question')}: {decimals(made.error)} (95% "
            "interval "
            f"{format_interval(made.error.low, made.error.high)}); chance is 0.5"
        )
    if made.outlook is not None:
        lines.append(made.outlook)
    if made.new_objects:
        lines.append(f"{pluralize(len(made.new_objects), 'new object')}: {quote_all(made.new_objects, 10)}")
    return lines


def _lists(made: Made) -> list[str]:
    """Return how many questions there are for whom, and of which purpose."""
    counts, n_lists = made.purposes, max(len(made.people), 1)
    about = f"about {pluralize(len(made.questions.objects_), 'object')} ({made.kind})"
    each = pluralize((len(made.trials) - counts[CATCH]) // n_lists, "question")
    if counts[CATCH]:
        each += f" and {pluralize(counts[CATCH] // n_lists, 'catch trial')}"
    parts = [f"{intcomma(counts[purpose])} {word}" for purpose, word in _WORDS.items() if counts[purpose]]
    return [
        f"{pluralize(n_lists, 'participant')}, {each}{' each' * (n_lists > 1)}, {about}"
        if made.people
        else f"{each} {about}",
        f"of {pluralize(len(made.trials), 'trial')}: {', '.join(parts)}",
    ]


def _honest(made: Made) -> str:
    """Return what an error over these questions would say."""
    n = made.purposes["test"]
    if not n:
        return "none of them is random: there will be no honest error (--test-share)"
    honest = f"{pluralize(n, 'random question')} {'gives' if n == 1 else 'give'} an honest error"
    harder = "chosen questions are harder than random ones, and an error over them misleads; "
    return f"{harder if made.purposes['information'] else ''}{honest}: keep the column purpose with the answers"


def figures_of(made: Made, files: Sequence[Path]) -> dict[str, Any]:
    """Return what was made, for programs."""
    counts, error = made.purposes, made.error
    return {
        "files": [str(path) for path in files],
        "kind": made.kind,
        "n_objects": len(made.questions.objects_),
        "new_objects": list(made.new_objects),
        "n_answers": 0 if made.known is None else len(made.known.answers),
        "n_trials": len(made.trials),
        "participants": made.people,
        "purposes": {purpose: counts[purpose] for purpose in _WORDS},
        "error": None if error is None else float(error),
        "error_low": None if error is None else error.low,
        "error_high": None if error is None else error.high,
        "n_random_answers": 0 if error is None else error.n_answers,
        "outlook": made.outlook,
        "notes": list(made.notes),
    }
