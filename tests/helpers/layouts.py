"""Layouts in which survey programs and people write down answers.

A layout is a function from trials to the rows of a table, so that the same trials can be written again with rows,
columns and options in another order.
"""

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import permutations


@dataclass(frozen=True)
class Trial:
    """What was shown to whom and what was chosen: an object, or for pairs and rankings a tuple of them."""

    person: str
    anchor: str | None
    shown: tuple
    chosen: object

    @property
    def place(self):
        return self.shown.index(self.chosen)

    @property
    def side(self):
        return ("left", "right")[self.place]

    def says(self, kind):
        """Return the comparisons that follow by definition, as (a, b, c, d): a, b are more similar than c, d."""
        others = [each for each in self.shown if each != self.chosen]
        if kind == "odd-one-out":
            return {(a, b, a, self.chosen) for a, b in permutations(others, 2)}
        if kind == "most-central":
            return {(a, self.chosen, a, b) for a, b in permutations(others, 2)}
        if kind == "quadruplet":
            return {(*self.chosen, *others[0])}
        if kind == "ranking":
            ranked = self.chosen
            return {(self.anchor, x, self.anchor, y) for at, x in enumerate(ranked) for y in ranked[at + 1 :]}
        return {(self.anchor, self.chosen, self.anchor, other) for other in others}


THINGS = ["cat", "dog", "owl", "car", "bus", "van", "oak"]
ORDERS = list(permutations(THINGS))


def _distinct(size, at):
    """Return some objects: those of one of the 5040 orders of all of them."""
    return ORDERS[(at * 1234 + 17) % len(ORDERS)][:size]


def of_items(size, n_trials=9):
    """Return questions about several items."""
    rows = [_distinct(size, at) for at in range(n_trials)]
    return [Trial(f"p{at % 2}", None, row, row[at % size]) for at, row in enumerate(rows)]


def with_anchor(size, n_trials=9):
    """Return questions about an anchor and several options."""
    rows = [_distinct(size + 1, at) for at in range(n_trials)]
    return [Trial(f"p{at % 2}", row[0], row[1:], row[1 + at % size]) for at, row in enumerate(rows)]


def of_pairs(n_trials=6):
    rows = [_distinct(4, at) for at in range(n_trials)]
    return [Trial(f"p{at % 2}", None, (row[:2], row[2:]), (row[:2], row[2:])[at % 2]) for at, row in enumerate(rows)]


def of_rankings(n_trials=6):
    rows = [_distinct(4, at) for at in range(n_trials)]
    return [Trial(f"p{at % 2}", row[0], row[1:], row[1:]) for at, row in enumerate(rows)]


TRIPLETS = with_anchor(2)
FIRST_ONLY = [Trial(trial.person, trial.anchor, trial.shown, trial.shown[0]) for trial in TRIPLETS]


@dataclass(frozen=True)
class Layout:
    """How trials are written, and how they are to be read.

    ``write`` takes trials and returns rows; ``refused`` is the sentence that reading must end in instead; ``notes``
    are all notes, in order; ``label`` is what an object is called in the file; the first ``fixed`` rows stay first.
    """

    name: str
    kind: str
    trials: list
    write: Callable
    options: dict = field(default_factory=dict)
    refused: str | None = None
    notes: tuple = ()
    form: str = "csv"
    label: Callable = str
    fixed: int = 0
    places: bool = True


def numbered(stem, values, start=1):
    return {f"{stem}{at}": value for at, value in enumerate(values, start)}


def sided(answer, **more):
    """Return a writer of anchor, left, right and what a function makes of the answer."""

    def write(trials):
        return [
            {"worker": t.person, "anchor": t.anchor, "left": t.shown[0], "right": t.shown[1]}
            | {name: make(t) for name, make in ({"answer": answer} if answer else {}).items()}
            | {name: make(t) for name, make in more.items()}
            for t in trials
        ]

    return write


def items(stem="item", role="odd", answer=lambda t: t.chosen, start=1):
    def write(trials):
        return [numbered(stem, t.shown, start) | {role: answer(t), "participant": t.person} for t in trials]

    return write


def listed(name="items", role="odd", make=json.dumps, answer=lambda t: t.chosen):
    return lambda trials: [{"participant": t.person, name: make(list(t.shown)), role: answer(t)} for t in trials]


def near_far(**more):
    def write(trials):
        rows = []
        for at, t in enumerate(trials):
            right = at % 2 == 0
            far = next(each for each in t.shown if each != t.chosen)
            near, far = (t.chosen, far) if right or not more else (far, t.chosen)
            row = {"i" if "y" in more else "anchor": t.anchor, "j" if "y" in more else "near": near}
            row["k" if "y" in more else "far"] = far
            rows.append(row | {name: make(right) for name, make in more.items()})
        return rows

    return write


PROMPT = "<p>Which of these is the <b>odd one</b> out?</p>"


def jspsych(make, version=7, welcome=True):
    """Return a writer of what jsPsych logs, with a screen of instructions first."""

    def write(trials):
        rows = [{"stimulus": "<p>Welcome!</p>"} | ({"response": 0} if version == 7 else {"button_pressed": "0"})]
        rows = (rows if welcome else []) + [make(t) for t in trials]
        for at, row in enumerate(rows):
            row |= {"rt": 800 + at, "trial_type": "html-button-response", "trial_index": at, "time_elapsed": 900 * at}
            row |= {"subject": "s1"} | ({"internal_node_id": f"0.0-{at}.0"} if version == 6 else {})
        return rows

    return write


SCREEN = "1 row names no objects and was ignored"


def salmon(names=("head", "winner", "loser", "left", "right"), ending="_filename"):
    def write(trials):
        rows = []
        for t in trials:
            loser = next(each for each in t.shown if each != t.chosen)
            what = {"head": t.anchor, "winner": t.chosen, "loser": loser, "left": t.shown[0], "right": t.shown[1]}
            row = {role: THINGS.index(each) for role, each in what.items()} | {"puid": t.person}
            row |= {"response_time": 1.5, "network_latency": 0.1, "score": 0.5, "sampler": "RandomSampling"}
            rows.append(row | {role + ending: f"{what[role]}.png" for role in names})
        return rows

    return write


def index(label):
    return str(THINGS.index(label))


def psychopy(make):
    def write(trials):
        rows = [{"instr_resp.keys": "space"}]
        rows += [make(t) | {"trials.thisN": at, "trials.thisRepN": 0} for at, t in enumerate(trials)]
        return [
            {"participant": "07", "session": "001", "expName": "sim", "psychopyVersion": "2023.2.3"} | r for r in rows
        ]

    return write


def gorilla(make):
    def write(trials):
        rows = [{"Trial Number": "BEGIN TASK"}]
        for number, t in enumerate(trials, 1):
            what = {"Trial Number": number, "Participant Private ID": f"70{t.person[1:]}", **make(t)}
            rows.append(what | {"Zone Type": "fixation", "Response": "", "Reaction Time": 250})
            rows.append(what | {"Zone Type": "response_button_image", "Reaction Time": 1321.5})
        rows.append({"Trial Number": "END TASK"})
        return [{"Event Index": at, "Participant Private ID": "700"} | row for at, row in enumerate(rows)]

    return write


def qualtrics(make):
    def write(trials):
        rows = [{"ResponseId": f"R_{at}", "Finished": "1"} | make(t) for at, t in enumerate(trials)]
        texts = {name: f"What is {name}?" for name in rows[0]}
        imports = {name: json.dumps({"ImportId": f"QID_{name}"}).replace(": ", ":") for name in rows[0]}
        return [texts, imports, *rows]

    return write


def sides(t):
    return {"anchor": t.anchor, "left": t.shown[0], "right": t.shown[1]}


def mturk(trials):
    return [
        {"HITId": f"H{at}", "WorkerId": t.person, "WorkTimeInSeconds": 12}
        | {f"Input.{name}": each for name, each in sides(t).items()}
        | {"Answer.choice": t.side, "Approve": "", "Reject": ""}
        for at, t in enumerate(trials)
    ]


def labjs(trials):
    rows = [{"sender": "Instructions", "sender_type": "html.Screen", "ended_on": "response", "response": "continue"}]
    rows += [{"sender": "Choice", "sender_type": "html.Screen", "response": t.side, **sides(t)} for t in trials]
    return [{"sender_id": f"0_{at}", "duration": 950.5, "timestamp": "2024-01-01"} | row for at, row in enumerate(rows)]


def people(trials):
    """Return an object for each person, with the trials in it."""
    return [
        {"participant": who, "age": 33, "trials": [sides(t) | {"answer": t.chosen} for t in trials if t.person == who]}
        for who in ("p0", "p1")
    ]


def fewer(trials):
    """Return rows of three to five items in five columns, with empty cells at the end."""
    return [numbered("item", (*t.shown, "", "")[:5]) | {"odd": t.chosen, "who": t.person} for t in trials]


def table(layout, trials, folder, rng=None):
    """Return a file, or a dict of columns, with rows and columns in the order written or in another."""
    rows = layout.write(trials)
    names = list(dict.fromkeys(name for row in rows for name in row))
    if rng is not None:
        names = [names[at] for at in rng.permutation(len(names))]
        if not layout.fixed:
            rows = [rows[at] for at in rng.permutation(len(rows))]
    if layout.form == "frame":
        return {name: [row.get(name) for row in rows] for name in names}
    path = folder / f"answers.{layout.form}"
    if layout.form in ("json", "jsonl"):
        rows = [{name: row[name] for name in names if name in row} for row in rows]
        path.write_text(json.dumps(rows) if layout.form == "json" else "\n".join(map(json.dumps, rows)))
        return path
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, delimiter="\t" if layout.form == "tsv" else ",", restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def html(label):
    return f'<img src="img/{label}.png" width="200">'


BOTH = r"read as odd-one-out, '(\w+)' is the odd one of .*; read as most-central, '\1' is the most central of .*"
KINDS = r"\nTry: --kind odd-one-out .*\n or: --kind most-central"
ASKED = r"if (\w+|-1) means the first option, then .* chooses .* from .*; if .* Use --first-is"
OOO, CENTRAL = {"kind": "odd-one-out"}, {"kind": "most-central"}
CBLEARN = {"preset": "cblearn"}
ROLES = {"object_1": "item1", "object_2": "item2", "object_3": "item3", "odd": "response"}
NO_PROMPT = r"column 'stimulus' holds the same text in every row .* and was not read as objects"

LAYOUTS = [
    Layout("left or right", "triplet", TRIPLETS, sided(lambda t: t.side)),
    Layout("the object", "triplet", TRIPLETS, sided(lambda t: t.chosen)),
    Layout("1 and 2", "triplet", TRIPLETS, sided(lambda t: t.place + 1)),
    Layout("arrows", "triplet", TRIPLETS, sided(lambda t: "Arrow" + t.side.title()), form="tsv"),
    Layout("0 and 1", "triplet", TRIPLETS, sided(lambda t: t.place), refused=ASKED),
    Layout("0 is the first", "triplet", TRIPLETS, sided(lambda t: t.place), {"first_is": 0}),
    Layout("1 is the first", "triplet", TRIPLETS, sided(lambda t: 1 - t.place), {"first_is": 1}),
    Layout("True and False", "triplet", TRIPLETS, sided(lambda t: t.place == 0), refused=ASKED),
    Layout("True is the first", "triplet", TRIPLETS, sided(lambda t: t.place == 0), {"first_is": True}, form="frame"),
    Layout("plus and minus one", "triplet", TRIPLETS, sided(lambda t: 1 - 2 * t.place), refused=ASKED),
    Layout("-1 is the first", "triplet", TRIPLETS, sided(lambda t: 2 * t.place - 1), {"first_is": -1}),
    Layout("only 1", "triplet", FIRST_ONLY, sided(lambda t: 1), refused=ASKED),
    Layout("only 0", "triplet", FIRST_ONLY, sided(lambda t: 0), refused=ASKED),
    Layout("left_chosen", "triplet", TRIPLETS, sided(None, left_chosen=lambda t: t.place == 0)),
    Layout("chose_right", "triplet", TRIPLETS, sided(None, chose_right=lambda t: t.place)),
    Layout("keys", "triplet", TRIPLETS, sided(lambda t: "fj"[t.place]), {"first_is": "f"}),
    Layout("constant columns", "triplet", TRIPLETS,
           sided(lambda t: t.side, block=lambda t: "main", question=lambda t: "Which is more alike?")),
    Layout("cblearn: 1 and -1", "triplet", TRIPLETS, sided(lambda t: 1 - 2 * t.place), CBLEARN),
    Layout("cblearn: True and False", "triplet", TRIPLETS, sided(lambda t: t.place == 0), CBLEARN, form="frame"),
    Layout("cblearn: 1 and 0", "triplet", TRIPLETS, sided(lambda t: 1 - t.place), CBLEARN),
    Layout("cblearn: only 1", "triplet", FIRST_ONLY, sided(lambda t: 1), CBLEARN),
    Layout("cblearn: i, j, k, y", "triplet", TRIPLETS, near_far(y=lambda right: 1 if right else -1), CBLEARN),
    Layout("cblearn: y of 0 and 1", "triplet", TRIPLETS, near_far(y=int), CBLEARN),
    Layout("cblearn: odd of four", "odd-one-out", of_items(4), items("o", "y", lambda t: t.place), CBLEARN | OOO),
    Layout("near and far", "triplet", TRIPLETS, near_far()),
    Layout("near and far, true or not", "triplet", TRIPLETS, near_far(answer=bool)),
    Layout("near and far, 0 or 1", "triplet", TRIPLETS, near_far(answer=int), refused="0 and 1 in addition to near"),
    Layout("odd of three", "odd-one-out", of_items(3), items()),
    Layout("odd of four", "odd-one-out", of_items(4), items()),
    Layout("odd of five", "odd-one-out", of_items(5), items("image_", answer=lambda t: t.place + 1)),
    Layout("odd of six", "odd-one-out", of_items(6), items("Stim ", answer=lambda t: t.place, start=0)),
    Layout("odd of four, columns named", "odd-one-out", of_items(4), items(answer=lambda t: f"item{t.place + 1}")),
    Layout("odd of three to five", "odd-one-out", [*of_items(3, 4), *of_items(4, 4), *of_items(5, 4)], fewer),
    Layout("odd in a JSON list", "odd-one-out", of_items(4), listed()),
    Layout("odd in a list with semicolons", "odd-one-out", of_items(3), listed("stimuli", "ooo", ";".join)),
    Layout("odd in a list that Python printed", "odd-one-out", of_items(5), listed("images", "odd", str)),
    Layout("items and a response", "odd-one-out", of_items(3), items(role="response"), refused=f"{BOTH}{KINDS}"),
    Layout("a list and a response", "odd-one-out", of_items(4), listed(role="response"), refused=f"{BOTH}{KINDS}"),
    Layout("four items and a response", "odd-one-out", of_items(4), items(role="response"), refused=f"{BOTH}{KINDS}"),
    Layout("four items and a kind", "odd-one-out", of_items(4), items(role="response"), OOO),
    Layout("central of three", "most-central", of_items(3), items(role="most_central")),
    Layout("central of five", "most-central", of_items(5), items("object", "central", lambda t: t.place, 0)),
    Layout("central in a list", "most-central", of_items(4), listed(role="answer"), CENTRAL),
    Layout("two pairs", "quadruplet", of_pairs(), lambda trials: [
        {"left_1": t.shown[0][0], "left_2": t.shown[0][1], "right_1": t.shown[1][0], "right_2": t.shown[1][1],
         "answer": t.side} for t in trials]),
    Layout("four items in two pairs", "quadruplet", of_pairs(), lambda trials: [
        numbered("item", [*t.shown[0], *t.shown[1]]) | {"answer": t.side} for t in trials], {"kind": "quadruplet"}),
    Layout("four items and 1 or 2", "quadruplet", of_pairs(), lambda trials: [
        numbered("item", [*t.shown[0], *t.shown[1]]) | {"answer": t.place + 1} for t in trials],
        refused=r"read as quadruplet, .* are more similar than .*; read as odd-one-out, where 1 means the first,"),
    Layout("grid", "grid", with_anchor(4), lambda trials: [
        {"anchor": t.anchor, "shown": ";".join(t.shown), "chosen": t.chosen} for t in trials]),
    Layout("reference and three options", "grid", with_anchor(3), lambda trials: [
        {"reference": t.anchor, **numbered("option_", t.shown), "choice": t.chosen} for t in trials]),
    Layout("ranking", "ranking", of_rankings(), lambda trials: [
        {"anchor": t.anchor, **numbered("rank_", t.chosen)} for t in trials], places=False),
    Layout("one column too many", "triplet", with_anchor(2), lambda trials: [
        {"anchor": t.anchor, **numbered("option", t.shown), "option3": "oak", "answer": t.chosen} for t in trials],
        {"kind": "triplet"}, notes=("column 'option3' holds objects and was not used",)),
    Layout("jsPsych 7, sides", "triplet", TRIPLETS, jspsych(lambda t: sides(t) | {"response": t.place}),
           notes=(SCREEN,)),
    Layout("jsPsych 6, sides", "triplet", TRIPLETS, jspsych(lambda t: sides(t) | {"button_pressed": t.place}, 6),
           notes=(SCREEN,)),
    Layout("jsPsych, buttons left and right", "triplet", TRIPLETS,
           jspsych(lambda t: sides(t) | {"choices": '["Left","Right"]', "stimulus": "?", "response": t.place}),
           notes=(SCREEN,)),
    Layout("jsPsych, odd without a word", "odd-one-out", of_items(3),
           jspsych(lambda t: {"stimulus": PROMPT, **numbered("item", t.shown), "response": t.place}),
           refused=f"{BOTH}{KINDS}"),
    Layout("jsPsych, odd", "odd-one-out", of_items(3),
           jspsych(lambda t: {"stimulus": PROMPT, **numbered("item", t.shown), "response": t.place}), OOO,
           notes=(SCREEN,)),
    Layout("jsPsych, odd by columns", "odd-one-out", of_items(3),
           jspsych(lambda t: {"stimulus": PROMPT, **numbered("item", t.shown), "response": t.place}),
           OOO | {"columns": ROLES, "preset": "jspsych"}, notes=(SCREEN,)),
    Layout("jsPsych, odd in items", "odd-one-out", of_items(4),
           jspsych(lambda t: {"stimulus": PROMPT, "items": list(t.shown), "response": t.chosen}), OOO, form="json",
           notes=(SCREEN,)),
    Layout("jsPsych, odd in choices", "odd-one-out", of_items(3),
           jspsych(lambda t: {"stimulus": PROMPT, "choices": json.dumps(t.shown), "response": t.place}), OOO,
           notes=(SCREEN,)),
    Layout("jsPsych, choices without a word", "odd-one-out", of_items(3),
           jspsych(lambda t: {"stimulus": PROMPT, "choices": json.dumps(t.shown), "response": t.place}),
           refused=f"{BOTH}{KINDS}"),
    Layout("jsPsych, pictures in HTML", "grid", with_anchor(3), jspsych(lambda t: {
        "stimulus": html(t.anchor), "choices": [html(each) for each in t.shown], "response": t.place}),
        form="json", notes=(SCREEN, "'img/.*.png' becomes '")),
    Layout("jsPsych, an anchor in a sentence", "grid", with_anchor(3), jspsych(lambda t: {
        "stimulus": f"<p>Which is most like {t.anchor}?</p>", "choices": list(t.shown), "response": t.place}),
        form="json", refused=r"'stimulus' holds HTML, where .* plain names, as a prompt .*--columns anchor=stimulus|"
        + BOTH),
    Layout("Salmon", "triplet", TRIPLETS, salmon(), label=lambda each: f"{each}.png"),
    Layout("Salmon of 2020", "triplet", TRIPLETS, salmon(("head", "winner")), label=lambda each: f"{each}.png"),
    Layout("Salmon, some names", "triplet", TRIPLETS[:2], salmon(("head",)), label=index,
           notes=("no winner_filename and loser_filename, so that objects keep their indices",)),
    Layout("Salmon, no names", "triplet", TRIPLETS, salmon(()), label=index),
    Layout("PsychoPy, sides", "triplet", TRIPLETS,
           psychopy(lambda t: sides(t) | {"key_resp.keys": t.side, "key_resp.rt": 0.81}),
           {"columns": {"answer": "key_resp.keys"}}, notes=(SCREEN,)),
    Layout("PsychoPy, keys", "triplet", TRIPLETS,
           psychopy(lambda t: sides(t) | {"resp.keys": "fj"[t.place], "resp.rt": 0.81}),
           {"columns": {"answer": "resp.keys"}, "first_is": "f"}, notes=(SCREEN,)),
    Layout("PsychoPy, odd", "odd-one-out", of_items(3),
           psychopy(lambda t: numbered("image", t.shown) | {"resp.keys": t.place + 1, "resp.rt": 0.81}),
           OOO | {"columns": {"odd": "resp.keys"}}, notes=(SCREEN,)),
    Layout("Gorilla, sides", "triplet", TRIPLETS, gorilla(lambda t: sides(t) | {"Response": t.chosen}),
           notes=("2 rows name no objects and were ignored", "9 rows have no response and were ignored")),
    Layout("Gorilla, odd", "odd-one-out", of_items(4),
           gorilla(lambda t: numbered("item", t.shown) | {"Response": t.chosen}), OOO,
           notes=("2 rows name no objects and were ignored", "9 rows have no response and were ignored")),
    Layout("Qualtrics, embedded data", "triplet", TRIPLETS, qualtrics(lambda t: sides(t) | {"answer": t.side}), fixed=2,
           notes=("2 rows are further lines of headers and were ignored",)),
    Layout("Qualtrics, a column a question", "triplet", TRIPLETS, qualtrics(lambda t: {"Q1": "cat", "Q2": t.chosen}),
           fixed=2, refused="which make no known kind of question"),
    Layout("lab.js", "triplet", TRIPLETS, labjs, notes=(SCREEN,)),
    Layout("LimeSurvey codes", "triplet", TRIPLETS,
           sided(lambda t: f"A{t.place + 1}", submitdate=lambda t: "2024-01-01")),
    Layout("MTurk", "triplet", TRIPLETS, mturk),
    Layout("Prolific", "triplet", TRIPLETS, sided(lambda t: t.side, **{"Participant id": lambda t: t.person * 12})),
    Layout("JSON lines", "triplet", TRIPLETS, sided(lambda t: t.side), form="jsonl"),
    Layout("JSON of trials with a question inside", "triplet", TRIPLETS, lambda trials: [
        {"id": at, "question": sides(t), "answer": t.chosen} for at, t in enumerate(trials)], form="json"),
    Layout("JSON of people with trials inside", "triplet", TRIPLETS, people, form="json"),
]  # fmt: skip
