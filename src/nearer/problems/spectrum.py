"""The leading eigenpairs of the pull of all comparisons: where spectral starts and units of penalties come from."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from nearer.common.arrays import FloatArray
from nearer.common.progress import progress_bar
from nearer.common.randomness import stream
from nearer.problems.points import FactoredProblem, Spectrum

_MOST_FOR_EXACT = 300


_KRYLOV_BLOCKS = 8


_EXTRA_COLUMNS = 2


def leading_pull(problem: FactoredProblem, rank: int) -> Spectrum:
    """Return the ``rank`` leading eigenpairs of A^T c; fewer if there are fewer objects."""
    if problem.spectrum is not None and len(problem.spectrum.eigenvalues) >= min(rank, problem.n_objects):
        return problem.spectrum
    n = problem.n_objects
    if n <= _MOST_FOR_EXACT:
        basis: FloatArray = np.eye(n)
        image = problem.pull(basis)
    else:
        basis, image = _krylov_space(problem, rank + _EXTRA_COLUMNS)
    small = basis.T @ image
    eigenvalues, vectors = eigh((small + small.T) / 2)
    leading = slice(None, -rank - 1, -1)
    return Spectrum(eigenvalues[leading], basis @ vectors[:, leading])


def _krylov_space(problem: FactoredProblem, width: int) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis of the space and its image under the pull, (n, k) each."""
    rng = stream(0, "start")  # any block will do, and one and the same makes fits repeat without a seed
    bases: list[FloatArray] = []
    images: list[FloatArray] = []
    block = rng.normal(size=(problem.n_objects, width))
    block[problem.mentions == 0] = 0
    with progress_bar("start", _KRYLOV_BLOCKS) as bar:
        for _ in range(_KRYLOV_BLOCKS):
            for _ in range(2):  # once leaves rounding errors as large as what remains of a block
                for basis in bases:
                    block = block - basis @ (basis.T @ block)
                block = np.linalg.qr(block)[0]
            bases.append(block)
            block = problem.pull(block)
            images.append(block)
            bar.update()
    return np.concatenate(bases, axis=1), np.concatenate(images, axis=1)
