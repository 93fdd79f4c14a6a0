"""What the commands say of files that do not fit: in lines of the file and in commands."""

import json

import numpy as np
import pytest

from nearer.cli.main import main
from nearer.datasets import make_gaussian, sample_triplets

LABELS = ["oak", "elm", "ash", "yew", "fir", "box"]


def run(arguments, capsys):
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


def write_rows(path, rows, header="anchor,near,far"):
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("study")
    rows = np.array(LABELS)[sample_triplets(make_gaussian(6, 2, random_state=0), 60, random_state=1).rows]
    file = write_rows(place / "answers.csv", rows.tolist())
    fit = ["fit", file, "-o", place / "map", "--quick", "--method", "STE", "--dimensions", "2", "--resamples", "0"]
    assert main([str(argument) for argument in fit]) == 0
    return place


def test_score_names_new_objects_with_their_lines(folder, tmp_path, capsys):
    rows = [("oak", "elm", "ash"), ("oak", "palm", "ash"), ("palm", "yew", "vine"), ("elm", "yew", "fir")]
    status, _, err = run(["score", folder / "map", write_rows(tmp_path / "new.csv", rows)], capsys)
    assert status == 2
    assert (
        "new.csv: 2 of 4 answers, the first on line 3, are about objects that are not on the map: 'palm', 'vine'" in err
    )
    assert f"nearer place {folder / 'map'} {tmp_path / 'new.csv'} -o OUT" in err
    assert "partial_fit" not in err


def test_place_says_that_there_is_nothing_to_place(folder, tmp_path, capsys):
    status, _, err = run(["place", folder / "map", folder / "answers.csv", "-o", tmp_path / "larger"], capsys)
    assert status == 2
    assert "answers.csv: all objects of these answers are on the map" in err
    assert "partial_fit" not in err
    assert not (tmp_path / "larger").exists()


def test_report_names_attributes_that_match_nothing(folder, tmp_path, capsys):
    known = [(label, at) for at, label in enumerate(LABELS)]
    table = write_rows(tmp_path / "attributes.csv", [*known[:4], ("Fir", 7)], "object,size")
    status, _, err = run(["report", folder / "map", "--attributes", table, "-o", tmp_path / "page.html"], capsys)
    assert status == 0
    assert "attributes.csv: 1 label is not on the map: 'Fir'; 2 objects have no attributes: 'box', 'fir'\n" in err
    table = write_rows(tmp_path / "attributes.csv", known, "object,size")
    assert (
        "attributes.csv" not in run(["report", folder / "map", "--attributes", table, "-o", tmp_path / "p"], capsys)[2]
    )


def test_report_names_pictures_that_match_nothing(folder, tmp_path, capsys):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for name in ("oak.png", "oak.jpg", "elm.png", "ash.png", "yew.png", "firr.png"):
        (pictures / name).write_bytes(b"GIF89a")
    status, _, err = run(["report", folder / "map", "--thumbnails", pictures, "-o", tmp_path / "page.html"], capsys)
    assert status == 0
    assert "pictures: 1 picture is of no object: 'firr.png'; 2 objects have no picture: 'box', 'fir'\n" in err


@pytest.mark.parametrize(
    ("arguments", "usage"),
    [
        (["survey", "new", "x", "--bogus"], "usage: nearer survey new "),
        (["fit", "x", "-o", "y", "--bogus"], "usage: nearer fit "),
        (["--bogus", "plan"], "usage: nearer "),
    ],
)
def test_what_is_not_known_shows_the_usage_of_its_command(arguments, usage, capsys):
    status, _, err = run(arguments, capsys)
    assert status == 2
    assert err.startswith(usage)
    assert err.endswith("error: unrecognized arguments: --bogus\n")


def test_the_program_alone_shows_its_commands(capsys):
    status, out, err = run([], capsys)
    assert (status, out) == (2, "")
    assert "find out what is wrong with a file of answers" in err


@pytest.mark.parametrize(("typed", "meant"), [("fti", "fit"), ("raport", "report"), ("chek", "check")])
def test_a_slip_in_a_command_is_reported(typed, meant, capsys):
    status, _, err = run([typed], capsys)
    assert status == 2
    assert f"perhaps {meant!r} is meant" in err
    assert "is meant" not in run(["zzzz"], capsys)[2]


GERMAN = "VPNr,Durchgang,Bild1,Bild2,Bild3,Antwort,Reaktionszeit"


def test_check_says_which_columns_were_read(tmp_path, capsys):
    rows = [(1, at, *LABELS[at : at + 3], LABELS[at], 900) for at in range(4)]
    file = write_rows(tmp_path / "answers.csv", rows, GERMAN)
    check = ["check", file, "--columns", "items=Bild1+Bild2+Bild3,odd=Antwort"]
    _, out, _ = run(check, capsys)
    heading, read = out.splitlines()[:2]
    assert heading.startswith("answers.csv: ")
    assert read == "read: items = Bild1 + Bild2 + Bild3, odd = Antwort; not used: VPNr, Durchgang, Reaktionszeit"
    figures = json.loads(run([*check, "--json"], capsys)[1])
    assert figures["columns"] == {"items": ["Bild1", "Bild2", "Bild3"], "odd": ["Antwort"]}
    assert figures["unused"] == ["VPNr", "Durchgang", "Reaktionszeit"]


def test_other_commands_say_it_where_it_is_not_plain(folder, tmp_path, capsys):
    rows = [("oak", "elm", "ash", "x"), ("oak", "yew", "ash", "y")]
    other = write_rows(tmp_path / "other.csv", rows, "anchor,near,far,mood")
    assert (
        "nearer: other.csv: read: anchor, near, far; not used: mood\n"
        in run(["score", folder / "map", other], capsys)[2]
    )
    plain = write_rows(tmp_path / "plain.csv", [row[:3] for row in rows])
    assert "read:" not in run(["score", folder / "map", plain], capsys)[2]


def test_check_tells_a_note_once(tmp_path, capsys):
    rows = "anchor,near,far\nKäse,elm,ash\nelm,Käse,ash\nash,elm,Käse\n"
    (tmp_path / "answers.csv").write_bytes(rows.encode("cp1252"))
    _, out, err = run(["check", tmp_path / "answers.csv"], capsys)
    assert "Windows-1252" not in err
    assert " ".join(out.split()).count("Windows-1252") == 1


@pytest.mark.parametrize(("n_known", "said"), [(60, "100% of"), (12, "if these are the same answers"), (0, None)])
def test_score_tells_comparisons_that_the_map_was_made_from(folder, tmp_path, capsys, n_known, said):
    known = (folder / "answers.csv").read_text(encoding="utf-8").splitlines()[1:]
    asked = {tuple(row.split(",")) for row in known}
    new = [(a, b, c) for a in LABELS for b in LABELS for c in LABELS if len({a, b, c}) == 3 and (a, b, c) not in asked]
    rows = [row.split(",") for row in known[:n_known]] + (new[:40] if n_known < 60 else [])
    status, out, _ = run(["score", folder / "map", write_rows(tmp_path / "new.csv", rows)], capsys)
    assert status == 0
    assert ("made from" in out) == (said is not None)
    assert said is None or said in out
