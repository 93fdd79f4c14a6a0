"""`nearer figure`, as a user would call it, on results that were made without fitting anything."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.report_sample import color_results, weights_results
from PIL import Image

from nearer.cli.main import main
from nearer.cli.publish import _arrows
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE
from nearer.embedding.storage import save_model
from nearer.study import read_results


def write(folder, n_components=2, **changes):
    folder.mkdir(exist_ok=True)
    (folder / "results.json").write_text(json.dumps(color_results(n_components, **changes)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def colors(tmp_path_factory):
    return write(tmp_path_factory.mktemp("colors"))


def run(capsys, *arguments):
    status = main(["figure", *map(str, arguments)])
    return status, *capsys.readouterr()


def test_several_files_of_the_size_asked_for(colors, tmp_path, capsys):
    files = [tmp_path / f"map.{end}" for end in ("pdf", "svg", "png")]
    outs = [part for file in files for part in ("-o", file)]
    status, out, err = run(capsys, colors, *outs, "--size", "90x70", "--color-by", "family", "--dpi", "100", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["files"] == [str(file) for file in files]
    assert (found["width_mm"], found["height_mm"]) == (90, 70)
    box = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", files[0].read_bytes())
    np.testing.assert_allclose([float(side) / 72 * 25.4 for side in box.groups()], [90, 70], atol=0.01)
    with Image.open(files[2]) as image:
        np.testing.assert_allclose(image.size, np.array([90, 70]) / 25.4 * 100, atol=1)
    left_out = found["labels_left_out"]
    assert f"nearer: {len(left_out)} label" in err
    written = set(re.findall(r">([^<>]+)</text>", files[1].read_text(encoding="utf-8")))
    names = set(color_results()["objects"])
    assert names - written == set(left_out)


def test_other_axes_and_what_is_said_of_those_left_out(tmp_path, capsys):
    folder = write(tmp_path / "map", 3)
    status, out, err = run(capsys, folder, "--axes", "1,3", "--labels", "black,white", "--json")
    assert status == 0, err
    points = np.array(color_results(3)["embedding"])
    share = points.var(axis=0)[1] / points.var(axis=0).sum()
    assert json.loads(out)["spread_elsewhere"] == pytest.approx(share)
    assert "axes 1 and 3 are drawn; the others hold" in err
    assert (folder / "map.pdf").is_file()
    assert run(capsys, folder, "--axes", "1,4")[0] == 2


def test_a_map_of_one_axis_and_a_heat_map(tmp_path, capsys):
    folder = write(tmp_path / "line", 1)
    for kind in ("map", "heatmap"):
        status, _, err = run(capsys, folder, "--kind", kind, "--size", "85x300", "-o", tmp_path / f"{kind}.svg")
        assert status == 0, err
        assert ">black</text>" in (tmp_path / f"{kind}.svg").read_text(encoding="utf-8")


def test_answers_against_distances(tmp_path, capsys):
    rows = sample_triplets(make_gaussian(68, 2, random_state=0), 300, flipped=0.1, random_state=0)
    save_model(STE(random_state=0).fit(rows), tmp_path / "map")
    write(tmp_path / "map")
    status, _, err = run(capsys, tmp_path / "map", "--kind", "shepard")
    assert status == 0, err
    assert (tmp_path / "map" / "shepard.pdf").is_file()


def test_attributes_and_pictures_from_files(colors, tmp_path, capsys):
    (tmp_path / "attributes.csv").write_text("object,kind\nblack,dark\nwhite,bright\n")
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    Image.new("RGB", (400, 300), "black").save(pictures / "black.png")
    options = ["--attributes", tmp_path / "attributes.csv", "--color-by", "kind", "--colors", "dark=#000000"]
    status, _, err = run(capsys, colors, *options, "--images", pictures, "--no-labels", "-o", tmp_path / "map.svg")
    assert status == 0, err
    assert "66 objects have no attributes" in err
    assert "67 objects have no picture" in err
    drawn = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert drawn.count("<image") == 1
    assert ">black</text>" not in drawn


def test_arrows_point_where_attributes_grow(colors, tmp_path, capsys):
    """An attribute that is the first coordinate has an arrow to the right, and words have none."""
    results = read_results(colors).to_dict()
    rows = [f"{label},{place[0]},x" for label, place in zip(results["objects"], results["embedding"], strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["object,eastward,word", *rows]) + "\n")
    options = ["--attributes", tmp_path / "a.csv", "--no-labels", "-o", tmp_path / "map.svg"]
    status, _, err = run(capsys, colors, *options, "--arrows", "eastward")
    assert status == 0, err
    assert ">eastward</text>" in (tmp_path / "map.svg").read_text(encoding="utf-8")
    places = {"eastward": [place[0] for place in results["embedding"]]}
    (arrow,) = _arrows(replace(read_results(colors), attributes=places), ["eastward"], (0, 1))
    np.testing.assert_allclose(arrow.direction, [1, 0], atol=1e-9)
    assert arrow.is_certain
    status, _, err = run(capsys, colors, *options, "--arrows", "word")
    assert (status, "there can be no arrow for 'word'" in err) == (2, True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-o", "map.docx"], "map.docx: figures are written as .pdf, .svg or .png"),
        (["--color-by", "weight"], "there is no attribute 'weight'; there are 'color', 'hue', 'family'"),
        (["--labels", "black,blakc"], "labels of no object: 'blakc'"),
        (["--font", "No Such Font"], "there is no font 'No Such Font' on this machine"),
        (["--color-by", "family", "--colors", "mauve=red"], "'mauve' is no value of family"),
        (["--kind", "shepard"], "model.json"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(options, sentence, colors, capsys):
    status, out, err = run(capsys, colors, *options)
    assert (status, out) == (2, "")
    assert sentence in err


@pytest.mark.parametrize("size", ["85x", "x85", "0x10", "85x85x85", "nan"])
def test_sizes_that_make_no_sense_are_refused(size, colors, capsys):
    with pytest.raises(SystemExit):
        run(capsys, colors, "--size", size)
    assert "a size in millimetres" in capsys.readouterr().err


@pytest.fixture
def sparse(tmp_path):
    folder = tmp_path / "sparse"
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(weights_results()), encoding="utf-8")
    return folder


def test_names_of_dimensions_go_from_a_file_into_tables_figures_and_pages(sparse, tmp_path, capsys):
    names = tmp_path / "dimension-names.csv"
    names.write_text("dimension,name\n2,metallic\n", encoding="utf-8")
    assert main(["report", str(sparse), "--dimension-names", str(names)]) == 0
    assert (sparse / "dimensions.csv").read_text(encoding="utf-8").startswith("object,dimension 1,metallic,dimension 3")
    assert '"names":["","metallic","",""]' in (sparse / "report.html").read_text(encoding="utf-8")
    out = tmp_path / "cards.svg"
    assert main(["figure", str(sparse), "--dimensions", "-o", str(out), "--size", "180"]) == 0
    written = re.findall(r">([^<>]+)</text>", out.read_text(encoding="utf-8"))
    assert "metallic" in written
    assert "dimension 4" not in written  # which is not reproducible
    assert main(["figure", str(sparse), "--profiles", "object 1,object 2", "-o", str(out), "--top", "2"]) == 0
    assert {"object 1", "object 2"} <= set(re.findall(r">([^<>]+)</text>", out.read_text(encoding="utf-8")))
    capsys.readouterr()


@pytest.mark.parametrize(
    "command", [["figure", "--dimensions"], ["figure", "--profiles", "red"], ["report", "--dimension-names", "n"]]
)
def test_a_map_by_distances_has_no_dimensions_to_draw_or_name(colors, command, capsys):
    assert main([command[0], str(colors), *command[1:]]) == 2
    assert "--method SPoSE" in capsys.readouterr().err
