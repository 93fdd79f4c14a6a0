"""The program `nearer`.

Everything heavy is imported by the command that needs it, so that help and error messages come at once.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from nearer.benchmarks.commands import add_benchmarks

if TYPE_CHECKING:
    from nearer.experiments import Experiment

FAILED, INTERRUPTED = 2, 130

_REPRODUCE = """\
Run an experiment of "Less but Better" (Ma, Xu, Yang and Cao, AAAI 2019) again: every method tuned by
cross-validation on its training comparisons, then judged by all others.

Each tuned fit is kept in DIR/trials.jsonl as soon as it is finished. Stop with Ctrl-C at any time; the same command
goes on from there. The end result is table.txt, table.csv, errors.png and figure1.png in DIR."""

_DEMO = """\
Simulate people who compare named colours, wrongly one time in nine, learn a map of the colours from their answers
alone, say how well it predicts answers it has not seen, and draw it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line if left out.

    Examples
    --------
    >>> main(["reproduce", "synthetic", "--sizes", "many"])
    Traceback (most recent call last):
    SystemExit: 2
    """
    options = _parser().parse_args(arguments)
    try:
        status: int = options.command(options)
    except KeyboardInterrupt:
        return _fail("stopped", INTERRUPTED)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="nearer", description="Maps of objects from judgments such as 'a is nearer to b than to c'."
    )
    parser.add_argument("--version", action="version", version=f"nearer {version('nearer')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = _command(commands, "demo", "learn and draw a map of colours", _DEMO)
    demo.add_argument("--out", type=Path, default=Path("demo"), metavar="DIR", help="folder of colors.png (demo)")
    demo.add_argument("--seed", type=_natural, default=0, metavar="N", help="of the simulated answers (0)")
    demo.set_defaults(command=_demo)

    again = _command(commands, "reproduce", "run an experiment of the paper again", _REPRODUCE)
    again.add_argument("experiment", choices=["synthetic", "music"])
    again.add_argument(
        "--sizes", type=_numbers, default=(), metavar="M,M,...",
        help="numbers of training comparisons (synthetic: 200,500,1000,10000; music: 200,500,1000,5000)",
    )  # fmt: skip
    again.add_argument("--trials", type=_natural, default=20, metavar="N", help="trials of each size (20)")
    again.add_argument("--seed", type=_natural, default=0, metavar="N", help="of the whole run (0)")
    again.add_argument("--jobs", type=_natural, default=None, metavar="N", help="fits side by side (one on each core)")
    again.add_argument(
        "--methods", type=_names, default=("DMOE", "GNMDS", "STE", "TSTE"), metavar="NAME,...",
        help="which of DMOE,GNMDS,STE,TSTE (all), and of the descents over points GNMDS-X,STE-X,TSTE-X,CKL-X,SOE-X",
    )  # fmt: skip
    again.add_argument("--out", type=Path, default=None, metavar="DIR", help="folder of the results (results/NAME)")
    again.set_defaults(command=_reproduce)

    bench = commands.add_parser(
        "bench", help="measure time, memory and accuracy", description="Measure time, memory and accuracy."
    )
    add_benchmarks(bench)
    bench.set_defaults(command=_bench)
    return parser


def _command(commands: argparse._SubParsersAction, name: str, summary: str, about: str) -> argparse.ArgumentParser:  # type: ignore[type-arg]
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs; progress goes to stderr")
    return parser


def _reproduce(options: argparse.Namespace) -> int:
    from nearer.experiments import EXPERIMENTS, Interrupted, Run, table_csv, table_rows, table_text

    folder = options.out or Path("results") / options.experiment
    experiment = EXPERIMENTS[options.experiment]
    try:
        run = Run(
            experiment,
            folder,
            sizes=options.sizes,
            n_trials=options.trials,
            seed=options.seed,
            methods=options.methods,
            n_jobs=-1 if options.jobs is None else options.jobs,
        )
        records = run.execute()
        rows = table_rows(experiment, records)
        text = table_text(experiment, rows)
        (folder / "table.txt").write_text(text, encoding="utf-8")
        (folder / "table.csv").write_text(table_csv(rows), encoding="utf-8")
        if not options.json:
            print(text)
        figures = _figures(experiment, run.seed, records, folder)
    except Interrupted as stop:
        return _fail(str(stop), INTERRUPTED)
    except (ValueError, OSError) as error:
        return _fail(_sentence(error))
    if options.json:
        about = {"experiment": experiment.name, "note": experiment.note, "seed": run.seed, "trials": run.n_trials}
        print(json.dumps({**about, "folder": str(folder), "figures": figures, "table": rows}, indent=2))
    else:
        print(f"Written to {folder}: {', '.join(['table.txt', 'table.csv', 'trials.jsonl', *figures])}.")
    return 0


def _figures(experiment: Experiment, seed: int, records: list[dict[str, object]], folder: Path) -> list[str]:
    from nearer.experiments.figures import draw_figures

    try:
        return draw_figures(experiment, seed, records, folder)
    except ImportError as error:
        print(f"nearer: no figures: {error}", file=sys.stderr)
        return []


def _demo(options: argparse.Namespace) -> int:
    from nearer.demo import run_demo

    try:
        result = run_demo(options.out, options.seed)
    except (OSError, ImportError) as error:
        return _fail(_sentence(error))
    print(json.dumps(result.as_dict(), indent=2) if options.json else result.text())
    return 0


def _bench(options: argparse.Namespace) -> int:
    from nearer.experiments import Interrupted

    try:
        report = options.benchmark(options)
    except Interrupted as stop:
        return _fail(str(stop), INTERRUPTED)
    except (ValueError, OSError) as error:
        return _fail(_sentence(error))
    print(json.dumps(report.figures, indent=2) if options.json else report.text.rstrip())
    return 0


def _fail(sentence: str, status: int = FAILED) -> int:
    print(f"nearer: {sentence}", file=sys.stderr)
    return status


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename} cannot be used: {error.strerror.lower()}; choose another folder with --out"
    return str(error)


def _natural(text: str) -> int:
    number = int(text) if text.isdecimal() else -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"a whole number, 0 or more, is needed, not {text!r}")
    return number


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(_natural, text.split(",")))


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip().upper() for name in text.split(",")))


if __name__ == "__main__":
    sys.exit(main())
