"""Which comparisons a trial trains on, and which it is judged by.

A trial has one seed, and from it one stream each for the points, the order of the comparisons and the folds. A trial
of size m trains on the first m comparisons of that order and is judged by **all** others. The sizes of one trial are
therefore nested: what changes between them is the number of comparisons and nothing else, and a size added later
leaves the others as they were. Every method of a trial gets the same rows and the same folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from nearer._common.randomness import stream
from nearer.data.comparisons import Comparisons
from nearer.datasets import fetch_music, make_gaussian, sample_triplets

MIN_SIZE = 10  # two held-out comparisons in each fold


def n_folds(size: int) -> int:
    """Return the number of folds of a training set.

    Few comparisons need most of them to fit. With many the best penalty falls so fast with their number that a fit to
    two thirds of them would choose too much of it.

    Examples
    --------
    >>> n_folds(200), n_folds(5000), n_folds(10_000)
    (5, 3, 10)
    """
    if size > 5000:
        return 10
    return 5 if size <= 1000 else 3


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments.

    Parameters
    ----------
    name : str
    title : str
        A line for people.
    n_components : int
        Dimension p of the maps.
    sizes : tuple of int
        Numbers of training comparisons.
    load : callable
        From the seed of a trial to all of its comparisons.
    note : str
        What a reader of the table must know about the data.
    limits : mapping from size to float
        The error of the best possible predictor, where it is known.

    Examples
    --------
    >>> SYNTHETIC.n_components, SYNTHETIC.sizes
    (10, (200, 500, 1000, 10000))
    """

    name: str
    title: str
    n_components: int
    sizes: tuple[int, ...]
    load: Callable[[np.random.SeedSequence], Comparisons]
    note: str = ""
    limits: Mapping[int, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, eq=False)
class Trial:
    """Training and test comparisons of one trial, and the seed that shuffles its folds."""

    train: Comparisons
    test: Comparisons
    folds_seed: int


def draw_trial(experiment: Experiment, seed: int, trial: int, size: int) -> Trial:
    """Return the data of one trial, the same whoever asks.

    Parameters
    ----------
    experiment : Experiment
    seed : int
        Of the whole run.
    trial : int
        Number of the trial, from 0.
    size : int
        Number m of training comparisons; all others are for the test.

    Examples
    --------
    >>> drawn = draw_trial(SYNTHETIC, seed=0, trial=0, size=200)
    >>> len(drawn.train), len(drawn.test)
    (200, 484900)
    """
    trial_seed = np.random.SeedSequence(seed, spawn_key=(trial,))
    comparisons = experiment.load(trial_seed)
    if not MIN_SIZE <= size < len(comparisons):
        raise ValueError(
            f"size {size} does not fit: {experiment.name} has {len(comparisons)} comparisons, "
            f"so a size must be from {MIN_SIZE} to {len(comparisons) - 1}"
        )
    order = stream(trial_seed, "split").permutation(len(comparisons))
    folds_seed = int(stream(trial_seed, "folds").integers(2**31))
    return Trial(comparisons[order[:size]], comparisons[order[size:]], folds_seed)


def _synthetic(trial_seed: np.random.SeedSequence) -> Comparisons:
    return sample_triplets(make_gaussian(100, 10, random_state=trial_seed))


def _music(trial_seed: np.random.SeedSequence) -> Comparisons:
    return fetch_music().comparisons  # the same in every trial: only the order of the rows is drawn


SYNTHETIC = Experiment(
    name="synthetic",
    title="100 points from N(0, I/20) in 10 dimensions, noise-free triplets",
    n_components=10,
    sizes=(200, 500, 1000, 10000),
    load=_synthetic,
    note="Each trial has points of its own and is judged by all of their 485,100 triplets that it did not train on.",
    # Posterior vote of Hamiltonian Monte Carlo under the true prior; medians over 10 trials, 3 at 10,000.
    limits={200: 0.379, 500: 0.338, 1000: 0.279, 10000: 0.040},
)
MUSIC = Experiment(
    name="music",
    title="400 musical artists, judged by people",
    n_components=9,
    sizes=(200, 500, 1000, 5000),
    load=_music,
    note="17 of the 9107 rows compare an artist with itself and are left out; 9090 remain.",
)
EXPERIMENTS = {experiment.name: experiment for experiment in (SYNTHETIC, MUSIC)}
