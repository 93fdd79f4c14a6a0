"""Human judgments, split by act of judgment: rows that came from one answer are never on both sides.

The acts are put in one random order a trial. Training takes whole acts from its beginning until it has as many rows as
the size asks for, so that sizes are nested; the test takes whole acts from its end, up to 20 000 rows.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearer.common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.datasets.music import data_folders
from nearer.formats.numpy_files import read_arrays
from nearer.lab.accuracy.trial import Trial, trial_seed

MAX_TEST, MIN_TEST = 20_000, 1000


def find_file(name: str) -> Path | None:
    """Return the file of a data set, from the folders that `nearer.datasets.fetch_music` looks in, or None.

    Examples
    --------
    >>> find_file("no such set") is None
    True
    """
    return next((folder / f"{name}.npz" for folder in data_folders() if (folder / f"{name}.npz").is_file()), None)


@lru_cache(maxsize=8)
def load(path: Path) -> Comparisons:
    """Read the triplets of a file, and which of them came from one answer, if the file tells."""
    stored = read_arrays(path.read_bytes(), str(path))
    try:
        return Comparisons.from_triplets(stored["triplets"], trials=stored.get("trial"))
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(f"{path} holds no triplets that can be used: {error}; replace it, or take it away") from error


def draw_real(comparisons: Comparisons, n_components: int, seed: int, trial: int, size: int) -> Trial:
    """Split human judgments into training and test rows.

    Examples
    --------
    >>> pairs = Comparisons.from_triplets([[0, 1, 2], [1, 0, 2]] * 1000, trials=np.repeat(np.arange(1000), 2))
    >>> drawn = draw_real(pairs, 2, seed=0, trial=0, size=15)
    >>> len(drawn.train), len(drawn.test)
    (16, 1984)
    """
    source = trial_seed(seed, trial)
    act = acts(comparisons)
    counts = np.bincount(act)
    order = stream(source, "split").permutation(len(counts))
    reached = np.cumsum(counts[order])
    n_train = int(np.searchsorted(reached, size)) + 1
    # From the end of the order, and never an act that was trained on.
    from_end = np.cumsum(counts[order[::-1]])
    n_test = min(int(np.searchsorted(from_end, MAX_TEST, side="right")), len(order) - n_train)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    # Rows in the order of their acts, as a split row by row would have them.
    rows = np.argsort(place[act], kind="stable")
    train = comparisons[rows[: reached[n_train - 1]]]
    test = comparisons[rows[len(rows) - from_end[n_test - 1] :]]
    return Trial(train, test, np.ones(len(test), dtype=np.int8), n_components, source)


def acts(comparisons: Comparisons) -> NDArray[np.intp]:
    """Return the number of the act of judgment that each row came from, each row its own if nothing is known.

    Examples
    --------
    >>> acts(Comparisons.from_triplets([[0, 1, 2], [1, 0, 2], [2, 1, 0]], trials=[7, 7, 3]))
    array([1, 1, 0])
    """
    if comparisons.trials is None:
        return np.arange(len(comparisons))
    return np.unique(comparisons.trials, return_inverse=True)[1]


def largest_size(comparisons: Comparisons) -> int:
    """Return the number of rows that may be trained on if 1000 are to be left for the test."""
    return len(comparisons) - MIN_TEST
