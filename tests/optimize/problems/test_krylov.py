"""Leading eigenpairs from a block Krylov space, in memory and on a device, against those of a dense matrix."""

import numpy as np
import pytest

from nearer.optimize.problems.krylov import _orthonormal, leading_pairs


def spread(n, n_leading, seed=0):
    """Return a symmetric matrix whose leading eigenvalues stand out, as those of the pull of comparisons do."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.concatenate([np.linspace(4, 2, n_leading), rng.uniform(-1, 1, n - n_leading)])
    return vectors * values @ vectors.T


def in_memory(block):
    return block


def on_device(block):
    torch = pytest.importorskip("torch")
    return torch.tensor(block)


KINDS = [in_memory, on_device]


@pytest.mark.parametrize("kind", KINDS)
def test_pairs_are_those_of_the_dense_matrix(kind):
    matrix = spread(400, 3)
    block = np.random.default_rng(1).normal(size=(400, 5))
    values, vectors = leading_pairs(kind(matrix).__matmul__, kind(block), 3)
    exact_values, exact = np.linalg.eigh(matrix)
    np.testing.assert_allclose(values, exact_values[:-4:-1], rtol=1e-5)
    np.testing.assert_allclose(np.abs(vectors.T @ exact[:, :-4:-1]), np.eye(3), atol=5e-3)
    assert isinstance(vectors, np.ndarray)


def test_a_device_finds_what_memory_finds():
    torch = pytest.importorskip("torch")
    matrix, block = spread(350, 2), np.random.default_rng(1).normal(size=(350, 4))
    expected = leading_pairs(matrix.__matmul__, block, 2)
    found = leading_pairs(torch.tensor(matrix).__matmul__, torch.tensor(block), 2)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
def test_no_eigenvalue_is_found_twice_where_the_space_is_soon_full(kind):
    """A matrix of rank 3: after two blocks there is nothing new, and rounding errors are what is left."""
    factor = np.random.default_rng(0).normal(size=(500, 3))
    matrix = factor @ factor.T
    values, vectors = leading_pairs(kind(matrix).__matmul__, kind(np.random.default_rng(1).normal(size=(500, 4))), 4)
    np.testing.assert_allclose(values[:3], np.linalg.eigvalsh(matrix)[:-4:-1], rtol=1e-10)
    assert abs(values[3]) < 1e-9 * values[0]
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("twice", [False, True])
def test_tall_matrices_get_orthonormal_columns_also_if_they_are_dependent(twice, kind):
    block = np.random.default_rng(0).normal(size=(500, 6)) * np.geomspace(1, 1e6, 6)
    if twice:
        block[:, 3] = block[:, 1] + 1e-9 * block[:, 0]
    basis = np.asarray(_orthonormal(kind(block)))
    np.testing.assert_allclose(basis.T @ basis, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(basis @ (basis.T @ block), block, atol=1e-6 * np.abs(block).max())
