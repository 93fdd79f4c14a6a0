"""``python -m benchmarks.validity [MODULE ...]``: run what is missing, then write docs/validity.md."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path
from types import ModuleType

from tqdm import tqdm

from benchmarks.validity.rates import Estimate, Rate, Records, complete

# In the order of the page.
MODULES: tuple[str, ...] = (
    "reading", "ceiling", "held_out", "reliability", "properties", "matrices", "groups", "people", "mlds", "ellipses",
    "dimensions", "ratings", "random_responders", "copies", "dimension", "features", "planning", "model_checks",
)  # fmt: skip
PAGE = Path(__file__).parents[2] / "docs" / "validity.md"
INTRODUCTION = """# Validity

How often each statistical statement of `nearer` is right, in simulated studies. The **size** of a test is how often
it rejects when there is no effect, its **power** how often it detects one, the **coverage** of an interval how often it
contains the true value, and the **bias** of an estimate by how much it is too high on average. Rates are given with
their standard error over independent runs; where every run is all or nothing it is that of Agresti and Coull's adjusted
share, which is above 0 even if all runs agree. A rate is marked with (\\*) where it lies outside the target, and with
**\\*** where even its 95% interval does; such statements are to be taken with that caution. Scenarios without a target
show what happens where the assumptions of a method do not hold, or how much it can detect.

Targets of tests at 5% reach to 7%: their p-values are simulated from models that describe the answers only
approximately, and some of these tests do reject slightly more often than they should.

`make validity` simulates what is missing from the records in `benchmarks/validity/records` and writes this page;
`python -m benchmarks.validity --again` repeats all of it.
"""


def main() -> None:
    """Run simulations and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validity", description=__doc__)
    parser.add_argument("modules", nargs="*", default=MODULES, metavar="MODULE", help=f"of {', '.join(MODULES)}")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--again", action="store_true", help="forget the outcomes of these modules first")
    parser.add_argument("--page", action="store_true", help="only write the page from the outcomes there are")
    options = parser.parse_args()
    if not options.page:
        for name in options.modules:
            records, rates = Records(name), simulations(name).RATES
            if options.again:
                records.outcomes.clear()
            for rate in tqdm(rates, desc=name, unit="rate"):
                complete([rate], records, n_jobs=options.jobs)
    PAGE.write_text(page(), encoding="utf-8")


def simulations(name: str) -> ModuleType:
    """Return a module of this folder."""
    return import_module(f"benchmarks.validity.{name}")


def page() -> str:
    """Return the page of all rates that have outcomes."""
    return "\n".join([INTRODUCTION, *(section(simulations(name), Records(name)) for name in MODULES)])


def section(module: ModuleType, records: Records) -> str:
    """Return the section of one module: a table for each of its inferences."""
    known = [rate for rate in module.RATES if records.outcomes.get(rate.name)]
    parts = [f"## {module.TITLE}\n", module.ABOUT.strip() + "\n"]
    inferences = list(dict.fromkeys(rate.inference for rate in known))
    for inference in inferences:
        if len(inferences) > 1:
            parts.append(f"### {inference[0].upper()}{inference[1:]}\n")
        parts.append("| scenario | measure | rate | target | runs |\n| --- | --- | --- | --- | --- |")
        chosen = [rate for rate in known if rate.inference == inference]
        parts += [*(row(rate, Estimate.of(records.outcomes[rate.name])) for rate in chosen), ""]
    return "\n".join(parts)


def row(rate: Rate, found: Estimate) -> str:
    """Return the line of one rate."""
    target = f"{100 * rate.low:.2g}% to {100 * rate.high:.3g}%" if (rate.low, rate.high) != (0.0, 1.0) else ""
    inside, may_be = rate.low <= found.rate <= rate.high, found.within(rate.low, rate.high)
    outside = "" if inside else " (\\*)" if may_be else " **\\***"
    sign = "+" if rate.kind == "bias" else ""
    figure = f"{100 * found.rate:{sign}.1f} ± {100 * found.standard_error:.1f}%{outside}"
    return f"| {rate.world} | {rate.kind} | {figure} | {target} | {found.n_runs:,} |"


if __name__ == "__main__":
    main()
