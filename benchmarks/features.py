"""How many answers features are worth: ``python -m benchmarks features`` writes tables and figure of docs/features.md.

Posteriors and DMOE with and without features are fitted to n/2 to 10 n answers about n objects, drawn at random by
trial, and judged by answers that were not drawn. Of eggs30, these are the answers to random questions; the grids of
food, an answer to which is up to 48 triplets, are drawn triplet by triplet. Shuffled features belong to other objects.
Synthetic objects lie where their features say to a share of 0, 0.3, 0.7 or 1.

Of new objects, a fifth of all, no answer is learned from. Their features are part of the fit, or place them on a map of
the others later; answers that concern at least one of them are the judges.

Each fit is a line of benchmarks/features.jsonl, from which a run that was stopped goes on.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from benchmarks.accuracy.datasets import find_file, missing_sentence
from benchmarks.records import Interrupted, Record, RecordFile, side_by_side
from nearer import Comparisons
from nearer._common.arrays import FloatArray
from nearer._common.progress import progress_bar
from nearer.data.features import Features
from nearer.datasets import sample_triplets
from nearer.embedding import DMOE, PosteriorEmbedding
from nearer.features import word_features

RECORDS = Path(__file__).with_suffix(".jsonl")
PAGE = Path(__file__).parents[1] / "docs" / "features.md"
MULTIPLES = (0.5, 1, 2, 5, 10)
KINDS = ("plain", "features", "shuffled")
METHODS = {"": "posterior", "DMOE ": "convex"}  # what the kinds of a method begin with, and the name of its table
NEW_KINDS = {  # of fits of which new objects are judged, and the columns of their table
    "new plain": "answers alone", "new features": "features in the fit", "new placed": "placed by features later",
}  # fmt: skip
NEW_MULTIPLE = 5
NEW_SHARE = 0.2
MAX_TEST = 8000


class World(NamedTuple):
    """Triplets, which trial each belongs to, and the features of the objects."""

    triplets: np.ndarray
    trials: np.ndarray
    features: FloatArray


def _arrays(name: str) -> dict[str, np.ndarray]:
    path = find_file(name)
    if path is None:
        raise ValueError(missing_sentence([name]))
    with np.load(path) as file:
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
    **{f"synthetic-{share:g}": partial(_synthetic, share) for share in (0.0, 0.3, 0.7, 1.0)},
}
FILES = {
    "zappos": ("zappos", "zappos_features"),
    "cars": ("cars", "cars_features"),
    "eggs30": ("eggs30",),
    "food": ("food",),
}


@lru_cache(maxsize=2)
def _world(name: str, seed: int) -> World:
    return WORLDS[name](seed)


def _measure(name: str, multiple: float, kind: str, seed: int) -> Record:
    """Return held-out error and calibration of one fit."""
    world = _world(name, seed if name.startswith("synthetic") else 0)
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, likely = (_predict_new if kind in NEW_KINDS else _predict)(world, multiple, kind, seed)
    error = float(np.mean(np.where(likely == 0.5, 0.5, likely < 0.5)))
    share = None if model.feature_share_ is None else model.feature_share_["features"]
    return {
        "world": name, "multiple": multiple, "kind": kind, "seed": seed, "size": len(model.comparisons_),
        "trial": seed, "method": kind, "fingerprint": f"{name} {multiple:g} {kind} {seed}", "error": error,
        "share": None if share is None else share.mean, "seconds": perf_counter() - begin,
        "overconfidence": float(np.maximum(likely, 1 - likely).mean()) - (1 - error),
    }  # fmt: skip


def _predict(world: World, multiple: float, kind: str, seed: int) -> tuple[DMOE | PosteriorEmbedding, FloatArray]:
    """Return a map of some answers, and the probabilities of others."""
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
    return model, model.fit(answers).predict_proba(test)[:, 1]


def _predict_new(world: World, multiple: float, kind: str, seed: int) -> tuple[PosteriorEmbedding, FloatArray]:
    """Return a map of answers about four fifths of the objects, and the probabilities of those about the others."""
    n = len(world.features)
    names = np.array([f"object {number}" for number in range(n)])
    rng = np.random.default_rng([int(100 * NEW_SHARE), seed])
    is_new = np.isin(np.arange(n), rng.permutation(n)[: round(NEW_SHARE * n)])
    concerned = is_new[world.triplets].any(axis=1)
    order = rng.permutation(np.setdiff1d(world.trials, world.trials[concerned]))
    trained = np.isin(world.trials, order[: round(multiple * n)])
    test = world.triplets[rng.permutation(np.flatnonzero(concerned))[:MAX_TEST]]
    answers = Comparisons.from_triplets(names[world.triplets[trained]], trials=world.trials[trained])
    old, new = (Features(world.features[rows], names[rows]) for rows in (~is_new, is_new))
    features = {"new plain": None, "new features": Features(world.features, names), "new placed": old}[kind]
    model = PosteriorEmbedding(2, features=features, n_jobs=1, random_state=seed)
    if kind == "new plain":
        answers = answers.reindex([*answers.objects.tolist(), *names[is_new].tolist()])
    model.fit(answers)
    if kind == "new placed":
        model.place(features=new)
    return model, model.predict_proba(names[test])[:, 1]


@dataclass(frozen=True)
class FeatureRun:
    """Fits to make, checked before they start.

    Parameters
    ----------
    path, page : Path
        The file of records, and the page whose tables are written; its figure lies beside it.
    worlds, methods : sequences of str
    n_runs, n_jobs : int
    """

    path: Path = RECORDS
    page: Path = PAGE
    worlds: Sequence[str] = tuple(WORLDS)
    methods: Sequence[str] = tuple(METHODS.values())
    n_runs: int = 5
    n_jobs: int = -1

    def __post_init__(self) -> None:
        for chosen, known in ((self.worlds, WORLDS), (self.methods, METHODS.values())):
            unknown = [name for name in chosen if name not in known]
            if unknown:
                raise ValueError(f"{unknown[0]!r} is not known; choose among {', '.join(known)}")

    def execute(self) -> list[Record]:
        """Fit what is missing, and return all records.

        Raises
        ------
        Interrupted
            On Ctrl-C. What was finished is on file.
        """
        file = RecordFile(self.path)
        file.prepare()
        done = {found["fingerprint"] for found in file.read()}
        calls = [call for call in self._calls() if "{} {:g} {} {}".format(*call) not in done]
        try:
            with progress_bar("features", len(calls), unit="fit") as bar:
                for record in side_by_side(_measure, calls, self.n_jobs):
                    file.append(record)
                    bar.update()
        except KeyboardInterrupt:
            raise Interrupted(f"stopped; what is done is in {self.path}; run the same command again to go on") from None
        return file.read()

    def _calls(self) -> list[tuple[str, float, str, int]]:
        """Return the arguments of all fits."""
        starts = [start for start, method in METHODS.items() if method in self.methods]
        calls = [
            (name, multiple, start + kind, seed)
            for seed in range(self.n_runs)
            for name in self.worlds
            for multiple in MULTIPLES
            for start in starts
            for kind in KINDS
        ]
        judged = [name for name in self.worlds if name in FILES and "posterior" in self.methods]
        news = [
            (name, NEW_MULTIPLE, kind, seed) for seed in range(self.n_runs) for name in judged for kind in NEW_KINDS
        ]
        return calls + news

    def write(self, records: list[Record]) -> str:
        """Write tables and figure into the page, and return the tables."""
        tables = {method: table(start, records) for start, method in METHODS.items()}
        tables["new objects"] = table_of_new(records)
        text = self.page.read_text(encoding="utf-8")
        for name, rows in tables.items():
            text = re.sub(rf"\| {name} \|.*?\n(?=\n|$)", rows + "\n", text, count=1, flags=re.DOTALL)
        self.page.write_text(text, encoding="utf-8")
        draw(records, self.page.with_name("features.png"))
        return "\n\n".join(tables.values()) + "\n"


def table(start: str, records: list[Record]) -> str:
    """Return the mean errors of the method whose kinds begin so, as a table."""
    lines = [
        f"| {METHODS[start]} | " + " | ".join(f"{multiple:g} n" for multiple in MULTIPLES) + " | share | runs |",
        "| --- |" + " --- |" * (len(MULTIPLES) + 2),
    ]
    for name in WORLDS:
        for kind in KINDS:
            found = [each for each in records if each["world"] == name and each["kind"] == start + kind]
            if not found:
                continue
            errors = [[each["error"] for each in found if each["multiple"] == multiple] for multiple in MULTIPLES]
            cells = [_decimals(np.mean(each)) if each else "" for each in errors]
            shares = [each["share"] for each in found if each["share"] is not None]
            share = f"{np.mean(shares):.2f}" if shares else ""
            lines.append(f"| {name}, {kind} | {' | '.join(cells)} | {share} | {max(map(len, errors))} |")
    return "\n".join(lines)


def table_of_new(records: list[Record]) -> str:
    """Return the mean errors about new objects, with standard errors, as a table."""
    lines = [f"| new objects | {' | '.join(NEW_KINDS.values())} | runs |", "| --- |" + " --- |" * (len(NEW_KINDS) + 1)]
    for name in FILES:
        errors = [[each["error"] for each in records if (each["world"], each["kind"]) == (name, k)] for k in NEW_KINDS]
        if not all(len(each) > 1 for each in errors):
            continue
        spreads = [np.std(each, ddof=1) / np.sqrt(len(each)) for each in errors]
        cells = [f"{_decimals(np.mean(each))} ± {_decimals(s)}" for each, s in zip(errors, spreads, strict=True)]
        lines.append(f"| {name} | {' | '.join(cells)} | {min(map(len, errors))} |")
    return "\n".join(lines)


def _decimals(value: float | np.floating) -> str:
    return f"{value:.3f}".removeprefix("0")


def draw(records: list[Record], path: Path) -> None:
    """Draw the mean errors of the posterior with and without features, a panel for each set of real answers."""
    figure = Figure(figsize=(10, 3), layout="constrained")
    for axes, name in zip(figure.subplots(1, len(FILES), sharey=True, squeeze=False)[0], FILES, strict=True):
        for kind, color in (("plain", "0.45"), ("features", "#c0392b")):
            found = [each for each in records if (each["world"], each["kind"]) == (name, kind)]
            sizes = [multiple for multiple in MULTIPLES if any(each["multiple"] == multiple for each in found)]
            errors = [np.mean([each["error"] for each in found if each["multiple"] == size]) for size in sizes]
            axes.plot(sizes, errors, "o-", color=color, label={"plain": "answers alone"}.get(kind, "and features"))
        axes.set_xscale("log")
        axes.set_xticks(MULTIPLES, [f"{m:g}" for m in MULTIPLES])
        axes.minorticks_off()
        axes.set(title=name, xlabel="answers for each object", ylim=(0.1, 0.5))
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("held-out error")
    figure.axes[0].legend(frameon=False, loc="lower left")
    figure.savefig(path, dpi=120)
