"""Answers of people in the files they have, and back."""

from nearer.formats.answers import Answers, BadRow, Kind

__all__ = ["Answers", "BadRow", "Kind"]
