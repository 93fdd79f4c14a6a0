"""`python -m benchmarks scale`, small: the ways agree, records are kept, and the model is what its formula says."""

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.scale.measuring import energy_of
from benchmarks.scale.report import NETWORK, ClusterModel, cluster_model
from benchmarks.scale.run import Scale
from benchmarks.triplets import Size

WAYS = ["threads:1", "parquet", "workers:1", "workers:2", "cpu", "nosuch"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scale")


@pytest.fixture(scope="module")
def figures(folder):
    options = ["--ways", ",".join(WAYS), "--objects", "60", "--comparisons", "4000", "--dimension", "2"]
    with pytest.MonkeyPatch.context() as patch:
        said = []
        patch.setattr("sys.stdout.write", said.append, raising=False)
        assert main(["scale", *options, "--repeats", "1", "--out", str(folder), "--json"]) == 0
    return json.loads("".join(said))


def test_all_ways_end_at_one_objective(figures):
    found = {row["way"]: row for row in figures["table"] if row["comparisons"] == 4000}
    assert list(found) == WAYS
    assert "nosuch" in found.pop("nosuch")["failure"]
    one = found["threads:1"]
    for way, row in found.items():
        assert row["failure"] is None, way
        assert row["objective"] == pytest.approx(one["objective"], rel=1e-3 if way == "cpu" else 1e-8)
        assert row["error"] == pytest.approx(one["error"], abs=0.003)
        assert row["gradients"] > 10
        assert row["memory_mb"] > 50
    assert found["workers:2"]["worker_memory_mb"] > 50
    assert found["workers:1"]["overhead"] > 0


def test_weak_scaling_gives_one_worker_its_share(figures):
    assert [(row["way"], row["comparisons"]) for row in figures["table"]][-1] == ("workers:1", 2000)


def test_what_was_measured_is_not_measured_again(figures, folder, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("measured again")

    monkeypatch.setattr("benchmarks.scale.run.subprocess.run", refuse)
    again = Scale(folder, WAYS[:-1], size=Size(60, 4000), dimension=2, repeats=1).execute()
    assert again == [row for row in figures["table"] if row["way"] != "nosuch"]


def test_the_model_says_of_what_it_was_fitted_to_what_was_measured():
    row = {
        "way": "workers:1",
        "objects": 60,
        "comparisons": 4000,
        "gradient": 0.01,
        "overhead": 0.001,
        "transfer": 1e-4,
    }
    model = cluster_model([row], 2)
    assert model.gradient_seconds(4000, 60, 2, workers=1) == pytest.approx(0.01)
    assert model.gradient_seconds(4000, 60, 2, workers=2) == pytest.approx(0.0089 / 2 + 0.001 + 2e-4)
    assert ClusterModel(1e-8, 0.01, 1e12).on_network().rate == NETWORK
    assert cluster_model([{**row, "way": "threads:1"}], 2) is None


@pytest.mark.parametrize("way", ["threads", "workers:0", "npy:2"])
def test_ways_that_make_no_sense_are_refused(tmp_path, way):
    with pytest.raises(ValueError, match=way):
        Scale(tmp_path, [way])


def test_energy_is_a_number_or_not_known():
    with energy_of(gpu=True) as energy:
        sum(range(10_000))
    assert energy.processor is None or energy.processor >= 0
