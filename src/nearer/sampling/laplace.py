r"""A normal approximation of the posterior for many answers, with all correlations between objects.

Chains take a gradient of all answers a step, and thousands of steps. Where there are many answers for each object the
posterior is nearly normal, and its center and Fisher information say the same in some hundred gradients. Points have the
prior N(0, t_d^2) along axis d; scales of objects, the radius exponent and the effect of exposure, which matter where
answers are few, are left out. In rounds,

1. L-BFGS maximizes the lower bound E[log-density] over the center m, the answer model and the people, in coordinates in
   which each object has about unit variance. The expectation is over two antithetic draws, m + e and m - e, so that
   slopes and lapse rates are those of noisy distances; without it, many dimensions would make them overconfident.
2. The Fisher information F + diag(1 / t^2) at m gives new draws e: noise g with that covariance, of one number for each
   answer and one for each coordinate, and a solution of (F + diag(1 / t^2)) e = g by conjugate gradients, with the block
   of each object as preconditioner. No matrix of all objects is made.
3. The axes are rotated to principal ones, and their spreads maximize the evidence (MacKay 1992). Axes that answers do not
   call for shrink, and are dropped; while none does, their number doubles.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from nearer._common.arrays import FloatArray
from nearer._common.parameters import check_integer
from nearer._common.progress import progress_bar
from nearer.sampling.chains import SamplingResult
from nearer.sampling.model import HYPERPARAMETERS, Model

MAX_COMPONENTS = 64
_FIRST_COMPONENTS = 15
_MAX_BLOCK_ROWS = 1_000_000
_NO_EFFECT, _ALL_EFFECT = -20.0, 40.0
_LEARNED = [HYPERPARAMETERS.index(name) for name in ("steepness", "kernel", "lapse")]
VERBOSE = False


@dataclass(frozen=True)
class Laplace:
    n_draws: int = 60
    n_rounds: int = 12
    n_steps: int = 100


class Information:
    """F + diag(1 / t^2) at points."""

    def __init__(self, model, points, spreads, slopes, lapses, offset):
        from nearer.optimize.kernels import fisher

        self.kernels, self.points, self.precision = fisher, np.ascontiguousarray(points), spreads**-2.0
        answers = model.comparisons
        self.pairs, self.rows = answers.pairs, answers.rows
        self.inverse = np.empty(len(self.pairs))
        self.scales = np.empty(len(self.rows), np.float32)
        fisher.row_scales(
            self.points, self.pairs, self.rows, answers.weights, answers.annotators, slopes, lapses, offset,
            self.inverse, self.scales,
        )
        n, p = points.shape
        blocks = np.zeros((n, p, p))
        stride = -(-len(self.rows) // _MAX_BLOCK_ROWS)
        fisher.object_blocks(self.points, self.pairs, self.inverse, self.rows, self.scales, stride, blocks)
        blocks[:, np.arange(p), np.arange(p)] += self.precision
        self.covariances = np.linalg.inv(blocks)

    def times(self, moves):
        tangents, products = np.empty(len(self.pairs)), np.zeros(len(self.pairs))
        self.kernels.pair_tangents(self.points, moves, self.pairs, self.inverse, tangents)
        self.kernels.row_products(self.rows, self.scales, tangents, products)
        result = moves * self.precision
        self.kernels.pair_products(self.points, self.pairs, self.inverse, products, result)
        return result

    def noise(self, rng):
        products = np.zeros(len(self.pairs))
        self.kernels.row_noise(self.rows, self.scales, rng.standard_normal(len(self.rows), np.float32), products)
        result = rng.standard_normal(self.points.shape) * np.sqrt(self.precision)
        self.kernels.pair_products(self.points, self.pairs, self.inverse, products, result)
        return result

    def draw(self, rng, tol=0.02, most=60):
        g = self.noise(rng)
        x = np.zeros_like(g)
        r = g
        z = np.einsum("ipq,iq->ip", self.covariances, r)
        p, rho = z, np.vdot(r, z)
        first = rho
        for it in range(most):
            Ap = self.times(p)
            a = rho / np.vdot(p, Ap)
            x = x + a * p
            r = r - a * Ap
            z = np.einsum("ipq,iq->ip", self.covariances, r)
            new = np.vdot(r, z)
            if new < tol**2 * first:
                break
            p = z + (new / rho) * p
            rho = new
        self.its = it + 1
        return x
