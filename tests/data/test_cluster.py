import gc
import pickle
import time
import warnings
from functools import partial

import numpy as np
import pytest

from nearer.data import ComparisonsOnCluster
from nearer.data.cluster import Loader
from nearer.data.files import Block
from nearer.data.rows import Rows
from nearer.data.worker_pool import build_tree, split_into_lanes, split_into_runs
from nearer.datasets import make_gaussian, sample_triplets

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N = 30
TRIPLETS = sample_triplets(make_gaussian(N, 2, random_state=1), 900, random_state=1).rows
QUADRUPLETS = np.array([[0, 1, 2, 3], [4, 1, 4, 2], [3, 2, 1, 0]])


def frame_of(rows=TRIPLETS, names=("anchor", "near", "far"), npartitions=4, **columns):
    frame = pd.DataFrame(dict(zip(names, np.asarray(rows).T, strict=True)) | columns)
    return dd.from_pandas(frame, npartitions=npartitions, sort=False)


def array_of(rows=TRIPLETS, length=250):
    return da.from_array(np.asarray(rows), chunks=(length, -1))


def rows_of(judgments):
    """Return all rows, fetched from the workers."""
    return judgments.sample(len(judgments))


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint64])
def test_an_array_is_held_in_order_as_32_bit_indices(client, dtype):
    judgments = ComparisonsOnCluster(array_of(TRIPLETS.astype(dtype)))
    assert repr(judgments) == "ComparisonsOnCluster('4 partitions', 900 triplets over 30 objects)"
    assert judgments.objects.tolist() == list(range(N))
    objects, answers, weights = rows_of(judgments)
    np.testing.assert_array_equal(objects, TRIPLETS)
    assert objects.dtype == np.int32
    assert answers.size == weights.size == 0


def test_columns_of_an_array_may_be_in_several_chunks(client):
    judgments = ComparisonsOnCluster(da.from_array(TRIPLETS, chunks=(400, 2)))
    np.testing.assert_array_equal(rows_of(judgments).objects, TRIPLETS)


def test_a_sample_is_that_of_rows_in_memory(client):
    judgments = ComparisonsOnCluster(array_of(length=130))
    for size in (1, 7, 100, 450, 899, 5000):
        np.testing.assert_array_equal(judgments.sample(size).objects, Rows.of(TRIPLETS).thin(size).objects)


@pytest.mark.parametrize("kind", ["int64", "bool", "Int64", "boolean", "int8", "float64"])
def test_a_frame_has_answers_and_weights_of_any_kind(client, kind):
    rng = np.random.default_rng(0)
    answers, weights = rng.choice([-1, 1], 900), rng.random(900)
    column = pd.Series(answers > 0 if kind.startswith("bool") else answers).astype(kind)
    judgments = ComparisonsOnCluster(frame_of(weight=weights, who=weights, answer=column), n_objects=40)
    assert judgments.n_objects == 40
    objects, found, weighted = rows_of(judgments)
    np.testing.assert_array_equal(objects, TRIPLETS)
    np.testing.assert_array_equal(found, answers)
    np.testing.assert_array_equal(weighted, weights)


def test_columns_are_found_by_their_names_or_named(client):
    judgments = ComparisonsOnCluster(frame_of(QUADRUPLETS, ("i", "j", "l", "k"), 2))
    assert not judgments.is_triplets
    np.testing.assert_array_equal(rows_of(judgments).objects, QUADRUPLETS)
    named = ComparisonsOnCluster(frame_of(TRIPLETS, ("c", "b", "a")), columns=["a", "b", "c"])
    np.testing.assert_array_equal(rows_of(named).objects, TRIPLETS[:, ::-1])


def test_partitions_may_be_empty_and_fewer_than_workers(client):
    frame = frame_of(place=np.arange(900), npartitions=6)
    few = ComparisonsOnCluster(frame[frame["place"] < 200])  # of unknown length, most partitions empty
    np.testing.assert_array_equal(rows_of(few).objects, TRIPLETS[:200])
    assert len(ComparisonsOnCluster(array_of(TRIPLETS[:5], 5), n_objects=N)) == 5
    with pytest.raises(ValueError, match="6 partitions holds no comparisons"):
        ComparisonsOnCluster(frame[frame["anchor"] < 0])


def test_parquet_files_are_read_by_the_workers(client, tmp_path):
    frame_of(weight=np.ones(900), note=["x"] * 900).to_parquet(tmp_path / "many")
    judgments = ComparisonsOnCluster(dd.read_parquet(f"file://{tmp_path}/many"))
    assert judgments.title == "4 partitions"
    np.testing.assert_array_equal(rows_of(judgments).objects, TRIPLETS)


def test_a_persisted_collection_is_taken_from_where_it_is(client):
    judgments = ComparisonsOnCluster(frame_of().persist())
    np.testing.assert_array_equal(rows_of(judgments).objects, TRIPLETS)


BAD = {
    "index -1 is negative": lambda rows: rows.__setitem__((400, 1), -1),
    r"\[7, 7, 1\] compares an object with itself": lambda rows: rows.__setitem__(400, [7, 7, 1]),
    r"near and far are the same pair, \[7, 1\]": lambda rows: rows.__setitem__(400, [7, 1, 1]),
    "index 2147483648 is out of range for the largest index supported": lambda rows: rows.__setitem__((400, 2), 2**31),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_rows_are_named_by_partition_and_row(client, message):
    rows = TRIPLETS.astype(np.int64)
    BAD[message](rows)
    rows[880, 0] = -5  # the first is told, whichever worker is faster
    with pytest.raises(ValueError, match=f"^partition 1: row 150: {message}"):
        ComparisonsOnCluster(array_of(rows))


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (lambda: array_of(TRIPLETS.astype(float)), {}, "holds float64, not indices"),
        (lambda: array_of(TRIPLETS[:, :2]), {}, r"has the shape \(900, 2\)"),
        (lambda: frame_of().astype({"near": float}), {}, "column 'near' holds float64, not indices"),
        (lambda: frame_of(weight=["heavy"] * 900), {}, "column 'weight' holds .*, not numbers"),
        (lambda: frame_of(weight=[True] * 900), {}, "column 'weight' holds bool, not numbers"),
        (lambda: frame_of(answer=np.where(np.arange(900) == 3, 2, 1)), {}, "row 3: answer is 2; answers are"),
        (lambda: frame_of(weight=np.where(np.arange(900) == 3, -1.0, 1)), {}, "row 3: weight is -1"),
        (lambda: frame_of(weight=np.zeros(900)), {}, "the weights have a sum of 0"),
        (array_of, {"n_objects": 20}, "is out of range for n_objects=20"),
        (array_of, {"n_objects": 0}, "not a positive integer"),
        (lambda: frame_of()["near"], {}, "neither a dask array nor a dask dataframe"),
        (lambda: TRIPLETS, {}, "must be a dask array or dataframe, got ndarray"),
        (lambda: frame_of(TRIPLETS, "abc"), {}, r"no recognized columns \(expected anchor, near, far or i, j.*\['a'"),
        (lambda: frame_of(TRIPLETS, "abc"), {"columns": ["a", "b", "d"]}, "has no column 'd'"),
        (frame_of, {"columns": ["near", "far"]}, "name 3 columns for triplets or 4"),
        (array_of, {"columns": ["near", "far", "anchor"]}, "no names for its columns"),
    ],
)
def test_what_is_no_collection_of_comparisons_is_refused(client, make, options, message):
    with pytest.raises(ValueError, match=message):
        ComparisonsOnCluster(make(), **options)


def test_numbers_from_one_are_pointed_out(client):
    with pytest.warns(UserWarning, match="index 0 never occurs, the lowest is 1"):
        ComparisonsOnCluster(array_of(TRIPLETS + 1))


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]"])
def test_missing_entries_are_named(client, kind):
    near = pd.Series(TRIPLETS[:, 1]).astype(kind)
    np.testing.assert_array_equal(rows_of(ComparisonsOnCluster(frame_of().assign(near=dd.from_pandas(
        near, npartitions=4, sort=False)))).objects, TRIPLETS)  # fmt: skip
    near[10] = pd.NA
    frame = pd.DataFrame({"anchor": TRIPLETS[:, 0], "near": near, "far": TRIPLETS[:, 2]})
    with pytest.raises(ValueError, match="partition 0: row 10: 'near' is missing; drop such rows"):
        ComparisonsOnCluster(dd.from_pandas(frame, npartitions=4))


def blocks_of(start, stop, width=3):
    return [Block(TRIPLETS[start:stop, :width]), Block(TRIPLETS[:0])]


def test_parts_that_workers_load_by_themselves(client):
    bounds = [(0, 100), (100, 100), (100, 900)]
    loaders = [Loader(f"part-{k}.parquet", partial(blocks_of, *each)) for k, each in enumerate(bounds)]
    judgments = ComparisonsOnCluster.from_loaders(loaders, "many/*.parquet")
    assert repr(judgments) == "ComparisonsOnCluster('many/*.parquet', 900 triplets over 30 objects)"
    np.testing.assert_array_equal(rows_of(judgments).objects, TRIPLETS)
    with pytest.raises(ValueError, match=r"^part-2\.parquet: row \d+: index 29 is out of range for n_objects=29"):
        ComparisonsOnCluster.from_loaders(loaders[1:], "many/*.parquet", n_objects=29)
    other = Loader("other.parquet", partial(list, [Block(QUADRUPLETS)]))
    with pytest.raises(ValueError, match="parts differ in their columns"):
        ComparisonsOnCluster.from_loaders([*loaders, other], "many/*.parquet")
    missing = Loader("gone.npy", partial(from_file, "gone.npy"))
    with pytest.raises(FileNotFoundError, match=r"gone\.npy"):
        ComparisonsOnCluster.from_loaders([missing], "gone.npy")


def from_file(path):
    return [Block(np.load(path))]


def test_without_a_client_it_says_how_to_start_one():
    with pytest.raises(RuntimeError, match=r"no client is running; start one with .* Client\(\)"):
        ComparisonsOnCluster(array_of())


def test_a_copy_for_another_process_leaves_the_rows_behind(client):
    judgments = ComparisonsOnCluster(array_of())
    copied = pickle.loads(pickle.dumps(judgments))
    assert repr(copied) == repr(judgments)
    with pytest.raises(RuntimeError, match="left its rows on the cluster"):
        copied.sample(10)


def test_workers_let_go_of_rows_that_nobody_has(client):
    gc.collect()
    judgments = ComparisonsOnCluster(array_of())
    assert len(judgments) == 900
    keys = {future.key for future in judgments._pool._futures}
    assert keys <= {key for each in client.has_what().values() for key in each}
    # Beside the shards nothing is kept: their rows would be there twice.
    assert not any("nearer-part" in str(key) for each in client.has_what().values() for key in each)
    del judgments
    gc.collect()
    deadline = time.monotonic() + 60
    while keys & {key for each in client.has_what().values() for key in each} and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not keys & {key for each in client.has_what().values() for key in each}


def test_rows_stay_where_they_are(client):
    judgments = ComparisonsOnCluster(array_of())
    with pytest.raises(TypeError, match="only fit takes it"):
        np.asarray(judgments)
    with pytest.raises(ValueError, match="stay on the workers"):
        judgments.blocks()


def test_lanes_have_all_rows_in_order_and_are_no_copies():
    blocks = [Rows.of(TRIPLETS[:10].astype(np.int32)), Rows.of(TRIPLETS[10:17].astype(np.int32))]
    for count in (1, 2, 3, 5, 17, 40):
        lanes = split_into_lanes(blocks, count)
        sizes = [sum(map(len, lane)) for lane in lanes]
        assert max(sizes) - min(sizes) <= 1
        np.testing.assert_array_equal(
            np.concatenate([block.objects for lane in lanes for block in lane]), TRIPLETS[:17]
        )
        assert all(any(np.shares_memory(b.objects, whole.objects) for whole in blocks) for lane in lanes for b in lane)
    assert split_into_lanes([], 3) == [[]]


def test_a_walk_down_the_tree_meets_everything_in_order():
    def walked(nodes):
        return [key for node in nodes for key in (node.key, *walked(node.below))]

    for count in (1, 2, 4, 5, 23, 200):
        assert walked(build_tree([("", key) for key in range(count)])) == list(range(count))
        assert [item for run in split_into_runs(range(count), 7) for item in run] == list(range(count))
    assert list(split_into_runs([], 3)) == [[], [], []]
    assert list(split_into_runs([5, 6], 2, [1, 8])) == [[], [5, 6]]  # the worker of eight threads gets them


def test_nothing_is_warned_of_good_rows(client):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ComparisonsOnCluster(array_of())
