"""Running the benchmark: each run of a world under a rule is kept as soon as it is done, and none is made twice.

The same estimator judges all rules: a posterior of the world's dimension, drawn anew from all answers so far at each
checkpoint. The error is the share of true triplets (of kept answers, in a pool) that it gets wrong; together with
that of its map, and that of the map that a rule has made of the answers itself, which Salmon does.

`latency` measures how long people wait for questions: `ask` and the update behind it.
"""

from __future__ import annotations

import hashlib
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.accuracy.run import one_thread_each
from benchmarks.active.rules import Information, Landmarks, Ours, Random, Rule, Salmon
from benchmarks.active.worlds import WORLDS, Life, Rows, World
from benchmarks.programs import MeasurementFailed, Program
from benchmarks.records import AMOUNT, SHARE, Interrupted, Record, RecordFile, side_by_side
from benchmarks.schema_checks import Check, list_of, maybe, record, string, whole
from nearer._common.arrays import FloatArray
from nearer.data.comparisons import Comparisons
from nearer.datasets import make_gaussian, sample_triplets
from nearer.design import Questions, active
from nearer.embedding import PosteriorEmbedding
from nearer.evaluation.metrics import comparison_error
from nearer.optimize.problems.margins import error_from_margins
from nearer.sampling import Microcanonical

#: Raised whenever the same seed would give other figures: old records then no longer count.
PROTOCOL_VERSION = 2
#: Many starts and long climbs: where questions are chosen, or many answers flipped, others end on wrong hills.
JUDGE = Microcanonical(n_chains=4, n_warmup=400, n_steps=800, n_starts=10, n_climb=240)
#: Rules whose maps know features of the objects, in worlds that have some.
FEATURE_RULES = ("random+features", "ours+features")
RULES = ("random", "landmarks", "information", "salmon", "ours", *FEATURE_RULES)
_OURS: dict[str, type[Random] | type[Ours]] = {
    "random": Random, "landmarks": Landmarks, "information": Information, "ours": Ours,
}  # fmt: skip
_FIGURES: dict[str, Check] = {
    "curve": list_of(record({"answers": whole(1), "error": SHARE, "error_map": SHARE, "error_own": maybe(SHARE)})),
    "seconds": AMOUNT, "batch": whole(1),
}  # fmt: skip


class Unit(NamedTuple):
    """What a record is identified by."""

    world: str
    rule: str
    run: int


def version_of_ours() -> str:
    """Return a short hash of the code that chooses questions: what was measured before an edit can be told apart."""
    digest = hashlib.sha256()
    for path in sorted(Path(str(active.__file__)).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def fingerprint(world: World, rule: str, batch: int) -> str:
    """Return a short hash of everything but seed and run that decides a record.

    Examples
    --------
    >>> fingerprint(WORLDS["eggs"], "random", 30) == fingerprint(WORLDS["eggs"], "ours", 30)
    False
    """
    what = [PROTOCOL_VERSION, JUDGE, world.name, world.n_objects, world.n_components, world.most, rule, batch]
    return hashlib.sha256(repr(what).encode()).hexdigest()[:12]


def run_unit(unit: Unit, seed: int, batch: int, salmon: Program | None) -> Record:
    """Ask and answer until the end of a world, on one core, and return the record."""
    world, began = WORLDS[unit.world], time.process_time()
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        curve = follow(world, unit, seed, batch, salmon)
    identity = {
        "world": unit.world, "method": unit.rule, "trial": unit.run, "size": world.most, "seed": seed,
        "fingerprint": fingerprint(world, unit.rule, batch), "batch": batch,
    }  # fmt: skip
    about = {"version": version_of_ours()} if unit.rule.startswith("ours") else {}
    return {**identity, **about, "curve": curve, "seconds": round(time.process_time() - began, 1)}


def follow(world: World, unit: Unit, seed: int, batch: int, salmon: Program | None) -> list[dict[str, Any]]:
    """Return the errors at the checkpoints; no more once the lowest target has been reached twice."""
    life, (_, rule_seed, judge_seed) = world.life(seed, unit.run), world.seed(seed, unit.run).spawn(3)
    features = world.features() if unit.rule in FEATURE_RULES and world.features is not None else None
    rule = _begin(unit.rule, life, world.n_components, rule_seed, salmon, features)
    answers: Rows = np.empty((0, 3), dtype=np.intp)
    curve: list[dict[str, Any]] = []
    try:
        for checkpoint in world.checkpoints(featured=features is not None):
            answers = _up_to(checkpoint, rule, life, answers, batch)
            if len(answers) < checkpoint:  # the pool is exhausted
                break
            judge_state = np.random.SeedSequence(judge_seed.entropy, spawn_key=(*judge_seed.spawn_key, checkpoint))
            planned = unit.rule.startswith("random")
            errors = judged(answers, life.test, world.n_components, judge_state, planned=planned, features=features)
            curve.append({"answers": checkpoint, **errors, "error_own": own_error(rule.own_map(), life.test)})
            if len(curve) > 1 and max(each["error"] for each in curve[-2:]) < min(world.targets):
                break
    finally:
        rule.close()
    return curve


def _begin(
    name: str,
    life: Life,
    n_components: int,
    seed: np.random.SeedSequence,
    salmon: Program | None,
    features: FloatArray | None,
) -> Rule:
    if name in FEATURE_RULES:
        return Ours(life, n_components, seed, features) if name.startswith("ours") else Random(life, n_components, seed)
    if name == "salmon":
        assert salmon is not None, "a run with Salmon checks this before it starts"
        return Salmon(life, n_components, seed, salmon)
    return _OURS[name](life, n_components, seed)


def _up_to(size: int, rule: Rule, life: Life, answers: Rows, batch: int) -> Rows:
    """Ask in batches until there are so many answers, or nothing is left to ask."""
    while len(answers) < size:
        asked = rule.ask(min(batch, size - len(answers)))
        if not len(asked):
            break
        new = life.answer(asked)
        rule.tell(new)
        answers = np.concatenate([answers, new])
    return answers


def judged(
    answers: Rows,
    test: Comparisons,
    n_components: int,
    seed: np.random.SeedSequence,
    *,
    planned: bool,
    features: FloatArray | None = None,
) -> dict[str, float]:
    """Return the error of the posterior of answers, and that of its map."""
    model = PosteriorEmbedding(
        n_components, max_components=n_components, solver=JUDGE, features=features, n_jobs=1, random_state=seed
    )
    chosen = None if planned else np.ones(len(answers), dtype=bool)
    model.fit(Comparisons.from_triplets(answers, n_objects=test.n_objects, chosen=chosen))
    return {
        "error": error_from_margins(model.decision_function(test)),
        "error_map": comparison_error(test, model.embedding_),
    }


def own_error(found: FloatArray | None, test: Comparisons) -> float | None:
    """Return the error of the map that a rule has made of the answers itself, if there is one."""
    return comparison_error(test, found) if found is not None and np.isfinite(found).all() else None


@dataclass(frozen=True, eq=False)
class ActiveRun:
    """Runs to make, checked before they start.

    Parameters
    ----------
    folder : Path
        Gets ``runs.jsonl``; made if it is not there.
    worlds, rules : sequences of str
    n_runs, batch, seed, n_jobs : int
    salmon : Program, optional
        Needed if "salmon" is among the rules and left to run.
    """

    folder: Path
    worlds: Sequence[str] = tuple(WORLDS)
    rules: Sequence[str] = RULES
    n_runs: int = 10
    batch: int = 30
    seed: int = 0
    n_jobs: int = 1
    salmon: Program | None = None
    _failures: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        for chosen, known in ((self.worlds, WORLDS), (self.rules, RULES)):
            unknown = [name for name in chosen if name not in known]
            if unknown:
                raise ValueError(f"{unknown[0]!r} is not known; choose among {', '.join(known)}")

    @property
    def failures(self) -> tuple[str, ...]:
        """What went wrong, in a sentence each; the runs concerned are tried again by the same command."""
        return tuple(self._failures)

    def units(self) -> list[Unit]:
        """Return all units: the first run of every world, then the second."""
        return [
            Unit(world, rule, run)
            for run in range(self.n_runs)
            for world in self.worlds
            for rule in self.rules
            if rule not in FEATURE_RULES or WORLDS[world].features is not None
        ]

    def finished(self) -> dict[Unit, Record]:
        """Return the records on file that this run would make again."""
        wanted = {unit: fingerprint(WORLDS[unit.world], unit.rule, self.batch) for unit in self.units()}
        found: dict[Unit, Record] = {}
        for line in self._file.read({"world": string}):
            if line["seed"] != self.seed:
                continue
            if line["trial"] is None:  # everything of this rule before this line no longer counts
                found = {unit: kept for unit, kept in found.items() if unit.rule != line["method"]}
                continue
            unit = Unit(line["world"], line["method"], line["trial"])
            if line["fingerprint"] == wanted.get(unit):
                found[unit] = self._file.usable(line, _FIGURES)
        return found

    def on_file(self) -> list[Record]:
        """Return the records that are there, in the order of `units`, without running anything."""
        done = self.finished()
        return [done[unit] for unit in self.units() if unit in done]

    def forget(self, rules: Sequence[str]) -> None:
        """Make the records of rules count no more, by a line that says so."""
        self._file.prepare()
        for rule in rules:
            mark = {"world": "all", "method": rule, "trial": None, "size": None, "seed": self.seed}
            self._file.append({**mark, "fingerprint": "again"})

    def execute(self) -> list[Record]:
        """Make what is left to make and return all records, in the order of `units`.

        Raises
        ------
        Interrupted
            On Ctrl-C. What was finished is on file.
        """
        units, done = self.units(), self.finished()
        left = [unit for unit in units if unit not in done]
        if self.salmon is None and any(unit.rule == "salmon" for unit in left):
            raise ValueError("runs of Salmon are left to make, but no Python with it was given")
        self._file.prepare()
        # disable=None: a bar on a terminal, silence in a log file.
        bar = tqdm(total=len(units), initial=len(done), desc="active", unit="run", disable=None)
        try:
            with bar, one_thread_each():
                calls = [(unit, self.seed, self.batch, self.salmon) for unit in left]
                for unit, outcome in side_by_side(attempt, calls, self.n_jobs):
                    if isinstance(outcome, str):
                        self._failures.append(f"{unit.world}, {unit.rule}, run {unit.run}: {outcome}")
                        sys.stderr.write(f"nearer: {self._failures[-1]}\n")
                        continue
                    self._file.append(outcome)
                    done[unit] = outcome
                    bar.update()
        except KeyboardInterrupt:
            raise Interrupted(
                f"stopped with {len(done)} of {len(units)} runs kept in {self.folder}; "
                "run the same command again (without --again) to go on"
            ) from None
        return [done[unit] for unit in units if unit in done]

    @property
    def _file(self) -> RecordFile:
        return RecordFile(self.folder / "runs.jsonl")


def attempt(unit: Unit, seed: int, batch: int, salmon: Program | None) -> tuple[Unit, Record | str]:
    """Make a run and return its record, or what went wrong."""
    try:
        return unit, run_unit(unit, seed, batch, salmon)
    except MeasurementFailed as failure:
        return unit, str(failure)


_REPEATS = 20


def latency(n_objects: int = 200, n_answers: int = 10_000, n_components: int = 2, *, seed: int = 0) -> dict[str, Any]:
    """Time questions and updates.

    Parameters
    ----------
    n_objects, n_answers, n_components : int
        Answers to random questions, one in ten flipped.
    seed : int

    Returns
    -------
    dict
        ``first_update`` in seconds, from no map to one of all answers; ``update``, median of three, each after 30 more
        answers; ``ask``, ``slowest_ask``: median and longest of 20 calls of ``ask(10)`` in milliseconds, and
        ``ask_meanwhile`` of as many while an update runs.
    """
    source = np.random.SeedSequence(seed)
    points = make_gaussian(n_objects, n_components, random_state=source)
    answers = sample_triplets(points, n_answers + 120, flipped=0.1, random_state=source).rows
    questions = Questions(n_objects, n_components, random_state=seed)
    first = _updated(questions, answers[:n_answers])
    updates = [_updated(questions, answers[n_answers + 30 * k :][:30]) for k in range(3)]
    quiet = [_asked(questions) for _ in range(_REPEATS)]
    questions.tell(answers[-30:])
    busy = [_asked(questions) for _ in range(_REPEATS)]
    questions.update()
    return {
        "n_objects": n_objects, "n_answers": n_answers, "first_update": first, "update": float(np.median(updates)),
        "ask": float(np.median(quiet)), "slowest_ask": max(quiet), "ask_meanwhile": float(np.median(busy)),
    }  # fmt: skip


def _updated(questions: Questions, answers: Any) -> float:
    """Return the seconds until answers are known."""
    began = time.perf_counter()
    questions.tell(answers)
    questions.update()
    return time.perf_counter() - began


def _asked(questions: Questions) -> float:
    """Return the milliseconds that ten questions take."""
    began = time.perf_counter()
    questions.ask(10)
    return 1000 * (time.perf_counter() - began)
