"""Published judgments: what is read from which file, what is downloaded, and what is said where nothing can be."""

import hashlib
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from nearer import datasets
from nearer.datasets import fetch_music, public_sets

pooch = pytest.importorskip("pooch")
# Of the files in ../shared/data, each made from the source that its notes name.
AT_HAND = {
    "cars": ("ce616670a8e767dce361afa9e892872219fe6830a115ee6b3bc9eecc4107979c", 60, 14194, 7097),
    "food": ("1023b9483276eacde295b63a9040f349692045ee4a5995661dc611f264c4ba35", 100, 250_320, None),
}
MEMBERS = {
    "fetch_cars": ("60_cars_data/survey_data.csv", "id,centre,a,b,c,ms\n7,5,5,1,3,900\n8,2,4,1,2,10\n"),
    "fetch_food": ("food100-dataset/all-triplets.csv", "images/b.jpg;images/a.jpg; images/c.jpg\n"),
    "fetch_nature_scenes": ("nature/nature_triplets.txt", "sea.jpg lake.jpg wood.jpg\nlake.jpg hill.jpg sea.jpg\n"),
    "fetch_vogue_covers": ("vogue/vogue_triplets.txt", "may.jpg june.jpg july.jpg\n"),
}
REMOTES = {
    "fetch_cars": public_sets.CARS,
    "fetch_food": public_sets.FOOD,
    "fetch_nature_scenes": public_sets.NATURE_AND_VOGUE,
    "fetch_vogue_covers": public_sets.NATURE_AND_VOGUE,
    "fetch_music": public_sets.MUSIC,
}


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A place from which no local copy of the data can be seen."""
    monkeypatch.delenv("NEARER_DATA", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(public_sets, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "public_sets.py"))
    return tmp_path


def write(folder, name):
    if name == "fetch_music":
        return write_mat(folder)
    with zipfile.ZipFile(folder / REMOTES[name].name, "w") as archive:
        archive.writestr(*MEMBERS[name])
    return folder


def labelled(found):
    return found.comparisons.objects[found.comparisons.rows].tolist()


def test_the_central_car_is_near_to_both_others(nowhere):
    found = datasets.fetch_cars(write(nowhere, "fetch_cars"))
    # Numbers in the file begin at 1: of 5, 1 and 3 the first is central, of 4, 1 and 2 the last.
    assert labelled(found) == [[0, 4, 2], [2, 4, 0], [3, 1, 0], [0, 1, 3]]
    assert found.comparisons.trials.tolist() == [0, 0, 1, 1]
    assert found.comparisons.weights.tolist() == [0.5] * 4
    assert "Kleindessner" in found.cite


def test_food_is_anchor_near_far(nowhere):
    found = datasets.fetch_food(write(nowhere, "fetch_food"))
    assert labelled(found) == [["b.jpg", "a.jpg", "c.jpg"]]


def test_the_odd_one_is_the_last(nowhere):
    found = datasets.fetch_nature_scenes(write(nowhere, "fetch_nature_scenes"))
    assert labelled(found)[:2] == [["sea.jpg", "lake.jpg", "wood.jpg"], ["lake.jpg", "sea.jpg", "wood.jpg"]]
    assert labelled(found)[2:] == [["lake.jpg", "hill.jpg", "sea.jpg"], ["hill.jpg", "lake.jpg", "sea.jpg"]]
    assert found.comparisons.trials.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("name", REMOTES)
def test_a_download_asks_for_the_pinned_file(name, nowhere, monkeypatch):
    asked = {}

    def retrieve(url, known_hash, fname, path, progressbar):
        asked.update(url=url, known_hash=known_hash, path=path)
        write(nowhere, name)
        return str(nowhere / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert len(getattr(datasets, name)().comparisons) > 0
    remote = REMOTES[name]
    assert asked == {"url": remote.url, "known_hash": f"sha256:{remote.sha256}", "path": pooch.os_cache("nearer")}
    assert (name == "fetch_music") == ("/887f7514c6ed8174f42e910577f69d809a7ffc74/" in asked["url"])
    assert len(bytes.fromhex(remote.sha256)) == 32


def test_a_file_with_another_checksum_is_refused(nowhere, monkeypatch):
    """By pooch itself: the bytes come from a folder in place of the network."""
    source = write(nowhere, "fetch_cars") / public_sets.CARS.name
    elsewhere = nowhere / "cache"

    def copy(url, output_file, pooch):
        Path(output_file).write_bytes(source.read_bytes())

    real = pooch.retrieve
    monkeypatch.setattr(pooch, "retrieve", lambda *args, **rest: real(*args, downloader=copy, **rest))
    with pytest.raises(FileNotFoundError, match=r"(?s)Put the file 60_cars_data.zip.*failed.*hash"):
        datasets.fetch_cars(elsewhere)
    right = hashlib.sha256(source.read_bytes()).hexdigest()
    monkeypatch.setattr(public_sets, "CARS", public_sets.CARS._replace(sha256=right))
    assert len(datasets.fetch_cars(elsewhere).comparisons) == 4


@pytest.mark.parametrize("name", REMOTES)
def test_offline_says_where_to_put_what(name, nowhere, monkeypatch):
    def retrieve(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(FileNotFoundError) as caught:
        getattr(datasets, name)(nowhere)
    remote = REMOTES[name]
    for part in (str(nowhere), remote.name, remote.url, remote.sha256, "NEARER_DATA", "no route to host"):
        assert part in str(caught.value)


def test_a_damaged_file_is_reported(nowhere):
    (nowhere / public_sets.FOOD.name).write_bytes(b"PK cut")
    with pytest.raises(ValueError, match=r"does not hold the judgments about food.*replace it"):
        datasets.fetch_food(nowhere)


@pytest.mark.parametrize("name", AT_HAND)
def test_the_real_judgments(name):
    checksum, n_objects, n_rows, n_trials = AT_HAND[name]
    paths = [folder / f"{name}.npz" for folder in public_sets.data_folders()]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        pytest.skip(f"no {name}.npz in ../shared/data or $NEARER_DATA")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == checksum
    found = getattr(datasets, f"fetch_{name}")()
    assert found.comparisons.n_objects == n_objects
    assert len(found.comparisons) == n_rows
    trials = np.unique(found.comparisons.trials)
    assert n_trials in (None, len(trials))
    assert found.comparisons.weights.sum() == pytest.approx(len(trials))
    assert found.comparisons.annotators is not None
    if name == "cars":
        assert sorted(set(found.classes.tolist())) == ["offroad_suv", "ordinary", "outlier", "sports"]


def write_mat(folder, **extra):
    # Artists 2, 3, 5 and 9 of a list of ten; the second row compares an artist with itself.
    triplets = np.array([[2, 5, 9], [3, 3, 2], [9, 3, 5]], dtype=np.uint16)
    savemat(folder / "music_triplets.mat", {"triplets": triplets, **extra})
    return folder


def test_indices_of_a_mat_file_become_contiguous(nowhere, recwarn):
    found = fetch_music(write_mat(nowhere))
    np.testing.assert_array_equal(found.comparisons.rows, [[0, 2, 3], [3, 1, 2]])
    assert found.comparisons.n_objects == 4
    assert found.n_degenerate == 1
    assert found.names is None
    assert found.genres is None
    assert not recwarn.list  # rows that are counted need no warning


def test_names_of_a_mat_file_label_the_objects(nowhere):
    names = np.array([f"artist {i}" for i in range(1, 11)], dtype=object)
    write_mat(nowhere, names=names[:, None])
    found = fetch_music(nowhere)
    assert list(found.names) == ["artist 2", "artist 3", "artist 5", "artist 9"]
    assert list(found.comparisons.objects) == list(found.names)
    np.testing.assert_array_equal(found.comparisons.rows, [[0, 2, 3], [3, 1, 2]])


def test_places_in_order(nowhere, monkeypatch):
    shared = nowhere / "shared" / "data"
    shared.mkdir(parents=True)
    write_mat(shared)
    assert fetch_music().n_degenerate == 1
    named = nowhere / "named"
    named.mkdir()
    savemat(named / "music_triplets.mat", {"triplets": [[1, 2, 3]]})
    monkeypatch.setenv("NEARER_DATA", str(named))
    assert fetch_music().n_degenerate == 0
    # An empty data_home hides nothing.
    assert fetch_music(nowhere / "here").n_degenerate == 0


def test_npz_is_preferred_for_its_names(nowhere):
    write_mat(nowhere)
    np.savez(
        nowhere / "music.npz",
        triplets_all=np.array([[0, 1, 2], [1, 1, 0]]),
        names=np.array(["b", "a", "c"]),
        labels=np.array([1, 0, 1]),
        label_names=np.array(["rock", "pop"]),
    )
    found = fetch_music(nowhere)
    # Rows are positions in `names`, which need not be sorted.
    np.testing.assert_array_equal(found.comparisons.rows, [[0, 1, 2]])
    assert list(found.comparisons.objects) == ["b", "a", "c"]
    assert list(found.genres) == ["pop", "rock", "pop"]
    assert found.n_degenerate == 1


def test_without_pooch_says_what_to_install(nowhere, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r"pip install pooch"):
        fetch_music()


def test_a_different_mat_file_is_refused(nowhere):
    savemat(nowhere / "music_triplets.mat", {"labels": [1, 2]})
    with pytest.raises(ValueError, match="no variable 'triplets'"):
        fetch_music(nowhere)


def test_the_real_music_judgments():
    folders = [Path(__file__).resolve().parents[2].parent / "shared" / "data"]
    if "NEARER_DATA" in os.environ:
        folders.insert(0, Path(os.environ["NEARER_DATA"]))
    if not any((folder / name).is_file() for folder in folders for name in ("music.npz", public_sets.MUSIC.name)):
        pytest.skip(f"no {'music.npz'} or {public_sets.MUSIC.name} in ../shared/data or $NEARER_DATA")
    found = fetch_music()
    assert found.comparisons.rows.shape == (9090, 3)
    assert found.comparisons.n_objects == 400
    assert found.n_degenerate == 17
    assert len(np.unique(found.comparisons.rows)) == 400
    if found.names is not None:
        assert list(found.comparisons.objects) == list(found.names)
        assert len(set(found.genres.tolist())) == 9
