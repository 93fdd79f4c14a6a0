import numpy as np
import pytest

from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding.predictor import Predictor
from nearer.optimize.problems.margins import MarginMap, squared_distances

POINTS = make_gaussian(8, 3, random_state=0)
TRIPLETS = sample_triplets(POINTS, 50, random_state=0)


@pytest.mark.parametrize("diagonal", [0.0, 0.4, 1.0, 1.5])
def test_plain_distances_give_the_margins_of_the_weighted_diagonal(diagonal):
    gram, own = POINTS @ POINTS.T, np.random.default_rng(0).normal(size=8)
    predictor = Predictor.from_solution(gram, own, diagonal)
    margins = MarginMap.from_quadruplets(TRIPLETS.oriented, 8)
    flat = squared_distances(gram + np.diag(own), diagonal).ravel()
    np.testing.assert_allclose(predictor.margins(TRIPLETS), flat[margins.far] - flat[margins.near], atol=1e-12)
    assert predictor.specificities.min() == 0
    np.testing.assert_allclose(predictor.gram - np.diag(predictor.specificities), gram)


def test_sums_are_sums_of_margins():
    gram = POINTS @ POINTS.T
    first, second = Predictor.from_solution(gram), Predictor.from_solution(gram**2, diagonal=0.5)
    total = first.scaled(0.5).plus(second.scaled(2.0))
    expected = 0.5 * first.margins(TRIPLETS) + 2 * second.margins(TRIPLETS)
    np.testing.assert_allclose(total.margins(TRIPLETS), expected, atol=1e-12)
    assert first.scaled(3.0).size(TRIPLETS) == pytest.approx(3 * first.size(TRIPLETS))
