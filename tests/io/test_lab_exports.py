"""Raw files in the layouts of labs, through `nearer check` and `nearer fit`; and what their messages propose."""

import argparse
import json
import re
import shlex
import warnings
from pathlib import Path

import pytest
from helpers import lab_exports, layouts

from nearer.cli.argtypes import pairs
from nearer.cli.arguments import add_reading
from nearer.cli.main import main
from nearer.embedding import STE
from nearer.evaluation import held_out_error
from nearer.io import read_answers
from nearer.optimize import Factored

DOCS = Path(__file__).parents[2] / "docs"
EXPORTS = lab_exports.EXPORTS
QUICK = ("--quick", "--method", "STE", "--dimensions", "2")
OPTION = r"(?:--(?:columns|kind|first-is|preset) (?:'[^']*'|\S+)|--skip-bad|--separate-labels)"
PROPOSAL = re.compile(rf"({OPTION}(?: {OPTION})*) \((?=(?:columns|kind|first_is|preset|skip_bad|separate_labels)=)")


def run(capsys, *arguments):
    status = main([str(argument) for argument in arguments])
    return status, *capsys.readouterr()


def proposals(message):
    """Return the options that a message proposes; NAME stands for a name that only the reader knows."""
    return [shlex.split(found) for found in PROPOSAL.findall(message) if "NAME" not in found]


@pytest.fixture
def page(monkeypatch):
    """The script that writes docs/layouts.md."""
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    import layouts as script

    return script


@pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.name)
def test_check_says_what_was_read_as_the_page_shows(export, page, tmp_path, capsys):
    file = export.write(tmp_path)
    if export.options:
        status, out, err = run(capsys, "check", file)
        assert (status, out) == (2, "")
        assert "\nTry: " in err
        assert list(export.options) in proposals(err)
    status, out, err = run(capsys, "check", file, *export.options)
    people = "" if export.n_people is None else f" by {export.n_people} people"
    assert status == 0, out
    assert f"{export.n_answers} answers{people} about {len(lab_exports.THINGS)} objects" in out
    assert f"Asked as {export.kind} questions" in out
    for sentence in export.said:
        assert sentence in " ".join((out + err).split()), err
    shown = page.section(export, file, out)
    assert shown in page.PAGE.read_text(encoding="utf-8"), "run docs/_extensions/layouts.py"


@pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.name)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_answers_are_read_as_they_were_given(export, tmp_path):
    """Taken the wrong way round, they would be predicted worse than by chance."""
    answers = read_as_typed(export.write(tmp_path), {}, export.options)
    assert (answers.kind, len(answers)) == (export.kind, export.n_answers)
    assert sorted(map(str, answers.comparisons.objects)) == sorted(export.objects)
    error = held_out_error(STE(2, solver=Factored(n_init=1)), answers.comparisons, random_state=0)
    assert error.error < 0.2


@pytest.mark.parametrize("export", [EXPORTS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in EXPORTS[1:])])
def test_fit(export, tmp_path, capsys, few_repeats):
    file = export.write(tmp_path)
    status, _, err = run(capsys, "fit", file, *export.options, "-o", tmp_path / "map", *QUICK)
    assert status == 0, err
    results = json.loads((tmp_path / "map" / "results.json").read_text())
    assert results["source"]["kind"] == export.kind
    assert results["source"]["n_answers"] == export.n_answers
    assert results["summary"]["n_annotators"] == export.n_people
    assert results["error"]["held_out"] < 0.2
    assert results["objects"] == sorted(export.objects)


def test_there_are_enough_exports():
    assert len({export.write for export in EXPORTS}) >= 8
    text = (DOCS / "layouts.md").read_text(encoding="utf-8")
    assert re.findall("^## (.*)$", text, re.MULTILINE) == [export.name for export in EXPORTS]


def refused():
    """Return layouts that are refused, each with a message that may propose what to type."""
    return [layout for layout in layouts.LAYOUTS if layout.refused is not None]


def read_as_typed(source, options, said):
    """Read a file with the options of a caller and those that were proposed."""
    parser = argparse.ArgumentParser()
    add_reading(parser)
    parsed = parser.parse_args(said)
    typed = {
        name: value
        for name in ("kind", "columns", "first_is", "preset", "skip_bad", "separate_labels")
        if (value := getattr(parsed, name)) not in (None, False)
    }
    both = options | typed
    if "columns" in options and "columns" in typed:
        both["columns"] = {**options["columns"], **typed["columns"]}
    return read_answers(source, **both)


@pytest.mark.parametrize("layout", refused(), ids=lambda layout: layout.name)
def test_every_proposal_reads(layout, tmp_path):
    source = layouts.table(layout, layout.trials, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        with pytest.raises(ValueError, match=r"\S") as caught:
            read_answers(source, **layout.options)
        for said in proposals(str(caught.value)):
            assert len(read_as_typed(source, layout.options, said)) > 0, said


NAMELESS = [
    {"Bild A": a, "Bild B": b, "Bild C": c, "Auswahl": pick, "subj_code": f"s{at % 4}"}
    for at, (a, b, c, pick) in enumerate(
        (*t.shown, t.chosen) for t in lab_exports.trials("odd")
    )
]  # fmt: skip


@pytest.mark.parametrize("kind", [(), ("--kind", "odd-one-out"), ("--kind", "most-central")])
def test_columns_of_any_name_are_proposed(kind, tmp_path, capsys):
    """Objects are found by what cells hold; the person by what the name of a column is about."""
    file = lab_exports.table(tmp_path / "any.csv", NAMELESS)
    status, _, err = run(capsys, "check", file, *kind)
    found = proposals(err)
    roles = {"odd": "odd-one-out", "central": "most-central"}
    wanted = [role for role, of in roles.items() if not kind or kind[1] == of]
    assert status == 2
    assert found == [["--columns", f"items=Bild A+Bild B+Bild C,{role}=Auswahl,annotator=subj_code"] for role in wanted]
    for options in found:
        status, out, err = run(capsys, "check", file, *kind, *options)
        assert status == 0, err
        assert "240 answers by 4 people about 10 objects" in out


def test_a_proposal_repeats_what_was_said_and_may_be_added_to_it(tmp_path, capsys):
    """Typed in place of the columns that were said, or behind them."""
    rows = [
        {"Bild A": t.shown[0], "Bild B": t.shown[1], "Bild C": t.shown[2], "sel": t.chosen, "nr": f"s{at % 4}"}
        for at, t in enumerate(lab_exports.trials("near"))
    ]  # fmt: skip
    file, said = lab_exports.table(tmp_path / "any.csv", rows), ["--columns", "annotator=nr"]
    _, _, err = run(capsys, "check", file, *said)
    found = proposals(err)
    assert found == [["--columns", "annotator=nr,anchor=Bild A,left=Bild B,right=Bild C,answer=sel"]]
    for options in (found[0], [*said, "--columns", found[0][1].removeprefix("annotator=nr,")]):
        status, out, err = run(capsys, "check", file, *options)
        assert status == 0, err
        assert "240 answers by 4 people about 10 objects" in out


@pytest.mark.parametrize(("name", "n_proposals"), [("Taste", 0), ("subj_code", 2)])
def test_no_proposal_does_without_a_column_that_may_be_the_answer(name, n_proposals, tmp_path, capsys):
    """Or the options would be near and far as they were shown, whatever people answered."""
    rows = [
        dict(zip(("Bild A", "Bild B", "Bild C", name), (*t.shown, "fj"[at % 2]), strict=True))
        for at, t in enumerate(lab_exports.trials("near"))
    ]
    status, _, err = run(capsys, "check", lab_exports.table(tmp_path / "keys.csv", rows))
    assert status == 2
    assert len(proposals(err)) == n_proposals


def test_an_option_that_is_never_chosen_is_the_anchor(tmp_path, capsys):
    rows = [
        {"x1": t.shown[1], "x2": t.shown[0], "x3": t.shown[2], "resp_obj": t.chosen} for t in lab_exports.trials("near")
    ]
    _, _, err = run(capsys, "check", lab_exports.table(tmp_path / "any.csv", rows))
    assert proposals(err) == [["--columns", "anchor=x2,left=x1,right=x3,answer=resp_obj"]]


@pytest.mark.parametrize(
    ("answer", "kinds"), [("response", ["odd-one-out", "most-central"]), ("chosen_center", ["most-central"])]
)
def test_an_item_that_is_never_chosen_is_no_item(answer, kinds, tmp_path, capsys):
    """Read as it is named, such a file makes a map of nonsense: the anchor is one of the items."""
    rows = [
        {"item1": t.shown[1], "item2": t.shown[0], "item3": t.shown[2], answer: t.chosen}
        for t in lab_exports.trials("near")
    ]
    file = lab_exports.table(tmp_path / "any.csv", rows)
    status, _, err = run(capsys, "check", file)
    assert status == 2
    assert f"none of 240 answers in column '{answer}' is the object in column 'item2'" in err
    anchor = ["--columns", f"anchor=item2,left=item1,right=item3,answer={answer}"]
    assert proposals(err) == [anchor, *(["--kind", kind] for kind in kinds)]
    assert run(capsys, "check", file, *anchor)[0] == 0
    assert run(capsys, "check", file, "--kind", kinds[-1])[1]
    few = lab_exports.table(tmp_path / "few.csv", rows[:20])  # of which chance may leave one out
    assert "none of" not in run(capsys, "check", few)[2]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_anchors_may_be_the_first_objects_in_names_of_questions(tmp_path, capsys):
    shown = [("ant", "bee", "cow"), ("bee", "cow", "dog"), ("cow", "dog", "ant"), ("dog", "ant", "bee")]
    rows = [{"person": f"p{k}", **{"_".join(each): each[1 + k % 2] for each in shown}} for k in range(10)]
    file = lab_exports.table(tmp_path / "wide.csv", rows)
    status, _, err = run(capsys, "check", file)
    assert status == 2
    assert proposals(err)[0] == ["--columns", "anchor=object_1,left=object_2,right=object_3,answer=response"]
    answers = read_answers(file, columns=pairs(proposals(err)[0][1]))
    assert (answers.kind, len(answers)) == ("triplet", 40)
    assert len(set(answers.comparisons.annotators)) == 10


NEAR, ODD = lab_exports.trials("near"), lab_exports.trials("odd")
SIDES = ("anchor", "left", "right")
BOTH = [{"items": "x1+x2+x3", role: "sel"} for role in ("odd", "central")]


@pytest.mark.parametrize(
    ("made", "answer", "wanted"),
    [
        (NEAR, lambda t: ("left", "right")[t.place - 1], [dict(zip(SIDES, ("x1", "x2", "x3"), strict=True))]),
        (NEAR, lambda t: t.place - 1, [dict(zip(SIDES, ("x1", "x2", "x3"), strict=True))] * 2),
        (ODD, lambda t: t.place, BOTH),
        (ODD, lambda t: t.place + 1, BOTH),
        (ODD, lambda t: ("left", "middle", "right")[t.place], BOTH),
        (ODD, lambda t: "???" if t.place else "!", []),
    ],
    ids=["sides", "0 and 1", "0 to 2", "1 to 3", "three sides", "nonsense"],
)
def test_places_are_proposed_as_what_they_can_be(made, answer, wanted, tmp_path, capsys):
    """As many places as objects are those of items; one less are those of two options beside an anchor."""
    rows = [dict(zip(("x1", "x2", "x3"), t.shown, strict=True)) | {"sel": answer(t)} for t in made]
    file = lab_exports.table(tmp_path / "any.csv", rows)
    status, _, err = run(capsys, "check", file)
    found = proposals(err)
    assert status == 2
    assert [pairs(options[1]) for options in found] == [
        columns | ({"answer": "sel"} if "anchor" in columns else {}) for columns in wanted
    ]
    assert len({tuple(options) for options in found}) == len(found)
    for options in found:
        assert run(capsys, "check", file, *options)[0] == 0


def test_a_file_without_a_line_of_names_loses_no_answer(tmp_path, capsys):
    rows = [{"a": t.shown[0], "b": t.shown[1], "c": t.chosen} for t in lab_exports.trials("near")]
    rows = [[str(lab_exports.THINGS.index(each)) for each in row.values()] for row in rows]
    (tmp_path / "numbers.csv").write_text("\n".join(map(",".join, rows)) + "\n")
    status, _, err = run(capsys, "check", tmp_path / "numbers.csv")
    assert status == 2
    assert "columns '1', '2', '3'" in err
    words = [[lab_exports.THINGS[int(each)] for each in row] for row in rows]
    (tmp_path / "words.csv").write_text("\n".join(map(",".join, words)) + "\n")
    status, _, err = run(capsys, "check", tmp_path / "words.csv")
    assert status == 2
    assert proposals(err) == []
    assert "If the file has no line of column names, put one at its top" in err
    bad = [*rows[:3], ["1", "2"], *rows[3:]]
    (tmp_path / "bad.csv").write_text("\n".join(map(",".join, bad)) + "\n")
    _, _, err = run(capsys, "check", tmp_path / "bad.csv", "--columns", "anchor=1,near=2,far=3")
    assert "bad.csv:4: has 2 cells" in err
    (tmp_path / "bad.csv").write_text("# anchor near far\n# made up\n" + "\n".join(map(" ".join, bad)) + "\n")
    _, _, err = run(capsys, "check", tmp_path / "bad.csv", "--columns", "anchor=1,near=2,far=3")
    assert "bad.csv:6: has 2 cells" in err


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("prefix", ["", "Q{}_"])
def test_a_question_that_many_could_not_answer_is_one_of_the_table(prefix, tmp_path, capsys):
    """A column that lists objects of the other questions is read with them, whatever its cells hold."""
    shown = [("ant", "bee", "cow"), ("bee", "cow", "dog"), ("ant", "cow", "dog"), ("ant", "bee", "dog")]
    names = [prefix.format(at) + "_".join(each) for at, each in enumerate(shown)]
    rows = [
        {"person": f"p{k}", **{name: each[k % 3] for name, each in zip(names, shown, strict=True)}} for k in range(10)
    ]
    for row in rows[:4]:
        row[names[1]] = "don't know"
    answers = read_answers(lab_exports.table(tmp_path / "wide.csv", rows), "odd-one-out")
    assert (len(answers), answers.report.n_undecided, answers.report.unused) == (36, 4, ())
    rows[4][names[1]] = "eel"
    with pytest.raises(ValueError, match="'eel'"):
        read_answers(lab_exports.table(tmp_path / "wide.csv", rows), "odd-one-out")


def test_questions_of_which_nothing_is_known_are_named(tmp_path, capsys):
    rows = [{"person": k, **{f"Q{at}": lab_exports.THINGS[at % 3] for at in range(1, 9)}} for k in range(4)]
    status, _, err = run(capsys, "check", lab_exports.table(tmp_path / "wide.csv", rows))
    assert status == 2
    assert "with a column for each question, such as 'Q1', 'Q2', and does not say what each of them showed" in err


def test_lines_of_json_may_be_people(tmp_path, capsys):
    file = lab_exports.jatos(tmp_path)
    said = ("--kind", "odd-one-out", "--columns", "annotator=json_line")
    status, out, err = run(capsys, "check", file, *said)
    assert status == 0, err
    assert "240 answers by 6 people about 10 objects" in out
    together = tmp_path / "together.txt"
    together.write_text(file.read_text().replace("\n", ""))  # as JATOS 2 wrote it
    status, out, err = run(capsys, "check", together, "--kind", "odd-one-out")
    assert status == 0, err
    assert "240 answers about 10 objects" in out


def test_people_are_distinguished_where_all_are_on_one_line(tmp_path, capsys):
    file = lab_exports.jatos(tmp_path)
    lines = [line for line in file.read_text().split("\n") if line.startswith("[")]
    assert len(lines) == 6
    file.write_text("".join(lines))
    status, out, err = run(capsys, "check", file, "--kind", "odd-one-out", "--columns", "annotator=json_line")
    assert status == 0, err
    assert "240 answers by 6 people about 10 objects" in out


def test_a_line_of_many_answers_that_was_cut_off_is_named(tmp_path, capsys):
    file = lab_exports.jatos(tmp_path)
    lines = file.read_text().split("\n")
    at = max(at for at, line in enumerate(lines) if line.startswith("["))
    file.write_text("\n".join([*lines[:at], lines[at][:-30], *lines[at + 1 :]]))
    status, _, err = run(capsys, "check", file, "--kind", "odd-one-out")
    assert status == 2
    assert f"is line {at + 1} of the file, which is no JSON (was it cut off?): all answers on it are missing" in err


def test_what_stands_beside_an_answer_stays_with_it(tmp_path):
    """Where a line of JSON holds many answers, and where a row of a table does."""
    lines = []
    for of in lab_exports.of_each_person(lab_exports.trials("near")):
        rows = [
            {"anchor": t.shown[0], "left": t.shown[1], "right": t.shown[2], "answer": t.chosen, "who": f"p{t.person}"}
            | {"condition": f"c{t.number % 3}"} for t in of
        ]  # fmt: skip
        lines.append(json.dumps(rows))
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    answers = read_answers(tmp_path / "lines.txt", columns={"annotator": "who"}, also=["condition"])
    made = lab_exports.trials("near")
    assert answers.also["condition"].tolist() == [f"c{t.number % 3}" for t in made]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        file = lab_exports.numbered_fields(tmp_path)
        answers = read_answers(file, also=["subject"])
        assert answers.also["subject"].tolist() == [str(t.person) for t in made]
        with pytest.raises(ValueError, match="catch questions need a row for each answer"):
            read_answers(file, catch="tester")
