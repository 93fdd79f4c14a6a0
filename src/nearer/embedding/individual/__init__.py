"""One map in common, and how much each of its axes counts for each person."""
