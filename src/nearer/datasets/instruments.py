"""Musical instruments, and where people of two groups see them.

An instrument's place has two coordinates: how its sound is made, from blown through bowed and plucked to struck, and
how large it is, 1 for every halving of 80 cm. *Musicians* go by the sound. *Listeners*, who play nothing, go by the
look where the two differ: flute and saxophone are of metal and lie with the brass, the organ has keys and lies with the
piano. All other instruments are at the same place for both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

GROUPS = ("listener", "musician")


class Instrument(NamedTuple):
    """What is known about an instrument, and how its sound is made for either group."""

    family: str
    size_cm: int
    listener: float
    musician: float


def _same(family: str, size_cm: int, sound: float) -> Instrument:
    return Instrument(family, size_cm, sound, sound)


INSTRUMENTS = {
    "banjo": _same("strings", 95, 0.7),
    "bassoon": _same("woodwind", 134, -0.8),
    "cello": _same("strings", 122, 0.05),
    "clarinet": _same("woodwind", 66, -0.75),
    "double bass": _same("strings", 180, 0.1),
    "flute": Instrument("woodwind", 67, -1.5, -0.95),
    "guitar": _same("strings", 100, 0.6),
    "harp": _same("strings", 175, 0.55),
    "harpsichord": _same("keyboard", 210, 0.95),
    "horn": _same("brass", 55, -1.5),
    "oboe": _same("woodwind", 62, -0.65),
    "organ": Instrument("keyboard", 240, 1.2, -0.6),
    "piano": _same("keyboard", 160, 1.2),
    "recorder": _same("woodwind", 33, -1.0),
    "saxophone": Instrument("woodwind", 78, -1.6, -0.9),
    "tambourine": _same("percussion", 28, 1.6),
    "timpani": _same("percussion", 85, 1.7),
    "trombone": _same("brass", 118, -1.7),
    "trumpet": _same("brass", 48, -1.65),
    "tuba": _same("brass", 98, -1.5),
    "ukulele": _same("strings", 53, 0.6),
    "viola": _same("strings", 66, 0.0),
    "violin": _same("strings", 59, -0.1),
    "xylophone": _same("percussion", 130, 1.5),
}
# Comes in when the study is over.
LATER = {"accordion": _same("keyboard", 45, -0.3)}

# Two that are much alike, and one that everybody who looks finds the odd one.
CATCH = (
    ("violin", "viola", "tambourine"),
    ("violin", "viola", "tuba"),
    ("clarinet", "oboe", "timpani"),
    ("clarinet", "oboe", "piano"),
    ("guitar", "banjo", "trombone"),
    ("guitar", "banjo", "bassoon"),
    ("piano", "harpsichord", "trumpet"),
    ("piano", "harpsichord", "recorder"),
    ("cello", "double bass", "xylophone"),
    ("trumpet", "horn", "ukulele"),
)


def places(group: str, instruments: dict[str, Instrument]) -> NDArray[np.float64]:
    """Return where a group sees instruments, (n, 2).

    Examples
    --------
    >>> places("listener", {"recorder": INSTRUMENTS["recorder"]}).round(2)
    array([[-1.  ,  1.28]])
    """
    sound = [getattr(each, group) for each in instruments.values()]
    size = np.array([each.size_cm for each in instruments.values()])
    return np.stack([sound, np.log2(80 / size)], axis=1)
