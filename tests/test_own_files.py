"""Files that the program wrote itself and reads again, damaged at random: a sentence that names the file, or a result.

What is read all the same holds nothing out of range.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.damage import attempt, damaged, generator

from benchmarks import coverage
from benchmarks.accuracy import run as accuracy
from benchmarks.accuracy import summary
from benchmarks.accuracy.datasets import DATA_SETS, load
from benchmarks.accuracy.summary import N_BINS
from benchmarks.paper import Experiment, Run, table_rows, table_text
from benchmarks.programs import Program
from benchmarks.records import RecordFile
from benchmarks.session import Session, Task
from benchmarks.triplets import Size
from nearer import Comparisons
from nearer.datasets import fetch_music, make_gaussian, sample_triplets
from nearer.embedding import CKL, STE, BestOf
from nearer.embedding.storage import load_model, save_model
from nearer.study import read_results
from nearer.study.results import KEYS

N_DAMAGES = 120
ANSWERS = sample_triplets(make_gaussian(10, 2, random_state=0), 60, random_state=0)
NAMED = Comparisons.from_triplets(np.array([f"object {k}" for k in range(10)])[ANSWERS.rows])
TINY = Experiment("tiny", "ten points", 2, (20, 30), lambda seed: sample_triplets(make_gaussian(10, 2, random_state=0)))


def read_damaged(path, read, *, text=True, name=None):
    """Damage a file again and again, of several lines one at a time; return what was read all the same."""
    whole, found = path.read_bytes(), []
    lines = whole.splitlines(keepends=True) if path.suffix == ".jsonl" else [whole]
    for seed in range(N_DAMAGES):
        rng = generator(seed)
        place = int(rng.integers(len(lines)))
        end = b"\n" if len(lines) > 1 else b""
        changed = damaged(lines[place].removesuffix(end), rng, text=text) + end
        path.write_bytes(b"".join([*lines[:place], changed, *lines[place + 1 :]]))
        found.append(attempt(read, name or path.name))
    path.write_bytes(whole)
    read()
    kept = [each for each in found if each is not None]
    assert 0 < len(kept) < 2 * N_DAMAGES / 3
    return kept


class TestTrials:
    @pytest.fixture
    def run(self, tmp_path):
        run = Run(TINY, tmp_path, n_trials=2, methods=("STE",), n_jobs=1)
        for unit in run.units():
            figures = {"error": 0.2, "error_strict": 0.19, "error_embedding": 0.21, "choice": 1, "n_warnings": 0}
            identity = {"experiment": "tiny", "seed": 0, **unit._asdict(), "fingerprint": run._fingerprint(unit)}
            RecordFile(run.path).append({**identity, **figures, "settings": "STE()", "seconds": 1.5})
        return run

    def test_damage_ends_in_a_sentence_or_in_a_table(self, run):
        assert len(run.finished()) == 4
        for found in read_damaged(run.path, run.finished):
            rows = table_rows(TINY, list(found.values()))
            assert all(0 <= row["min"] <= row["median"] <= row["max"] <= 1 for row in rows)
            table_text(TINY, rows)

    @pytest.mark.parametrize(
        ("name", "value", "said"),
        [
            ("method", [], "method must be a string"),
            ("size", {}, "size must be a whole number"),
            ("trial", [1], "trial must be a whole number"),
            ("fingerprint", {}, "fingerprint must be a string"),
            ("error", 1.5, "error must be a number from 0 to 1; got 1.5"),
            ("error_strict", -0.1, "error_strict must be a number from 0 to 1"),
            ("error_embedding", None, "error_embedding must be"),
            ("choice", 10**6, "choice must be a whole number from 0 to"),
            ("seconds", "long", "seconds must be"),
            ("n_warnings", 0.5, "n_warnings must be"),
        ],
    )
    def test_what_is_out_of_range_is_refused(self, run, name, value, said):
        first, *others = run.path.read_text().splitlines()
        run.path.write_text("\n".join([json.dumps(json.loads(first) | {name: value}), *others, ""]))
        with pytest.raises(ValueError, match=said) as caught:
            run.finished()
        assert str(run.path) in str(caught.value)
        assert "remove that line and run again" in str(caught.value)

    def test_a_figure_that_is_missing_is_named(self, run):
        first, *others = run.path.read_text().splitlines()
        record = json.loads(first)
        del record["error"]
        run.path.write_text("\n".join([json.dumps(record), *others, ""]))
        with pytest.raises(ValueError, match="it lacks error"):
            run.finished()

    def test_lines_of_other_runs_need_no_figures(self, run):
        other = {"size": 20, "trial": 0, "method": "STE", "seed": 0, "fingerprint": "of an older version"}
        RecordFile(run.path).append(other)
        assert len(run.finished()) == 4


def test_damaged_measurements(tmp_path):
    program, path = Program("nearer", "python", "abc"), tmp_path / "measurements.jsonl"
    tasks = [Task("STE", Size(30, 500), 2, 0, repeat) for repeat in range(3)]
    figures = {"seconds": 0.5, "n_iter": 10, "peak_memory": 10**8, "warnings": [], "error": 0.1}
    for task in tasks:
        identity = {
            "program": "nearer", "version": "abc", "size": "30x500", "trial": task.repeat, "method": "STE",
            "dimension": 2, "seed": 0, "fingerprint": task.fingerprint(program),
        }  # fmt: skip
        RecordFile(path).append(identity | figures)
    identities = [json.loads(line) for line in path.read_bytes().splitlines()]

    def read():
        with Session(path, 3, "speed") as session:
            return [session._known(identity) for identity in identities]

    for known in read_damaged(path, read):
        assert all(0 <= record["error"] <= 1 and record["seconds"] > 0 for record in known if record)


def test_damaged_coverage(tmp_path, monkeypatch):
    work = coverage.Coverage(tmp_path, ("small",), ("STE",), replications=2)
    figures = {
        "covered": {"0.5": 0.5, "0.8": 0.8, "0.95": 0.9}, "plain_covered": 0.7, "error": 0.1, "radius": 0.2,
        "plain_radius": 0.1, "inflation": 1.2, "seconds": 2.0,
    }  # fmt: skip

    def measured(self, condition, method, replication, fingerprint):
        identity = {"condition": condition, "size": 400, "trial": replication, "method": method, "seed": 0}
        return {**identity, "fingerprint": fingerprint, **figures}

    monkeypatch.setattr(coverage.Coverage, "_measure", measured)
    work.execute()
    assert all(0 <= row["coverage"] <= 1 for (row,) in read_damaged(work.path, work.execute))


def test_damaged_accuracy(tmp_path):
    work = accuracy.AccuracyRun(tmp_path, [DATA_SETS["flips"]], ("STE",), sizes=(200,), n_trials=3)
    counts = [[10.0] * N_BINS, [7.0] * N_BINS, [6.0] * N_BINS]
    for unit in work.units():
        figures = {"error": 0.2, "error_map": None, "error_given": 0.3, "log_loss": 0.5, "ece": 0.1}
        identity = {**unit._asdict(), "seed": 0, "fingerprint": accuracy.fingerprint(DATA_SETS["flips"], 200, "STE")}
        more = {"reliability": counts, "settings": "", "n_warnings": 0, "seconds": 1.0}
        RecordFile(tmp_path / "own.jsonl").append({**identity, **figures, **more})
    assert len(work.on_file()) == 3
    for records in read_damaged(tmp_path / "own.jsonl", work.on_file):
        (row,) = summary.summary_rows(records)
        assert 0 <= row["median"] <= 1
        summary.calibration_rows(records)


@pytest.mark.parametrize("name", ["STE", "BestOf"])
@pytest.mark.parametrize("file", ["model.json", "model.npz"])
def test_damaged_models(name, file, tmp_path):
    model = {"STE": STE(random_state=0), "BestOf": BestOf(methods=[STE(), CKL()], random_state=0)}[name].fit(NAMED)
    save_model(model, tmp_path)

    def read():
        return load_model(tmp_path)

    for again in read_damaged(tmp_path / file, read, text=file == "model.json", name=str(tmp_path)):
        assert np.isfinite(again.embedding_).all()
        assert again.objects_.tolist() == again.comparisons_.objects.tolist()
        assert ((again.predict_proba(again.comparisons_) >= 0) & (again.predict_proba(again.comparisons_) <= 1)).all()


def test_damaged_results(tmp_path):
    """What `nearer report` and `nearer place` read."""
    points = np.random.default_rng(0).normal(size=(4, 2)).tolist()
    results = dict.fromkeys(KEYS) | {"format": 2, "title": "four", "objects": ["a", "b", "c", "d"], "embedding": points}
    results |= {"attributes": {"size": [1, 2, 3, None]}, "summary": {"n_objects": 4}, "notes": ["n"], "seed": 0}
    (tmp_path / "results.json").write_text(json.dumps(results))
    for found in read_damaged(tmp_path / "results.json", lambda: read_results(tmp_path)):
        assert np.isfinite(found.embedding).all()
        assert all(len(column) == len(found.objects) for column in found.attributes.values())


def test_damaged_music(tmp_path):
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(8), (40, 1)), axis=1)[:, :3]
    np.savez(
        tmp_path / "music.npz", triplets_all=rows, names=np.array([f"artist {k}" for k in range(8)]),
        labels=np.arange(8) % 2, label_names=np.array(["pop", "folk"]),
    )  # fmt: skip
    for music in read_damaged(tmp_path / "music.npz", lambda: fetch_music(tmp_path), text=False):
        assert music.comparisons.n_objects == len(music.names)


def test_a_damaged_data_set(tmp_path):
    np.savez(tmp_path / "cars.npz", triplets=ANSWERS.rows)

    def read():
        load.cache_clear()
        return load(tmp_path / "cars.npz")

    for found in read_damaged(tmp_path / "cars.npz", read, text=False):
        assert found.rows.shape[1] == 3


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [b"", b"\x80", b"junk" * 30])
def test_a_damaged_cache_of_compiled_code_is_made_again(suffix, damage, tmp_path):
    source = tmp_path / "small.py"
    source.write_text(
        "from nearer.optimize.kernels.compiling import loop\n\n@loop\ndef twice(number):\n    return 2 * number\n"
    )

    def load():
        spec = importlib.util.spec_from_file_location("small", source)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.twice

    first = load()
    assert first(3) == 6
    (path,) = Path(first._cache.cache_path).glob(f"*{suffix}")
    path.write_bytes(damage)
    assert load()(3) == 6
    again = load()
    assert again(3) == 6
    assert sum(again.stats.cache_hits.values()) == 1


def test_a_store_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "trials.jsonl").write_bytes(b"\xff\xfe\x00\n")
    with pytest.raises(ValueError, match=r"trials\.jsonl, line 1 is not a record: byte 1 is no text"):
        RecordFile(tmp_path / "trials.jsonl").read()
