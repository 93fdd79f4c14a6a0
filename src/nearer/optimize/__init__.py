"""What estimators minimize: compiled loops, problems over them, and the solvers, one driver loop for all."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
