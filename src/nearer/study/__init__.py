"""A run: what `nearer fit` makes of answers, and the folder that it leaves.

Answers -> `fit_study` (map, held-out error, ellipses, annotators, ...) -> `Study` -> a folder with the map as CSV, the
model, figures, and one JSON file from which `nearer report` makes its page.
"""

import lazy_loader

# Loaded on first use: the command line asks for the names of methods alone.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
