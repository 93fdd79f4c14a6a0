"""Answers of people in the files they have, and back.

`read_answers` reads CSV, TSV, JSON lines, Parquet, npz and data frames, in the ways people write down how they asked;
`write_answers` writes files that it reads back, and those of Salmon, jsPsych and cblearn. `read_dissimilarities` reads
matrices, ratings and counts of pairs; `read_features` and `write_features` read and write what is known of objects.
"""

from nearer.data.dissimilarities import Dissimilarities
from nearer.io.answers import Answers, BadAnswers, Catches, Kind, ReadingReport
from nearer.io.dissimilarities import read_dissimilarities
from nearer.io.features import read_features, write_features
from nearer.io.reading import read_answers
from nearer.io.writing import write_answers

__all__ = [
    "Answers",
    "BadAnswers",
    "Catches",
    "Dissimilarities",
    "Kind",
    "ReadingReport",
    "read_answers",
    "read_dissimilarities",
    "read_features",
    "write_answers",
    "write_features",
]
