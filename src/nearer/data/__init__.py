"""Comparisons: validated, immutable, in memory or in a file; their units, and graphs that stand for them."""
