"""`nearer compare answers.csv --methods A,B`: methods."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING

from nearer.cli.argtypes import words
from nearer.cli.arguments import log_step, print_comparison, read_file
from nearer.cli.process import INTERRUPTED

if TYPE_CHECKING:
    from nearer.data.comparisons import Comparisons


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of this way."""
    group = parser.add_argument_group("methods")
    group.add_argument(
        "--methods", type=words, default=None, metavar="A,B,...",
        help="such as DMOE,STE,posterior; the others are set against the first",
    )  # fmt: skip
    group.add_argument(
        "--hold-out", choices=("trials", "annotators"), default=None,
        help="what is held out whole: speak of further answers, or of further people (trials)",
    )  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from nearer.comparing import compare_methods
    from nearer.study import RunSettings

    if len(options.file) == 1:
        (options.file,) = options.file
    names = [_method(name) for name in options.methods]
    answers = read_file(options)
    settings = {name: RunSettings(method=name, seed=options.seed) for name in dict.fromkeys(names)}
    given = options.dimensions
    log_step("methods" if given else "methods, with the number of dimensions chosen on each training part")
    found = compare_methods(
        answers.comparisons,
        {name: each.estimator(given or 2) for name, each in settings.items()},
        n_splits=options.folds,
        by=options.hold_out or "trials",
        dimension=None if given else lambda train: _dimension(train, options.seed),
        level=options.level,
        random_state=options.seed,
    )
    print_comparison(options, found)
    return INTERRUPTED if found.interrupted else 0


def _method(name: str) -> str:
    """Return the method of this name, in whatever letters."""
    from nearer.study import METHOD_CLASSES

    known = {method.lower(): method for method in METHOD_CLASSES}
    if name.lower() not in known:
        alike = difflib.get_close_matches(name.lower(), known, n=1)
        perhaps = f"; perhaps {known[alike[0]]} is meant" if alike else ""
        raise ValueError(f"method {name!r} is not known{perhaps}; choose among {', '.join(METHOD_CLASSES)}")
    return known[name.lower()]


def _dimension(train: Comparisons, seed: int) -> int:
    """Return the number of dimensions that a quick method predicts best in, on a training part."""
    from nearer.study import RunSettings
    from nearer.study.study import choose_dimensions

    choice, _ = choose_dimensions(train, RunSettings(seed=seed))
    return 2 if choice is None else choice.shown
