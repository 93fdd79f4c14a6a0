"""Matrices of distances for comparisons: those of files, and those of folders that `nearer fit` wrote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scipy.spatial.distance import cdist

from nearer.evaluation.distances import DISTANCES_FILE
from nearer.io.delimited import as_text, read_bytes
from nearer.io.matrix_files import NamedMatrix, parse_matrix
from nearer.study.results import read_results


def read_matrix(path: Path, *, features: bool = False) -> NamedMatrix:
    r"""Return the distances in a file, or in a folder that `nearer fit` wrote.

    Parameters
    ----------
    path : Path
    features : bool
        Whether a table of features may be converted to distances.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pitch.csv"
    ...     _ = path.write_text("a,b,2\na,c,3\nb,c,1\n")
    ...     found = read_matrix(path)
    >>> found.name, found.objects, found.matrix[0].tolist()
    ('pitch', ['a', 'b', 'c'], [0.0, 2.0, 3.0])
    """
    if path.is_dir():
        return _of_map(path)
    return parse_matrix(as_text(read_bytes(path), path.name), path, features=features)


def _of_map(folder: Path) -> NamedMatrix:
    """Return the distances that a run left, or those on its map."""
    results = read_results(folder)
    label = folder.resolve().name
    if (folder / DISTANCES_FILE).exists():
        return replace(read_matrix(folder / DISTANCES_FILE), name=label)
    return NamedMatrix(label, cdist(results.embedding, results.embedding), list(results.objects))
