"""Comparisons for tests, and what they are on paper."""

import numpy as np


def kernel(row: np.ndarray, n: int) -> np.ndarray:
    """The matrix K_q of the paper, sign as in DESIGN: <K, G> = d2(far) - d2(near)."""
    i, j, l, k = row  # noqa: E741
    matrix = np.zeros((n, n))
    for (a, b), sign in (((i, j), -1), ((l, k), +1)):
        matrix[a, a] += sign
        matrix[b, b] += sign
        matrix[a, b] -= sign
        matrix[b, a] -= sign
    return matrix


def random_quadruplets(rng: np.random.Generator, n: int, m: int, kind: str) -> np.ndarray:
    """Rows (i, j, l, k) without degenerate ones; triplets share their first object."""
    rows = []
    while len(rows) < m:
        i, j, k = rng.choice(n, 3, replace=False)
        if kind == "triplets":
            rows.append((i, j, i, k))
        else:
            near, far = rng.choice(n, 2, replace=False), rng.choice(n, 2, replace=False)
            if set(near) != set(far):
                rows.append((*near, *far))
    return np.array(rows)
