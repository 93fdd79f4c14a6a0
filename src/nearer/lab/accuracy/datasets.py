"""The data sets of the benchmark, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from nearer.lab.accuracy import real
from nearer.lab.accuracy.synthetic import LOGISTIC_SLOPE, Variant, draw_paper, sizes_for
from nearer.lab.accuracy.trial import Trial
from nearer.lab.paper.protocol import MIN_SIZE, SYNTHETIC


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
        return self.source is not None or real.find_file(self.name) is not None

    def draw(self, seed: int, trial: int, size: int) -> Trial:
        """Return one trial, the same whoever asks."""
        if self.source is not None:
            return self.source(seed, trial, size)
        path = real.find_file(self.name)
        if path is None:
            raise ValueError(missing_sentence([self.name]))
        return real.draw_real(real.load(path), self.n_components, seed, trial, size)

    def fitting_sizes(self, wanted: Sequence[int] = ()) -> tuple[int, ...]:
        """Return the sizes, all or those wanted, each lowered to what leaves 1000 rows for the test."""
        largest = self.largest_size()
        return tuple(sorted({min(size, largest) for size in wanted or self.sizes if size >= MIN_SIZE}))

    def largest_size(self) -> int:
        """Return the largest number of training comparisons."""
        path = real.find_file(self.name) if self.is_real else None
        return self.sizes[-1] if path is None else real.largest_size(real.load(path))


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
