"""The parts of the benchmark: people at their pace, ever more answers a second, and troubles; and what to say of each.

Each part serves a study of its own, on this machine alone, and ends without help. Its figures are written as soon as
it is finished.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.programs import machine
from benchmarks.survey.faults import (
    ATTACKS,
    Outcome,
    Trouble,
    clock_set_back,
    database_locked,
    disk_full,
    engine_killed,
    fake_clock,
    run_attack,
    run_faults,
    server_killed,
    small_disk,
)
from benchmarks.survey.load import WITHIN, Kept, compare, run_load
from benchmarks.survey.serving import Server, running
from nearer._common.formatting import decimals, pluralize
from nearer.survey.scaffold import demo_study
from nearer.survey.server import researcher_secret

PARTS = ("load", "rate", "faults", "attacks")
_ATTACKED_FILES = 1200  # that an attacked server may have open: few enough for an attacker to use all of them
_PER_PERSON = 60
_STEP, _MOST_STEPS, _STEP_SECONDS = 1.25, 8, 20.0
_NO_CLOCK = "libfaketime is not installed (Debian's package faketime)"


@dataclass(frozen=True)
class SurveyRun:
    """A benchmark of the survey.

    Attributes
    ----------
    folder : Path
        Of the results.
    n_people : int
        At a time.
    pause : float
        Mean seconds between two answers of a person.
    seconds : float
        How long is measured, once all have arrived.
    n_kills, n_engine_kills : int
        How often the server and the engine are killed.
    seed : int
    """

    folder: Path
    n_people: int = 1000
    pause: float = 2.0
    seconds: float = 180.0
    n_kills: int = 50
    n_engine_kills: int = 20
    seed: int = 0

    def execute(self, parts: tuple[str, ...] = PARTS) -> dict[str, Any]:
        """Run parts, and return the figures of each."""
        unknown = [part for part in parts if part not in PARTS]
        if unknown:
            raise ValueError(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
        self.folder.mkdir(parents=True, exist_ok=True)
        work: dict[str, Callable[[], dict[str, Any]]] = {
            "load": self._load, "rate": self._rate, "faults": self._faults, "attacks": self._attacks,
        }  # fmt: skip
        found = {}
        for part in tqdm(parts, desc="survey", unit="part", leave=False, disable=None):
            found[part] = {"machine": machine(), **work[part]()}
            path = self.folder / f"{part}.json"
            path.write_text(json.dumps(found[part], indent=1) + "\n", encoding="utf-8")
        return found

    def _load(self) -> dict[str, Any]:
        with self._served() as (server, secret):
            figures, log = run_load(
                server, n_people=self.n_people, pause=self.pause, seconds=self.seconds, arriving=self.n_people / 40,
                secret=secret, seed=self.seed,
            )  # fmt: skip
            server.stop()
            return figures | _kept(compare(server.folder, log), log.refused) | {"start_seconds": server.starts[0]}

    def _rate(self) -> dict[str, Any]:
        """Let people answer faster and faster, until they wait too long."""
        rows: list[dict[str, Any]] = []
        pause = self.pause
        for _ in range(_MOST_STEPS):
            with self._served() as (server, secret):
                figures, log = run_load(
                    server, n_people=self.n_people, pause=pause, seconds=_STEP_SECONDS, arriving=self.n_people / 40,
                    secret=secret, seed=self.seed,
                )  # fmt: skip
                server.stop()
                rows.append(figures | _kept(compare(server.folder, log), log.refused))
            if not _is_good(rows[-1]):
                break
            pause /= _STEP
        good = [row["answers_per_second"] for row in rows if _is_good(row)]
        return {"most_answers_per_second": max(good, default=None), "steps": rows}

    def _faults(self) -> dict[str, Any]:
        people = max(self.n_people // 4, 1)
        with tempfile.TemporaryDirectory(prefix="nearer-bench-") as base, small_disk(Path(base) / "disk") as no_disk:
            troubles: list[tuple[str, Trouble, int]] = [
                ("server killed", server_killed, self.n_kills),
                ("engine killed", engine_killed, self.n_engine_kills),
                ("database locked for 5 s", database_locked, 1),
            ]
            skipped = []
            no_clock = "" if fake_clock(Path(base) / "clock") else _NO_CLOCK
            for name, trouble, why in (
                ("disk full for 5 s", disk_full, no_disk),
                ("clock set back by an hour", clock_set_back, no_clock),
            ):
                if why:
                    skipped.append(Outcome(name, skipped=why))
                else:
                    troubles.append((name, trouble, 1))
            folder = demo_study(Path(base) / "disk" / "study", per_person=_PER_PERSON)
            with running(folder, self.folder / "server.log") as server:
                outcomes, crowd = run_faults(server, troubles, n_people=people, pause=self.pause / 2, seed=self.seed)
                server.stop()
                kept = _kept(compare(folder, crowd.log), crowd.log.refused)
            rows = [each.record for each in [*outcomes, *skipped]]
            return {"n_people": people, "pause": self.pause / 2, "faults": rows, **kept}

    def _attacks(self) -> dict[str, Any]:
        """Attack servers that no proxy protects, one after the other."""
        rows = []
        for attack in ATTACKS:
            with tempfile.TemporaryDirectory(prefix="nearer-bench-") as base:
                folder, log = demo_study(Path(base) / "study", per_person=_PER_PERSON), self.folder / "server.log"
                with running(folder, log, proxied=False, n_files=_ATTACKED_FILES) as server:
                    rows.append(run_attack(server, attack))
        return {"attacks": rows}

    @contextmanager
    def _served(self) -> Iterator[tuple[Server, str]]:
        with tempfile.TemporaryDirectory(prefix="nearer-bench-") as base:
            folder = demo_study(Path(base) / "study", per_person=_PER_PERSON)
            secret = researcher_secret(folder)
            assert secret is not None
            with running(folder, self.folder / "server.log") as server:
                yield server, secret


def survey_text(found: dict[str, Any]) -> str:
    """Return what was found, in sentences and tables."""
    texts = {"load": _load_text, "rate": _rate_text, "faults": _faults_text, "attacks": _attacks_text}
    return "\n\n".join("\n".join(texts[part](figures)) for part, figures in found.items()) + "\n"


def _load_text(found: dict[str, Any]) -> list[str]:
    return [
        f"{found['n_people']} people, {decimals(found['pause'])} s between answers on average, "
        f"{found['seconds']:.0f} s; "
        f"{found['machine']}, with the people simulated on it and the engine with them",
        f"  {found['answers_per_second']:.0f} answers and {found['requests_per_second']:.0f} responses a second, "
        f"{found['n_failed']} failed",
        f"  within {1000 * WITHIN:.0f} ms: {100 * found['share_within']:.2f}%",
        "  response     number    median       95%       99%   longest (ms)",
        *(_waits_line(kind, row) for kind, row in found["kinds"].items()),
        f"  memory at most: {found['megabytes']:.0f} MB (server {found['server_megabytes']:.0f}, engine "
        f"{found['engine_megabytes']:.0f})",
        f"  processor: server {found['server_cpu']:.2f}, engine {found['engine_cpu']:.2f}, simulated people "
        f"{found['crowd_cpu']:.2f} of a core",
        _kept_line(found),
        f"  from the command to the first answer: {found['start_seconds']:.1f} s",
    ]


def _waits_line(kind: str, row: dict[str, Any]) -> str:
    waits = "".join(f"{1000 * row[name]:10.1f}" for name in ("p50", "p95", "p99", "longest"))
    return f"  {kind:<11}{row['n']:8d}{waits}"


def _rate_text(found: dict[str, Any]) -> list[str]:
    most = found["most_answers_per_second"]
    rate = "none of these rates" if most is None else f"{most:.0f} answers a second"
    return [
        f"Sustained, 95% within {1000 * WITHIN:.0f} ms: {rate}; {found['machine']}",
        "  answers/s   median      95%   (ms)",
        *(
            f"  {row['answers_per_second']:9.0f}{1000 * row['p50']:9.1f}{1000 * row['p95']:9.1f}"
            for row in found["steps"]
        ),
    ]


def _faults_text(found: dict[str, Any]) -> list[str]:
    lines = [f"Troubles while {found['n_people']} people answer every {decimals(found['pause'])} s; {found['machine']}"]
    for row in found["faults"]:
        went_on = row["longest_seconds"]
        lines.append(
            f"  {row['fault']}: not tried, {row['skipped']}"
            if row["skipped"]
            else (
                f"  {row['fault']}, {pluralize(row['times'], 'time')}: as many answers as people within {went_on:.1f} s"
            )
        )
    return [*lines, _kept_line(found)]


def _attacks_text(found: dict[str, Any]) -> list[str]:
    return [
        f"Attacks on a server without a proxy, and with an honest participant; {found['machine']}",
        "  attack                           sent (MB)   memory (MB)   not answered   median   longest (ms)",
        *(
            f"  {row['attack']:<32}{row['mb_sent']:10.0f}{row['mb_before']:8.0f} ->{row['mb_peak']:5.0f}"
            f"{row['n_failed']:8d} of{row['n_requests']:4d}{1000 * row['median']:9.0f}{1000 * row['longest']:10.0f}"
            for row in found["attacks"]
        ),
    ]


def _kept_line(found: dict[str, Any]) -> str:
    return (
        f"  of {found['n_confirmed']} confirmed answers {found['n_lost']} lost, {found['n_changed']} changed, "
        f"{found['n_doubled']} doubled, {found['n_of_others']} given to others; {found['n_refused']} requests refused"
    )


def _kept(kept: Kept, refused: list[str]) -> dict[str, Any]:
    return asdict(kept) | {"n_refused": len(refused), "refused": refused[:5]}


def _is_good(row: dict[str, Any]) -> bool:
    wrong = [row[name] for name in ("n_failed", "n_lost", "n_changed", "n_doubled", "n_of_others", "n_refused")]
    return bool(row["p95"] <= WITHIN) and not any(wrong)
