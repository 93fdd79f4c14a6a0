import numpy as np
import pytest

from nearer.geometry import centred, embedding_from_gram
from nearer.optimize.solvers.convex_steps import nearest_psd, penalty_prox, shrink_spectrum


def random_matrix(seed=0, n=7):
    return np.random.default_rng(seed).normal(size=(n, n))


@pytest.mark.parametrize("max_rank", [None, 1, 3, 20])
def test_projection_is_idempotent_psd_and_of_that_rank(max_rank):
    projected = nearest_psd(random_matrix(), max_rank)
    np.testing.assert_allclose(nearest_psd(projected, max_rank), projected, atol=1e-12)
    eigenvalues = np.linalg.eigvalsh(projected)
    assert eigenvalues.min() > -1e-12
    assert (eigenvalues > 1e-10).sum() <= (max_rank or 7)


def test_nearest_is_highams():
    """(B + H) / 2 with H the polar factor of the symmetric part B, as in the paper's theorem."""
    matrix = random_matrix(1)
    symmetric = (matrix + matrix.T) / 2
    _, singular, right = np.linalg.svd(symmetric)
    polar = right.T @ np.diag(singular) @ right
    np.testing.assert_allclose(nearest_psd(matrix), (symmetric + polar) / 2, atol=1e-12)


def test_prox_minimizes():
    matrix, trace, ridge, step = random_matrix(2), 0.4, 0.7, 0.8

    def cost(gram):
        return trace * np.trace(gram) + ridge / 2 * (gram**2).sum() + ((gram - matrix) ** 2).sum() / (2 * step)

    best = penalty_prox(matrix, trace, ridge, step)
    rng = np.random.default_rng(3)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            assert cost(best) <= cost(nearest_psd(best + size * rng.normal(size=(7, 7)))) + 1e-12


def test_embedding_reproduces_a_gram_matrix_of_its_rank():
    points = np.random.default_rng(4).normal(size=(9, 3))
    gram = points @ points.T
    embedding = embedding_from_gram(gram, 3)
    np.testing.assert_allclose(embedding @ embedding.T, gram, atol=1e-12)
    variances = (embedding**2).sum(axis=0)
    assert (np.diff(variances) <= 0).all()


def test_embedding_does_not_depend_on_the_sign_that_lapack_chose():
    points = np.random.default_rng(5).normal(size=(9, 2))
    np.testing.assert_allclose(
        embedding_from_gram(points @ points.T, 2), embedding_from_gram((-points) @ (-points).T, 2), atol=1e-12
    )
    assert (
        np.abs(embedding_from_gram(points @ points.T, 2)).max(0) == embedding_from_gram(points @ points.T, 2).max(0)
    ).all()


def test_more_components_than_objects_are_zero():
    assert not embedding_from_gram(np.eye(2), 4)[:, 2:].any()


def test_shrinking_minimizes_the_nuclear_norm():
    matrix, amount = random_matrix(6), 0.8

    def cost(gram):
        return amount * np.linalg.norm(gram, "nuc") + ((gram - (matrix + matrix.T) / 2) ** 2).sum() / 2

    best = shrink_spectrum(matrix, amount)
    rng = np.random.default_rng(7)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(50):
            noise = size * rng.normal(size=(7, 7))
            assert cost(best) <= cost(best + noise + noise.T) + 1e-12


def test_centring_is_that_of_the_points():
    points = np.random.default_rng(8).normal(3.0, 1.0, size=(9, 2))
    moved = points - points.mean(axis=0)
    np.testing.assert_allclose(centred(points @ points.T), moved @ moved.T, atol=1e-12)
