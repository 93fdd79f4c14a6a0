"""How good a map is: errors, margins, number of dimensions, noise ceiling, annotators, bootstrap."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
