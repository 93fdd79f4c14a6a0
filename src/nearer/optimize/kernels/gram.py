"""Conjugate gradients over Gram matrices in one piece, as each of their steps is shorter than a call from Python."""

from __future__ import annotations

import numpy as np

from nearer.optimize.kernels.compiling import loop


@loop
def normal_product(ends, weights, diagonal, gram, own, laplacian):
    """Set ``laplacian`` to A^T diag(weights) A (gram + diag(own))."""
    for a in range(laplacian.shape[0]):
        for b in range(laplacian.shape[1]):
            laplacian[a, b] = 0.0
    for q in range(ends.shape[0]):
        i = np.uint64(ends[q, 0])
        j = np.uint64(ends[q, 1])
        l = np.uint64(ends[q, 2])  # noqa: E741
        k = np.uint64(ends[q, 3])
        far = diagonal * (gram[l, l] + gram[k, k] + own[l] + own[k]) - 2 * gram[l, k]
        near = diagonal * (gram[i, i] + gram[j, j] + own[i] + own[j]) - 2 * gram[i, j]
        v = weights[q] * (far - near)
        laplacian[l, l] += diagonal * v
        laplacian[k, k] += diagonal * v
        laplacian[l, k] -= v
        laplacian[k, l] -= v
        laplacian[i, i] -= diagonal * v
        laplacian[j, j] -= diagonal * v
        laplacian[i, j] += v
        laplacian[j, i] += v


@loop
def normal_cg(ends, weights, diagonal, shift, own_shift, right, own_right, gram, own, cut, rtol, max_iter):
    """Solve for G (in ``gram``) and s (in ``own``), both of which hold the start, and return whether that was done.

    (A^T W A + shift I) G + A^T W A diag(s) = right and, unless own_shift is infinite and s stays 0,
    diag(A^T W A (G + diag(s))) + own_shift s = own_right.
    """
    n = gram.shape[0]
    with_own = np.isfinite(own_shift)
    image = np.empty((n, n))
    normal_product(ends, weights, diagonal, gram, own, image)
    residual = np.empty((n, n))
    own_residual = np.zeros(n)
    size = 0.0
    wanted = 0.0
    for a in range(n):
        for b in range(n):
            residual[a, b] = right[a, b] - image[a, b] - shift * gram[a, b]
            size += residual[a, b] * residual[a, b]
            wanted += right[a, b] * right[a, b]
        if with_own:
            own_residual[a] = own_right[a] - image[a, a] - own_shift * own[a]
            size += own_residual[a] * own_residual[a]
            wanted += own_right[a] * own_right[a]
    goal = max(cut * cut * size, rtol * rtol * wanted)
    direction = residual.copy()
    own_direction = own_residual.copy()
    for _ in range(max_iter):
        if size <= goal:
            return True
        normal_product(ends, weights, diagonal, direction, own_direction, image)
        curvature = 0.0
        for a in range(n):
            own_image = image[a, a] + own_shift * own_direction[a] if with_own else 0.0
            curvature += own_direction[a] * own_image
            for b in range(n):
                image[a, b] += shift * direction[a, b]
                curvature += direction[a, b] * image[a, b]
        step = size / curvature
        before = size
        size = 0.0
        for a in range(n):
            if with_own:
                own_image = image[a, a] - shift * direction[a, a] + own_shift * own_direction[a]
                own[a] += step * own_direction[a]
                own_residual[a] -= step * own_image
                size += own_residual[a] * own_residual[a]
            for b in range(n):
                gram[a, b] += step * direction[a, b]
                residual[a, b] -= step * image[a, b]
                size += residual[a, b] * residual[a, b]
        share = size / before
        for a in range(n):
            own_direction[a] = own_residual[a] + share * own_direction[a]
            for b in range(n):
                direction[a, b] = residual[a, b] + share * direction[a, b]
    return size <= goal
