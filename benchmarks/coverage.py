"""Whether ellipses cover: how often the true place of an object lies in its 95% ellipse, where the truth is known.

Gaussian points whose mean squared distance is 1 answer questions with noise; a map is fitted and bootstrapped, and the
points, laid onto the map by a similarity, are looked for in the ellipses. Beside the share of objects covered stands
that of ellipses without calibration, and the size of both: the radius of the circle (ball) as large as the ellipse,
averaged over objects, and the root mean square distance of the truth, all as shares of the size of the map.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from tqdm import tqdm

from benchmarks.programs import machine
from benchmarks.records import AMOUNT, SHARE, Interrupted, Record, RecordFile
from benchmarks.schema_checks import Check, record
from nearer import Comparisons, __version__
from nearer._common.arrays import FloatArray
from nearer.datasets import make_gaussian, sample_triplets
from nearer.embedding import CKL, DMOE, GNMDS, SOE, STE, TSTE, PosteriorEmbedding
from nearer.evaluation.uncertainty import Bootstrap, bootstrap, mean_squares
from nearer.geometry import align
from nearer.optimize.problems.margins import pair_distances

METHODS: dict[str, Any] = {
    "STE": STE, "TSTE": TSTE, "CKL": CKL, "SOE": SOE, "GNMDS": GNMDS, "DMOE": DMOE,
    "Posterior": partial(PosteriorEmbedding, max_components=15, random_state=0),
}  # fmt: skip
LEVELS = (0.5, 0.8, 0.95)
DEFAULTS = ("flips", "logistic")


@dataclass(frozen=True)
class Condition:
    """Data of one kind: sizes, and noise.

    Squared distances have a mean of 1. A slope of 10 confuses answers whose squared distances differ by a tenth.
    Degrees of freedom are those of t-STE: the odds of an answer are
    ((freedom + 10 d2(far)) / (freedom + 10 d2(near))) ^ ((freedom + 1) / 2).
    """

    objects: int
    dimension: int
    comparisons: int
    flipped: float = 0.0
    slope: float | None = None
    freedom: float | None = None

    def data(self, seed: int, replication: int) -> tuple[FloatArray, Comparisons]:
        """Return true points and their answers."""
        state = np.random.SeedSequence([seed, replication])
        points = make_gaussian(self.objects, self.dimension, 0.5 / self.dimension, state)
        answers = sample_triplets(
            points, self.comparisons, flipped=self.flipped, logistic_slope=self.slope, random_state=state
        )
        return points, answers if self.freedom is None else self._doubtful(points, answers, state)

    def _doubtful(self, points: FloatArray, right: Comparisons, state: np.random.SeedSequence) -> Comparisons:
        """Return right answers after noise of a Student kernel."""
        assert self.freedom is not None
        near, far = pair_distances(points, *right.rows[:, [0, 1]].T), pair_distances(points, *right.rows[:, [0, 2]].T)
        odds = (self.freedom + 10 * far) / (self.freedom + 10 * near)
        chances = expit((self.freedom + 1) / 2 * np.log(odds))
        wrong = np.random.default_rng(state.spawn(1)[0]).random(len(chances)) > chances
        return Comparisons.from_triplets(np.where(wrong[:, None], right.rows[:, [0, 2, 1]], right.rows))


CONDITIONS = {
    "flips": Condition(30, 2, 1500, flipped=0.1),
    "logistic": Condition(30, 2, 1500, slope=10.0),
    "student": Condition(30, 2, 3000, freedom=3.0),
    "few": Condition(30, 2, 600, flipped=0.05),
    "many": Condition(30, 2, 6000, flipped=0.1),
    "noisy": Condition(30, 2, 3000, flipped=0.2),
    "small": Condition(20, 2, 400, slope=10.0),
    "solid": Condition(60, 3, 3000, flipped=0.1),
    "large": Condition(100, 2, 5000, slope=10.0),
}

_FIGURES: dict[str, Check] = {
    "covered": record({f"{level:g}": SHARE for level in LEVELS}), "plain_covered": SHARE,
    **dict.fromkeys(("error", "radius", "plain_radius", "inflation", "seconds"), AMOUNT),
}  # fmt: skip


class CoverageRow(TypedDict):
    """Means over the replications of one condition and method; the standard error is over replications."""

    condition: str
    method: str
    replications: int
    coverage: float
    standard_error: float
    plain_coverage: float
    coverage_50: float
    coverage_80: float
    error: float
    radius: float
    plain_radius: float
    inflation: float
    seconds: float


@dataclass(frozen=True)
class Coverage:
    """Replications to run, checked before they start.

    Parameters
    ----------
    folder : Path
        Gets ``measurements.jsonl``; made if it is not there.
    conditions, methods : sequences of str
    replications, resamples, seed : int
    """

    folder: Path
    conditions: Sequence[str] = DEFAULTS
    methods: Sequence[str] = ("STE",)
    replications: int = 100
    resamples: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        for chosen, known in ((self.conditions, CONDITIONS), (self.methods, METHODS)):
            unknown = [name for name in chosen if name not in known]
            if unknown:
                raise ValueError(f"{unknown[0]!r} is not known; choose among {', '.join(known)}")

    @property
    def path(self) -> Path:
        """The file of records."""
        return self.folder / "measurements.jsonl"

    def execute(self) -> list[CoverageRow]:
        """Measure what is left to measure and return the table.

        Raises
        ------
        Interrupted
            On Ctrl-C. What was finished is on file.
        """
        file = RecordFile(self.path)
        file.prepare()
        found = {record["fingerprint"]: record for record in file.read()}
        tasks = [(condition, method) for condition in self.conditions for method in self.methods]
        rows = []
        try:
            with tqdm(total=len(tasks) * self.replications, desc="coverage", unit="map", disable=None) as bar:
                for condition, method in tasks:
                    records = []
                    for replication in range(self.replications):
                        key = self._fingerprint(condition, method, replication)
                        if key not in found:
                            found[key] = self._measure(condition, method, replication, key)
                            file.append(found[key])
                        records.append(file.usable(found[key], _FIGURES))
                        bar.update()
                    rows.append(_row(condition, method, records))
        except KeyboardInterrupt:
            raise Interrupted(f"stopped; what is done is in {self.path}; run the same command again to go on") from None
        return rows

    def _fingerprint(self, condition: str, method: str, replication: int) -> str:
        identity = [__version__, asdict(CONDITIONS[condition]), method, replication, self.resamples, self.seed]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]

    def _measure(self, condition: str, method: str, replication: int, fingerprint: str) -> Record:
        data = CONDITIONS[condition]
        truth, answers = data.data(self.seed, replication)
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            trust = bootstrap(
                METHODS[method](data.dimension), answers, n_resamples=self.resamples, random_state=replication
            )
        seconds = time.process_time() - began
        identity = {
            "condition": condition, "size": data.comparisons, "trial": replication, "method": method,
            "seed": self.seed, "fingerprint": fingerprint,
        }  # fmt: skip
        return {**identity, **judged(trust, truth), "seconds": seconds}


def judged(trust: Bootstrap, truth: FloatArray) -> dict[str, Any]:
    """Return shares of objects covered, by level and without calibration, and sizes as shares of that of the map."""
    plain = replace(trust, covariances=mean_squares(trust.maps - trust.embedding), inflation=1.0, distances=np.empty(0))
    size = float(np.sqrt(np.mean(np.sum((trust.embedding - trust.embedding.mean(axis=0)) ** 2, axis=1))))
    away = align(truth, trust.embedding) - trust.embedding
    return {
        "covered": {f"{level:g}": float(trust.covers(truth, level).mean()) for level in LEVELS},
        "plain_covered": float(plain.covers(truth).mean()),
        "error": float(np.sqrt(np.mean(np.sum(away**2, axis=1)))) / size,
        "radius": _radius(trust) / size,
        "plain_radius": _radius(plain) / size,
        "inflation": trust.inflation,
    }


def _radius(trust: Bootstrap) -> float:
    p = trust.embedding.shape[1]
    return float(np.mean(trust.radius() * np.linalg.det(trust.covariances) ** (0.5 / p)))


def _row(condition: str, method: str, records: Sequence[Record]) -> CoverageRow:
    def mean(name: str) -> float:
        return float(np.mean([record[name] for record in records]))

    covered = {level: [record["covered"][f"{level:g}"] for record in records] for level in LEVELS}
    deviation = float(np.std(covered[0.95], ddof=1)) if len(records) > 1 else float("nan")
    return CoverageRow(
        condition=condition,
        method=method,
        replications=len(records),
        coverage=float(np.mean(covered[0.95])),
        standard_error=deviation / len(records) ** 0.5,
        plain_coverage=mean("plain_covered"),
        coverage_50=float(np.mean(covered[0.5])),
        coverage_80=float(np.mean(covered[0.8])),
        error=mean("error"),
        radius=mean("radius"),
        plain_radius=mean("plain_radius"),
        inflation=float(np.median([record["inflation"] for record in records])),
        seconds=mean("seconds"),
    )


def coverage_text(run: Coverage, rows: Sequence[CoverageRow]) -> str:
    """Return the table for people."""
    lines = [
        "share of objects whose 95% ellipse covers their true place",
        "  condition  method   maps  covered    (s.e.)  not calibrated   50%    80%   error  radius  plain  seconds",
    ]
    for row in rows:
        lines.append(
            f"  {row['condition']:<11}{row['method']:<7}{row['replications']:6d}{row['coverage']:9.3f}"
            f"   ({row['standard_error']:.3f}){row['plain_coverage']:16.3f}{row['coverage_50']:6.2f}"
            f"{row['coverage_80']:7.2f}{row['error']:8.3f}{row['radius']:8.3f}{row['plain_radius']:7.3f}"
            f"{row['seconds']:9.1f}"
        )
    lines += [
        "",
        "error: root mean square distance of the truth; radius, plain: of the 95% ellipses, calibrated and not;",
    ]
    lines += [
        "all three as shares of the root mean square distance of the objects from their mean.",
        "seconds: of the processor, for one bootstrap.",
        "",
    ]
    for name in dict.fromkeys(row["condition"] for row in rows):
        data = CONDITIONS[name]
        noise = [f"{data.flipped:.0%} of answers exchanged"] if data.flipped else []
        noise += [f"logistic noise of slope {data.slope:g}"] if data.slope else []
        noise += [f"noise of a Student kernel with {data.freedom:g} degrees of freedom"] if data.freedom else []
        sizes = f"{data.objects} objects in {data.dimension}-D, {data.comparisons} triplets"
        lines.append(f"{name}: {sizes}, {' and '.join(noise) or 'no noise'}.")
    return "\n".join([*lines, f"{machine()}; {run.resamples} resamples; seed {run.seed}.", ""])
