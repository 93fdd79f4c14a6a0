"""Which part of an experiment in PsychoPy holds the answers.

Every component of an experiment writes columns of its own: ``key_resp.keys`` and ``key_resp.rt``, ``start.keys`` and
``start.rt``. Trials are rows of a loop, with its count in a column such as ``trials.thisN``; keys that start the
experiment or leave a page are pressed outside of loops. If one component alone was answered within loops, it holds the
answers and their times. If several were, as with practice trials, the caller says which, and rows without an answer of
that one are those of the others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nearer.io.presets import Reading
from nearer.io.table import Table

_ANSWERS = (".keys", ".clicked_name", ".response")
_LOOP = ".thisN"
_NAMED = {"odd-one-out": "odd", "most-central": "central"}


def with_component(reading: Reading, table: Table) -> Reading:
    """Return a reading of a PsychoPy file in which the answers, and their times, are those of trials."""
    given = [reading.columns[role] for role in ("answer", "chosen", "odd", "central") if reading.columns.get(role)]
    answers = [name for name in table.names if name.endswith(_ANSWERS)]
    if given:
        others = [name for name in answers if name not in given]
        answers = [name for name in answers if name in given]
        if len(answers) == 1 and others:  # rows that another component answers, such as practice
            reading = replace(reading, answered_only=True)
    elif len(answers) > 1:
        loops = [name for name in table.names if name.endswith(_LOOP)]
        loaded = table.load([*answers, *loops])
        in_loop = np.any([loaded.columns[name].codes >= 0 for name in loops], axis=0)
        answers = [name for name in answers if (in_loop & (loaded.columns[name].codes >= 0)).any()]
    if len(answers) != 1:
        return reading
    answer = answers[0]
    roles = ("answer", "chosen", *([_NAMED[reading.kind]] if reading.kind in _NAMED else []))
    time = f"{answer.rpartition('.')[0]}.rt"
    suggested = dict.fromkeys(roles, answer) | ({"seconds": time} if time in table.names else {})
    return replace(reading, suggested=reading.suggested | suggested)
