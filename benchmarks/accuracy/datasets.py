"""The data sets of the benchmark, by name.

Synthetic data sets: Gaussian points, triplets answered by them, with or without noise.

The set ``synthetic`` is the paper's, trial by trial the one of `python -m benchmarks reproduce`, judged by all
questions that it was not trained on. Its variants change one thing each. A trial of a variant asks its training
questions in one order, so that its sizes are nested, and 50,000 others in the test; noisy answers are learned from,
right ones are what counts.

Human judgments, split by act of judgment: rows that came from one answer are never on both sides.

The acts are put in one random order a trial. Training takes whole acts from its beginning until it has as many rows as
the size asks for, so that sizes are nested; the test takes whole acts from its end, up to 20,000 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.trial import Trial, Truth, trial_seed
from benchmarks.paper.protocol import MIN_SIZE, SYNTHETIC, draw_trial
from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.datasets.public_sets import data_folders
from nearer.io.formats import read_arrays

N_TEST = 50_000
VARIANCE = 1 / 20
#: Rightly answered with probability 0.8 on average, for 100 points in 5 dimensions.
LOGISTIC_SLOPE = 6.6
MAX_TEST, MIN_TEST = 20_000, 1000


def sizes_for(n_objects: int) -> tuple[int, ...]:
    """Return the five training sizes for n objects, from n/2 to 20n.

    Examples
    --------
    >>> sizes_for(100)
    (50, 100, 300, 800, 2000)
    """
    return tuple(n_objects * times // 2 for times in (1, 2, 6, 16, 40))


@dataclass(frozen=True)
class Variant:
    """Gaussian points and how their triplets are answered; called with seed, trial and size it gives the trial.

    Examples
    --------
    >>> drawn = Variant(60, 10)(seed=0, trial=0, size=30)
    >>> len(drawn.train), len(drawn.test), drawn.truth.n_components
    (30, 50000, 10)
    """

    n_objects: int
    n_components: int
    flipped: float = 0.0
    logistic_slope: float | None = None

    def __call__(self, seed: int, trial: int, size: int) -> Trial:
        """Draw one trial."""
        source = trial_seed(seed, trial)
        points = make_gaussian(self.n_objects, self.n_components, VARIANCE, random_state=source)
        largest = sizes_for(self.n_objects)[-1]
        if not 0 < size <= largest:
            raise ValueError(
                f"size {size} does not fit: a variant of {self.n_objects} points has sizes up to {largest}"
            )
        # One seed asks the same questions at any noise.
        asked = largest + N_TEST
        given = sample_triplets(
            points, asked, logistic_slope=self.logistic_slope, flipped=self.flipped, random_state=source
        )
        right = sample_triplets(points, asked, random_state=source)[largest:]
        agree = (given.rows[largest:, 1] == right.rows[:, 1]).astype(np.int8)
        truth = Truth(VARIANCE, self.n_components, self.flipped, self.logistic_slope)
        return Trial(given[:size], right, 2 * agree - 1, self.n_components, source, truth)


def draw_paper(seed: int, trial: int, size: int) -> Trial:
    """Draw a trial of the paper's synthetic experiment.

    Examples
    --------
    >>> len(draw_paper(0, 0, 200).test)
    484900
    """
    drawn = draw_trial(SYNTHETIC, seed, trial, size)
    return Trial(
        drawn.train, drawn.test, all_as_written(drawn.test), 10, trial_seed(seed, trial), Truth(VARIANCE, 10)
    )  # fmt: skip


def all_as_written(comparisons: Comparisons) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    """Return the answers +1 to all comparisons."""
    return np.ones(len(comparisons), dtype=np.int8)


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


@dataclass(frozen=True)
class DataSet:
    """Where the trials of a data set come from.

    Parameters
    ----------
    name, title : str
        For commands and for people.
    n_objects, n_components : int
        Objects, and dimension p of the maps.
    sizes : tuple of int
        Numbers of training comparisons.
    source : callable, optional
        From seed, trial and size to a trial; without one the judgments come from the file ``NAME.npz``.
    noisy : bool
        Whether an answer may be wrong, so that probabilities mean something.
    limits : mapping from size to float
        The error of the best possible predictor, where it is known.

    Examples
    --------
    >>> DATA_SETS["flips"].sizes
    (50, 100, 300, 800, 2000)
    """

    name: str
    title: str
    n_objects: int
    n_components: int
    sizes: tuple[int, ...]
    source: Callable[[int, int, int], Trial] | None = None
    noisy: bool = True
    limits: Mapping[int, float] = field(default_factory=dict, hash=False)

    @property
    def is_real(self) -> bool:
        """Whether people gave the answers."""
        return self.source is None

    @property
    def is_there(self) -> bool:
        """Whether the data can be had."""
        return self.source is not None or find_file(self.name) is not None

    def draw(self, seed: int, trial: int, size: int) -> Trial:
        """Return one trial, the same whoever asks."""
        if self.source is not None:
            return self.source(seed, trial, size)
        path = find_file(self.name)
        if path is None:
            raise ValueError(missing_sentence([self.name]))
        return draw_real(load(path), self.n_components, seed, trial, size)

    def fitting_sizes(self, wanted: Sequence[int] = ()) -> tuple[int, ...]:
        """Return the sizes, all or those wanted, each lowered to what leaves 1000 rows for the test."""
        largest = self.largest_size()
        return tuple(sorted({min(size, largest) for size in wanted or self.sizes if size >= MIN_SIZE}))

    def largest_size(self) -> int:
        """Return the largest number of training comparisons."""
        path = find_file(self.name) if self.is_real else None
        return self.sizes[-1] if path is None else largest_size(load(path))


def missing_sentence(names: Sequence[str]) -> str:
    """Say which files are missing, and where they are looked for.

    Examples
    --------
    >>> missing_sentence(["cars"])
    'no data for cars: put cars.npz into ../shared/data, or name its folder in the environment variable NEARER_DATA'
    """
    files = ", ".join(f"{name}.npz" for name in names)
    its = "its" if len(names) == 1 else "their"
    return (
        f"no data for {', '.join(names)}: put {files} into ../shared/data, "
        f"or name {its} folder in the environment variable NEARER_DATA"
    )


def _variant(name: str, title: str, variant: Variant) -> DataSet:
    n, p, noisy = variant.n_objects, variant.n_components, bool(variant.flipped or variant.logistic_slope)
    return DataSet(name, title, n, p, sizes_for(n), variant, noisy)


def _real(name: str, title: str, n_objects: int, n_components: int, sizes: tuple[int, ...] = ()) -> DataSet:
    return DataSet(name, title, n_objects, n_components, sizes or sizes_for(n_objects))


_ALL = (
    DataSet(
        "synthetic", "100 points in 10-D, noise-free", 100, 10, (200, 500, 1000, 2000, 10000), draw_paper, noisy=False,
        limits=SYNTHETIC.limits,
    ),
    _variant("n60", "60 points in 10-D, noise-free", Variant(60, 10)),
    _variant("n200", "200 points in 10-D, noise-free", Variant(200, 10)),
    _variant("d2", "100 points in 2-D, noise-free", Variant(100, 2)),
    _variant("d5", "100 points in 5-D, noise-free", Variant(100, 5)),
    _variant("d20", "100 points in 20-D, noise-free", Variant(100, 20)),
    _variant("flips", "100 points in 5-D, one answer in ten flipped", Variant(100, 5, flipped=0.1)),
    _variant(
        "logistic", "100 points in 5-D, one answer in five wrong, most of them close calls",
        Variant(100, 5, logistic_slope=LOGISTIC_SLOPE),
    ),
    _real("music", "400 musical artists", 400, 9, (200, 500, 1000, 5000, 8000)),
    _real("cars", "60 cars, which of three is most central", 60, 5),
    _real("food", "100 dishes, chosen from grids", 100, 5),
    _real("eggs30", "30 drawings that differ in one way", 30, 2),
    _real("eggs300", "300 drawings that differ in one way", 300, 2),
    _real("characters_latin", "26 letters, the odd one out", 26, 5),
    _real("zappos", "85 shoes", 85, 5),
)  # fmt: skip
DATA_SETS = {data.name: data for data in _ALL}
