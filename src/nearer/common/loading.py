"""Names of a package that are loaded when they are asked for, so that whoever needs one part need not load the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def loaded_when_asked(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package whose names have their homes in these modules of it.

    Examples
    --------
    >>> find = loaded_when_asked("nearer", {"Comparisons": "data.comparisons"})
    >>> find("Comparisons").__name__
    'Comparisons'
    >>> find("Comparison")
    Traceback (most recent call last):
    AttributeError: module 'nearer' has no attribute 'Comparison'
    """

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found: object = getattr(import_module(f"{package}.{homes[name]}"), name)
        return found

    return find
