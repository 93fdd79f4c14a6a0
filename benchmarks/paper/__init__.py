"""The paper's experiments, run again: protocols, tuned methods, tables and figures.

Data flows one way: protocol (which comparisons) -> methods (which settings, which error) -> runner (one line for each
tuned fit, on disk) -> tables and figures.
"""

from benchmarks.paper.protocol import EXPERIMENTS, MUSIC, SYNTHETIC, Experiment
from benchmarks.paper.runner import Run
from benchmarks.paper.table import table_rows, table_text

__all__ = [
    "EXPERIMENTS",
    "MUSIC",
    "SYNTHETIC",
    "Experiment",
    "Run",
    "table_rows",
    "table_text",
]
