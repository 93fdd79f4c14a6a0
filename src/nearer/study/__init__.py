"""A study: what `nearer fit` makes of answers, and the folder that it leaves.

`run_study(answers, settings, folder)` fits a map, finds out how far to trust it (held-out error, ellipses, annotators,
...) and writes all of it into a folder, from which `nearer report` makes its page. Its results are a `StudyResults`.
"""

import lazy_loader

# Loaded on first use: the command line asks for the names of methods alone.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
