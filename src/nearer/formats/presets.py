"""What the exports of other programs mean.

- *Salmon*: one row an answer; ``head``, ``winner`` and ``loser`` (also ``left`` and ``right``, as shown) are indices,
  and the same names with ``_filename`` or ``_html`` hold what was shown; ``puid`` is the person; ``response_time`` is
  in seconds, -1 where there is none.
- *jsPsych*: one row a trial of any sort; ``rt`` is in milliseconds and ``response`` counts buttons from 0. The objects
  are in columns that the experimenter chose (anchor, left and right, or ``stimulus`` and the list ``choices``). Rows
  without objects are instructions and the like. ``trial_index`` numbers rows and groups nothing.
- *cblearn*: arrays ``X`` of indices, (m, 3) or (m, 4), and ``y`` of +1 and -1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nearer.formats.columns import SYNONYMS, plain

PRESETS = ("salmon", "jspsych", "cblearn")
_RESPONSES = ("response", "button_pressed", "key_press")


@dataclass(frozen=True)
class Reading:
    """What a preset says about a table.

    Attributes
    ----------
    columns : dict
        Roles and their columns.
    kind : str, optional
    from_zero : bool
        Whether answers that are numbers count from 0.
    milliseconds : bool
        Whether response times are in milliseconds.
    pass_over : bool
        Whether rows without any object are no answers.
    """

    columns: dict[str, Any] = field(default_factory=dict)
    kind: str | None = None
    from_zero: bool = False
    milliseconds: bool = False
    pass_over: bool = False


def detected(names: Sequence[str]) -> str | None:
    """Return the preset that the columns are unmistakably those of.

    Examples
    --------
    >>> detected(["head", "left", "right", "winner", "loser", "puid", "response_time"])
    'salmon'
    >>> detected(["rt", "response", "trial_type", "trial_index", "time_elapsed", "anchor", "left", "right"])
    'jspsych'
    """
    present = set(names)
    if {"head", "winner", "loser", "puid"} <= present:
        return "salmon"
    if {"trial_type", "trial_index", "time_elapsed"} <= present:
        return "jspsych"
    return None


def reading_of(
    preset: str | None, names: Sequence[str], kind: str | None, columns: Mapping[str, Any] | None, source: str
) -> Reading:
    """Return how to read a table; what the caller said goes before what the preset says."""
    given = dict(columns or {})
    if preset == "salmon":
        found = _salmon(names, source)
        return Reading({**found, **given}, kind or "triplet")
    if preset == "jspsych":
        chosen_kind, found = _jspsych(names, given)
        return Reading({**found, **given}, kind or chosen_kind, from_zero=True, milliseconds=True, pass_over=True)
    return Reading(given, kind, from_zero=preset == "cblearn")


def _salmon(names: Sequence[str], source: str) -> dict[str, Any]:
    roles = {"anchor": "head", "near": "winner", "far": "loser"}
    ending = next((end for end in ("_filename", "_html", "_object", "") if f"head{end}" in names), None)
    if ending is None or not {f"{name}{ending}" for name in roles.values()} <= set(names):
        raise ValueError(f"{source} is no export of Salmon: it has no columns head, winner and loser")
    sides = {side: side for side in ("left", "right")}
    found: dict[str, Any] = {
        role: f"{name}{ending}" for role, name in {**roles, **sides}.items() if f"{name}{ending}" in names
    }
    more = {"annotator": "puid", "seconds": "seconds" if "seconds" in names else "response_time"}
    return found | {role: name for role, name in more.items() if name in names}


def _jspsych(names: Sequence[str], given: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    spelled = {plain(name) for name in names}
    response = next((name for name in _RESPONSES if name in names), None)
    found: dict[str, Any] = {"seconds": "seconds" if "seconds" in names else "rt"} if "rt" in names else {}
    trial = next((name for name in ("trial", "trial_id") if name in names), None)
    found["trial"] = trial
    if not spelled & set(SYNONYMS["anchor"]) and "stimulus" in names and "anchor" not in given:
        found["anchor"] = "stimulus"
    if "choices" in names and response and not {"left", "right"} <= spelled and not {"left", "shown"} & set(given):
        return "grid", found | {"shown": "choices", "chosen": response}
    if response and {"left", "right"} <= spelled and "answer" not in given:
        return "triplet", found | {"answer": response}
    return None, found
