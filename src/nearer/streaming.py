"""Comparisons that stay in a file. The home of these names is `nearer.data.file`."""

from nearer.data.file import ComparisonsFile

__all__ = ["ComparisonsFile"]
