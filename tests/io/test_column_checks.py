"""Columns that write other labels than the rest of the question make two objects of each: they are refused."""

import json

import numpy as np
import pytest
from helpers.tables import saved

from nearer.checking import check, message_of
from nearer.cli.main import main
from nearer.io import read_answers
from nearer.io.column_checks import chance_of_design

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N = 12
FILES = np.array([f"face_{each:02d}.png" for each in range(N)])


def questions(n_rows, seed=0, n=N):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n)[:3] for _ in range(n_rows)]), rng


def salmon_like(n_rows=60):
    """An index and a file name for what was in the center, file names for the options and the answer."""
    rows, rng = questions(n_rows)
    answer = np.where(rng.random(n_rows) < 0.5, rows[:, 1], rows[:, 2])
    table = {"head": rows[:, 0].tolist()}
    return table | dict(zip(("Center", "Left", "Right", "Answer"), FILES[[*rows.T, answer]].tolist(), strict=True))


FORMS = ["dict", "csv", "json", "npz", "frame"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("said", [{}, {"kind": "triplet"}])
def test_the_anchor_is_the_column_that_writes_what_the_options_do(tmp_path, form, said):
    with pytest.warns(UserWarning, match="'head' has none of the labels of the options, so that 'Center' was read as"):
        answers = read_answers(saved(salmon_like(), form, tmp_path), **said)
    assert answers.kind == "triplet"
    assert answers.report.columns["anchor"] == ("Center",)
    assert answers.comparisons.objects.tolist() == FILES.tolist()


@pytest.mark.parametrize("form", FORMS)
def test_two_schemes_are_refused(tmp_path, form):
    source = saved(salmon_like(), form, tmp_path)
    for said in ({"anchor": "head"}, {"anchor": "head", "left": "Left", "right": "Right"}):
        with pytest.raises(ValueError, match=r"'head' .* none of its 12 labels \('0', '1', .*columns anchor=Center \("):
            read_answers(source, columns=said)
    without = {name: column for name, column in salmon_like().items() if name != "Center"}
    source = saved(without, form, tmp_path)
    with pytest.raises(ValueError, match=r"is ever an option \('face_00.png', .* give each object the same label"):
        read_answers(source)
    answers = read_answers(source, separate_labels=True)
    assert answers.comparisons.n_objects == 2 * N


def test_a_few_rows_are_enough_to_prefer_an_anchor():
    table = {name: column[:4] for name, column in salmon_like().items()}
    assert read_answers(table).report.columns["anchor"] == ("Center",)
    assert read_answers(table, columns={"anchor": "head"}).report.columns["anchor"] == (
        "head",
    )  # four rows may be chance
    # What holds the answer again is no anchor, whatever its name is.
    near = salmon_like()
    near = {"head": near["head"], "near": near["Left"], "far": near["Right"], "target": near["Left"]}
    with pytest.raises(ValueError, match="'head' was read as the anchor"):
        read_answers(near)


def test_some_files_with_other_names(tmp_path):
    """Labels that are written otherwise are refused beside others that match; written alike, they are a warning."""
    rows, _ = questions(200, n=N)
    texts = FILES[rows].astype(object)
    texts[:80, 0] = rows[:80, 0].astype(str)
    table = dict(zip(("anchor", "near", "far"), texts.T.tolist(), strict=True))
    with pytest.raises(ValueError, match=r"12 of its 24 labels \('0', '1', '2', ...\) are never an option"):
        read_answers(table)
    texts[:80, 0] = [f"other_{each}.png" for each in rows[:80, 0]]
    texts[rows == 0] = "only_an_option.png"
    texts[rows[:, 0] == 0, 0] = FILES[1]
    table = dict(zip(("anchor", "near", "far"), texts.T.tolist(), strict=True))
    whole = [len({*row}) == 3 for row in texts]
    answers = read_answers({name: np.array(column)[whole].tolist() for name, column in table.items()})
    found = [finding for finding in check(answers, random_state=0) if finding.code == "only-anchors"]
    assert [finding.severity for finding in found] == ["warning"]
    assert "only ever options: 'only_an_option.png'" in message_of(found[0]).examples


def test_items_in_a_column_of_their_own_scheme():
    rows, rng = questions(60)
    texts = FILES[rows].astype(object)
    texts[:, 1] = rows[:, 1].astype(str)
    table = dict(zip(("item1", "item2", "item3"), texts.T.tolist(), strict=True))
    table["odd"] = [row[k] for row, k in zip(texts, rng.integers(3, size=60), strict=True)]
    with pytest.raises(ValueError, match=r"'item2' was read as items, but none of its 12 labels .* in another column"):
        read_answers(table)


@pytest.mark.parametrize("n_landmarks", [1, 2, 3])
def test_designs_with_few_anchors_or_few_options_are_read(n_landmarks):
    rng = np.random.default_rng(1)
    marks = [f"mark {each}" for each in range(n_landmarks)]
    others = [f"face {each}" for each in range(20)]
    options = np.array([rng.permutation(others)[:2] for _ in range(200)])
    anchors = rng.choice(marks, 200).tolist()
    assert len(read_answers({"anchor": anchors, "near": options[:, 0].tolist(), "far": options[:, 1].tolist()})) == 200
    if n_landmarks > 1:
        shown = np.array([rng.permutation(marks)[:2] for _ in range(200)])
        table = {"anchor": rng.choice(others, 200).tolist(), "near": shown[:, 0].tolist(), "far": shown[:, 1].tolist()}
        assert len(read_answers(table)) == 200


def test_many_separate_anchors_need_a_word():
    rows, rng = questions(120)
    table = {"anchor": [f"adjective {each}" for each in rng.integers(10, size=120)]}
    table |= {"near": FILES[rows[:, 1]].tolist(), "far": FILES[rows[:, 2]].tolist()}
    with pytest.raises(ValueError, match=r"by design, use --separate-labels \(separate_labels=True\)"):
        read_answers(table)
    assert len(read_answers(table, separate_labels=True)) == 120


def test_chance_is_an_upper_bound():
    """Anchors drawn from the objects of blocks: as many that no other block has are as rare as is said, or rarer."""
    rng = np.random.default_rng(2)
    n, runs = 30, 2000
    blocks = [rng.permutation(n)[:3].tolist() for _ in range(12)]
    counts, said = np.zeros(13), {}
    for _ in range(runs):
        anchors = [block[at] for block, at in zip(blocks, rng.integers(3, size=12), strict=True)]
        if len(set(anchors)) < 12:
            continue  # two blocks of one anchor are one
        pairs = [(a, b) for a, block in zip(anchors, blocks, strict=True) for b in block if b != a]
        unique = sum(sum(a in block for block in blocks) == 1 for a in anchors)
        said.setdefault(unique, chance_of_design(pairs, unique))
        counts[unique] += 1
    share = counts[::-1].cumsum()[::-1] / runs
    for unique, chance in said.items():
        assert share[unique] <= chance + 3 * np.sqrt(chance * (1 - chance) / runs)


def test_the_program_stops_and_proposes_the_command(tmp_path, capsys):
    path = saved(salmon_like(), "csv", tmp_path)
    said = ["--columns", "anchor=head,left=Left,right=Right", "--kind", "triplet"]
    for command in (["check", str(path)], ["fit", str(path), "-o", str(tmp_path / "map")]):
        assert main([*command, *said]) == 2
        assert "--columns anchor=Center" in capsys.readouterr().err
    main(["check", str(path), "--json", *said, "--separate-labels"])
    assert json.loads(capsys.readouterr().out)["counts"]["n_objects"] == 2 * N
