"""Answers of people in the files they have, and back.

`read_answers` reads CSV, TSV, JSON lines, Parquet, npz and data frames, in the ways people write down how they asked;
`write_answers` writes files that it reads back, and those of Salmon, jsPsych and cblearn. `read_features` and
`write_features` do the same for what is known of objects.
"""

from nearer.io.answers import Answers, BadAnswers, Catches, Kind, ReadingReport
from nearer.io.features import read_features, write_features
from nearer.io.reading import read_answers
from nearer.io.writing import write_answers

__all__ = [
    "Answers",
    "BadAnswers",
    "Catches",
    "Kind",
    "ReadingReport",
    "read_answers",
    "read_features",
    "write_answers",
    "write_features",
]
