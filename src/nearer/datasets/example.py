"""A small study, made by simulation: 24 people name the odd one of three musical instruments.

Somebody who is shown a, b and c leaves two together and calls the third odd. Two are left together with a probability
in proportion to (alpha + d2)^-beta, d2 being their squared distance on the map of the person's group, after which one
answer in fifty is a slip, drawn from all three. Response times are log-normal and longer for questions whose three
answers are about equally likely. The rows are the same on every machine: all that is drawn are uniform numbers. What
else is planted stands in the README that is written beside the files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from os import PathLike
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, ndtri

from nearer._common.arrays import FloatArray
from nearer._common.randomness import stream
from nearer._common.tables import csv_text
from nearer.data.groups import trial_indices
from nearer.datasets.synthetic import make_dimensions, sample_odd_one_out
from nearer.io import Answers, read_answers

GROUPS = ("listener", "musician")
COLUMNS = ("participant", "group", "trial", "item1", "item2", "item3", "odd", "rt", "catch")
CARELESS = "p17"
UNDECIDED = "can't tell"
_SEED = 24
_N_PEOPLE, _N_LATER = 24, 4
_N_CATCH, _N_SHARED, _N_OWN, _N_SHARED_POOL = 5, 20, 55, 100
# Of each later person: about the old instruments, and about the new one.
_N_LATER_QUESTIONS, _N_PLACEMENT_QUESTIONS = 50, 15
_N_THINGS, _N_THINGS_DIMENSIONS, _N_THINGS_TRIALS = 200, 12, 20_000
_ALPHA, _BETA, _LAPSE_RATE = 0.1, 2.0, 0.02
_MEDIAN_SECONDS, _LOG_SECONDS_SD, _CARELESS_SECONDS = 1.6, 0.3, 0.4  # of an easy answer, and of a careless one
Row = tuple[str | int, ...]
Question = tuple[tuple[int, ...], int]  # the instruments, and 1 if it is a catch question
T = TypeVar("T")


class Instrument(NamedTuple):
    """What is known about an instrument, and how its sound is made for either group, from blown to struck."""

    family: str
    size_cm: int
    listener: float
    musician: float


def _seen_alike(family: str, size_cm: int, sound: float) -> Instrument:
    return Instrument(family, size_cm, sound, sound)


INSTRUMENTS = {
    "banjo": _seen_alike("strings", 95, 0.7),
    "bassoon": _seen_alike("woodwind", 134, -0.8),
    "cello": _seen_alike("strings", 122, 0.05),
    "clarinet": _seen_alike("woodwind", 66, -0.75),
    "double bass": _seen_alike("strings", 180, 0.1),
    "flute": Instrument("woodwind", 67, -1.5, -0.95),
    "guitar": _seen_alike("strings", 100, 0.6),
    "harp": _seen_alike("strings", 175, 0.55),
    "harpsichord": _seen_alike("keyboard", 210, 0.95),
    "horn": _seen_alike("brass", 55, -1.5),
    "oboe": _seen_alike("woodwind", 62, -0.65),
    "organ": Instrument("keyboard", 240, 1.2, -0.6),
    "piano": _seen_alike("keyboard", 160, 1.2),
    "recorder": _seen_alike("woodwind", 33, -1.0),
    "saxophone": Instrument("woodwind", 78, -1.6, -0.9),
    "tambourine": _seen_alike("percussion", 28, 1.6),
    "timpani": _seen_alike("percussion", 85, 1.7),
    "trombone": _seen_alike("brass", 118, -1.7),
    "trumpet": _seen_alike("brass", 48, -1.65),
    "tuba": _seen_alike("brass", 98, -1.5),
    "ukulele": _seen_alike("strings", 53, 0.6),
    "viola": _seen_alike("strings", 66, 0.0),
    "violin": _seen_alike("strings", 59, -0.1),
    "xylophone": _seen_alike("percussion", 130, 1.5),
}
# Comes in when the study is over.
LATER = {"accordion": _seen_alike("keyboard", 45, -0.3)}

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


def places(group: str, instruments: dict[str, Instrument]) -> FloatArray:
    """Return where a group sees instruments, (n, 2): by their sound, and 1 for every halving of 80 cm."""
    sound = [getattr(each, group) for each in instruments.values()]
    size = np.array([each.size_cm for each in instruments.values()])
    return np.stack([sound, np.log2(80 / size)], axis=1)


@dataclass(frozen=True, eq=False)
class ExampleStudy:
    """A simulated study, with all that was planted in it.

    Attributes
    ----------
    answers : Answers
        What 24 people answered, without those who could not tell.
    objects : ndarray of str, shape (24,)
        Instruments, in the order of ``answers.comparisons.objects``.
    attributes : dict of ndarray, shape (24,)
        "family" and "size_cm".
    positions : dict of ndarray, shape (24, 2)
        The true map of each group, "listener" and "musician"; it differs in flute, organ and saxophone.
    groups : ndarray of str, shape (a,)
        Group of the person who gave each answer.
    catch : ndarray of bool, shape (a,)
        Which answers are to catch questions.
    careless : str
        The person who did not look.
    """

    answers: Answers
    objects: NDArray[np.str_]
    attributes: Mapping[str, NDArray[np.str_] | NDArray[np.int64]]
    positions: Mapping[str, FloatArray]
    groups: NDArray[np.str_]
    catch: NDArray[np.bool_]
    careless: str


@overload
def load_example(name: Literal["instruments"] = "instruments") -> ExampleStudy: ...
@overload
def load_example(name: Literal["things-like"]) -> Answers: ...
def load_example(name: str = "instruments") -> ExampleStudy | Answers:
    """Return a small simulated study.

    Parameters
    ----------
    name : {"instruments", "things-like"}
        "instruments": 24 people name the odd one of three musical instruments. There is a careless person in it, catch
        questions, and two groups who see three of the instruments differently. "things-like": 20,000 odd-one-out trials
        about 200 objects with 12 sparse dimensions, as the answers about THINGS are, without people. `nearer example
        DIR`, and with --things, writes the same as files.

    Examples
    --------
    >>> study = load_example()
    >>> study.answers.kind, study.answers.comparisons
    ('odd-one-out', Comparisons(3818 triplets over 24 objects; weights, annotators, trials))
    >>> study.objects[:3].tolist(), study.attributes["family"][:3].tolist()
    (['banjo', 'bassoon', 'cello'], ['strings', 'woodwind', 'strings'])
    """
    if name == "things-like":
        trials = things_like_trials()
        table = {f"object_{at}": column for at, column in enumerate(trials.T, 1)} | {"odd": trials[:, 2]}
        return replace(read_answers(table, "odd-one-out", names=things_like_names()), source="things-like")
    if name != "instruments":
        raise ValueError(f"there is no example {name!r}; choose 'instruments' or 'things-like'")
    table = dict(zip(COLUMNS, map(list, zip(*study_rows(), strict=True)), strict=True))
    answers = replace(read_answers(table), source="example")
    given = answers.lines - 1  # rows of the table
    return ExampleStudy(
        answers=answers,
        objects=np.array(list(INSTRUMENTS)),
        attributes={
            "family": np.array([each.family for each in INSTRUMENTS.values()]),
            "size_cm": np.array([each.size_cm for each in INSTRUMENTS.values()]),
        },
        positions={group: places(group, INSTRUMENTS) for group in GROUPS},
        groups=np.array(table["group"])[given],
        catch=np.array(table["catch"])[given] == 1,
        careless=CARELESS,
    )


def things_like_trials() -> NDArray[np.int32]:
    """Return the objects of simulated odd-one-out trials, the odd one last, (m, 3)."""
    weights = make_dimensions(_N_THINGS, _N_THINGS_DIMENSIONS, random_state=_SEED)
    comparisons = sample_odd_one_out(weights, _N_THINGS_TRIALS, random_state=_SEED)
    # A trial is two rows: each has the odd one as its far object.
    order = np.argsort(trial_indices(comparisons), kind="stable")
    first = comparisons.oriented[order[::2]]
    anchor, near, far = first[:, 0], first[:, 1], first[:, 3]
    return np.column_stack([anchor, near, far]).astype(np.int32)


def things_like_names() -> list[str]:
    """Return the names of the objects of these trials."""
    return [f"thing {number:03d}" for number in range(_N_THINGS)]


def write_things_like(folder: str | PathLike[str]) -> list[str]:
    """Write trials and names as THINGS and VICE have them into a folder, and return the names of the files."""
    trials = "".join(f"{a} {b} {odd}\n" for a, b, odd in things_like_trials().tolist())
    names = "".join(f"{name}\n" for name in things_like_names())
    return write_files({"triplets.txt": trials.encode(), "unique_id.txt": names.encode()}, Path(folder))


def study_rows(seed: int = _SEED) -> list[Row]:
    """Return the answers of the study, with the columns COLUMNS."""
    rng = stream(seed, "triplets")
    catch = [tuple(sorted(map(list(INSTRUMENTS).index, question))) for question in CATCH]
    others = [question for question in combinations(range(len(INSTRUMENTS)), 3) if question not in catch]
    drawn = shuffled(others, rng)
    # Those that four or five people share show how far people differ; nobody else is asked the others.
    shared, own = drawn[:_N_SHARED_POOL], iter(drawn[_N_SHARED_POOL:])
    rows: list[Row] = []
    for number, person in enumerate(people(1, _N_PEOPLE, stream(seed, "answers"))):
        first = number * _N_SHARED % _N_SHARED_POOL
        asked = [(question, 1) for question in shuffled(catch, rng)[:_N_CATCH]]
        asked += [(question, 0) for question in shared[first : first + _N_SHARED]]
        asked += [(question, 0) for question in islice(own, _N_OWN)]
        rows += _answers(person, shuffled(asked, rng), INSTRUMENTS, rng)
    return rows


def later_rows(seed: int = _SEED) -> tuple[list[Row], list[Row]]:
    """Return answers of four more people: about the same instruments, and about one that was not in the study."""
    rng = stream(np.random.SeedSequence([seed, 1]), "answers")
    known, everything = len(INSTRUMENTS), INSTRUMENTS | LATER
    pairs = list(combinations(range(known), 2))
    new, placed = [], []
    for person in people(_N_PEOPLE + 1, _N_LATER, rng):
        triples = shuffled(list(combinations(range(known), 3)), rng)[:_N_LATER_QUESTIONS]
        new += _answers(person, [(triple, 0) for triple in triples], everything, rng)
        about = shuffled(pairs, rng)[:_N_PLACEMENT_QUESTIONS]
        placed += _answers(person, [((*pair, known), 0) for pair in about], everything, rng)
    return new, placed


def _answers(
    person: Person, questions: Sequence[Question], instruments: dict[str, Instrument], rng: np.random.Generator
) -> list[Row]:
    points = places(person.group, instruments)
    return [(person.name, person.group, *row) for row in person.choices(questions, list(instruments), points, rng)]


@dataclass(frozen=True)
class Person:
    """Somebody who answers: how sharply they tell distances apart, how slow they are, and whether they look at all."""

    name: str
    group: str
    sharpness: float
    slowness: float
    careless: bool = False

    def choices(
        self, questions: Sequence[Question], names: Sequence[str], points: FloatArray, rng: np.random.Generator
    ) -> Iterator[Row]:
        """Return for each question its number, what was shown and named, the time, and whether it is a catch one."""
        for trial, (question, catch) in enumerate(questions, start=1):
            shown = shuffled(question, rng)
            first, second, third = points[shown]
            others = np.array([second - third, third - first, first - second])  # those left together
            together = (_ALPHA + (others**2).sum(axis=1)) ** -self.sharpness
            probabilities = _LAPSE_RATE / 3 + (1 - _LAPSE_RATE) * together / together.sum()
            if self.careless:
                probabilities = np.full(3, 1 / 3)
            uniform, tired, unsure = rng.random(3)
            odd = names[shown[min(int(np.searchsorted(np.cumsum(probabilities), uniform)), 2)]]
            if not self.careless and probabilities.max() < 0.5 and unsure < 0.1:
                odd = UNDECIDED
            hard = float(entr(probabilities).sum() / np.log(3))
            seconds = _CARELESS_SECONDS if self.careless else _MEDIAN_SECONDS * self.slowness * np.exp(0.6 * hard)
            rt = round(1000 * seconds * float(np.exp(_LOG_SECONDS_SD * ndtri(tired))))
            yield trial, *(names[each] for each in shown), odd, rt, catch


def people(
    first: int,
    number: int,
    rng: np.random.Generator,
    careless: Sequence[str] = (CARELESS,),
    groups: Sequence[str] = GROUPS,
) -> Iterator[Person]:
    """Return people of two groups by turns, who differ in how sharp and how slow they are."""
    for person in range(first, first + number):
        sharpness, slowness = ndtri(rng.random(2))
        name, group = f"p{person:02}", groups[(person + 1) % 2]
        yield Person(name, group, _BETA * np.exp(0.15 * sharpness), np.exp(0.2 * slowness), name in careless)


def shuffled(values: Sequence[T], rng: np.random.Generator) -> list[T]:
    """Return values in random order."""
    # Not Generator.permutation: its numbers may change from one version of NumPy to the next.
    return [values[place] for place in np.argsort(rng.random(len(values)), kind="stable").tolist()]


_README = f"""\
An example study: which of three musical instruments is the odd one out?

All of it is simulated. No person was asked, and nothing is copied from anybody's data.
The sizes are rough ones, for a map to be coloured by.

answers.csv       24 people, 80 questions each, a row for each answer
attributes.csv    what is known about the instruments: family and size
new-answers.csv   4 more people, who answered later
new-object.csv    what the same 4 people answered about an accordion, which was not in the study

Columns of the answers

participant           who answered
group                 listener (plays nothing) or musician
trial                 number of the question, for each person
item1, item2, item3   the instruments shown, from left to right
odd                   the one that was named, or "{UNDECIDED}"
rt                    response time in milliseconds
catch                 1 for a catch question, which hardly anybody who looks gets wrong; else 0

What is planted

- Two dimensions: how the sound is made (blown, bowed, plucked, struck), and size.
- People slip in one answer in fifty, and choose at random the more, the closer the call is.
- {CARELESS} does not look: a third for each of the three instruments, in less than half a second.
- Listeners see flute and saxophone with the brass, and the organ with the piano. Musicians see them with the
  woodwinds. The other 21 instruments are where they are for both.
- 100 questions were put to four or five people each, so that it can be known how far people differ.
- Right answers of the catch questions:
{{catch}}
"""


def write_example(folder: str | PathLike[str]) -> list[str]:
    """Write the example study into a folder, and return the names of the files."""
    return write_files({name: text.encode() for name, text in example_files().items()}, Path(folder))


def write_files(files: Mapping[str, bytes], folder: Path) -> list[str]:
    """Write files, and return their names; one that is there already is an error."""
    for name in files:
        if (folder / name).exists():
            raise ValueError(f"{folder / name} is there already, and nothing is written over; name another folder")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return list(files)


def example_files() -> dict[str, str]:
    """Return the texts of the files by their names."""
    new, placed = later_rows()
    catch = "\n".join(f"    {first}, {second}, {odd}: {odd}" for first, second, odd in CATCH)
    return {
        "answers.csv": csv_text([COLUMNS, *study_rows()], line_end="\n"),
        "attributes.csv": object_table(INSTRUMENTS | LATER),
        "new-answers.csv": csv_text([COLUMNS, *new], line_end="\n"),
        "new-object.csv": csv_text([COLUMNS, *placed], line_end="\n"),
        "README.txt": _README.format(catch=catch),
    }


def object_table(instruments: Mapping[str, Instrument]) -> str:
    """Return what is known about instruments as the text of a table."""
    rows = [(name, each.family, each.size_cm) for name, each in instruments.items()]
    return csv_text([("object", "family", "size_cm"), *rows], line_end="\n")
