"""The paper's experiments, run again: protocols, tuned methods, tables and figures.

Data flows one way: protocol (which comparisons) -> methods and tuning (which settings, which error) -> store (one line
for each tuned fit) -> table and figures.
"""

from nearer.experiments.protocol import EXPERIMENTS, MUSIC, SYNTHETIC, Experiment
from nearer.experiments.runner import Interrupted, Run
from nearer.experiments.table import table_csv, table_rows, table_text

__all__ = [
    "EXPERIMENTS",
    "MUSIC",
    "SYNTHETIC",
    "Experiment",
    "Interrupted",
    "Run",
    "table_csv",
    "table_rows",
    "table_text",
]
