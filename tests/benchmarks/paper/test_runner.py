import pytest

from benchmarks.paper import Experiment, Run, methods, runner, table_rows
from benchmarks.paper.methods import run_unit
from benchmarks.records import Interrupted, RecordFile
from nearer.datasets import make_gaussian, sample_triplets


def load(seed):
    return sample_triplets(make_gaussian(10, 2, random_state=seed))


TINY = Experiment("tiny", "ten points", 2, (20, 30), load)


@pytest.fixture
def make_run(tmp_path):
    def make(folder="run", **changes):
        settings = {"n_trials": 2, "methods": ("DMOE", "STE"), "n_jobs": 1, **changes}
        return Run(TINY, tmp_path / folder, **settings)

    return make


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The records of a run that went to its end, and the file of them."""
    run = Run(TINY, tmp_path_factory.mktemp("whole"), n_trials=2, methods=("DMOE", "STE"), n_jobs=1)
    return run.execute(), run.path


@pytest.fixture
def ran(monkeypatch):
    """Units that were really run, in order."""
    units = []

    def counted(experiment, seed, unit):
        units.append(unit)
        return run_unit(experiment, seed, unit)

    monkeypatch.setattr(runner, "run_unit", counted)
    return units


def table(records):
    return [{**row, "seconds_median": None} for row in table_rows(TINY, records)]


def test_large_sizes_come_first(make_run):
    assert [unit.size for unit in make_run().units()] == [30] * 4 + [20] * 4


def test_a_rerun_after_a_cut_goes_on_and_ends_with_the_same_table(make_run, ran, whole):
    records, path = whole
    kept = path.read_bytes()
    cut = make_run("cut").path
    cut.write_bytes(kept[: kept.rindex(b'"error"')])
    resumed = make_run("cut").execute()
    assert ran == [make_run("cut").units()[-1]]
    assert table(resumed) == table(records)
    assert len(RecordFile(cut).read()) == 8


def test_a_part_of_a_run_counts_for_the_whole(make_run, ran, whole):
    make_run("part", sizes=(20,), methods=("STE",)).execute()
    assert len(ran) == 2
    del ran[:]
    assert table(make_run("part").execute()) == table(whole[0])
    assert len(ran) == 6


def test_other_seeds_and_other_grids_are_run_again(make_run, ran, monkeypatch):
    small = {"n_trials": 1, "sizes": (20,), "methods": ("STE",)}
    make_run(**small).execute()
    make_run(**small, seed=1).execute()
    assert len(ran) == 2
    monkeypatch.setattr(methods, "candidates", lambda *_: [{"trace": 0.2}])
    (record,) = make_run(**small).execute()
    assert len(ran) == 3
    assert record["settings"] == "STE(solver='projected', trace=0.2)"


def test_an_interrupt_says_what_is_kept(make_run, monkeypatch):
    def stop_at_third(experiment, seed, unit):
        if len(RecordFile(make_run().path).read()) == 2:
            raise KeyboardInterrupt
        return run_unit(experiment, seed, unit)

    monkeypatch.setattr(runner, "run_unit", stop_at_third)
    with pytest.raises(Interrupted, match=r"2 of 8 tuned fits kept in .*trials.jsonl; run the same command again"):
        make_run().execute()


@pytest.mark.parametrize("damage", ['{"si', "[1]", '{"size": 20}', ""])
def test_a_damaged_line_is_named(whole, tmp_path, damage):
    first, *others = whole[1].read_text().splitlines()
    path = tmp_path / "trials.jsonl"
    path.write_text("\n".join([first, damage, *others, ""]))
    with pytest.raises(ValueError, match="line 2 is not a record"):
        RecordFile(path).read()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ("STE", "MDS")}, "method MDS is not known; choose from DMOE, GNMDS, STE, TSTE"),
        ({"sizes": (20, 360)}, "size 360 is out of range: tiny has 360 comparisons, and 10 to 359"),
        ({"n_trials": 0}, "trials >= 1"),
        ({"n_jobs": 0}, "jobs >= 1"),
    ],
)
def test_what_cannot_work_is_refused_before_any_file_is_made(make_run, tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        make_run(**changes)
    assert not (tmp_path / "run").exists()
