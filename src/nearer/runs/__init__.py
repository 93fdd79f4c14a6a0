"""A run: what `nearer fit` makes of answers, and the folder that it leaves.

Answers -> `fit_study` (map, held-out error, ellipses, annotators, ...) -> `Study` -> a folder with the map as CSV, the
model, figures, and one JSON file from which `nearer report` makes its page.
"""

from nearer.runs.folder import begin_study, end_study, keep_study, read_results
from nearer.runs.settings import METHODS, RunSettings
from nearer.runs.study import Study, fit_study

__all__ = ["METHODS", "RunSettings", "Study", "begin_study", "end_study", "fit_study", "keep_study", "read_results"]
