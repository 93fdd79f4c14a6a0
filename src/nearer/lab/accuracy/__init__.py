"""The accuracy benchmark: every method on every data set, at sizes from half a comparison an object to twenty.

Data flows one way: data sets (which trials) -> entries and peers (which predictions) -> units (which figures) -> run
(one line for each) -> summary, table and figures.
"""

from nearer.lab.accuracy.datasets import DATA_SETS, DataSet
from nearer.lab.accuracy.entries import ENTRIES, METHODS, Entry
from nearer.lab.accuracy.peers import PEERS
from nearer.lab.accuracy.run import AccuracyRun
from nearer.lab.accuracy.trial import Predictions, Trial, Truth

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
