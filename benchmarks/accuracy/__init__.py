"""The accuracy benchmark: every method on every data set, at sizes from half a comparison an object to twenty.

Data flows one way: data sets (which trials) -> entries and peers (which predictions) -> units (which figures) -> run
(one line for each) -> summary, table and figures.
"""

from benchmarks.accuracy.datasets import DATA_SETS, DataSet
from benchmarks.accuracy.entries import ENTRIES, METHODS, PEERS, Entry
from benchmarks.accuracy.run import AccuracyRun
from benchmarks.accuracy.trial import Predictions, Trial, Truth

__all__ = [
    "DATA_SETS",
    "ENTRIES",
    "METHODS",
    "PEERS",
    "AccuracyRun",
    "DataSet",
    "Entry",
    "Predictions",
    "Trial",
    "Truth",
]
