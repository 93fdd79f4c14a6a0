"""Ordinal embedding: maps of objects from judgments such as "a is nearer to b than to c"."""

from importlib.metadata import version

from nearer.comparisons import Comparisons
from nearer.penalty import Penalty
from nearer.streaming import ComparisonsFile

__all__ = ["Comparisons", "ComparisonsFile", "Penalty", "__version__"]
__version__ = version("nearer")
