import numpy as np
import pytest

from nearer import kernels
from nearer.kernels import Rows, ordering
from nearer.losses import Logistic


def drawn(width, n=40, m=3000):
    rng = np.random.default_rng(width)
    return rng.permuted(np.tile(np.arange(n), (m, 1)), axis=1)[:, :width]


@pytest.mark.parametrize("width", [3, 4])
@pytest.mark.parametrize("n_parts", [1, 3, 6])
def test_rows_are_sorted_by_two_parts_and_the_last_object(width, n_parts):
    objects = drawn(width).astype(np.int32)
    order = ordering.local_order(objects, 40, n_parts)
    size = -(-40 // n_parts)
    keys = (objects[:, -1], objects[:, 1] // size, objects[:, 0] // size)
    np.testing.assert_array_equal(order, np.lexsort(keys))


@pytest.mark.parametrize("width", [3, 4])
def test_the_order_changes_no_sum(width, monkeypatch):
    monkeypatch.setattr(ordering, "FEWEST_OBJECTS", 40)
    rng = np.random.default_rng(0)
    objects, points = drawn(width), rng.normal(size=(40, 3))
    rows = Rows.of(objects, rng.choice([-1, 1], 3000), rng.random(3000))
    ordered = ordering.in_local_order(rows, 40)
    assert not np.array_equal(ordered.objects, rows.objects)
    plain, other = (kernels.evaluate(Logistic().compiled, points, each) for each in (rows, ordered))
    assert other[0] == pytest.approx(plain[0], rel=1e-12)
    np.testing.assert_allclose(other[1], plain[1], atol=1e-10)


def test_few_objects_or_few_rows_stay_as_they_are(monkeypatch):
    rows = Rows.of(drawn(3))
    assert ordering.in_local_order(rows, 40) is rows
    monkeypatch.setattr(ordering, "FEWEST_OBJECTS", 40)
    monkeypatch.setattr(ordering, "FEWEST_ROWS_PER_OBJECT", 100)
    assert ordering.in_local_order(rows, 40) is rows
