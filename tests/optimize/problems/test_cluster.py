import numpy as np
import pytest
from helpers.clusters import failing

from nearer import Comparisons
from nearer.data import ComparisonsOnCluster
from nearer.datasets import make_gaussian, sample_triplets
from nearer.model import Compiled, CrowdKernel, DistanceHinge, Hinge, Logistic, StudentT
from nearer.optimize.problems.sources import OnCluster, Tally, as_source

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N = 40
POINTS = make_gaussian(N, 3, random_state=0)
TRIPLETS = sample_triplets(POINTS, 3000, random_state=0).rows


@pytest.fixture(scope="module")
def weighted():
    rng = np.random.default_rng(0)
    answers, weights = rng.choice([-1, 1], len(TRIPLETS)), rng.random(len(TRIPLETS))
    weights[:50] = 0
    frame = pd.DataFrame(TRIPLETS, columns=["anchor", "near", "far"]).assign(answer=answers, weight=weights)
    return frame, Comparisons.from_triplets(TRIPLETS, answers, weights=weights, n_objects=N)


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), StudentT(2.0), CrowdKernel(1.0), DistanceHinge()])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_loss_and_its_gradient_are_those_in_memory(client, weighted, loss, dtype):
    frame, comparisons = weighted
    source = as_source(ComparisonsOnCluster(dd.from_pandas(frame, npartitions=5), n_objects=N))
    assert isinstance(source, OnCluster)
    assert (len(source), source.n_objects) == (3000, N)
    points = POINTS.astype(dtype)
    for compiled in (loss.compiled, Compiled("linear")):
        value, gradient = source.evaluate(compiled, points)
        wanted, slope = as_source(comparisons).evaluate(compiled, points)
        assert gradient.dtype == points.dtype
        digits = float(1000 * np.finfo(dtype).eps)
        assert value == pytest.approx(wanted, rel=digits)
        np.testing.assert_allclose(gradient, slope, rtol=digits, atol=digits * np.abs(slope).max())


def test_what_is_counted_is_what_is_counted_in_memory(client, weighted):
    frame, comparisons = weighted
    there = as_source(ComparisonsOnCluster(dd.from_pandas(frame, npartitions=5), n_objects=N + 3)).tally
    here = as_source(Comparisons.from_triplets(TRIPLETS, weights=comparisons.weights, n_objects=N + 3)).tally
    np.testing.assert_allclose(there.object_weights, here.object_weights, rtol=1e-12)
    assert there.total_weight == pytest.approx(here.total_weight)
    assert there.n_connected_components == here.n_connected_components == 1


def test_groups_are_joined_across_shards(client):
    apart = np.array([[0, 1, 2], [3, 4, 5]])
    source = as_source(ComparisonsOnCluster(da.from_array(apart, chunks=(1, 3))))
    assert source.tally.n_connected_components == 2
    joined = as_source(ComparisonsOnCluster(da.from_array(np.vstack([apart, [[2, 3, 0]]]), chunks=(1, 3))))
    assert joined.tally.n_connected_components == 1


def test_tallies_of_parts_make_that_of_the_whole():
    rows = [Comparisons.from_triplets(part, n_objects=N) for part in np.array_split(TRIPLETS[:40], 4)]
    tallies = [as_source(each).tally for each in rows]
    whole = as_source(Comparisons.from_triplets(TRIPLETS[:40], n_objects=N)).tally
    merged = tallies[0]
    for other in tallies[1:]:
        merged = merged.merge(other)
    np.testing.assert_array_equal(merged.object_weights, whole.object_weights)
    assert (merged.n_connected_components, merged.total_weight) == (whole.n_connected_components, whole.total_weight)
    assert isinstance(merged, Tally)


def test_the_same_workers_give_the_same_bits(client):
    rows = da.from_array(TRIPLETS, chunks=(170, 3))
    found = [as_source(ComparisonsOnCluster(rows)).evaluate(Logistic().compiled, POINTS) for _ in range(2)]
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_requests_go_by_way_of_the_scheduler_where_workers_cannot_be_reached(client, monkeypatch):
    monkeypatch.setattr(client, "direct_to_workers", False)
    source = as_source(ComparisonsOnCluster(da.from_array(TRIPLETS, chunks=(500, 3))))
    value, gradient = source.evaluate(Logistic().compiled, POINTS)
    wanted, slope = as_source(Comparisons.from_triplets(TRIPLETS)).evaluate(Logistic().compiled, POINTS)
    assert value == pytest.approx(wanted, rel=1e-12)
    np.testing.assert_allclose(gradient, slope, atol=1e-9)


def test_errors_of_workers_are_raised_here(client):
    judgments = ComparisonsOnCluster(da.from_array(TRIPLETS, chunks=(500, 3)))
    with pytest.raises(ZeroDivisionError):
        judgments.reduce(failing, max)
