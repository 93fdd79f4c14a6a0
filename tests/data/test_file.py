import pickle
import sys

import numpy as np
import pytest

from nearer import Comparisons
from nearer.data import ComparisonsFile
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, DMOE, GNMDS, SOE, STE, TSTE
from nearer.model import Hinge
from nearer.optimize import SVRG, Factored
from nearer.optimize.kernels import evaluate

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.usefixtures("one_start")
N = 30
POINTS = make_gaussian(N, 2, random_state=1)
TRIPLETS = sample_triplets(POINTS, 3000, random_state=1).rows
TEST = sample_triplets(POINTS, 5000, random_state=2)
QUADRUPLETS = np.array([[0, 1, 2, 3], [4, 1, 4, 2], [3, 2, 1, 0]])


@pytest.fixture
def npy(tmp_path):
    def write(rows, name="rows.npy"):
        np.save(tmp_path / name, rows)
        return tmp_path / name

    return write


@pytest.fixture
def parquet(tmp_path):
    def write(row_group_size=500, **columns):
        path = tmp_path / "rows.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=row_group_size)
        return path

    return write


def columns_of(rows, names=("anchor", "near", "far")):
    return dict(zip(names, rows.T, strict=True))


def joined(file, rng=None):
    return [np.concatenate(columns) for columns in zip(*file.blocks(rng), strict=True)]


def in_order(*columns):
    table = np.column_stack(columns)
    return table[np.lexsort(table.T)]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, ">i4"])
def test_npy_gives_its_rows_a_block_at_a_time(npy, dtype):
    file = ComparisonsFile(npy(TRIPLETS.astype(dtype)), block_rows=700)
    assert [len(block) for block in file.blocks()] == [700] * 4 + [200]
    assert len(file) == 3000
    assert file.n_objects == N
    objects, answers, weights = joined(file)
    np.testing.assert_array_equal(objects, TRIPLETS)
    assert objects.dtype in (np.int32, np.int64)
    assert answers.size == weights.size == 0


@pytest.mark.parametrize("dtype", [np.int64, np.uint16, ">i8"])
def test_blocks_are_of_32_bits_and_stay_as_they_are_while_others_are_read(npy, dtype):
    file = ComparisonsFile(npy(TRIPLETS.astype(dtype)), block_rows=1000)
    blocks = list(file.blocks())
    for number, block in enumerate(blocks):
        assert block.objects.dtype == np.int32
        assert type(block.objects) is np.ndarray
        np.testing.assert_array_equal(block.objects, TRIPLETS[1000 * number : 1000 * (number + 1)])


def test_shuffled_blocks_hold_every_row_once_and_come_from_all_over_the_file(npy):
    rows = TRIPLETS[np.argsort(TRIPLETS[:, 0], kind="stable")]
    file = ComparisonsFile(npy(rows), block_rows=512)
    first, second = (joined(file, np.random.default_rng(seed))[0] for seed in (0, 1))
    np.testing.assert_array_equal(in_order(first), in_order(rows))
    assert not np.array_equal(first, second)
    block = next(file.blocks(np.random.default_rng(0)))
    assert len(block) <= 512
    assert np.ptp(block.objects[:, 0]) > N / 2
    assert np.ptp(rows[:512, 0]) < N / 4


@pytest.mark.parametrize("block_rows", [64, 700, 10**6])
def test_parquet_with_answers_and_weights(parquet, block_rows):
    rng = np.random.default_rng(0)
    answers, weights = rng.choice([-1, 1], 3000), rng.random(3000)
    file = ComparisonsFile(
        parquet(weight=weights, other=weights, **columns_of(TRIPLETS), answer=answers), block_rows=block_rows
    )
    for rng in (None, np.random.default_rng(0)):
        assert max(len(block) for block in file.blocks(rng)) <= block_rows
        np.testing.assert_array_equal(
            in_order(*joined(file, rng)), in_order(TRIPLETS, answers.astype(np.int8), weights)
        )
    np.testing.assert_array_equal(joined(file)[0], TRIPLETS)
    assert not np.array_equal(joined(file, np.random.default_rng(0))[0], TRIPLETS)


def test_parquet_names_of_columns_and_types(parquet):
    names = ("i", "j", "l", "k")
    file = ComparisonsFile(parquet(**columns_of(QUADRUPLETS.astype(np.int16), names)))
    np.testing.assert_array_equal(joined(file)[0], QUADRUPLETS)
    assert joined(file)[0].dtype == np.int32
    mine = ("who", "this", "that")
    path = parquet(**columns_of(TRIPLETS.astype(np.uint32), mine), answer=np.arange(3000) % 2 == 0)
    file = ComparisonsFile(path, columns=mine)
    objects, answers, _ = joined(file)
    np.testing.assert_array_equal(objects, TRIPLETS)
    np.testing.assert_array_equal(answers, np.where(np.arange(3000) % 2 == 0, 1, -1))
    with pytest.raises(ValueError, match=r"expected anchor, near, far.*found \['who', .*columns="):
        ComparisonsFile(path)
    with pytest.raises(ValueError, match="no column 'nobody'"):
        ComparisonsFile(path, columns=["who", "this", "nobody"])
    with pytest.raises(ValueError, match="name 3 columns"):
        ComparisonsFile(path, columns=["who", "this"])
    with pytest.raises(ValueError, match="each once"):
        ComparisonsFile(path, columns=["who", "this", "this"])


BAD_ROWS = {
    "negative": ([0, -1, 2], "index -1 is negative"),
    "itself": ([4, 4, 2], "compares an object with itself"),
    "the far object": ([4, 2, 4], "compares an object with itself"),
    "the same pair": ([4, 2, 2], "near and far are the same pair"),
    "out of range": ([0, 1, N], f"index {N} is out of range for n_objects={N}"),
    "identifier": ([0, 1, 2**33], "out of range"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
@pytest.mark.parametrize("block_rows", [100, 10**6])
@pytest.mark.parametrize("form", ["npy", "parquet"])
def test_bad_rows_are_refused_with_file_and_row_number(npy, parquet, case, block_rows, form):
    row, message = BAD_ROWS[case]
    rows = TRIPLETS.copy()
    rows[1234] = row
    path = npy(rows) if form == "npy" else parquet(**columns_of(rows))
    with pytest.raises(ValueError, match=rf"rows\.{form}: row 1234: .*{message}"):
        ComparisonsFile(path, n_objects=N, block_rows=block_rows)
    if case != "out of range":
        with pytest.raises(ValueError, match="row 1234"):
            ComparisonsFile(path, block_rows=block_rows)


def test_degenerate_quadruplets_are_refused(npy):
    for row, message in (([1, 2, 2, 1], "same pair"), ([0, 1, 3, 3], "itself")):
        with pytest.raises(ValueError, match=f"row 3: .*{message}"):
            ComparisonsFile(npy(np.array([*QUADRUPLETS, row])))


@pytest.mark.parametrize(
    ("name", "value"),
    [("weight", np.nan), ("weight", -1.0), ("weight", np.inf)] + [("answer", v) for v in (0, 2, np.nan)],
)
def test_bad_weights_and_answers_are_refused(parquet, name, value):
    values = np.where(np.arange(3000) == 2000, value, 1)
    with pytest.raises(ValueError, match=rf"row 2000: {name} is {value}"):
        ComparisonsFile(parquet(**{name: values}, **columns_of(TRIPLETS)), block_rows=300)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"far": [None if row == 700 else k for row, k in enumerate(TRIPLETS[:, 2].tolist())]},
            "row 700: 'far' is miss",
        ),
        ({"far": TRIPLETS[:, 2] / 2}, "column 'far' holds double, not indices"),
        ({"answer": ["yes"] * 3000}, "column 'answer' holds string"),
        ({"weight": [True] * 3000}, "column 'weight' holds bool, not numbers"),
        ({"weight": np.zeros(3000)}, "sum of 0"),
        (columns_of(TRIPLETS[:0]), "no comparisons"),
    ],
)
def test_missing_values_and_other_types_are_refused(parquet, columns, message):
    with pytest.raises(ValueError, match=message):
        ComparisonsFile(parquet(**columns_of(TRIPLETS) | columns))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (TRIPLETS / 1.0, "float64, not indices"),
        (TRIPLETS > 3, "bool, not indices"),
        (TRIPLETS[:, :2], r"shape \(3000, 2\)"),
        (TRIPLETS.ravel(), r"shape \(9000,\)"),
        (TRIPLETS[:0], "no comparisons"),
        (np.asfortranarray(TRIPLETS), "Fortran order"),
        (np.array([["a", "b", "c"]], dtype=object), "not a whole .npy file"),
    ],
)
def test_arrays_that_are_no_comparisons_are_refused(npy, rows, message):
    with pytest.raises(ValueError, match=message):
        ComparisonsFile(npy(rows))


@pytest.mark.parametrize("form", ["npy", "parquet"])
def test_broken_files_are_refused(npy, parquet, form, tmp_path):
    path = npy(TRIPLETS) if form == "npy" else parquet(**columns_of(TRIPLETS))
    whole = path.read_bytes()
    for content in (b"", b"anchor,near,far\n0,1,2\n", whole[: len(whole) // 2], whole[:20]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"rows\.{form} is not a whole"):
            ComparisonsFile(path)
    with pytest.raises(FileNotFoundError):
        ComparisonsFile(tmp_path / f"none.{form}")
    (tmp_path / "rows.csv").write_text("0,1,2")
    with pytest.raises(ValueError, match=r"neither a \.npy nor a \.parquet"):
        ComparisonsFile(tmp_path / "rows.csv")


def test_settings_are_checked(npy):
    path = npy(TRIPLETS)
    with pytest.raises(ValueError, match="block_rows"):
        ComparisonsFile(path, block_rows=0)
    with pytest.raises(ValueError, match="n_objects"):
        ComparisonsFile(path, n_objects=-3)
    with pytest.raises(ValueError, match="leave columns out"):
        ComparisonsFile(path, columns=["a", "b", "c"])
    with pytest.warns(UserWarning, match="numbered from 1"):
        assert ComparisonsFile(npy(TRIPLETS + 1)).n_objects == N + 1


def test_a_file_that_changes_is_not_trusted_any_more(npy):
    path = npy(TRIPLETS)
    file = ComparisonsFile(path)
    npy(np.concatenate([TRIPLETS, [[0, 1, 10**6]]]))
    with pytest.raises(ValueError, match="has changed"):
        next(file.blocks())


def test_without_pyarrow_a_sentence_says_what_to_install(parquet, monkeypatch):
    path = parquet(**columns_of(TRIPLETS))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install pyarrow"):
        ComparisonsFile(path)


def test_pickles_as_a_path_and_not_as_its_rows(npy):
    file = ComparisonsFile(npy(TRIPLETS))
    pickled = pickle.dumps(file)
    assert len(pickled) < 2000
    np.testing.assert_array_equal(joined(pickle.loads(pickled))[0], TRIPLETS)


def noisy():
    rng = np.random.default_rng(4)
    wrong = rng.random(len(TRIPLETS)) < 0.1
    return TRIPLETS, np.where(wrong, -1, 1), rng.random(len(TRIPLETS))


@pytest.mark.parametrize("estimator", [GNMDS, STE, TSTE, CKL, SOE])
@pytest.mark.parametrize("solver", ["svrg", "factored"])
def test_a_file_and_the_same_comparisons_in_memory_give_equally_good_maps(parquet, estimator, solver):
    rows, answers, weights = noisy()
    order = np.argsort(rows[:, 0], kind="stable")  # as files often are
    path = parquet(**columns_of(rows[order]), answer=answers[order], weight=weights[order], row_group_size=400)
    file = ComparisonsFile(path, block_rows=400)
    model = estimator(solver=solver, random_state=0).fit(file)
    memory = estimator(solver=solver, random_state=0).fit(rows, answers, weights)
    assert model.converged_
    assert model.comparisons_ is file
    np.testing.assert_array_equal(model.objects_, np.arange(N))
    assert model.score(TEST) == pytest.approx(memory.score(TEST), abs=0.01)
    assert model.history_[-1].objective == pytest.approx(memory.history_[-1].objective, rel=0.02)


@pytest.mark.parametrize("solver", ["svrg", "factored"])
def test_a_file_of_one_block_is_the_same_as_memory(parquet, solver):
    rows, answers, weights = noisy()
    file = ComparisonsFile(parquet(**columns_of(rows), answer=answers, weight=weights))
    model = STE(solver=solver, random_state=0).fit(file)
    memory = STE(solver=solver, random_state=0).fit(rows, answers, weights)
    if solver == "factored":
        np.testing.assert_allclose(model.embedding_, memory.embedding_, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(TEST), memory.decision_function(TEST), atol=0.05)


def test_a_sorted_npy_file_with_many_blocks(npy):
    rows = TRIPLETS[np.argsort(TRIPLETS[:, 0], kind="stable")]
    model = STE(solver=SVRG(batch_size=50), random_state=0).fit(ComparisonsFile(npy(rows), block_rows=160))
    assert model.converged_
    assert model.score(TEST) > STE().fit(TRIPLETS).score(TEST) - 0.02


def test_blocks_sum_to_the_whole(npy):
    file = ComparisonsFile(npy(TRIPLETS), block_rows=170)
    whole = evaluate(Hinge().compiled, POINTS, next(ComparisonsFile(file.path).blocks()))
    parts = [evaluate(Hinge().compiled, POINTS, block) for block in file.blocks(np.random.default_rng(0))]
    assert sum(value for value, _ in parts) == pytest.approx(whole[0])
    np.testing.assert_allclose(sum(gradient for _, gradient in parts), whole[1], atol=1e-9)


def test_what_estimators_do_not_do_with_a_file_they_say(npy):
    file = ComparisonsFile(npy(TRIPLETS))
    for model in (GNMDS(solver="projected"), DMOE(solver="admm")):
        with pytest.raises(ValueError, match="needs all comparisons in memory"):
            model.fit(file)
    model = STE(random_state=0)
    with pytest.raises(ValueError, match="its own answers"):
        model.fit(file, np.ones(3000))
    with pytest.raises(ValueError, match=r"n_objects=50, but rows\.npy has 30"):
        STE(n_objects=50).fit(file)
    with pytest.raises(ValueError, match="in memory"):
        STE(solver=Factored(validation=0.1)).fit(file)
    model.partial_fit(file)  # the first is a fit
    with pytest.raises(ValueError, match="partial_fit cannot add"):
        model.partial_fit(TRIPLETS[:10])
    for method in (model.predict, model.score, model.place, STE().fit(TRIPLETS).partial_fit):
        with pytest.raises(TypeError, match="only fit takes it"):
            method(file)


def test_new_objects_are_placed_on_a_map_from_a_file(npy):
    old = TRIPLETS[(TRIPLETS < N - 1).all(axis=1)]
    new = TRIPLETS[(TRIPLETS == N - 1).any(axis=1)]
    model = STE(random_state=0).fit(ComparisonsFile(npy(old)))
    assert model.place(new).shape == (1, 2)
    assert model.n_objects_ == N
    assert model.score(TEST) > 0.9


def test_objects_that_no_row_mentions_stay_at_the_origin(npy):
    model = STE(solver="svrg", random_state=0).fit(ComparisonsFile(npy(TRIPLETS), n_objects=N + 2))
    np.testing.assert_allclose(model.embedding_[N:], 0, atol=1e-12)
    memory = STE(solver="svrg", random_state=0).fit(Comparisons.from_triplets(TRIPLETS, n_objects=N + 2))
    assert model.score(TEST) == pytest.approx(memory.score(TEST), abs=0.01)
