"""Files nobody would write on purpose: whatever the bytes, there are answers or a sentence.

What is read comes back the same when it is written and read again: comparisons, weights and what belongs together. And
every row of a file is in the comparisons, or counted: as bad, as undecided, or in a note that says it was ignored.

``python tests/formats/fuzz.py 300`` goes on for 300 seconds; the tests run a few hundred examples.
"""

import gzip
import io
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nearer.io import Answers, read_answers, write_answers

HEADERS = [
    "anchor,near,far",
    "anchor,left,right,answer,worker,trial,rt,confidence",
    "i,j,l,k,weight",
    "left_1,left_2,right_1,right_2,answer",
    "o1,o2,o3,odd",
    "a,b,c,central",
    "anchor,shown,chosen",
    "anchor,shown_1,shown_2,shown_3,chosen_1,chosen_2",
    "anchor,ranking",
    "head,left,right,winner,loser,puid,response_time,head_filename,winner_filename,loser_filename",
    "rt,stimulus,choices,response,trial_type,trial_index,time_elapsed,subject",
    "rt,anchor,left,right,response,trial_type,trial_index,time_elapsed",
    "anchor,near,far,weight,annotator,trial,seconds,confidence,place,answer,nearer_answer,nearer_kind",
    "item1,item2,item3,item4,odd,worker",
    "item1,item2,item3,item4,response",
    "image_a,image_b,image_c,most_central",
    "items,odd,trial",
    "objects,central,weight",
    "anchor,option1,option2,option3,choice",
    "anchor,left,right,left_chosen",
    "anchor,near,far,answer",
    "head,winner,loser,puid,head_filename,winner_filename",
    "rt,stimulus,item1,item2,item3,response,trial_type,trial_index,time_elapsed",
    "rt,stimulus,items,response,trial_type,trial_index,time_elapsed",
    "participant,anchor,left,right,key_resp.keys,key_resp.rt,trials.thisN",
    "Participant Private ID,Trial Number,Zone Type,Response,Reaction Time,anchor,left,right",
    "sender,sender_type,sender_id,response,anchor,left,right",
    "ResponseId,anchor,left,right,answer",
    "Input.anchor,Input.left,Input.right,Answer.choice,WorkerId",
]
CELLS = [
    *"abcd",
    "1",
    "2",
    "0",
    "-1",
    "left",
    "right",
    "can't tell",
    "?",
    "",
    " ",
    "a;b;c",
    "b|c",
    "b c",
    '["b","c"]',
    "[",
    "=x",
]
CELLS += [
    "'=x",
    "True",
    "False",
    "<p>Which?</p>",
    '{"ImportId":"QID1"}',
    '["a","b","c"]',
    "1e999",
    "nan",
    "-",
    "1,5",
    "ä",
    "triplet",
    "odd-one-out",
    "object",
    "\u2028",
    "99999999999999999999",
    "x" * 3000,
]
NAMES = ["f", "f", "f", "f.csv", "f.tsv", "f.txt", "f.json", "f.jsonl", "f.parquet", "f.npz", "f.csv.gz", "f"]
KINDS = [None, "triplet", "quadruplet", "odd-one-out", "most-central", "grid", "ranking", "ranked-grid"]
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "latin-1"]

cells = st.one_of(st.sampled_from(CELLS), st.text(max_size=6))
options = st.fixed_dictionaries(
    {
        "kind": st.sampled_from([None] * 12 + KINDS),
        "preset": st.sampled_from([None] * 12 + ["salmon", "jspsych", "cblearn"]),
        "skip_bad": st.sampled_from([True, True, True, False]),
        "undecided": st.sampled_from(["drop", "split"]),
        "weight_by_confidence": st.sampled_from([False] * 7 + [True]),
        "first_is": st.sampled_from([None] * 6 + ["0", "1", "True", "left"]),
    }
)
ANSWERED = (
    "answer",
    "odd",
    "central",
    "response",
    "most_central",
    "choice",
    "key_resp.keys",
    "Answer.choice",
    "Response",
)
NUMBERS = (
    "rt",
    "key_resp.rt",
    "Reaction Time",
    "confidence",
    "weight",
    "seconds",
    "place",
    "response_time",
    "trial_index",
    "time_elapsed",
)
PEOPLE = (
    "participant",
    "Participant Private ID",
    "Trial Number",
    "WorkerId",
    "ResponseId",
    "sender",
    "worker",
    "trial",
    "puid",
    "subject",
    "annotator",
    "trial_type",
    "nearer_answer",
)


CODINGS = [
    ["left", "right", "can't tell"],
    [""],
    ["1", "2"],
    ["0", "1"],
    ["True", "False"],
    ["1", "-1"],
    ["1", "2", "3"],
]


def fitting_cell(draw, name, objects, names, coding):
    """Return a cell that mostly fits the name of its column."""
    if draw(st.integers(0, 19)) == 0:
        return draw(cells)
    if name in ANSWERED:
        if "nearer_kind" in names:
            return draw(st.sampled_from("12"))
        return draw(st.sampled_from([*coding, objects[1]] if draw(st.integers(0, 9)) == 0 else coding)) or objects[1]
    if name in NUMBERS:
        return draw(st.sampled_from(["1", "2.5", "0", "-1", "300", "NA", ""]))
    if name in PEOPLE:
        return draw(st.sampled_from(["p", "q", "1", "2"]))
    if name == "nearer_kind":
        return "triplet"
    if name == "left_chosen":
        return draw(st.sampled_from(["True", "False", "1", "0"]))
    if name in ("stimulus", "Zone Type"):
        return draw(st.sampled_from(["<p>Which?</p>", objects[0]]))
    if name in ("items", "objects"):
        return json.dumps(objects[: draw(st.integers(2, 4))])
    if name in ("shown", "choices", "ranking"):
        return ";".join(objects[1:])
    if name in ("chosen", "winner", "winner_filename", "chosen_1"):
        return objects[1]
    place = names.index(name) % len(objects)
    return objects[place]


@st.composite
def tables(draw):
    """Return names of columns and rows that mostly fit them."""
    names = draw(st.sampled_from(HEADERS)).split(",")
    if draw(st.integers(0, 19)) == 0:
        names = draw(st.lists(st.one_of(st.sampled_from(names), st.text(max_size=5)), max_size=8))
    labels = draw(
        st.sampled_from([list("abcd"), ["1", "2", "3", "01"], ["=x", "'=y", "-z", " w"], ["ä", "same", "?", "b c"]])
    )
    coding = draw(st.sampled_from(CODINGS))
    rows = []
    for _ in range(draw(st.integers(0, 6))):
        objects = draw(st.permutations(labels))
        rows.append([fitting_cell(draw, name, objects, names, coding) for name in names])
    return names, rows


def as_known(names, rows):
    """Return the rows that a reader must account for; None where it cannot be said what a row is."""
    if len(names) < 2 or any("\n" in cell or "\r" in cell for row in [names, *rows] for cell in row):
        return None
    return [dict(zip(names, row, strict=True)) for row in rows]


@st.composite
def text_files(draw):
    names, rows = draw(tables())
    delimiter = draw(st.sampled_from([",", ";", "\t", "|"]))
    quote = draw(st.booleans())

    def written(cell):
        return '"' + cell.replace('"', '""') + '"' if quote or any(c in cell for c in '",;\t|\n\r') else cell

    ending = draw(st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\n"]))
    text = ending.join(delimiter.join(map(written, row)) for row in [names, *rows])
    return text.encode(draw(st.sampled_from(ENCODINGS)), "replace"), as_known(names, rows)


@st.composite
def json_files(draw):
    names, rows = draw(tables())
    value = st.one_of(cells, st.none(), st.booleans(), st.integers(), st.floats(), st.lists(cells, max_size=4))
    records = [dict(zip(names, row, strict=True)) for row in rows]
    for record in records:
        for name in list(record):
            if draw(st.integers(0, 19)) == 0:
                record[name] = draw(value)
    if draw(st.booleans()):
        return json.dumps(records).encode(), records
    return "\n".join(json.dumps(record) for record in records).encode(), records


@st.composite
def array_files(draw):
    file = io.BytesIO()
    width = draw(st.integers(2, 5))
    kind = draw(st.sampled_from([np.int32, np.uint8, np.float64, np.str_, np.bool_]))
    values = draw(st.lists(st.lists(st.integers(0, 6), min_size=width, max_size=width), max_size=6))
    matrix = np.array(values, dtype=int).reshape(-1, width).astype(kind)
    arrays = {draw(st.sampled_from(["X", "triplets", "quadruplets", "data"])): matrix}
    for name in draw(
        st.lists(st.sampled_from(["y", "worker", "trial", "names", "objects", "seconds", "nearer_answer"]))
    ):
        arrays[name] = np.array(
            draw(st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=len(matrix), max_size=len(matrix)))
        )
    if draw(st.booleans()):
        arrays["nearer_kind"] = np.array(draw(st.sampled_from(["triplet", "grid", "?"])))
    np.savez(file, **arrays)
    told = {name: arrays[name] for name in ("nearer_answer",) if name in arrays}  # rows of one answer
    return file.getvalue(), [{name: of[row] for name, of in told.items()} for row in range(len(values))]


@st.composite
def parquet_files(draw):
    import pyarrow as pa
    from pyarrow import parquet

    names, rows = draw(tables())
    names = [f"{name or 'x'}" for name in dict.fromkeys(names)]
    file = io.BytesIO()
    as_integers = draw(st.booleans())
    columns = {name: [(len(row[at]) if as_integers else row[at]) for row in rows] for at, name in enumerate(names)}
    parquet.write_table(pa.table({name.encode("utf-8", "replace").decode(): v for name, v in columns.items()}), file)
    return file.getvalue(), [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


@st.composite
def mutated(draw, files):
    """Return a file with some of its bytes changed, cut out or put in, and its rows if none are."""
    written, rows = draw(files)
    data = bytearray(written)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2, 4]))):
        rows = None
        if not data:
            break
        at = draw(st.integers(0, len(data) - 1))
        how = draw(st.sampled_from(["change", "cut", "insert", "truncate", "repeat"]))
        if how == "change":
            data[at] = draw(st.integers(0, 255))
        elif how == "cut":
            del data[at : at + draw(st.integers(1, 20))]
        elif how == "insert":
            data[at:at] = draw(st.binary(max_size=8))
        elif how == "truncate":
            del data[at:]
        else:
            data[at:at] = data[at : at + 20] * 3
    whole = bytes(data)
    return gzip.compress(whole) if draw(st.integers(0, 15)) == 0 else whole, rows


written_files = st.one_of(text_files(), json_files(), array_files(), parquet_files())
random_bytes = st.tuples(st.binary(max_size=200), st.none())
files = st.one_of(mutated(written_files), mutated(text_files()), written_files, text_files(), random_bytes)


def check(file, name, reading):
    """Read a file; fail on anything but answers, ValueError and OSError with a sentence."""
    data, rows = file
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / name
        path.write_bytes(data)
        try:
            answers = read_answers(path, **reading)
        except (ValueError, OSError) as error:
            if not str(error).strip():
                raise AssertionError(f"{type(error).__name__} without a sentence") from error
            return None
        check_whole(answers)
        if rows is not None:
            check_accounted(answers, rows, reading["undecided"] == "split")
        check_comes_back(answers, Path(folder))
        return answers


def check_accounted(answers, rows, split):
    """Check that every row is in the comparisons, or counted as bad or undecided, or in a note."""
    own = any("nearer_answer" in row for row in rows) and answers.comparisons.is_triplets
    n_read = len(answers.comparisons) if own else len(answers)
    if own:  # rows that only name an object
        n_read += sum(str(row.get("nearer_kind")) == "object" for row in rows)
    dropped = [each.numbers for each in answers.report.findings if each.code == "rows"]
    n_passed = sum(each["n_rows"] for each in dropped if each.get("passed", True))
    n_undecided = 0 if split else answers.report.n_undecided
    assert n_read + answers.report.n_bad + n_undecided + n_passed == len(rows), (
        answers.report.notes,
        answers.report.bad_rows,
    )


def check_whole(answers):
    """Check that answers hang together."""
    assert isinstance(answers, Answers)
    comparisons = answers.comparisons
    assert 0 <= comparisons.rows.min() <= comparisons.rows.max() < comparisons.n_objects
    assert len(set(comparisons.objects.tolist())) == comparisons.n_objects
    assert answers.answer_of.max() + 1 == len(answers)
    assert len(answers.answer_of) == len(comparisons)
    assert (answers.lines >= 1).all()
    if comparisons.weights is not None:
        assert np.isfinite(comparisons.weights).all()
        assert comparisons.weights.min() >= 0


def said(answers):
    """Return comparisons as labels with their weights, and which of them are one trial, in no order."""
    comparisons = answers.comparisons
    rows = comparisons.objects[comparisons.oriented].astype(str).tolist()
    weights = [1.0] * len(rows) if comparisons.weights is None else comparisons.weights.tolist()
    labelled = [(*row, weight) for row, weight in zip(rows, weights, strict=True)]
    trials = range(len(rows)) if comparisons.trials is None else comparisons.trials.tolist()
    together = {}
    for trial, row in zip(trials, labelled, strict=True):
        together.setdefault(trial, []).append(row)
    return sorted(labelled), sorted(map(sorted, together.values()))


def check_comes_back(answers, folder):
    """Check that what was read can be written and read again."""
    for name in ("again.csv", "again.npz"):
        try:
            path = write_answers(answers, folder / name)
        except ValueError as error:
            if "a label holds" not in str(error):
                raise
            return
        again = read_answers(path)
        objects = list(map(str, answers.comparisons.objects.tolist()))
        assert again.comparisons.objects.astype(str).tolist() == (sorted(objects) if name.endswith("csv") else objects)
        assert said(again) == said(answers)
        assert again.kind == answers.kind
        assert len(again) == len(answers)


def fuzz(seconds):
    """Go on for so many seconds.

    Return how many files were read, how many of them held answers, and of how many of these all rows were counted.
    """
    started, counts = time.monotonic(), [0, 0, 0]

    class Over(Exception):
        pass

    @settings(max_examples=10**9, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(files, st.sampled_from(NAMES), options)
    def run(file, name, reading):
        if time.monotonic() - started > seconds:
            raise Over
        counts[0] += 1
        read = check(file, name, reading) is not None
        counts[1] += read
        counts[2] += read and file[1] is not None

    try:
        run()
    except Over:
        pass
    except BaseExceptionGroup as group:
        rest = group.split(Over)[1]
        if rest is not None:
            raise rest from None
    return counts


if __name__ == "__main__":
    n_files, n_answers, n_counted = fuzz(float(sys.argv[1]) if len(sys.argv) > 1 else 300.0)
    sys.stdout.write(
        f"{n_files} files, {n_answers} of them with answers, {n_counted} with every row counted, and no other error\n"
    )
