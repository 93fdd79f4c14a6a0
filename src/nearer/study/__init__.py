"""A run: what `nearer fit` makes of answers, and the folder that it leaves.

Answers -> `fit_study` (map, held-out error, ellipses, annotators, ...) -> `Study` -> a folder with the map as CSV, the
model, figures, and one JSON file from which `nearer report` makes its page.
"""

from nearer.study.folder import begin_study, end_study, keep_study, read_results
from nearer.study.pipeline import fit_study
from nearer.study.settings import METHODS, RunSettings
from nearer.study.study import Study

__all__ = ["METHODS", "RunSettings", "Study", "begin_study", "end_study", "fit_study", "keep_study", "read_results"]
