"""What `nearer fit` does, as functions. The home of these names is `nearer.study`."""

from nearer.study import METHODS, RunSettings, Study, begin_study, end_study, fit_study, keep_study, read_results

__all__ = ["METHODS", "RunSettings", "Study", "begin_study", "end_study", "fit_study", "keep_study", "read_results"]
