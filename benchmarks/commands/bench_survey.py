"""`python -m benchmarks survey`: its options, and what it says to people and to programs."""

from __future__ import annotations

import argparse

from benchmarks.commands.report import Report, add_benchmark
from nearer.cli.argtypes import positive, seconds, whole, words
from nearer.cli.arguments import Commands

_ABOUT = """\
Serve a study on this machine, let simulated people answer, and look for every confirmed answer in the database.

Parts: load (people at their pace, the engine beside), rate (ever more answers a second, until people wait too long),
faults (server and engine killed, database locked, disk full, clock set back, while people answer) and attacks (what
somebody in the same network may do to a server without a proxy). Nothing leaves this machine, and each part ends by
itself; its figures are written to DIR as soon as it is finished. A full disk needs the right to mount one, a clock set
back Debian's package faketime; what cannot be tried is told."""


def add_survey(commands: Commands) -> None:
    """Add the benchmark."""
    parser = add_benchmark(commands, "survey", "a study under load, and in trouble", _ABOUT, _run, leaves_files=True)
    parser.add_argument("--parts", type=words, default=(), metavar="NAME,...", help="load,rate,faults,attacks (all)")
    parser.add_argument("--people", type=positive, default=1000, metavar="N", help="people at a time (1000)")
    parser.add_argument("--pause", type=seconds, default=2.0, metavar="S", help="mean seconds between answers (2)")
    parser.add_argument("--seconds", type=seconds, default=180.0, metavar="S", help="how long the load lasts (180)")
    parser.add_argument("--kills", type=whole(), default=50, metavar="N", help="how often the server is killed (50)")
    parser.add_argument(
        "--engine-kills", type=whole(), default=20, metavar="N", help="how often the engine is killed (20)"
    )


def _run(options: argparse.Namespace) -> Report:
    from benchmarks.survey.run import PARTS, SurveyRun, survey_text

    work = SurveyRun(
        options.out, options.people, options.pause, options.seconds, options.kills, options.engine_kills, options.seed
    )
    found = work.execute(options.parts or PARTS)
    text = survey_text(found)
    (options.out / "table.txt").write_text(text, encoding="utf-8")
    return Report(text, {"benchmark": "survey", "folder": str(options.out), **found})
