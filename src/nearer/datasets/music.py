"""Human judgments about the similarity of musical artists (Ellis, Whitman, Berenzweig and Lawrence, 2002).

The 9107 triplets of the music experiment in "Less but Better". Seventeen of them compare an artist with
itself; they say nothing about similarity and are left out, with their number kept. The file states no licence
and is not part of this package: it is looked for in a few folders and otherwise downloaded, checked against
its sha256.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer.data.comparisons import Comparisons
from nearer.datasets.downloading import Remote, find_or_download
from nearer.io.formats import read_arrays

MAT_NAME = "music_triplets.mat"
NPZ_NAME = "music.npz"
URL = (
    "https://raw.githubusercontent.com/alphaprime/Stabilized_Stochastic_BB/"
    "887f7514c6ed8174f42e910577f69d809a7ffc74/Data/Music/music_triplets.mat"
)
SHA256 = "ce7b33bbb208ea9e441f2860d59574a98272a0d110fc1b4d9e96d4c88d59b313"


@dataclass(frozen=True, eq=False)
class MusicSet:
    """Judgments about musical artists.

    Attributes
    ----------
    comparisons : Comparisons
        9090 triplets over 400 artists, labelled with the names where the file has them.
    names : ndarray of str, shape (400,), or None
        Artists, in the order of the objects.
    genres : ndarray of str, shape (400,), or None
        One of nine genres for each artist.
    n_degenerate : int
        Rows left out because they compare an artist with itself, 17.

    Examples
    --------
    >>> rows = Comparisons.from_triplets([[0, 1, 2]])
    >>> MusicSet(comparisons=rows, names=None, genres=None, n_degenerate=0).comparisons.n_objects
    3
    """

    comparisons: Comparisons
    names: NDArray[np.str_] | None
    genres: NDArray[np.str_] | None
    n_degenerate: int


def fetch_music(data_home: str | os.PathLike[str] | None = None) -> MusicSet:
    """Load the music judgments from a local file, or download them once.

    ``music.npz`` (with names and genres) or ``music_triplets.mat`` (indices alone) is looked for in
    ``data_home``, in the folder named by the environment variable ``NEARER_DATA``, and in ``../shared/data``
    as seen from the current folder and from a source checkout. Failing that, the .mat file is downloaded;
    this needs pooch, an optional dependency.

    Parameters
    ----------
    data_home : path, optional
        Folder looked in first. A download is kept there, or in the user's cache when this is None.

    Returns
    -------
    MusicSet

    Raises
    ------
    FileNotFoundError
        When there is no local file and no download; the message says where to put which file.

    Examples
    --------
    ``fetch_music()`` is all it takes; here a file of three rows stands in for the real one.

    >>> from tempfile import TemporaryDirectory
    >>> from scipy.io import savemat
    >>> with TemporaryDirectory() as folder:
    ...     savemat(Path(folder) / "music_triplets.mat", {"triplets": [[1, 2, 4], [2, 2, 1], [4, 1, 2]]})
    ...     music = fetch_music(folder)
    >>> music.comparisons, music.n_degenerate
    (Comparisons(2 triplets over 3 objects), 1)
    """
    remote = Remote("The music judgments", MAT_NAME, URL, SHA256)
    return find_or_download(remote, {NPZ_NAME: _read_npz, MAT_NAME: _read_mat}, data_home)


def _read_npz(path: Path) -> MusicSet:
    stored = read_arrays(path.read_bytes(), path.name)
    labels, names, rows = stored["labels"], stored["names"], stored["triplets_all"]
    if labels.shape != names.shape or names.dtype.kind != "U":
        raise ValueError("names and labels are not one for each artist")
    _check_positions(labels, len(stored["label_names"]), "labels")
    _check_positions(rows, len(names), "triplets_all")
    return _music_set(rows, names, stored["label_names"][labels])


def _check_positions(indices: NDArray[Any], count: int, name: str) -> None:
    if indices.dtype.kind not in "iu" or indices.size == 0 or not 0 <= indices.min() <= indices.max() < count:
        raise ValueError(f"{name} holds something else than positions 0 to {count - 1}")


def _read_mat(path: Path) -> MusicSet:
    from scipy.io import loadmat

    stored = loadmat(path)
    if "triplets" not in stored:
        raise ValueError("it has no variable 'triplets'")
    if stored["triplets"].dtype.kind not in "iuf" or stored["triplets"].shape[1:] != (3,):
        raise ValueError("'triplets' is no table of three columns of numbers")
    # Some artists of the original list are in no triplet; the others are renumbered without gaps.
    original_index, rows = np.unique(stored["triplets"].astype(np.int64), return_inverse=True)
    names = None
    if "names" in stored:
        every_name = [str(np.squeeze(name)) for name in stored["names"].ravel()]
        _check_positions(original_index - 1, len(every_name), "triplets")
        names = np.array(every_name)[original_index - 1]
    return _music_set(rows.reshape(-1, 3), names, None)


def _music_set(rows: NDArray[np.integer], names: NDArray[np.str_] | None, genres: NDArray[np.str_] | None) -> MusicSet:
    labelled = rows if names is None else names[rows]
    with warnings.catch_warnings():
        # The rows left out are reported as n_degenerate.
        warnings.simplefilter("ignore", UserWarning)
        comparisons = Comparisons.without_degenerate(labelled, objects=names)
    return MusicSet(comparisons, names, genres, n_degenerate=len(rows) - len(comparisons.rows))
