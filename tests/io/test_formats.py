"""Files of every format, broken ones, and compressed ones that would fill the memory."""

import gzip
import io
import struct
import sys
import time
import zipfile
import zlib

import numpy as np
import pytest

from nearer.io import BadAnswers, delimited, read_answers
from nearer.io.messages import statement
from nearer.io.table import Encoder

PLAIN = "anchor,near,far,worker\ncat,dog,car,p\ncar,bus,cat,q\n"


LABELS = ["bus", "car", "cat", "dog"]


def write(tmp_path, content, name="answers.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(tmp_path, delimiter, ending):
    path = write(tmp_path, PLAIN.replace(",", delimiter).replace("\n", ending), "answers.txt")
    answers = read_answers(path)
    assert answers.comparisons.objects.tolist() == LABELS
    assert answers.lines.tolist() == [2, 3]
    assert answers.annotators.tolist() == ["p", "q"]
    assert answers.source == "answers.txt"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_unicode_in_its_dresses(tmp_path, encoding):
    path = write(tmp_path, PLAIN.replace("cat", "Kätzchen 猫").encode(encoding))
    assert "Kätzchen 猫" in read_answers(path).comparisons.objects


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_western_letters_are_read_with_a_note(tmp_path, encoding):
    path = write(tmp_path, PLAIN.replace("cat", "Kätzchen").encode(encoding))
    with pytest.warns(UserWarning, match="Windows-1252"):
        answers = read_answers(path)
    assert "Kätzchen" in answers.comparisons.objects
    assert "Windows-1252" in answers.report.notes[0]


def test_labels_stay_as_written_but_for_spaces_around(tmp_path):
    path = write(tmp_path, 'anchor,near,far\n01, 1 ,=cmd()\n+2,"x,""y",NA\n')
    assert read_answers(path).comparisons.objects.tolist() == ["+2", "01", "1", "=cmd()", "NA", 'x,"y']


AWKWARD = (
    '\n"anchor",near,far,remark\n'  # 1: blank, 2: header
    'a,b,c,"two\nlines"\n'  # 3 and 4
    "\n"  # 5
    "a,b,c,short\n"  # 6
    "a,b\n"  # 7: too few
    'a,,c,"three\r\n\nlines"\n'  # 8 to 10: no near
    "a,b,c,x,,\n"  # 11: empty cells too many are nothing
    "a,b,c,x,y\n"  # 12: too many
    "a,a,c,x"  # 13: twice
)


def test_lines_are_right_across_quoted_newlines_and_blank_lines(tmp_path):
    path = write(tmp_path, AWKWARD)
    with pytest.raises(BadAnswers) as caught:
        read_answers(path)
    assert [(row.row, statement(row)) for row in caught.value.bad_rows] == [
        (7, "has 2 cells where the header has 4"),
        (8, "there is no near"),
        (12, "has 5 cells where the header has 4"),
        (13, "'a' appears twice"),
    ]
    assert "4 rows cannot be used" in str(caught.value)
    assert "answers.csv:7: has 2 cells" in str(caught.value)
    assert read_answers(path, skip_bad=True).lines.tolist() == [3, 6, 11]


def test_only_ten_bad_rows_are_listed(tmp_path):
    path = write(tmp_path, "anchor,near,far\n" + "a,a,b\n" * 2000 + "a,b,c\n")
    with pytest.raises(BadAnswers, match="and 1990 more") as caught:
        read_answers(path)
    assert str(caught.value).count("answers.csv:") == 10
    kept = read_answers(path, skip_bad=True)
    assert (kept.report.n_bad, len(kept.report.bad_rows), kept.lines.tolist()) == (2000, 1000, [2002])


def test_nothing_left_is_an_error(tmp_path):
    with pytest.raises(BadAnswers, match=r"no answer of .* is left"):
        read_answers(write(tmp_path, "anchor,near,far\na,a,b\n"), skip_bad=True)
    with pytest.raises(ValueError, match="no answer that compares anything"):
        read_answers(write(tmp_path, "anchor,shown,chosen\n,,\n"))
    with pytest.raises(BadAnswers, match="has 1 cell where"):
        read_answers(write(tmp_path, "anchor,shown,chosen\na\n"), skip_bad=True)
    only_undecided = "anchor,left,right,answer\na,b,c,same\n"
    with pytest.raises(ValueError, match="no answer that compares anything"):
        read_answers(write(tmp_path, only_undecided))


NAMES = ["anchor", "near", "far"]


def assert_same_rows(fast, exact):
    assert fast.sources.lines.tolist() == exact.sources.lines.tolist()
    assert (fast.bad_rows, fast.n_bad) == (exact.bad_rows, exact.n_bad)
    assert fast.columns.keys() == exact.columns.keys()
    for name, column in fast.columns.items():
        assert column.values == exact.columns[name].values
        assert column.codes.tolist() == exact.columns[name].codes.tolist()


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        PLAIN.replace("\n", "\r\n"),
        PLAIN.rstrip(),
        '"anchor","near","far","worker"\n"cat","dog","car","p"\n"car, red","bus","cat",""\n',
        "anchor,near,far\nä,b,c\n,,\n",
        "anchor;near;far\na;b;c\nd;e;f\n",
        'anchor,near,far\na,b,c\nd,e\n"g",h,i,j\nx\nk,l,m\n',
    ],
)
def test_the_fast_reader_agrees_with_the_exact_one(text):
    pytest.importorskip("pyarrow")
    data = text.encode()
    delimiter = delimited._find_delimiter(data)
    names, _ = delimited._header(data, delimiter, "file")
    fast = delimited.cut_cells(data, delimiter, names, names, "file", False)
    assert fast is not None
    assert_same_rows(fast, delimited.parse_rows(data, delimiter, names, names, "file", False))


@pytest.mark.parametrize(
    "text",
    [AWKWARD, 'anchor,near,far\n"a"x,b,c\n', 'anchor,near,far\na""b,b,c\n', "anchor,near,far\na,b,c\n\nd,e,f\n",
     'anchor,near,far\n"a ""b""",b,c\n', "anchor,near,far\na,b,c\rd,e,f\n", 'anchor,near,far\n"a\nb",b,c\n',
     "anchor,near,far\na,b,c,,\n"],
)  # fmt: skip
def test_the_fast_reader_leaves_what_is_odd_to_the_exact_one(text):
    assert delimited.cut_cells(text.encode(), ",", NAMES, NAMES, "file", False) is None


def test_text_is_read_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read_answers(write(tmp_path, PLAIN)).comparisons.objects.tolist() == LABELS


def test_blocks_of_codes_join():
    encoder = Encoder()
    encoder.add_coded(np.array([0, 1, -1], np.int32), ["x", "y"])
    encoder.add_coded(np.array([1, 0], np.int32), [" x", "z"])
    column = encoder.column()
    assert [column.values[code] if code >= 0 else None for code in column.codes] == ["x", "y", None, "z", "x"]


def jsonl(rows):
    return "\n".join(rows) + "\n"


ROW = '{"anchor": "cat", "near": "dog", "far": "car", "worker": 1}'


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("answers.jsonl", jsonl([ROW, "", ROW]), [1, 3]),
        ("answers.ndjson", jsonl([ROW, ROW]), [1, 2]),
        ("answers.json", f"[{ROW},\n{ROW}]", [1, 2]),
        ("answers.json", f'{{"trials": [{ROW}]}}', [1]),
        ("answers.txt", jsonl([f"[{ROW}, {ROW}]", f"[{ROW}]"]), [1, 2, 3]),
    ],
)
def test_json(tmp_path, name, content, lines):
    answers = read_answers(write(tmp_path, content, name))
    assert answers.lines.tolist() == lines
    assert answers.comparisons.objects.tolist() == ["car", "cat", "dog"]
    assert answers.annotators.tolist() == ["1"] * len(lines)


def test_lines_of_json_that_are_none_are_bad_and_those_of_grids_hold_lists(tmp_path):
    path = write(tmp_path, jsonl([ROW, "{oops", "3"]), "answers.jsonl")
    with pytest.raises(BadAnswers) as caught:
        read_answers(path)
    assert [row.row for row in caught.value.bad_rows] == [2, 3]
    row = '{"anchor": 1, "shown": [2, 3, 4], "chosen": [4]}'
    answers = read_answers(write(tmp_path, jsonl([row]), "grid.jsonl"))
    assert answers.comparisons.objects[answers.comparisons.rows].tolist() == [["1", "4", "2"], ["1", "4", "3"]]


def test_gzip(tmp_path):
    assert len(read_answers(write(tmp_path, gzip.compress(PLAIN.encode()), "answers.csv.gz"))) == 2


def zipped(*names):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return file.getvalue()


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def parquet_bytes():
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(pa.table({"anchor": ["a"], "near": ["b"], "far": ["c"]}), file)
    return file.getvalue()


HOSTILE = {
    "empty": (b"", "is empty"),
    "spaces": (b" \n\n ", "is empty"),
    "only a mark": (b"\xef\xbb\xbf", "is empty"),
    "only a header": (b"anchor,near,far\n", "no rows below"),
    "no header": (b"a,b,d\nb,d,a\n", "If the file has no line of column names"),
    "workbook": (zipped("[Content_Types].xml", "xl/workbook.xml"), "not a whole workbook"),
    "zip": (zipped("notes.txt"), "zip archive"),
    "image": (b"\x89PNG\r\n\x1a\n" + bytes(50), "PNG image"),
    "old workbook": (b"\xd0\xcf\x11\xe0" + bytes(50), "not a whole workbook"),
    "pdf": (b"%PDF-1.4\n", "PDF"),
    "bytes": (bytes(range(1, 32)) * 100, "no text"),
    "nul": (b"anchor,near,far\na,b\0,c\n", "answers.csv:2: holds a NUL byte"),
    "broken utf-16": (b"\xff\xfea\0b\0c", "UTF-16"),
    "truncated gzip": (gzip.compress(PLAIN.encode() * 50)[:-20], "not whole"),
    "truncated npz": (npz(triplets=np.arange(300).reshape(-1, 3))[:200], "NumPy"),
    "pickled npz": (npz(triplets=np.array([[{}, 1, 2]], dtype=object)), "pickle"),
    "npz of nothing": (npz(weather=np.zeros((2, 2))), "no table of indices"),
    "npz of floats": (npz(triplets=np.full((2, 3), 0.5)), "float64"),
    "truncated json": (b'[{"anchor": "a", "near": "b"', "no JSON objects"),
    "nested json": (b"[" * 100_000, "no JSON objects"),
    "long cell": (b'anchor,near,far\na,b,"' + b"x" * 200_000, "never closed"),
    "long label": (b"anchor,near,far\na,b," + b"x" * 5000, "longer than 2000"),
    "same name twice": (b"anchor,near,near,far\na,b,b,c\n", "two columns 'near'"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_files_that_are_no_answers_get_a_sentence(tmp_path, what):
    content, sentence = HOSTILE[what]
    name = "answers.json" if "json" in what else "answers.csv"
    with pytest.raises(ValueError, match=f"(?s){sentence}"):
        read_answers(write(tmp_path, content, name))


def test_damaged_parquet_gets_a_sentence(tmp_path):
    with pytest.raises(ValueError, match="not a whole Parquet file"):
        read_answers(write(tmp_path, parquet_bytes()[:-30], "answers.parquet"))
    assert len(read_answers(write(tmp_path, parquet_bytes(), "whatever.csv"))) == 1


@pytest.mark.parametrize(
    ("source", "options", "error", "sentence"),
    [
        ("missing.csv", {}, FileNotFoundError, "does not exist"),
        ("", {}, ValueError, "is a folder without a file of answers"),
        (3, {}, ValueError, "cannot read answers from int"),
        ({"anchor": ["a"], "near": ["b", "c"], "far": ["d"]}, {}, ValueError, "different lengths"),
        ({"anchor": ["a"]}, {"preset": "psychopy"}, ValueError, "preset='psychopy'"),
        ({"anchor": ["a"]}, {"undecided": "keep"}, ValueError, "undecided='keep'"),
    ],
)
def test_what_is_no_file(tmp_path, source, options, error, sentence):
    with pytest.raises(error, match=sentence):
        read_answers(tmp_path / source if isinstance(source, str) else source, **options)


def test_an_array_that_claims_more_than_the_file_holds_is_never_made(tmp_path):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<i8", "fortran_order": False, "shape": (10**12, 3)})
    with pytest.raises(ValueError, match="does not fit"):
        read_answers(write(tmp_path, file.getvalue() + bytes(100), "huge.npy"))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames(library):
    pytest.importorskip("narwhals")
    module = pytest.importorskip(library)
    columns = {"anchor": [1, 2], "near": [2, 3], "far": [3, 1], "worker": ["p", None], "rt": [0.5, None]}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    answers = read_answers(frame, skip_bad=True)
    assert answers.comparisons.objects.tolist() == [1, 2, 3]
    assert answers.comparisons.rows.tolist() == [[0, 1, 2]]
    assert answers.report.bad_rows[0].row == 2
    assert answers.seconds.tolist() == [0.5]


def test_answers_are_printed_in_a_line(tmp_path):
    rows = "".join(f"a{k},b,c,p{k % 2}\n" for k in range(10)) + "a,b\n" * 2000
    answers = read_answers(write(tmp_path, "anchor,near,far,worker\n" + rows), skip_bad=True)
    wanted = "Answers(triplet: 10 answers, 10 comparisons, 12 objects, 2 people, 2,000 rows skipped)"
    assert repr(answers) == str(answers) == wanted


@pytest.mark.parametrize("seed", range(40))
def test_the_fast_reader_agrees_with_the_exact_one_on_random_text(seed, monkeypatch):
    """Cut into pieces of a few lines; where the fast reader is sure of itself, both say the same."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(delimited, "_PIECE_BYTES", 30)
    rng = np.random.default_rng(seed)
    odd = ['"j\nk"', 'l"m', "\n"] if seed % 4 == 0 else []
    words = ["a", "bc", "ä", "", " d ", '"e,f"', '""', '"g"', "h;i", *odd]
    end = ["\n", "\r\n"][seed % 2]
    widths = rng.choice([2, 3, 3, 3, 3, 3, 3, 4], 30) if seed % 3 else np.full(30, 3)
    lines = ["anchor,near,far", *(",".join(rng.choice(words, width)) for width in widths)]
    data = (end.join(lines) + rng.choice(["", end])).encode()
    fast = delimited.cut_cells(data, ",", NAMES, ["far", "anchor"], "file", False)
    assert fast is not None or seed % 4 == 0 or seed % 3
    if fast is not None:
        assert_same_rows(fast, delimited.parse_rows(data, ",", NAMES, ["far", "anchor"], "file", False))


MOST_SECONDS = 2.0  # of the processor; unpacked whole, these would take a minute


ZEROS = 2**32


@pytest.fixture(scope="module")
def deflated():
    """Zeros, packed once and repeated: after a full flush packed bytes do not depend on those before."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(2**24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (ZEROS // 2**24) + packer.flush()


def npz_with_claim(deflated, claimed, n_members=1):
    """Return an archive whose members claim a size, and share the same packed bytes."""
    name, packed = b"triplets.npy", len(deflated)
    sizes = struct.pack("<III", 0, packed, claimed)
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 33) + sizes + struct.pack("<HH", len(name), 0) + name
    central = b""
    for _ in range(n_members):
        central += b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 33) + sizes
        central += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    start = len(local) + packed
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, n_members, n_members, len(central), start, 0)
    return local + deflated + central + end


def refused(path, match):
    start = time.process_time()
    with pytest.raises(ValueError, match=match) as caught:
        read_answers(path)
    assert time.process_time() - start < MOST_SECONDS
    return str(caught.value)


@pytest.mark.parametrize("name", ["answers.csv.gz", "answers.json.gz", "answers.npz"])
@pytest.mark.parametrize("begins", [b"", b"anchor,near,far\na,b,c\n", b'[{"anchor": "a"}, '])
def test_gzip_bombs_are_left_alone(name, begins, deflated, tmp_path):
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    bomb = gzip.compress(begins) + head + deflated
    assert len(bomb) > 2**21
    (tmp_path / name).write_bytes(bomb)
    assert name in refused(tmp_path / name, "grows to .* unpack it first")


@pytest.mark.parametrize(
    ("claimed", "n_members", "match"),
    [
        (2**32 - 1, 1, "grows to .* unpack it first"),
        (1000, 1, "not a whole NumPy file"),  # claims less than it holds
        (2**30, 1, "grows to .* unpack it first"),
        (2**28, 100, "grows to .* unpack it first"),  # one packed member under many names
    ],
)
def test_npz_bombs_are_left_alone(claimed, n_members, match, deflated, tmp_path):
    (tmp_path / "answers.npz").write_bytes(npz_with_claim(deflated, claimed, n_members))
    refused(tmp_path / "answers.npz", match)


def test_members_are_not_packed_otherwise(tmp_path):
    """Other methods unpack without a bound."""
    with zipfile.ZipFile(tmp_path / "answers.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("triplets.npy", bytes(2**20))
    refused(tmp_path / "answers.npz", "packed in a way that np.savez never uses")


def test_a_bomb_in_a_gzip_file_is_left_alone(deflated, tmp_path):
    (tmp_path / "answers.npz").write_bytes(gzip.compress(npz_with_claim(deflated, 2**31)))
    refused(tmp_path / "answers.npz", "packed twice")


def test_runs_of_one_value_in_parquet_are_left_alone(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(2**20, np.int8)), ["a"])
    block = pyarrow.table(dict.fromkeys(("anchor", "near", "far"), column))
    with parquet.ParquetWriter(tmp_path / "answers.parquet", block.schema) as writer:
        for _ in range(20):
            writer.write_table(block)
    refused(tmp_path / "answers.parquet", "grows to")


def test_answers_that_pack_well_are_read(tmp_path):
    """All triplets of 113 objects in order, and constant answers beside them."""
    n = 113
    anchor, near, far = np.indices((n, n, n)).reshape(3, -1)
    rows = np.column_stack([anchor, near, far])[(anchor != near) & (anchor != far) & (near < far)]
    assert rows.nbytes > 2**24
    np.savez_compressed(tmp_path / "rows.npz", triplets=rows, weights=np.ones(len(rows)))
    assert len(read_answers(tmp_path / "rows.npz")) == len(rows)
    lines = (",".join(f"picture {k:03d}.png" for k in row) for row in rows[:360_000].tolist())
    text = "\n".join(["anchor,near,far", *lines])
    assert len(text) > 2**24
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text.encode(), 1))
    assert len(read_answers(tmp_path / "rows.csv.gz")) == 360_000
