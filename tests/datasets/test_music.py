import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from nearer.datasets import downloading, fetch_music, music

pooch = pytest.importorskip("pooch")


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A place from which no local copy of the data can be seen."""
    monkeypatch.delenv("NEARER_DATA", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(downloading, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "downloading.py"))
    return tmp_path


def write_mat(folder, **extra):
    # Artists 2, 3, 5 and 9 of a list of ten; the second row compares an artist with itself.
    triplets = np.array([[2, 5, 9], [3, 3, 2], [9, 3, 5]], dtype=np.uint16)
    savemat(folder / "music_triplets.mat", {"triplets": triplets, **extra})


def test_indices_of_a_mat_file_become_contiguous(nowhere):
    write_mat(nowhere)
    found = fetch_music(nowhere)
    np.testing.assert_array_equal(found.comparisons.rows, [[0, 2, 3], [3, 1, 2]])
    assert found.comparisons.n_objects == 4
    assert found.n_degenerate == 1
    assert found.names is None
    assert found.genres is None


def test_names_of_a_mat_file_label_the_objects(nowhere):
    names = np.array([f"artist {i}" for i in range(1, 11)], dtype=object)
    write_mat(nowhere, names=names[:, None])
    found = fetch_music(nowhere)
    assert list(found.names) == ["artist 2", "artist 3", "artist 5", "artist 9"]
    assert list(found.comparisons.objects) == list(found.names)
    np.testing.assert_array_equal(found.comparisons.rows, [[0, 2, 3], [3, 1, 2]])


def test_nothing_warns_about_rows_that_are_counted(nowhere, recwarn):
    write_mat(nowhere)
    fetch_music(nowhere)
    assert not recwarn.list


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


def test_download_asks_for_the_pinned_file(nowhere, monkeypatch):
    asked = {}

    def retrieve(url, known_hash, fname, path, progressbar):
        asked.update(url=url, known_hash=known_hash, path=path)
        write_mat(nowhere)
        return str(nowhere / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert fetch_music().comparisons.n_objects == 4
    assert "/887f7514c6ed8174f42e910577f69d809a7ffc74/" in asked["url"]
    assert asked["known_hash"] == f"sha256:{music.SHA256}"
    assert asked["path"] == pooch.os_cache("nearer")


def test_offline_says_where_to_put_what(nowhere, monkeypatch):
    def retrieve(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(FileNotFoundError) as caught:
        fetch_music(nowhere)
    message = str(caught.value)
    for part in (str(nowhere), music.MAT_NAME, music.URL, music.SHA256, "NEARER_DATA", "no route to host"):
        assert part in message


def test_without_pooch_says_what_to_install(nowhere, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(FileNotFoundError, match=r"pip install pooch"):
        fetch_music()


def test_a_different_mat_file_is_refused(nowhere):
    savemat(nowhere / "music_triplets.mat", {"labels": [1, 2]})
    with pytest.raises(ValueError, match="no variable 'triplets'"):
        fetch_music(nowhere)


def test_importing_datasets_loads_no_optional_dependency():
    optional = ("pooch", "matplotlib", "numba", "requests")
    code = f"import sys, nearer.datasets; print([name for name in {optional} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_real_judgments():
    folders = [Path(__file__).resolve().parents[2].parent / "shared" / "data"]
    if "NEARER_DATA" in os.environ:
        folders.insert(0, Path(os.environ["NEARER_DATA"]))
    if not any((folder / name).is_file() for folder in folders for name in (music.NPZ_NAME, music.MAT_NAME)):
        pytest.skip(f"no {music.NPZ_NAME} or {music.MAT_NAME} in ../shared/data or $NEARER_DATA")
    found = fetch_music()
    assert found.comparisons.rows.shape == (9090, 3)
    assert found.comparisons.n_objects == 400
    assert found.n_degenerate == 17
    assert len(np.unique(found.comparisons.rows)) == 400
    if found.names is not None:
        assert list(found.comparisons.objects) == list(found.names)
        assert len(set(found.genres.tolist())) == 9
