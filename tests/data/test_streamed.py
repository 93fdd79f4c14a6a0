"""Tables in many files: folders, patterns, lists, URLs."""

import pickle
import sys
from itertools import pairwise

import numpy as np
import pytest

from nearer.data import ComparisonsFile, streamed
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import STE

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.usefixtures("one_start")
N = 30
POINTS = make_gaussian(N, 2, random_state=1)
TRIPLETS = sample_triplets(POINTS, 3000, random_state=1).rows.astype(np.int32)
ENDS = (0, 7, 600, 601, 2100, 3000)  # of the files, none of them those of blocks
NAMES = ("anchor", "near", "far")


def table(rows, **more):
    return pa.table({**dict(zip(NAMES, rows.T, strict=True)), **more})


@pytest.fixture(params=["npy", "parquet"])
def folder(request, tmp_path):
    """Five files, in natural order and not in that of their letters, and what stands beside such files."""
    many = tmp_path / "many"
    many.mkdir()
    for number, (start, stop) in enumerate(pairwise(ENDS)):
        name = many / f"part-{number + 8}.{request.param}"
        if request.param == "npy":
            np.save(name, TRIPLETS[start:stop].astype([np.int32, np.int64, np.uint8][number % 3]))
        else:
            pq.write_table(table(TRIPLETS[start:stop]), name, row_group_size=130)
    for other in ("_SUCCESS", "_metadata", ".hidden.npy", ".part-8.parquet.crc", "README.md"):
        (many / other).write_bytes(b"")
    return many


def joined(file, rng=None):
    return np.concatenate([block.objects for block in file.blocks(rng)])


def test_a_folder_a_pattern_and_a_list_are_one_table(folder):
    listed = sorted(folder.glob("part*"), key=lambda path: int(path.stem[5:]))
    ending = listed[0].suffix
    for path, title in (
        (folder, "many (5 files)"),
        (str(folder), "many (5 files)"),
        (f"{folder}/*{ending}", f"many/*{ending} (5 files)"),
        (folder.parent / "**" / "part-*", "**/part-* (5 files)"),
        (listed, f"part-8{ending}, ... (5 files)"),
        ([folder / f"part-[89]{ending}", *listed[2:]], f"part-8{ending}, ... (5 files)"),
    ):
        file = ComparisonsFile(path, block_rows=500)
        assert (len(file), file.n_objects, file.is_triplets) == (3000, N, True)
        assert repr(file) == f"ComparisonsFile({title!r}, 3000 triplets over 30 objects)"
        blocks = list(file.blocks())
        assert [len(block) for block in blocks] == [500] * 6
        np.testing.assert_array_equal(np.concatenate([block.objects for block in blocks]), TRIPLETS)
    backwards = joined(ComparisonsFile(listed[::-1]))
    np.testing.assert_array_equal(backwards[: ENDS[-1] - ENDS[-2]], TRIPLETS[ENDS[-2] :])  # a list keeps its order


def test_one_file_of_a_folder_is_that_file(folder):
    assert ComparisonsFile(f"{folder}/part-8*", n_objects=N).title.startswith("part-8.")


@pytest.mark.parametrize("cuts", [(0, 3000), (5, 6), (3, 7, 601, 602, 2999), (600, 2100)])
def test_rows_between_any_numbers(folder, cuts):
    blocks = list(ComparisonsFile(folder, block_rows=100).between(cuts))
    assert [len(block) for block in blocks] == np.diff(cuts).tolist()
    np.testing.assert_array_equal(np.concatenate([block.objects for block in blocks]), TRIPLETS[cuts[0] : cuts[-1]])


def test_random_order_mixes_the_files(folder):
    file = ComparisonsFile(folder, block_rows=800)
    shuffled = joined(file, np.random.default_rng(0))
    np.testing.assert_array_equal(shuffled, joined(file, np.random.default_rng(0)))
    assert not np.array_equal(shuffled, joined(file, np.random.default_rng(1)))
    order = np.lexsort(TRIPLETS.T)
    np.testing.assert_array_equal(shuffled[np.lexsort(shuffled.T)], TRIPLETS[order])
    places = {tuple(row): place for place, row in enumerate(TRIPLETS.tolist())}
    first = next(file.blocks(np.random.default_rng(0))).objects.tolist()
    origins = np.searchsorted(ENDS, [places[tuple(row)] for row in first], side="right")
    assert len(set(origins)) >= 3


def test_parts_are_small_and_hold_every_row_once(folder):
    file = ComparisonsFile(folder)
    assert [len(part) for part in file.parts()] == np.diff(ENDS).tolist()
    assert [part.title for part in file.parts()][:3] == [f"part-{k}{file.parts()[0].title[6:]}" for k in (8, 9, 10)]
    pieces = pickle.loads(pickle.dumps(file.parts(400)))
    assert max(len(part) for part in pieces) <= 400
    assert len(pieces) < 15
    assert len(pickle.dumps(pieces[0])) < 2000
    blocks = [block.objects for part in pieces for block in part.blocks(90)]
    assert max(len(block) for block in blocks) <= 90
    np.testing.assert_array_equal(np.concatenate(blocks), TRIPLETS)
    extents = [part.check(None, 90) for part in pieces]
    assert sum(extent.weight for extent in extents) == 3000
    assert max(extent.highest for extent in extents) == N - 1


def test_a_bad_row_is_named_by_its_file_and_its_place_there(folder):
    path = folder / f"part-11{next(folder.glob('part-8*')).suffix}"
    rows = TRIPLETS[601:2100].copy()
    rows[700] = (4, 2, 2)
    np.save(path, rows) if path.suffix == ".npy" else pq.write_table(table(rows), path, row_group_size=130)
    with pytest.raises(ValueError, match=r"part-11\.\w+: row 700: near and far are the same pair"):
        ComparisonsFile(folder, block_rows=100)


def test_a_part_that_changes_is_not_trusted_any_more(folder):
    file = ComparisonsFile(folder)
    path = next(folder.glob("part-10*"))
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ValueError, match=r"part-10\.\w+ has changed"):
        list(file.blocks())
    with pytest.raises(ValueError, match="has changed"):
        STE(solver="factored", random_state=0).fit(file)


def test_pickles_as_paths(folder):
    pickled = pickle.dumps(ComparisonsFile(folder))
    assert len(pickled) < 5000
    np.testing.assert_array_equal(joined(pickle.loads(pickled)), TRIPLETS)


def test_files_that_do_not_agree_are_refused(folder, tmp_path):
    np.save(tmp_path / "three.npy", TRIPLETS)
    np.save(tmp_path / "four.npy", np.array([[0, 1, 2, 3]]))
    with pytest.raises(ValueError, match=r"four\.npy holds 4 columns, but three\.npy 3 columns"):
        ComparisonsFile([tmp_path / "three.npy", tmp_path / "four.npy"])
    pq.write_table(table(TRIPLETS), tmp_path / "a.parquet")
    pq.write_table(table(TRIPLETS, weight=np.ones(3000)), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet holds the columns anchor, near, far, weight, but a\.parquet"):
        ComparisonsFile(tmp_path / "*.parquet")
    with pytest.raises(ValueError, match=r"holds both \.npy and \.parquet files"):
        ComparisonsFile(tmp_path)
    with pytest.raises(ValueError, match="named twice"):
        ComparisonsFile([tmp_path / "a.parquet", tmp_path / "[a]*.parquet"])


def test_nothing_to_read_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "_SUCCESS").write_text("")
    with pytest.raises(ValueError, match=r"the folder .*empty holds no \.npy or \.parquet files"):
        ComparisonsFile(tmp_path / "empty")
    with pytest.raises(ValueError, match=r"no \.npy or \.parquet file is named like .*none"):
        ComparisonsFile(f"{tmp_path}/none-*.npy")
    with pytest.raises(ValueError, match="list of files is empty"):
        ComparisonsFile([])
    with pytest.raises(FileNotFoundError):
        ComparisonsFile(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        ComparisonsFile([tmp_path / "none.parquet"])


def test_files_without_rows_are_passed_over_unless_all_are(tmp_path):
    for number, rows in enumerate((TRIPLETS[:0], TRIPLETS[:10], TRIPLETS[:0])):
        np.save(tmp_path / f"{number}.npy", rows)
    file = ComparisonsFile(tmp_path, n_objects=N)
    assert len(file) == 10
    assert [part.title for part in file.parts()] == ["1.npy"]
    (tmp_path / "1.npy").unlink()
    with pytest.raises(ValueError, match=r"\(2 files\) holds no comparisons"):
        ComparisonsFile(tmp_path)


def test_a_npy_file_that_is_cut_short_while_it_is_read_is_an_error_and_no_crash(tmp_path, monkeypatch):
    np.save(tmp_path / "rows.npy", TRIPLETS)
    file = ComparisonsFile(tmp_path / "rows.npy", block_rows=1000)
    whole = (tmp_path / "rows.npy").read_bytes()
    (tmp_path / "rows.npy").write_bytes(whole[:20_000])
    state = file.parts()[0].state
    monkeypatch.setattr("nearer.data.files.TableFile.state", lambda self: state)
    with pytest.raises(ValueError, match="ends before row 2000"):
        list(file.blocks())


class TestURLs:
    @pytest.fixture
    def url(self):
        fsspec = pytest.importorskip("fsspec")
        system = fsspec.filesystem("memory")
        for number, (start, stop) in enumerate(pairwise(ENDS)):
            with system.open(f"/nearer-many/part-{number + 8}.parquet", "wb") as file:
                pq.write_table(table(TRIPLETS[start:stop]), file, row_group_size=130)
        with system.open("/nearer-many/_SUCCESS", "wb"):
            pass
        yield "memory://nearer-many"
        system.rm("/nearer-many", recursive=True)

    def test_parquet_behind_a_url_is_read_like_a_folder(self, url):
        for path in (url, f"{url}/", f"{url}/part-*.parquet", [f"{url}/part-{k}.parquet" for k in range(8, 13)]):
            file = ComparisonsFile(path, block_rows=500)
            np.testing.assert_array_equal(joined(file), TRIPLETS)
            assert "(5 files)" in repr(file)
            assert file.path == path
            np.testing.assert_array_equal(joined(pickle.loads(pickle.dumps(file))), TRIPLETS)
        assert len(ComparisonsFile(f"{url}/part-9.parquet")) == 593
        model = STE(random_state=0, solver="factored").fit(ComparisonsFile(url))
        np.testing.assert_array_equal(model.embedding_, STE(random_state=0, solver="factored").fit(TRIPLETS).embedding_)

    def test_local_files_by_url(self, tmp_path):
        pytest.importorskip("fsspec")
        pq.write_table(table(TRIPLETS), tmp_path / "rows.parquet")
        np.testing.assert_array_equal(joined(ComparisonsFile(f"file://{tmp_path}/rows.parquet")), TRIPLETS)
        with pytest.raises(FileNotFoundError):
            ComparisonsFile(f"file://{tmp_path}/none.parquet")
        np.save(tmp_path / "rows.npy", TRIPLETS)
        with pytest.raises(ValueError, match="of URLs, Parquet is read"):
            ComparisonsFile(f"file://{tmp_path}/rows.npy")
        with pytest.raises(ValueError, match="named like"):
            ComparisonsFile(f"file://{tmp_path}/none-*.parquet")

    def test_changes_are_noticed(self, url):
        import fsspec

        file = ComparisonsFile(url)
        with fsspec.open(f"{url}/part-9.parquet", "wb") as opened:
            pq.write_table(table(TRIPLETS[7:600]), opened, row_group_size=130)
        with pytest.raises(ValueError, match=r"memory://.*part-9\.parquet has changed"):
            list(file.blocks())

    def test_a_sentence_says_what_to_install(self, monkeypatch):
        pytest.importorskip("fsspec")
        monkeypatch.setitem(sys.modules, "s3fs", None)
        with pytest.raises(ModuleNotFoundError, match=r"pip install fsspec.* s3fs"):
            ComparisonsFile("s3://bucket/many")
        monkeypatch.setitem(sys.modules, "fsspec.core", None)
        with pytest.raises(ModuleNotFoundError, match=r"pip install fsspec"):
            ComparisonsFile("gs://bucket/many")


def test_blocks_are_copied_only_at_seams():
    from nearer.data.rows import Rows

    pieces = [Rows.of(TRIPLETS[:100]), Rows.of(TRIPLETS[100:250])]
    blocks = list(streamed.rechunk(iter(pieces), iter([60, 60, 60, 70])))
    assert [len(block) for block in blocks] == [60, 60, 60, 70]
    np.testing.assert_array_equal(np.concatenate([block.objects for block in blocks]), TRIPLETS[:250])
    assert [np.shares_memory(block.objects, TRIPLETS) for block in blocks] == [True, False, True, True]
