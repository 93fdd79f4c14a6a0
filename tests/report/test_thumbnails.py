import base64

import pytest

from nearer.report import page as _thumbnails
from nearer.report.page import read_thumbnails

# The smallest picture there is: one transparent pixel.
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")


@pytest.fixture
def folder(tmp_path):
    for name in ("cat.gif", "dog.PNG", "e\u0301t\u00e9.webp", "notes.txt", "fish.svg"):
        (tmp_path / name).write_bytes(GIF)
    (tmp_path / "cow.png").mkdir()
    return tmp_path


def test_pictures_are_found_by_label_name_and_path(folder):
    found = read_thumbnails(folder, ["cat", "dog", "été", "notes", "bird", "stimuli/cat.gif", "fish.svg", "cow", 7])
    assert sorted(found) == [0, 1, 2, 5, 6]
    assert found[0] == "data:image/gif;base64," + base64.b64encode(GIF).decode()
    assert found[1].startswith("data:image/png;")
    assert found[6].startswith("data:image/svg+xml;")


def test_a_label_is_never_a_path(folder):
    (folder / "inner").mkdir()
    found = read_thumbnails(folder / ".", ["cat", "../secret", "inner/../../etc/passwd", "/etc/passwd"])
    assert sorted(found) == [0]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="is not a folder"):
        read_thumbnails(tmp_path / "nowhere", ["a"])


def test_no_picture_of_any_object(folder, tmp_path_factory):
    with pytest.raises(ValueError, match=r"first object is 'a', the first picture 'cat\.gif'"):
        read_thumbnails(folder, ["a"])
    with pytest.raises(ValueError, match=r"no file ends in \.png"):
        read_thumbnails(tmp_path_factory.mktemp("empty"), ["a"])


def test_too_many_megabytes(folder, monkeypatch):
    monkeypatch.setattr(_thumbnails, "MAX_PICTURE_BYTES", 1.5 * len(GIF))
    read_thumbnails(folder, ["cat", "cat"])
    with pytest.raises(ValueError, match="make them smaller"):
        read_thumbnails(folder, ["cat", "dog"])
