"""Fits on real clusters of processes, workers that die in mid-fit, and what runs side by side on the same workers."""

import os
import pickle
import signal
import threading
from functools import partial

import numpy as np
import pytest
from helpers.browsing import eventually
from helpers.clusters import dying, fit_inside, local_cluster, once, slow, stay_dead

from benchmarks.records import side_by_side
from nearer.data import ComparisonsFile, ComparisonsOnCluster, worker_pool
from nearer.data.cluster import Loader
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, DMOE, GNMDS, SOE, STE, TSTE
from nearer.embedding.clustering import ComparisonHC
from nearer.embedding.storage import save_model
from nearer.evaluation.uncertainty import bootstrap
from nearer.optimize import Factored
from nearer.optimize.problems import sources

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

pytestmark = pytest.mark.usefixtures("one_start")
N = 30
POINTS = make_gaussian(N, 2, random_state=1)
TRAIN = sample_triplets(POINTS, 3000, flipped=0.05, random_state=1)
TRIPLETS = TRAIN.oriented[:, [0, 1, 3]] if TRAIN.answers is not None else TRAIN.rows
TEST = sample_triplets(POINTS, 5000, random_state=2)


def array_of(rows=TRIPLETS, length=700):
    return da.from_array(rows, chunks=(length, 3))


@pytest.mark.parametrize("model", [STE(), TSTE(), CKL(), GNMDS(), SOE()], ids=repr)
def test_a_fit_is_that_of_rows_in_memory(client, model):
    there = model.fit(array_of())
    embedding, objective = there.embedding_, there.history_[-1].objective
    assert isinstance(there.comparisons_, ComparisonsOnCluster)
    here = model.fit(TRIPLETS)
    assert objective == pytest.approx(here.history_[-1].objective, rel=1e-8)
    np.testing.assert_allclose(embedding, here.embedding_, atol=1e-6)


def test_dmoe_takes_its_fixed_settings_as_for_a_file(client):
    model = DMOE(solver="factored").fit(array_of())
    assert model.score(TEST) > STE().fit(TRIPLETS).score(TEST) - 0.02


@pytest.mark.parametrize("form", ["npy", "parquet"])
def test_files_are_fitted_by_the_workers_of_a_running_client(client, tmp_path, form, monkeypatch):
    rng = np.random.default_rng(0)
    answers, weights = rng.choice([-1, 1], 3000, p=[0.1, 0.9]), rng.random(3000)
    for number, part in enumerate(np.array_split(np.arange(3000), 5)):
        if form == "npy":
            np.save(tmp_path / f"part-{number}.npy", TRIPLETS[part])
        else:
            frame = pd.DataFrame(TRIPLETS[part], columns=["anchor", "near", "far"])
            frame.assign(answer=answers[part], weight=weights[part]).to_parquet(tmp_path / f"part-{number}.parquet")
    file = ComparisonsFile(tmp_path, block_rows=400)
    before = tasks_done(client)
    there = STE().fit(file)
    assert tasks_done(client) > before
    assert there.comparisons_ is file
    here = STE().fit(TRIPLETS) if form == "npy" else STE().fit(TRIPLETS, answers, weights)
    assert there.history_[-1].objective == pytest.approx(here.history_[-1].objective, rel=1e-8)
    np.testing.assert_allclose(there.embedding_, here.embedding_, atol=1e-6)
    asked = []
    monkeypatch.setattr(sources, "load_on_cluster", asked.append)
    STE(solver="svrg", random_state=0).fit(file)  # its batches are read here
    assert asked == []


def test_a_fit_within_a_task_does_not_wait_for_its_own_worker(client, tmp_path):
    np.save(tmp_path / "rows.npy", TRIPLETS)
    maps = client.gather(client.map(fit_inside, [tmp_path / "rows.npy"] * 3, pure=False))
    np.testing.assert_array_equal(maps[2], maps[0])


def test_a_frame_with_answers_and_weights(client):
    rng = np.random.default_rng(0)
    flipped, weights = rng.random(3000) < 0.5, rng.random(3000)
    rows = np.where(flipped[:, None], TRIPLETS[:, [0, 2, 1]], TRIPLETS)
    frame = pd.DataFrame(rows, columns=["anchor", "near", "far"]).assign(answer=~flipped, weight=weights)
    there = STE(n_objects=N + 1).fit(dd.from_pandas(frame, npartitions=3))
    assert there.n_objects_ == N + 1
    np.testing.assert_allclose(there.embedding_[N], 0, atol=1e-12)
    here = STE().fit(TRIPLETS, sample_weight=weights)
    assert there.score(TEST) == pytest.approx(here.score(TEST), abs=0.01)


def test_what_cannot_be_done_with_a_collection_is_said(client, tmp_path):
    rows = array_of()
    with pytest.raises(ValueError, match="brings its own answers"):
        STE().fit(rows, np.ones(3000))
    with pytest.raises(ValueError, match=r"solver='factored' works there; leave solver out"):
        STE(solver="svrg").fit(rows)
    for model in (GNMDS(solver="projected"), DMOE(solver="admm")):
        with pytest.raises(ValueError, match="needs all comparisons in memory"):
            model.fit(rows)
    with pytest.raises(ValueError, match="in memory"):
        STE(solver=Factored(validation=0.1)).fit(rows)
    judgments = ComparisonsOnCluster(rows)
    with pytest.raises(ValueError, match="n_objects=50, but 5 partitions has 30"):
        STE(n_objects=50).fit(judgments)
    with pytest.raises(ValueError, match="ComparisonHC needs all comparisons in memory"):
        ComparisonHC(2).fit(judgments)
    model = STE().fit(judgments)
    with pytest.raises(ValueError, match="fitted to a ComparisonsOnCluster"):
        save_model(model, tmp_path / "model")
    for method in (model.predict, model.score, model.place, STE().fit(TRIPLETS).partial_fit, ComparisonHC(2).fit):
        with pytest.raises(TypeError, match="only fit takes it"):
            method(rows)
    with pytest.raises(TypeError, match="only fit takes it"):
        model.predict(judgments)
    with pytest.raises(TypeError, match="only fit takes it"):
        bootstrap(STE(), rows)
    copied = pickle.loads(pickle.dumps(model))
    assert copied.score(TEST) == model.score(TEST)


def test_ctrl_c_leaves_the_best_map_and_the_cluster_as_it_was(client):
    def interrupt(progress):
        if progress.iteration == 3:
            raise KeyboardInterrupt

    judgments = ComparisonsOnCluster(array_of())
    model = STE()
    with pytest.warns(UserWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(judgments, callback=interrupt)
    assert model.n_iter_ == 3
    assert model.embedding_.any()
    assert STE().fit(judgments).converged_


def test_ctrl_c_while_workers_work(client):
    judgments = ComparisonsOnCluster(array_of())
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        judgments.reduce(slow, max)
    timer.join()
    assert STE().fit(judgments).converged_


@pytest.fixture(scope="module")
def mortal_cluster():
    """Yield a client whose workers tests kill, with a nanny that starts them anew."""
    with local_cluster() as client, client.as_current():
        yield client


@pytest.fixture
def mortal(mortal_cluster):
    """Return that client, as soon as two workers answer: some that are dead already may still be on its list."""

    def answer():
        try:
            return len(mortal_cluster.run(os.getpid)) == 2
        except (OSError, RuntimeError):
            return False

    eventually(answer)
    return mortal_cluster


def killing(client, iteration, count=1):
    pids = list(client.run(os.getpid).values())[:count]

    def kill(progress):
        if progress.iteration == iteration:
            while pids:
                os.kill(pids.pop(), signal.SIGKILL)

    return kill


def test_a_worker_that_dies_costs_time_and_not_the_fit(mortal):
    with mortal.as_current():
        judgments = ComparisonsOnCluster(array_of())
        undisturbed = STE().fit(judgments)
        with pytest.warns(UserWarning, match="1 worker of 2 lost; the comparisons there are loaded again"):
            model = STE().fit(judgments, callback=killing(mortal, 4))
        np.testing.assert_array_equal(model.embedding_, undisturbed.embedding_)
        assert [each.objective for each in model.history_] == [each.objective for each in undisturbed.history_]


def test_those_that_are_left_take_the_place_of_one_that_does_not_come_back(monkeypatch):
    monkeypatch.setattr(worker_pool, "RESTART_SECONDS", 0.01)
    with local_cluster() as client, client.as_current():
        client.run(stay_dead, nanny=True)
        judgments = ComparisonsOnCluster(array_of())
        undisturbed = STE().fit(judgments)
        with pytest.warns(UserWarning, match="1 worker of 2 lost"):
            model = STE().fit(judgments, callback=killing(client, 4))
        np.testing.assert_array_equal(model.embedding_, undisturbed.embedding_)
        assert len(set(judgments._pool._addresses)) == 1


@pytest.mark.filterwarnings("ignore:.* lost; the comparisons there are loaded again")
def test_a_part_that_is_another_when_it_is_loaded_again_ends_the_fit(mortal, tmp_path):
    loaders = [Loader("part", partial(once, tmp_path / name)) for name in ("first", "second")]
    judgments = ComparisonsOnCluster.from_loaders(loaders, "many", client=mortal)
    with pytest.raises(ValueError, match="many: a part cannot be loaded again: it has changed since"):
        STE().fit(judgments, callback=killing(mortal, 1))


def test_whatever_kills_every_worker_ends_the_fit_with_a_sentence(mortal, monkeypatch):
    monkeypatch.setattr(worker_pool, "MAX_LOST_WORKERS", 0)
    with mortal.as_current():
        judgments = ComparisonsOnCluster(array_of())
        with pytest.raises(RuntimeError, match="workers were lost before they had answered"):
            judgments.reduce(dying, max)


@pytest.mark.filterwarnings("ignore:.* lost; the comparisons there are loaded again")
def test_rows_that_no_worker_survives_loading_are_refused_with_a_sentence(mortal, monkeypatch):
    monkeypatch.setattr(worker_pool, "MAX_LOST_WORKERS", 1)
    # Who notices first is a matter of luck: the scheduler, or the fit.
    with pytest.raises(RuntimeError, match=r"workers (were lost|died while)"):
        ComparisonsOnCluster.from_loaders([Loader("part", dying)], "many", client=mortal)


def test_fits_side_by_side_run_on_the_workers_through_joblib(client):
    import joblib

    from nearer.evaluation import held_out_error

    few = sample_triplets(POINTS, 300, random_state=3)
    method = STE(solver=Factored(n_init=1))  # said outright: workers know nothing of what this process has patched

    def work(n_jobs=None):
        trust = bootstrap(method, few, n_resamples=20, n_simulations=0, random_state=0, n_jobs=n_jobs)
        errors = held_out_error(method, few, n_jobs=n_jobs, random_state=0)
        return trust.maps, errors

    maps, errors = work()
    before = tasks_done(client)
    with joblib.parallel_config(backend="dask"):
        there, judged = work(n_jobs=2)
        powers = sorted(side_by_side(pow, [(2, 3), (3, 2)], n_jobs=2))  # as benchmarks do
    assert tasks_done(client) > before + 20
    np.testing.assert_allclose(there, maps, atol=1e-9)
    assert judged == errors
    assert powers == [8, 9]


def tasks_done(client):
    return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
