"""One HTML file that shows a map, how far to trust it and what is wrong with the answers behind it."""

import lazy_loader

# Loaded on first use: the command line asks for the verdict alone.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
