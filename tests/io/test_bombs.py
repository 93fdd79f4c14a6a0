"""Compressed files that would fill the memory are refused while they are small; those of real answers are read."""

import gzip
import struct
import time
import zipfile
import zlib

import numpy as np
import pytest

from nearer.io import read_answers

MOST_SECONDS = 2.0  # of the processor; unpacked whole, these would take a minute
ZEROS = 2**32


@pytest.fixture(scope="module")
def deflated():
    """Zeros, packed once and repeated: after a full flush packed bytes do not depend on those before."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(2**24)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (ZEROS // 2**24) + packer.flush()


def npz_with_claim(deflated, claimed, n_members=1):
    """Return an archive whose members claim a size, and share the same packed bytes."""
    name, packed = b"triplets.npy", len(deflated)
    sizes = struct.pack("<III", 0, packed, claimed)
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 33) + sizes + struct.pack("<HH", len(name), 0) + name
    central = b""
    for _ in range(n_members):
        central += b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 33) + sizes
        central += struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    start = len(local) + packed
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, n_members, n_members, len(central), start, 0)
    return local + deflated + central + end


def refused(path, match):
    start = time.process_time()
    with pytest.raises(ValueError, match=match) as caught:
        read_answers(path)
    assert time.process_time() - start < MOST_SECONDS
    return str(caught.value)


@pytest.mark.parametrize("name", ["answers.csv.gz", "answers.json.gz", "answers.npz"])
@pytest.mark.parametrize("begins", [b"", b"anchor,near,far\na,b,c\n", b'[{"anchor": "a"}, '])
def test_gzip_bombs_are_left_alone(name, begins, deflated, tmp_path):
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    bomb = gzip.compress(begins) + head + deflated
    assert len(bomb) > 2**21
    (tmp_path / name).write_bytes(bomb)
    assert name in refused(tmp_path / name, "grows to .* unpack it first")


@pytest.mark.parametrize(
    ("claimed", "n_members", "match"),
    [
        (2**32 - 1, 1, "grows to .* unpack it first"),
        (1000, 1, "not a whole NumPy file"),  # claims less than it holds
        (2**30, 1, "grows to .* unpack it first"),
        (2**28, 100, "grows to .* unpack it first"),  # one packed member under many names
    ],
)
def test_npz_bombs_are_left_alone(claimed, n_members, match, deflated, tmp_path):
    (tmp_path / "answers.npz").write_bytes(npz_with_claim(deflated, claimed, n_members))
    refused(tmp_path / "answers.npz", match)


def test_members_are_not_packed_otherwise(tmp_path):
    """Other methods unpack without a bound."""
    with zipfile.ZipFile(tmp_path / "answers.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("triplets.npy", bytes(2**20))
    refused(tmp_path / "answers.npz", "packed in a way that np.savez never uses")


def test_a_bomb_in_a_gzip_file_is_left_alone(deflated, tmp_path):
    (tmp_path / "answers.npz").write_bytes(gzip.compress(npz_with_claim(deflated, 2**31)))
    refused(tmp_path / "answers.npz", "packed twice")


def test_runs_of_one_value_in_parquet_are_left_alone(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array(np.zeros(2**20, np.int8)), ["a"])
    block = pyarrow.table(dict.fromkeys(("anchor", "near", "far"), column))
    with parquet.ParquetWriter(tmp_path / "answers.parquet", block.schema) as writer:
        for _ in range(20):
            writer.write_table(block)
    refused(tmp_path / "answers.parquet", "grows to")


def test_answers_that_pack_well_are_read(tmp_path):
    """All triplets of 120 objects in order, and constant answers beside them."""
    n = 120
    anchor, near, far = np.indices((n, n, n)).reshape(3, -1)
    rows = np.column_stack([anchor, near, far])[(anchor != near) & (anchor != far) & (near < far)]
    assert rows.nbytes > 2**24
    np.savez_compressed(tmp_path / "rows.npz", triplets=rows, weights=np.ones(len(rows)))
    assert len(read_answers(tmp_path / "rows.npz")) == len(rows)
    lines = (",".join(f"picture {k:03d}.png" for k in row) for row in rows[:400_000].tolist())
    text = "\n".join(["anchor,near,far", *lines])
    assert len(text) > 2**24
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text.encode(), 1))
    assert len(read_answers(tmp_path / "rows.csv.gz")) == 400_000
