"""How many answers features are worth: ``python -m benchmarks.features`` writes tables and figure of docs/features.md.

Posteriors and DMOE with and without features are fitted to n/2 to 10 n answers about n objects, drawn at random by
trial, and judged by answers that were not drawn. Of eggs30, these are the answers to random questions; the grids of
food, an answer to which is up to 48 triplets, are drawn triplet by triplet. Shuffled features belong to other objects.
Synthetic objects lie where their features say to a share of 0, 0.3, 0.7 or 1. Each fit is a line of
benchmarks/features.jsonl, from which a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from benchmarks.records import Record, RecordFile, side_by_side
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.datasets import sample_triplets
from nearer.datasets.public_sets import data_folders
from nearer.embedding import DMOE, PosteriorEmbedding
from nearer.features import word_features

RECORDS = RecordFile(Path(__file__).with_suffix(".jsonl"))
PAGE = Path(__file__).parents[1] / "docs" / "features.md"
MULTIPLES = (0.5, 1, 2, 5, 10)
KINDS = ("plain", "features", "shuffled")
METHODS = {"": "posterior", "DMOE ": "convex"}  # what the kinds of a method begin with, and the name of its table
MAX_TEST = 8000


class World(NamedTuple):
    """Triplets, which trial each belongs to, and the features of the objects."""

    triplets: np.ndarray
    trials: np.ndarray
    features: FloatArray


def _arrays(name: str) -> dict[str, np.ndarray]:
    folder = next(each for each in data_folders() if (each / f"{name}.npz").is_file())
    with np.load(folder / f"{name}.npz") as file:
        return dict(file)


def _real(name: str, features: Callable[[dict[str, np.ndarray]], FloatArray], seed: int) -> World:
    del seed
    found = _arrays(name)
    triplets = found["triplets"]
    if "sampler" in found:
        triplets = triplets[found["sampler_names"][found["sampler"]] == "RandomSampling"]
    each_by_itself = np.arange(len(triplets))
    return World(triplets, found["trial"] if name == "cars" else each_by_itself, features(found))


def _of_pictures(name: str, found: dict[str, np.ndarray]) -> FloatArray:
    del found
    return _arrays(f"{name}_features")["efficientnet_lite0"].astype(np.float64)


def _of_dishes(found: dict[str, np.ndarray]) -> FloatArray:
    return word_features(found["dish"].tolist(), range(len(found["dish"])), model="ngrams").values


def _synthetic(share: float, seed: int) -> World:
    """Return 60 objects in 3-D, of which features of 20 columns determine a share of the variance."""
    rng = np.random.default_rng([60, seed])
    known, rest = rng.normal(size=(2, 60, 3))
    points = np.sqrt(share) * known + np.sqrt(1 - share) * rest
    features = known @ rng.normal(size=(3, 40)) + 0.2 * rng.normal(size=(60, 40))
    rows = sample_triplets(points, 12_000, flipped=0.1, random_state=int(rng.integers(2**31))).rows
    return World(np.asarray(rows), np.arange(len(rows)), features)


WORLDS: dict[str, Callable[[int], World]] = {
    "zappos": partial(_real, "zappos", partial(_of_pictures, "zappos")),
    "cars": partial(_real, "cars", partial(_of_pictures, "cars")),
    "eggs30": partial(_real, "eggs30", lambda found: found["ground_truth_1d"][:, None]),
    "food": partial(_real, "food", _of_dishes),
    **{f"synthetic, {share:g}": partial(_synthetic, share) for share in (0.0, 0.3, 0.7, 1.0)},
}


@lru_cache(maxsize=2)
def _world(name: str, seed: int) -> World:
    return WORLDS[name](seed)


def _measure(name: str, multiple: float, kind: str, seed: int) -> Record:
    """Return held-out error and calibration of one fit."""
    world = _world(name, seed if name.startswith("synthetic") else 0)
    n = len(world.features)
    rng = np.random.default_rng([int(2 * multiple), seed])
    order = rng.permutation(np.unique(world.trials))
    trained = np.isin(world.trials, order[: round(multiple * n)])
    test = world.triplets[rng.permutation(np.flatnonzero(~trained))[:MAX_TEST]]
    answers = Comparisons.from_triplets(world.triplets[trained], trials=world.trials[trained], n_objects=n)
    known = world.features[rng.permutation(n)] if "shuffled" in kind else world.features
    features = None if "plain" in kind else known
    model: DMOE | PosteriorEmbedding
    if kind.startswith("DMOE"):
        model = DMOE(2, features=features, random_state=seed)
    else:
        model = PosteriorEmbedding(2, features=features, n_jobs=1, random_state=seed)
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        likely = model.fit(answers).predict_proba(test)[:, 1]
    error = float(np.mean(np.where(likely == 0.5, 0.5, likely < 0.5)))
    share = None if model.feature_share_ is None else model.feature_share_["features"]
    return {
        "world": name, "multiple": multiple, "kind": kind, "seed": seed, "size": len(answers), "trial": seed,
        "method": kind, "fingerprint": f"{name} {multiple:g} {kind} {seed}", "error": error,
        "share": None if share is None else share.mean, "seconds": perf_counter() - begin,
        "overconfidence": float(np.maximum(likely, 1 - likely).mean()) - (1 - error),
    }  # fmt: skip


def run(n_runs: int, names: list[str], methods: list[str], n_jobs: int) -> None:
    """Fit what is missing."""
    from benchmarks.features import _measure as measure  # not of __main__, which other processes do not have

    RECORDS.prepare()
    done = {found["fingerprint"] for found in RECORDS.read()}
    calls = [
        (name, multiple, kind, seed)
        for seed in range(n_runs)
        for name in names
        for multiple in MULTIPLES
        for method in methods
        for kind in (method + each for each in KINDS)
        if f"{name} {multiple:g} {kind} {seed}" not in done
    ]
    with progress_bar("fits", len(calls)) as bar:
        for record in side_by_side(measure, calls, n_jobs):
            RECORDS.append(record)
            bar.update()


def table(method: str) -> str:
    """Return the mean errors of a method as a table."""
    records = RECORDS.read()
    lines = [
        f"| {METHODS[method]} | " + " | ".join(f"{multiple:g} n" for multiple in MULTIPLES) + " | share | runs |",
        "| --- |" + " --- |" * (len(MULTIPLES) + 2),
    ]
    for name in WORLDS:
        for kind in KINDS:
            found = [each for each in records if each["world"] == name and each["kind"] == method + kind]
            if not found:
                continue
            errors = [[each["error"] for each in found if each["multiple"] == multiple] for multiple in MULTIPLES]
            cells = [f"{np.mean(each):.3f}".removeprefix("0") if each else "" for each in errors]
            shares = [each["share"] for each in found if each["share"] is not None]
            share = f"{np.mean(shares):.2f}" if shares else ""
            lines.append(f"| {name}, {kind} | {' | '.join(cells)} | {share} | {max(map(len, errors))} |")
    return "\n".join(lines)


def draw(path: Path) -> None:
    """Draw the mean errors of the posterior with and without features, a panel for each set of real answers."""
    records, names = RECORDS.read(), ("zappos", "cars", "eggs30", "food")
    figure = Figure(figsize=(10, 3), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(names), sharey=True), names, strict=True):
        for kind, color in (("plain", "0.45"), ("features", "#c0392b")):
            errors = [
                np.mean([each["error"] for each in records if each["fingerprint"].startswith(f"{name} {m:g} {kind} ")])
                for m in MULTIPLES
            ]
            axes.plot(MULTIPLES, errors, "o-", color=color, label={"plain": "answers alone"}.get(kind, "and features"))
        axes.set_xscale("log")
        axes.set_xticks(MULTIPLES, [f"{m:g}" for m in MULTIPLES])
        axes.minorticks_off()
        axes.set(title=name, xlabel="answers for each object", ylim=(0.1, 0.5))
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("held-out error")
    figure.axes[0].legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Run what is missing, write the tables into the page, and draw its figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS.values()), choices=list(METHODS.values()))
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    run(options.runs, options.worlds, [each for each, name in METHODS.items() if name in options.methods], options.jobs)
    text = PAGE.read_text(encoding="utf-8")
    for method, name in METHODS.items():
        text = re.sub(rf"\| {name} \|.*?\n\n", table(method) + "\n\n", text, count=1, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")
    draw(PAGE.with_name("features.png"))


if __name__ == "__main__":
    main()
