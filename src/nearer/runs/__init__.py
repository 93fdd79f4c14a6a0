"""A run: what `nearer fit` makes of answers, and the folder that it leaves.

Answers -> `fit_study` (map, held-out error, ellipses, annotators, ...) -> `Study` -> a folder with the map as CSV, the
model, figures, and one JSON file from which `nearer report` makes its page.
"""

from nearer.runs.folder import read_results, write_study
from nearer.runs.settings import METHODS, RunSettings
from nearer.runs.study import Study, fit_study

__all__ = ["METHODS", "RunSettings", "Study", "fit_study", "read_results", "write_study"]
