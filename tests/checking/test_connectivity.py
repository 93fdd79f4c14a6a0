"""The graph of pairs and its circles, against definitions tried out one by one."""

from itertools import combinations, permutations

import numpy as np
import pytest

from nearer.checking.connectivity import bridged_objects, components, open_probability
from nearer.checking.contradictions import count_triads, shortest_cycle, strong_components


def random_pairs(rng, n_objects, n_pairs):
    every = np.array(list(combinations(range(n_objects), 2)))
    return every[rng.choice(len(every), size=min(n_pairs, len(every)), replace=False)]


def cut_objects(pairs, n_objects):
    """Return the objects without which the others fall apart, by taking out one after the other."""
    seen = np.unique(pairs)
    found = set()
    for each in seen:
        rest = pairs[(pairs != each).all(axis=1)]
        parts = [part for part in components(rest, n_objects) if np.isin(part, np.setdiff1d(seen, each)).all()]
        if len(parts) > 1:
            found.add(int(each))
    return found


def test_bridged_objects_are_those_that_taking_an_object_out_sets_free():
    rng = np.random.default_rng(0)
    n_cut = 0
    for _ in range(120):
        n_objects = int(rng.integers(3, 12))
        pairs = random_pairs(rng, n_objects, int(rng.integers(2, 26)))
        if sum(len(part) > 1 for part in components(pairs, n_objects)) > 1:
            continue
        cuts, hanging = cut_objects(pairs, n_objects), bridged_objects(pairs, n_objects)
        n_cut += bool(cuts)
        assert bool(hanging) == bool(cuts)
        for hinge, part in hanging:
            assert hinge in cuts
            touching = np.isin(pairs, part).any(axis=1)
            assert np.isin(pairs[touching], [*part, hinge]).all()
            assert 2 * len(part) <= len(np.unique(pairs)) - 1
    assert n_cut > 20


def test_turning_a_hanging_part_changes_no_distance_along_a_pair():
    rng = np.random.default_rng(1)
    first, second = random_pairs(rng, 6, 10), random_pairs(rng, 6, 10)
    pairs = np.concatenate([first, np.where(second == 0, 0, second + 5)])
    points = rng.normal(size=(11, 2))
    [(hinge, part)] = [each for each in bridged_objects(pairs, 11) if len(each[1]) == 5][:1]
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    turned = points.copy()
    turned[part] = points[hinge] + (points[part] - points[hinge]) @ turn
    before, after = (np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1) for x in (points, turned))
    np.testing.assert_allclose(after, before)
    assert not np.allclose(turned, points)


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_open_probability_is_that_of_random_directions(n_components):
    rng = np.random.default_rng(0)
    n_cuts, n_trials = 2 * n_components + 2, 1000
    n_open = 0
    # Candidate directions: if the cuts leave any side open, one within a dense set of directions is open too.
    directions = rng.normal(size=(2000, n_components))
    for _ in range(n_trials):
        cuts = rng.normal(size=(n_cuts, n_components))
        n_open += bool(((directions @ cuts.T) > 0).all(axis=1).any())
    assert n_open / n_trials == pytest.approx(open_probability(n_cuts, n_components), abs=0.05)


def test_share_of_circles_is_a_quarter_for_coin_tosses_and_none_for_an_order():
    rng = np.random.default_rng(0)
    low, high = np.array(list(combinations(range(150), 2))).T
    coin = rng.random(len(low)) < 0.5
    tossed = count_triads(np.where(coin, low, high), np.where(coin, high, low), 150, rng)
    assert tossed.share_cyclic == pytest.approx(0.25, abs=0.01)
    ordered = count_triads(low, high, 150, rng)
    assert ordered.share_cyclic == 0
    assert ordered.example is None


def test_triads_are_counted_as_by_hand():
    rng = np.random.default_rng(0)
    for _ in range(20):
        low, high = random_pairs(rng, 8, 20).T
        coin = rng.random(len(low)) < 0.5
        near, far = np.where(coin, low, high), np.where(coin, high, low)
        arrows = set(zip(near.tolist(), far.tolist(), strict=True))
        joined = arrows | {(b, a) for a, b in arrows}
        closed = [each for each in combinations(range(8), 3) if all(pair in joined for pair in combinations(each, 2))]
        circles = [each for each in closed if any({(a, b), (b, c), (c, a)} <= arrows for a, b, c in permutations(each))]
        found = count_triads(near, far, 8, rng)
        assert found.n_closed == len(closed)
        if closed:
            assert found.share_cyclic == pytest.approx(len(circles) / len(closed))


def test_shortest_cycle_is_one_and_goes_along_arrows():
    rng = np.random.default_rng(0)
    n = 9
    near, far = np.arange(n), np.roll(np.arange(n), -1)
    near, far = np.append(near, [6]), np.append(far, [2])  # a shortcut: 2 3 4 5 6
    order = rng.permutation(len(near))
    near, far = near[order], far[order]
    cycle = shortest_cycle(near, far, strong_components(near, far, n), n)
    assert set(cycle) == {2, 3, 4, 5, 6}
    arrows = set(zip(near.tolist(), far.tolist(), strict=True))
    assert all(step in arrows for step in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
