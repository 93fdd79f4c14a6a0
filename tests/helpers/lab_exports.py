"""Raw files in the layouts of labs and of the programs that they use, written from the same made-up answers.

The layouts are those that their makers describe; names, pictures and answers are made up here.
"""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

import numpy as np

THINGS = ("ant", "bee", "cow", "dog", "elk", "fox", "gnu", "hen", "ibex", "jay")
PLACES = np.random.default_rng(7).normal(size=(len(THINGS), 2))
PEOPLE, QUESTIONS = 6, 40


@dataclass(frozen=True)
class Trial:
    """Three objects shown to somebody, the anchor first, and the one that was chosen."""

    person: int
    number: int
    shown: tuple[str, ...]
    chosen: str

    @property
    def place(self):
        return self.shown.index(self.chosen)


def trials(asked, seed=0):
    """Return questions to everybody; ``asked``: for the odd one, the central one, or the one nearer to the first."""
    rng = np.random.default_rng([seed, 3])
    made = []
    for person in range(PEOPLE):
        for number in range(QUESTIONS):
            shown = rng.choice(len(THINGS), 3, replace=False)
            far = np.linalg.norm(PLACES[shown][:, None] - PLACES[shown], axis=-1)
            if asked == "near":
                best = 1 + int(far[0, 2] < far[0, 1])
            else:
                best = int(far.sum(axis=1).argmax() if asked == "odd" else far.sum(axis=1).argmin())
            if rng.random() < 0.05:
                best = int(rng.integers(asked == "near", 3))
            names = tuple(THINGS[k] for k in shown)
            made.append(Trial(person, number, names, names[best]))
    return made


def table(path, rows, delimiter=",", header=True):
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, delimiter=delimiter, restval="")
        if header:
            writer.writeheader()
        writer.writerows(rows)
    return path


def shown(t, name, make=str):
    """Return the three objects of a trial in columns named by a pattern."""
    return {name.format(at): make(each) for at, each in enumerate(t.shown, 1)}


def of_each_person(made):
    return [list(of) for _, of in groupby(made, key=lambda t: t.person)]


def things(folder):
    """THINGS: pictures by their names, tasks of twenty trials, response times in milliseconds."""
    rows = [
        shown(t, "image_{}")
        | {
            "choice": t.chosen,
            "participant": t.person,
            "task": 2 * t.person + t.number // 20,
            "trial": t.number % 20,
            "RT": 900 + 37 * t.number,
        }
        for t in trials("odd")
    ]
    return table(folder / "things.csv", rows)


def spose(folder):
    """SPoSE and VICE: indices without a header, separated by spaces; the last is the odd one."""
    lines = []
    for t in trials("odd"):
        rest = [each for each in t.shown if each != t.chosen]
        lines.append(" ".join(str(THINGS.index(each)) for each in (*rest, t.chosen)))
    path = folder / "train_90.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def salmon(folder):
    """Salmon: indices of the objects, their HTML and file names, and the sampler."""
    rows = []
    for t in trials("near"):
        loser = next(each for each in t.shown[1:] if each != t.chosen)
        what = {"head": t.shown[0], "left": t.shown[1], "right": t.shown[2], "winner": t.chosen, "loser": loser}
        rows.append(
            {"": len(rows)}
            | {role: THINGS.index(each) for role, each in what.items()}
            | {f"{role}_filename": f"{each}.jpg" for role, each in what.items()}
            | {f"{role}_html": f"<img src='/static/targets/{each}.jpg' />" for role, each in what.items()}
            | {"puid": f"u{t.person}", "response_time": 1.25, "network_latency": 0.06, "sampler": "random"}
        )
    return table(folder / "responses.csv", rows)


def jspsych_rows(made):
    rows = [{"trial_type": "instructions", "rt": 5012, "view_history": "[]"}]
    rows += [
        {
            "trial_type": "html-button-response",
            "stimulus": "<p>Which one is the odd one out?</p>",
            "rt": 800 + t.number,
            "response": t.place,
            **shown(t, "item{}"),
        }
        for t in made
    ]
    return [
        {"trial_index": at, "time_elapsed": 1000 * at, "subject": f"s{made[0].person}", **row}
        for at, row in enumerate(rows)
    ]


def jspsych_csv(folder):
    """jsPsych: instructions, then a row for each trial with the number of the button that was pressed."""
    return table(folder / "jspsych.csv", [row for of in of_each_person(trials("odd")) for row in jspsych_rows(of)])


def jspsych_json(folder):
    """jsPsych: the same rows as an array of JSON objects."""
    path = folder / "jspsych.json"
    path.write_text(json.dumps([row for of in of_each_person(trials("odd")) for row in jspsych_rows(of)]))
    return path


def jatos(folder):
    """JATOS: the results of one component on each line; for each participant a form, then the trials of jsPsych."""
    lines = []
    for of in of_each_person(trials("odd")):
        lines.append(json.dumps({"age": 30 + of[0].person, "consent": True}))
        rows = [{name: cell for name, cell in row.items() if name != "subject"} for row in jspsych_rows(of)]
        lines.append(json.dumps(rows))
    path = folder / "jatos_results_20240101.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def psychopy(folder):
    """PsychoPy: the columns of the conditions file, a loop of trials, and the keys of every component."""
    rows = []
    for of in of_each_person(trials("odd")):
        who = {"participant": f"{of[0].person:03d}", "session": "001", "expName": "odd", "psychopyVersion": "2023.2.3"}
        rows.append({"welcome.keys": "space", "welcome.rt": 2.1} | who)
        rows += [
            shown(t, "image{}", "stimuli/{}.png".format)
            | {"trials.thisN": t.number, "trials.thisRepN": 0, "key_resp.keys": t.place + 1, "key_resp.rt": 0.9}
            | who
            for t in of
        ]
    return table(folder / "odd_2024-01-01.csv", rows)


def gorilla(folder):
    """Gorilla: a row for every zone of a screen, and END OF FILE on the last line."""
    rows = []
    for of in of_each_person(trials("near")):
        who = {"Participant Private ID": 7000 + of[0].person, "Event Index": len(rows)}
        rows.append(who | {"Trial Number": "BEGIN TASK"})
        for t in of:
            what = {"anchor": t.shown[0], "left": t.shown[1], "right": t.shown[2], "Trial Number": t.number + 1} | who
            rows.append(what | {"Zone Type": "fixation", "Reaction Time": 250.1})
            rows.append(what | {"Zone Type": "response_button_image", "Response": t.chosen, "Reaction Time": 911.5})
        rows.append(who | {"Trial Number": "END TASK"})
    path = table(folder / "data_exp_1-v1_task.csv", rows)
    path.write_text(path.read_text() + "END OF FILE\n")
    return path


def qualtrics(folder):
    """Qualtrics: a row for each person, a column for each question, named by what it shows; three header lines."""
    asked = {t.number: t for t in trials("odd") if t.person == 0}
    names = {number: "_".join(t.shown) for number, t in asked.items()}
    titles = ["StartDate", "Finished", "RecordedDate", "ResponseId", *names.values()]
    rows = [dict(zip(titles, titles, strict=True))]
    rows.append({name: "Which one is the odd one out?" if name in names.values() else name for name in titles})
    rows.append({name: json.dumps({"ImportId": f"QID{at}"}) for at, name in enumerate(titles)})
    rng = np.random.default_rng(5)
    for person in range(PEOPLE):
        about = dict(zip(titles, ["2024-01-01", "True", "2024-01-01", f"R_{person}"], strict=False))
        said = {}
        for number, t in asked.items():
            said[names[number]] = t.chosen if rng.random() < 0.9 else t.shown[int(rng.integers(3))]
        rows.append(about | said)
    return table(folder / "qualtrics.csv", rows, header=False)


def numbered_fields(folder):
    """A row for each person, in which every question has columns of its own with its number."""
    rows = []
    for of in of_each_person(trials("near")):
        row = {"subject": of[0].person, "age": 25, "tester": "yes" if of[0].person == 5 else "no"}
        for t in of:
            row |= {
                f"q{t.number}_anchor": t.shown[0],
                f"q{t.number}_left": t.shown[1],
                f"q{t.number}_right": t.shown[2],
            }
            row[f"q{t.number}_choice"] = t.chosen
        rows.append(row)
    return table(folder / "form.csv", rows)


def characters(folder):
    """Characters: the names of three letters, the participation, and the name of the letter that was chosen."""
    rows = [
        shown(t, "stim{}_name") | {"participation": 100 + t.person, "choice": t.chosen, "typeface": "roman"}
        for t in trials("odd")
    ]
    return table(folder / "characters.csv", rows)


def cars(folder):
    """Cars: three objects, and the one that was chosen as the most central."""
    rows = [shown(t, "triplet_object_{}") | {"chosen_center": t.chosen, "worker": t.person} for t in trials("central")]
    return table(folder / "cars.csv", rows)


def clustering(folder):
    """AddS clustering: three objects and the most central one, with semicolons between cells."""
    rows = [{"workerID": t.person} | shown(t, "item{}") | {"most_central": t.chosen} for t in trials("central")]
    return table(folder / "adds.csv", rows, ";")


def cblearn(folder):
    """cblearn: triplets of indices and answers of 1 and -1."""
    made = trials("near")
    rows = [[THINGS.index(each) for each in t.shown] for t in made]
    path = folder / "triplets.npz"
    np.savez(path, X=np.array(rows), y=np.array([1 if t.place == 1 else -1 for t in made]))
    return path


def pictures(folder):
    """An experiment in a browser that logs the paths of its pictures."""
    make = "assets/stimuli/{}.png".format
    rows = [
        {
            "worker": t.person,
            "anchor": make(t.shown[0]),
            "left": make(t.shown[1]),
            "right": make(t.shown[2]),
            "answer": make(t.chosen),
        }
        for t in trials("near")
    ]
    return table(folder / "pictures.csv", rows)


@dataclass(frozen=True)
class Export:
    """A layout, how it is read, and what is said.

    ``options`` are needed beside the file; without them, the message proposes them. ``said`` are sentences of `check`.
    """

    name: str
    write: Callable
    kind: str
    options: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    n_people: int | None = PEOPLE
    n_answers: int = PEOPLE * QUESTIONS
    objects: tuple[str, ...] = THINGS


ODD = ("--kind", "odd-one-out")
INDICES = tuple(map(str, range(len(THINGS))))
SCREENS = "6 rows name no objects and were ignored"
EXPORTS = [
    Export("THINGS", things, "odd-one-out", ODD, ("'trial' does not number trials",)),
    Export(
        "SPoSE and VICE",
        spose,
        "odd-one-out",
        ("--columns", "items=1+2+3,odd=3"),
        ("read: items = 1 + 2 + 3, odd = 3",),
        n_people=None,
        objects=INDICES,
    ),
    Export("Salmon", salmon, "triplet", said=("not used:",), objects=tuple(f"{each}.jpg" for each in THINGS)),
    Export("jsPsych, CSV", jspsych_csv, "odd-one-out", ODD, (SCREENS,)),
    Export("jsPsych, JSON", jspsych_json, "odd-one-out", ODD, (SCREENS,)),
    Export(
        "JATOS",
        jatos,
        "odd-one-out",
        ODD,
        (
            "no column identifies who answered; if each line is a person's, use --columns annotator=json_line",
            "12 rows name no objects",
        ),
        n_people=None,
    ),
    Export(
        "PsychoPy",
        psychopy,
        "odd-one-out",
        ("--columns", "items=image1+image2+image3,odd=key_resp.keys"),
        (SCREENS, "labels are file paths, shortened to the parts that differ: 'stimuli/ant.png' becomes 'ant'"),
    ),
    Export("Gorilla", gorilla, "triplet", said=("240 rows have no response and were ignored",)),
    Export(
        "Qualtrics, a column for each question",
        qualtrics,
        "odd-one-out",
        ODD,
        ("40 questions have columns of their own",),
    ),
    Export(
        "A form with numbered fields",
        numbered_fields,
        "triplet",
        said=("40 questions have columns of their own", "which were read as rows of anchor, left, right, choice"),
    ),
    Export("Characters", characters, "odd-one-out", ODD, ("annotator = participation",)),
    Export("Cars", cars, "most-central", said=("central = chosen_center",)),
    Export("AddS clustering", clustering, "most-central", said=("central = most_central",)),
    Export("cblearn", cblearn, "triplet", n_people=None, objects=INDICES),
    Export("Paths of pictures", pictures, "triplet", said=("'assets/stimuli/ant.png' becomes 'ant'",)),
]
