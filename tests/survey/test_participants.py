"""Files come from memory, and never old ones."""

import os

import pytest
from starlette.datastructures import Headers
from starlette.responses import FileResponse

from nearer.survey.participants import FileCache


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cat.svg"
    path.write_bytes(b"<svg/>")
    return path


def send(files, path, **asked):
    return files.send(path, "image/svg+xml", Headers(asked), {"cache-control": "private"})


def test_what_a_browser_has_is_not_sent_again(file):
    files = FileCache()
    first = send(files, file)
    assert (first.body, first.headers["cache-control"]) == (b"<svg/>", "private")
    again = send(files, file, **{"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.body) == (304, b"")
    assert send(files, file, **{"if-none-match": '"other"'}).body == b"<svg/>"


def test_a_file_that_was_replaced_is_sent_anew_also_if_it_is_as_old(file):
    files = FileCache()
    first, times = send(files, file), file.stat()
    file.write_bytes(b"<svg>new</svg>")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    second = send(files, file)
    assert second.body == b"<svg>new</svg>"
    assert second.headers["etag"] != first.headers["etag"]


def test_parts_large_files_and_what_exceeds_the_memory_come_from_the_disk(file, tmp_path):
    assert isinstance(send(FileCache(), file, range="bytes=0-1"), FileResponse)
    assert isinstance(send(FileCache(max_file_bytes=3), file), FileResponse)
    files = FileCache(max_bytes=8)
    other = tmp_path / "dog.svg"
    other.write_bytes(b"<svg/>")
    assert not isinstance(send(files, file), FileResponse)
    assert isinstance(send(files, other), FileResponse)
    assert not isinstance(send(files, file), FileResponse)


def test_a_file_that_is_gone_is_an_error(file):
    files = FileCache()
    send(files, file)
    file.unlink()
    with pytest.raises(OSError, match="cat"):
        send(files, file)
