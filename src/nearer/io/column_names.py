"""The names that people give to columns.

Names are compared without case, spaces and punctuation: "Participant.ID" is "participantid". Where that says nothing,
the last part of a name with dots may ("Input.anchor", "key_resp.rt"), if no other name ends in it.

Items of one question stand in columns of one *family*: item1, item2, ... (from 0 or 1), item_a, item_b, ..., first,
second, ..., a, b, c, ..., or left, middle and right. A family has as many columns as the table has, three at least.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from string import ascii_lowercase

from nearer.data.labels import TRIPLET, plain

_ANSWER = (
    "answer response choice chosen winner selected selection decision judgment judgement picked pick chosenobject "
    "chosenitem selecteditem choiceindex responseindex buttonpressed keys clickedname y"
)
_CHOSE = "chosen picked selected chose chooses is"
LEFT_CHOSEN, RIGHT_CHOSEN = (
    tuple(name for word in _CHOSE.split() for name in (side + word, word + side)) for side in ("left", "right")
)
_SYNONYMS: dict[str, str] = {
    "answer": " ".join([_ANSWER, *LEFT_CHOSEN, *RIGHT_CHOSEN]),
    "odd": "odd oddone oddoneout oddoneoutobject chosenodd ooo oddity outlier different mostdifferent odditem "
    "oddobject",
    "central": "central mostcentral centre center middle centralobject centralitem centerobject chosencenter "
    "chosencentre chosencentral",
    "items": "items objects stimuli images pictures words options choices candidates alternatives shown displayed "
    "presented triad triplet itemlist stimuluslist",
    "shown": "shown options choices candidates alternatives displayed grid stimuli items images presented",
    "chosen": "chosen selected picked answers responses choice selection answer response nearest buttonpressed keys "
    "clickedname",
    "ranking": "ranking ranked rankedlist nearestfirst sorted",
    "annotator": "annotator annotatorid worker workerid participant participantid participantprivateid "
    "participantpublicid participantnumber participantcode participation participationid "
    "person personid subject subjectid user userid rater raterid judge judgeid respondent "
    "respondentid responseid observer observerid puid prolificpid prolificid participantprolificid subjectnr subjnr "
    "subj sub ppt pid psid sid mturkid runid sessionid session studentid vp vpn proband annotators workers",
    "trial": "trial trialid trialindex trialnumber trialno trialnr trialnum trialn trials",
    "seconds": "seconds responsetime responsetimes responsetimesec responsetimeseconds rt rts rtms rtsec rtseconds "
    "reactiontime reactiontimems responsetimems responsetimemsec duration durationms latency latencyms timetaken "
    "milliseconds ms msec",
    "confidence": "confidence confidences certainty sure sureness confidencerating conf",
    "weight": "weight weights sampleweight",
    "place": "place",
}
SYNONYMS = TRIPLET | {role: tuple(names.split()) for role, names in _SYNONYMS.items()}

_STEM = (
    "object item stimulus stim image img picture pic word option choice alternative candidate photo card tile sound "
    "video name id o s x"
)
STEMS = tuple(_STEM.split())
_LEADS = ("", "triplet", "triad", "trial", "test", "shown", "displayed", "presented", "target")
_TAILS = ("", "name", "label", "object", "image", "img", "file", "filename", "path", "src", "url", "id")
_STEM_ORDER = {
    lead + stem: (n_lead, n_stem)
    for n_lead, lead in reversed(list(enumerate(_LEADS)))
    for n_stem, stem in enumerate(STEMS)
    if not lead or len(stem) > 2
}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ROWS = (("left", "middle", "right"), ("left", "center", "right"), ("left", "centre", "right"))
_LEAST = 3


def by_plain(names: Sequence[str]) -> dict[str, str]:
    """Return names by how they are compared; the last part of a name with dots counts where it is unmistakable.

    Examples
    --------
    >>> by_plain(["Trial ID", "Input.anchor", "q1.rt", "q2.rt"])
    {'trialid': 'Trial ID', 'inputanchor': 'Input.anchor', 'q1rt': 'q1.rt', 'q2rt': 'q2.rt', 'anchor': 'Input.anchor'}
    """
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(plain(name), name)
    ends = [(plain(name.rpartition(".")[2]), name) for name in names if "." in name.strip(".")]
    for end, name in ends:
        if end not in found and [each for each, _ in ends].count(end) == 1:
            found[end] = name
    return found


def numbered(stems: set[str], spelled: Mapping[str, str], taken: set[str]) -> dict[int, str]:
    """Return the columns stem_1, stem_2, ... by their numbers, in order."""
    numbers = {}
    for spelling, name in spelled.items():
        match = re.fullmatch(r"(.*?)(\d{1,4})", spelling)
        if match and match[1] in stems and name not in taken:
            numbers[int(match[2])] = name
    return dict(sorted(numbers.items()))


def families(spelled: Mapping[str, str], taken: set[str]) -> Iterator[tuple[str, ...]]:
    """Return the columns of every family of items, the likeliest first.

    Examples
    --------
    >>> list(families(by_plain(["Item 1", "Item 2", "Item 3", "Item 4", "odd"]), set()))
    [('Item 1', 'Item 2', 'Item 3', 'Item 4')]
    """
    free = {spelling: name for spelling, name in spelled.items() if name not in taken}
    yield from _numbered_families(free)
    for stem in STEMS:
        yield from _series([stem + letter for letter in ascii_lowercase], free)
    for row in _ROWS:
        if all(name in free for name in row):
            yield tuple(free[name] for name in row)
    yield from _series(ORDINALS, free)
    yield from _series(ascii_lowercase, free)
    if all(name in free for name in "ijk"):
        yield free["i"], free["j"], free["k"]


def _numbered_families(free: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Return the columns stem_1, stem_2, ..., then those of stems with a word before them or behind the number."""
    found: dict[tuple[int, int, int], dict[int, str]] = {}
    for spelling, name in free.items():
        match = re.fullmatch(r"(.*?)(\d{1,4})([^\W\d]*)", spelling)
        if match and match[1] in _STEM_ORDER and match[3] in _TAILS:
            lead, stem = _STEM_ORDER[match[1]]
            found.setdefault((_TAILS.index(match[3]), lead, stem), {})[int(match[2])] = name
    for _, numbers in sorted(found.items()):
        if len(numbers) >= _LEAST and min(numbers) <= 1:
            yield tuple(name for _, name in sorted(numbers.items()))


def _series(spellings: Sequence[str], free: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    n_found = next((at for at, spelling in enumerate(spellings) if spelling not in free), len(spellings))
    if n_found >= _LEAST:
        yield tuple(free[spelling] for spelling in spellings[:n_found])
