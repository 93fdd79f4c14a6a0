"""Standard errors of weights: against the inverse of the whole information, from finite differences."""

import numpy as np
from helpers.people import planted_weights
from scipy.optimize import approx_fprime

from nearer.embedding.individual_model import NUMBER_SCALES, Spread, Unknowns, WeightedModel, standard_errors
from nearer.sampling.model import distinct_comparisons

N, P, S = 6, 3, 4


def test_standard_errors_are_those_of_the_whole_information():
    rng = np.random.default_rng(0)
    answers = distinct_comparisons(planted_weights(rng.normal(size=(S, P)), 40, n_objects=N).comparisons)
    model = WeightedModel(answers, N, P, Spread(0.6, 0.4))
    start = np.concatenate([rng.normal(size=N * P), 0.5 * rng.normal(size=S * (P + 1)), [1.0, 0.3, -2.0]])

    def unknowns(vector):
        points, people = vector[: N * P].reshape(N, P), vector[N * P : -3].reshape(S, P + 1)
        return Unknowns(points, people, vector[-3:])

    slopes = approx_fprime(start, lambda vector: model.parts(unknowns(vector))[1].probability, 1e-7)
    chance = model.parts(unknowns(start))[1].probability
    prior = np.concatenate([np.full(N * P, P), np.tile(1 / model.deviations**2, S), 1 / NUMBER_SCALES**2])
    information = slopes.T @ (slopes * (answers.total_weights / (chance * (1 - chance)))[:, None]) + np.diag(prior)
    covariance = np.linalg.inv(information)[N * P : -3, N * P : -3]
    relative = np.kron(np.eye(S) - 1 / S, np.eye(P + 1))
    covariance = relative @ covariance @ relative.T
    logs = np.kron(np.eye(S), np.hstack([model.contrasts, np.zeros((P, 2))]))
    expected = np.sqrt(np.diag(logs @ covariance @ logs.T)).reshape(S, P)
    found = standard_errors(model, unknowns(start))
    np.testing.assert_allclose(found.log_weights, expected, rtol=1e-3)
    assert 0 < found.axes < 90


def test_weights_that_do_not_differ_are_known():
    answers = distinct_comparisons(planted_weights(np.zeros((S, P)), 40, n_objects=N).comparisons)
    model = WeightedModel(answers, N, P, Spread(0.0, 0.4))
    found = standard_errors(model, Unknowns(np.ones((N, P)), np.zeros((S, P + 1)), np.zeros(3)))
    assert not found.log_weights.any()
    assert np.isnan(found.axes)
