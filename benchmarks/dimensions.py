"""Dimensions with a meaning, found in simulated odd-one-out trials: accuracy, dimensions found, coverage, seconds.

``python -m benchmarks.dimensions --objects 1854 --dimensions 42 --trials 4700000`` is the size of THINGS. Answers are
of `nearer.datasets.sample_odd_one_out`; accuracy and log-loss are those of other trials of the same objects, next to
those of the weights that answered. ``--peers`` fits CKL and the posterior to the same trials.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.datasets import make_dimensions, sample_odd_one_out
from nearer.embedding import CKL, PosteriorEmbedding, SPoSE
from nearer.evaluation import match_dimensions

N_TEST_TRIALS = 200_000
TRIALS_PER_BLOCK = 50_000
SCALE = 0.47  # of the weights: the best possible accuracy of 42 dimensions is about that in THINGS


def score(model: Any, trials: Comparisons) -> tuple[float, float]:
    """Return accuracy, ties by chance, and log-loss of the choices of odd ones; ``model`` may be true weights."""
    items, hits, loss = trials.rows[::2], 0.0, 0.0
    for start in range(0, len(items), TRIALS_PER_BLOCK):
        block = np.asarray(items[start : start + TRIALS_PER_BLOCK])
        shares = _softmax(model, block) if isinstance(model, np.ndarray) else model.predict_choice_proba(block)
        top = shares >= shares.max(axis=1, keepdims=True) - 1e-12
        hits += float((top[:, -1] / top.sum(axis=1)).sum())
        loss -= float(np.log(shares[:, -1]).sum())
    return hits / len(items), loss / len(items)


def _softmax(weights: FloatArray, items: NDArray[np.integer]) -> FloatArray:
    a, b, c = (weights[column] for column in items.T)
    alike = np.stack([(b * c).sum(axis=1), (a * c).sum(axis=1), (a * b).sum(axis=1)], axis=1)
    shares = np.exp(alike - alike.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def coverage(weights: FloatArray, model: SPoSE) -> tuple[float, float]:
    """Return the share of true weights that intervals hold, of all and of those above 0, in matched dimensions."""
    matched = match_dimensions(weights, model.embedding_)
    found = matched.correlations > 0.5
    assert model.weight_intervals_ is not None
    low, high = np.moveaxis(model.weight_intervals_[:, matched.assignment[found]], 2, 0)
    truth = weights[:, found]
    held = (low <= truth) & (truth <= high)
    return float(held.mean()), float(held[truth > 0].mean())


def run(options: argparse.Namespace) -> None:
    """Fit simulated trials and print what was found."""
    weights = make_dimensions(options.objects, options.dimensions, scale=SCALE, random_state=options.seed)
    answers = sample_odd_one_out(weights, options.trials, random_state=options.seed + 1)
    test = sample_odd_one_out(weights, N_TEST_TRIALS, random_state=options.seed + 2)
    print("{} objects, {} dimensions, {} trials, seed {}".format(*vars(options).values()))
    print("truth: accuracy {:.4f}, log-loss {:.4f}".format(*score(weights, test)))
    peers = {"CKL 15-D": CKL(15), "CKL 42-D": CKL(42), "posterior": PosteriorEmbedding(random_state=0)}
    models = {"SPoSE": SPoSE(random_state=0), **(peers if options.peers else {})}
    for name, model in models.items():
        began, cpu = time.perf_counter(), time.process_time()
        model.fit(answers)
        seconds = f"{time.perf_counter() - began:.0f} s, {time.process_time() - cpu:.0f} s of CPU"
        print("{}: accuracy {:.4f}, log-loss {:.4f}".format(name, *score(model, test)), seconds, sep="; ", flush=True)
        if isinstance(model, SPoSE):
            correlations = match_dimensions(weights, model.embedding_).correlations
            print(f"  {model.embedding_.shape[1]} dimensions, {(correlations >= 0.9).sum()} planted with r >= 0.9")
            print("  coverage of weights {:.3f}, of those above 0 {:.3f}".format(*coverage(weights, model)))
            print(f"  penalty {model.penalty_:.2f}, peak memory {_peak_gigabytes():.1f} GB", flush=True)


def _peak_gigabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=300)
    parser.add_argument("--dimensions", type=int, default=42)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peers", action="store_true")
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
