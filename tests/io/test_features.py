"""Features are read from the files that people and programs write."""

import numpy as np
import pytest

from nearer.io import read_features

VALUES = np.array([[0.1, 2.0], [0.4, 1.0], [0.9, 0.0]])
NAMES = ["cat", "dog", "cow"]


def written(folder, how):
    path = folder / f"pixels.{how.split('-')[0]}"
    if how.startswith("csv"):
        first = {"csv": "object,a,b", "csv-first": "what,a,b", "csv-last": "a,b,Name"}[how]
        rows = [
            f"{a},{b},{name}" if how == "csv-last" else f"{name},{a},{b}"
            for name, (a, b) in zip(NAMES, VALUES, strict=True)
        ]
        path.write_text("\n".join([first, *rows]) + "\n", encoding="utf-8")
    elif how == "npz":
        np.savez(path, features=VALUES, names=NAMES)
    elif how == "parquet":
        import polars

        polars.DataFrame({"object": NAMES, "a": VALUES[:, 0], "b": VALUES[:, 1]}).write_parquet(path)
    else:
        np.save(path, VALUES)
        beside = "file_names.txt" if how == "npy-thingsvision" else "pixels.txt"
        (folder / beside).write_text("".join(f"images/{name}.png\n" for name in NAMES), encoding="utf-8")
    return path


@pytest.mark.parametrize("how", ["csv", "csv-first", "csv-last", "npz", "parquet", "npy", "npy-thingsvision"])
def test_rows_are_those_of_the_file(tmp_path, how):
    features = read_features(written(tmp_path, how))
    assert features.name == "pixels"
    np.testing.assert_array_equal(features.of(["cow", "cat", "hen"]), [VALUES[2], VALUES[0], [np.nan] * 2])


def test_an_array_without_names_is_in_the_order_of_the_objects(tmp_path):
    np.save(tmp_path / "f.npy", VALUES)
    assert read_features(tmp_path / "f.npy").objects is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("object,a\ncat,1\ndog,red\n", r"f.csv: column 'a' holds 'red', which is no number"),
        ("object,a\ncat,1\ndog,\n", r"f.csv: f: the row of dog holds a value that is not a finite number"),
        ("object\ncat\ndog\n", r"f.csv: there is one column"),
        ("object,a\ncat,1\ncat,2\n", r"f.csv: objects holds 'cat' twice"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path, text, message):
    (tmp_path / "f.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_features(tmp_path / "f.csv")


def test_several_matrices_are_refused(tmp_path):
    np.savez(tmp_path / "f.npz", a=VALUES, b=VALUES)
    with pytest.raises(ValueError, match="it holds 2 matrices"):
        read_features(tmp_path / "f.npz")
