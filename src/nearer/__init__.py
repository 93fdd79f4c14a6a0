"""Ordinal embedding: maps of objects from judgments such as "a is nearer to b than to c"."""

import lazy_loader

# Loaded when they are asked for: the program answers, and can be stopped, before NumPy and SciPy are there.
_lazy_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("nearer")
    return _lazy_attribute(name)
