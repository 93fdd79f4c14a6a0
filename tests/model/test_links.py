"""Links: log F and its derivatives."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import logistic, norm

from nearer.model.links import LINKS

ETA = np.array([-6.0, -1.3, 0.0, 0.4, 5.0])


@pytest.mark.parametrize(("link", "distribution"), [("probit", norm), ("logit", logistic)])
def test_chances_and_derivatives(link, distribution):
    found = LINKS[link]
    np.testing.assert_allclose(found.probability(ETA), distribution.cdf(ETA))
    np.testing.assert_allclose(found.log_probability(ETA), distribution.logcdf(ETA))
    for function, derivative in (
        (found.log_probability, found.slope),
        (lambda eta: -found.slope(eta), found.curvature),
    ):
        differences = np.diagonal(approx_fprime(ETA, function))
        np.testing.assert_allclose(derivative(ETA), differences, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("link", LINKS)
def test_far_in_the_tails_nothing_overflows(link):
    eta = np.array([-300.0, -40.0, 40.0, 300.0])
    for function in (LINKS[link].log_probability, LINKS[link].slope, LINKS[link].curvature):
        assert np.isfinite(function(eta)).all()
