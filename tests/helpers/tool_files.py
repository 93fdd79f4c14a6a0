"""Files in the layouts of other tools: matrices, ratings, piles and arrangements of six objects, and triplets.

Those of Meadows and rsatoolbox follow the source of rsatoolbox, the others are typical layouts; the judgments are made
up here.
"""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.io import savemat
from scipy.spatial.distance import pdist, squareform

OBJECTS = ("ant", "bee", "cow", "dog", "elk", "fox")
N = len(OBJECTS)
PLACES = np.random.default_rng(1).normal(size=(N, 2))
PAIRS = [(a, b) for a in range(N) for b in range(a + 1, N)]
PEOPLE = ("clever-fox", "happy-owl", "quick-hen", "calm-cat")


def distances(person=None):
    """Return distances between objects, with the noise of a person, to two digits."""
    true = pdist(PLACES)
    noise = 0 if person is None else 0.2 * np.random.default_rng([2, person]).normal(size=len(true))
    return squareform(np.abs(true + noise).round(2) + 0.01)


def ratings(person, low=1, high=7):
    """Return the ratings of a person on a scale, by pair."""
    d = distances(person)
    scaled = np.round(low + (high - low) * d / d.max()).astype(int)
    return [(OBJECTS[a], OBJECTS[b], int(scaled[a, b])) for a, b in PAIRS]


def table(rows, delimiter=",", quoting=csv.QUOTE_MINIMAL):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def named(matrix, corner=""):
    return [[corner, *OBJECTS], *([name, *row] for name, row in zip(OBJECTS, matrix.tolist(), strict=True))]


def mat(**arrays):
    file = io.BytesIO()
    savemat(file, arrays)
    return file.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def workbook(**sheets):
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def rated(names, *, extra=(), low=1, high=7, delimiter=","):
    """Return a table of ratings: columns of object, other object, rating and person, then others that never change."""
    rows = [
        [a, b, value, person, *(value for _, value in extra)]
        for at, person in enumerate(PEOPLE)
        for a, b, value in ratings(at, low, high)
    ]
    return table([[*names, *(name for name, _ in extra)], *rows], delimiter)


def triplets():
    """Return anchor, left, right, whether the left one is nearer, and the person."""
    d, rows = distances(), []
    for at, person in enumerate(PEOPLE):
        rng = np.random.default_rng([3, at])
        for _ in range(25):
            a, b, c = rng.choice(N, 3, replace=False)
            rows.append((OBJECTS[a], OBJECTS[b], OBJECTS[c], bool(d[a, b] < d[a, c]), person))
    return rows


def confusions():
    """Return counts of responses (columns) to stimuli (rows)."""
    shares = np.exp(-1.5 * distances())
    return np.round(60 * shares / shares.sum(axis=1, keepdims=True)).astype(int)


def piles(person):
    """Return the piles of a person: objects on one side of a line."""
    side = PLACES @ np.random.default_rng([4, person]).normal(size=2)
    return [(name, f"pile {int(value > 0) + 1}") for name, value in zip(OBJECTS, side, strict=True)]


def _triangle(matrix):
    return matrix[np.triu_indices(N, 1)]


def _meadows_mat():
    names = np.array([f"{name}.png" for name in OBJECTS])
    of_people = {f"rdmutv_{each.replace('-', '_')}": _triangle(distances(at))[None] for at, each in enumerate(PEOPLE)}
    return mat(**of_people, **{f"stimuli_{each.replace('-', '_')}": names for each in PEOPLE})


def _meadows_tree():
    stimuli = [{"name": f"{name}.png"} for name in OBJECTS]
    task = {"task": {"task_type": "multiarrange", "name": "arrange"}, "stimuli": stimuli}
    return json.dumps({"tasks": [{**task, "rdm": _triangle(distances(0)).tolist(), "trials": []}]}).encode()


def _rsatoolbox_frame():
    head = ["dissimilarity", "participant", "rdm_index", "conds_1", "conds_2", "pattern_index_1", "pattern_index_2"]
    rows = [
        [distances(at)[a, b], person, at, OBJECTS[a], OBJECTS[b], a, b]
        for at, person in enumerate(PEOPLE)
        for a, b in PAIRS
    ]
    return table([head, *rows])


def _proxscal():
    rows = [[distances(at)[a, b], a + 1, b + 1, at + 1] for at in range(4) for a, b in PAIRS]
    return table([["proximity", "rowid", "colid", "sourceid"], *rows])


def _spss():
    return table([["ROWTYPE_", "VARNAME_", *OBJECTS], *(["PROX", *row] for row in named(distances())[1:])])


def _lab_js():
    head = ["sender", "sender_type", "timestamp", "observation", "anchor", "left", "right", "response", "duration"]
    rows = [
        ["Trial", "html.Screen", "2024-01-01T10:00:00Z", person, a, b, c, "left" if near else "right", 812.5]
        for a, b, c, near, person in triplets()
    ]
    return table([head, *rows])


def _open_sesame():
    head = ["anchor", "left", "right", "response", "response_time", "subject_nr", "count_trial_sequence"]
    rows = [
        [a, b, c, "left" if near else "right", 900, PEOPLE.index(person), at]
        for at, (a, b, c, near, person) in enumerate(triplets())
    ]
    return table([head, *rows], quoting=csv.QUOTE_ALL)


def _testable():
    head = ["subjectID", "rowNo", "type", "anchor", "stim1", "stim2", "responseCode", "RT", "ITI"]
    rows = [
        [person, at + 1, "test", a, b, c, 1 if near else 2, 900, 500]
        for at, (a, b, c, near, person) in enumerate(triplets())
    ]
    return table([head, *rows])


def _labvanced():
    head = ["rec_session_id", "task_name", "trial_id", "anchor", "option_left", "option_right", "chosen", "rt_ms"]
    rows = [
        [person, "triplets", at, a, b, c, b if near else c, 900]
        for at, (a, b, c, near, person) in enumerate(triplets())
    ]
    return table([head, *rows])


@dataclass(frozen=True)
class ToolFile:
    """A file of a tool: what it holds, how it is called, and the options that `nearer check` needs to read it."""

    tool: str
    holds: str
    name: str
    content: Callable[[], bytes]
    options: tuple[str, ...] = ()
    kind: str = "ratings"


_JSPSYCH = (("trial_type", "html-slider-response"), ("rt", 1200), ("slider_start", 50))
_INQUISIT = (("date", "010124"), ("blockcode", "rate"), ("latency", 900))
_GORILLA = (("Event Index", 3), ("Trial Number", 1), ("Zone Type", "response_slider_endValue"), ("Reaction Time", 900))
FILES = [
    ToolFile("R", "`write.csv(as.matrix(d))`", "r.csv", lambda: table(named(distances())), kind="matrix"),
    ToolFile(
        "R",
        "`write.table(as.matrix(d))`",
        "r.txt",
        lambda: table([OBJECTS, *named(distances())[1:]], " "),
        kind="matrix",
    ),
    ToolFile("R", "`melt(as.matrix(d))` of reshape2", "melt.csv", lambda: rated(("Var1", "Var2", "value", "person"))),
    ToolFile("MATLAB", "`writematrix(D)`", "D.csv", lambda: table(distances().tolist()), kind="matrix"),
    ToolFile(
        "MATLAB",
        "`save('D.mat', 'D', 'names')`",
        "D.mat",
        lambda: mat(D=distances(), names=np.array(OBJECTS, object)),
        kind="matrix",
    ),
    ToolFile(
        "Meadows", "multi-arrangement, MATLAB", "Meadows_study_v1_arrange_1D.mat", _meadows_mat, kind="arrangement"
    ),
    ToolFile(
        "Meadows",
        "multi-arrangement, JSON tree",
        "Meadows_study_v1_clever-fox_tree.json",
        _meadows_tree,
        kind="arrangement",
    ),
    ToolFile(
        "Kriegeskorte and Mur",
        "multi-arrangement toolbox",
        "subject_1.mat",
        lambda: mat(estimate_dissimMat_ltv=_triangle(distances(1))[None], nTrials=12),
        kind="matrix",
    ),
    ToolFile("rsatoolbox", "`rdms.to_df()` as CSV", "rdms.csv", _rsatoolbox_frame),
    ToolFile(
        "rsatoolbox",
        "`rdms.get_matrices()` as npy",
        "rdms.npy",
        lambda: npy(np.array([distances(at) for at in range(4)])),
        kind="matrix",
    ),
    ToolFile("SPSS", "matrix of PROXIMITIES", "proximities.csv", _spss, kind="matrix"),
    ToolFile("PROXSCAL", "proximities in one column", "proxscal.csv", _proxscal),
    ToolFile(
        "JASP, Excel",
        "correlations in a workbook",
        "book.xlsx",
        lambda: workbook(Notes=[["pilot"]], Correlations=named(np.exp(-distances()).round(3) + 0.01 * np.eye(N))),
        ("--sheet", "Correlations"),
        kind="matrix",
    ),
    ToolFile(
        "jsPsych",
        "html-slider-response",
        "jspsych.csv",
        lambda: rated(("item1", "item2", "response", "subject"), extra=_JSPSYCH, low=0, high=100),
    ),
    ToolFile(
        "PsychoPy, Pavlovia",
        "slider",
        "slider.csv",
        lambda: rated(("word_a", "word_b", "slider.response", "participant"), extra=(("slider.rt", 1.2),)),
    ),
    ToolFile(
        "Gorilla",
        "slider of a task",
        "gorilla.csv",
        lambda: rated(
            ("Spreadsheet: word1", "Spreadsheet: word2", "Response", "Participant Private ID"), extra=_GORILLA
        ),
    ),
    ToolFile(
        "Inquisit",
        ".iqdat of similarity ratings",
        "rate.iqdat.txt",
        lambda: rated(("stimulusitem1", "stimulusitem2", "response", "subject"), extra=_INQUISIT, delimiter="\t"),
    ),
    ToolFile(
        "formr",
        "ratings of pairs",
        "formr.csv",
        lambda: rated(("word_1", "word_2", "similarity", "session"), extra=(("created", "2024-01-01 10:00:00"),)),
    ),
    ToolFile(
        "a spreadsheet",
        "ratings under other names",
        "urteile.csv",
        lambda: rated(("Wort", "Vergleich", "Urteil", "VP"), delimiter=";"),
        ("--columns", "object_1=Wort,object_2=Vergleich,rating=Urteil,annotator=VP", "--kind", "ratings"),
    ),
    ToolFile(
        "a spreadsheet",
        "counts of same and different",
        "same.csv",
        lambda: table(
            [["a", "b", "same", "different"], *([a, b, 20 - 2 * value, 2 * value] for a, b, value in ratings(0))]
        ),
        kind="same-different",
    ),
    ToolFile(
        "an identification experiment",
        "confusion matrix",
        "confusions.csv",
        lambda: table(named(confusions(), "stimulus")),
        ("--kind", "confusions"),
        kind="confusions",
    ),
    ToolFile(
        "OptimalSort",
        "cards and categories",
        "cards.csv",
        lambda: table(
            [
                ["participant", "card label", "category label"],
                *([person, *row] for at, person in enumerate(PEOPLE) for row in piles(at)),
            ]
        ),
        kind="sorting",
    ),
    ToolFile("lab.js", "triplets", "lab.csv", _lab_js, kind="triplet"),
    ToolFile("OpenSesame", "triplets", "subject-0.csv", _open_sesame, kind="triplet"),
    ToolFile(
        "Testable",
        "triplets",
        "testable.csv",
        _testable,
        ("--columns", "anchor=anchor,left=stim1,right=stim2,answer=responseCode"),
        kind="triplet",
    ),
    ToolFile(
        "Labvanced",
        "triplets",
        "labvanced.csv",
        _labvanced,
        ("--columns", "anchor=anchor,left=option_left,right=option_right,answer=chosen"),
        kind="triplet",
    ),
]
