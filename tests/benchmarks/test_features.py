"""The benchmark of features: it goes on where it was stopped, and its tables are those of the page."""

import json

import numpy as np
import pytest

from benchmarks import features
from benchmarks.__main__ import main
from benchmarks.features import NEW_KINDS, FeatureRun, World, table, table_of_new
from nearer.datasets import make_gaussian, sample_triplets


def small_world(seed):
    points = make_gaussian(20, 2, random_state=seed)
    rows = sample_triplets(points, 3000, flipped=0.1, random_state=seed + 1).rows
    vectors = points @ np.random.default_rng(seed).normal(size=(2, 30))
    return World(np.asarray(rows), np.arange(len(rows)), vectors)


@pytest.fixture
def small(monkeypatch):
    """One world with features that know the map, and few sizes."""
    monkeypatch.setattr(features, "WORLDS", {"small": small_world})
    monkeypatch.setattr(features, "FILES", {"small": ()})
    monkeypatch.setattr(features, "MULTIPLES", (2, 5))
    features._world.cache_clear()
    yield
    features._world.cache_clear()


PAGE = "before\n\n| posterior | 1 n |\n| --- | --- |\n| old |\n\n| new objects |\n| --- |\n\n| convex |\n| --- |\n"


@pytest.mark.usefixtures("small")
def test_an_interrupted_run_goes_on_and_writes_the_page(tmp_path, monkeypatch):
    page = tmp_path / "features.md"
    page.write_text(PAGE)
    run = FeatureRun(tmp_path / "fits.jsonl", page, ["small"], ["posterior"], n_runs=2, n_jobs=1)
    records = run.execute()
    assert len(records) == 2 * (2 * 3 + len(NEW_KINDS))
    errors = {kind: np.mean([each["error"] for each in records if each["kind"] == kind]) for kind in NEW_KINDS}
    assert errors["new features"] < errors["new plain"] - 0.1
    assert errors["new placed"] < errors["new plain"] - 0.1
    text = run.write(records)
    assert page.read_text().startswith("before\n\n| posterior | 2 n | 5 n | share | runs |\n")
    assert "| old |" not in page.read_text()
    assert table("", records) in text
    assert table_of_new(records) in page.read_text()
    lines = run.path.read_text().splitlines(keepends=True)
    run.path.write_text("".join(lines[:-2]) + lines[-2][:20])
    monkeypatch.setattr(features, "_predict", None)  # all of these are kept
    again = run.execute()
    assert [each["fingerprint"] for each in again] == [each["fingerprint"] for each in records]
    assert [each["error"] for each in again] == [each["error"] for each in records]


def test_the_page_has_the_tables_of_the_records():
    records = [json.loads(line) for line in features.RECORDS.read_text().splitlines()]
    page = features.PAGE.read_text()
    for part in (table("", records), table("DMOE ", records), table_of_new(records)):
        assert part in page


def test_unknown_worlds_are_refused(capsys):
    assert main(["features", "--worlds", "moon"]) == 2
    assert "'moon' is not known; choose among zappos" in capsys.readouterr().err
