"""One HTML file that shows a map, how far to trust it and what is wrong with the answers behind it."""

from nearer.report.page import write_report

__all__ = ["write_report"]
