import sys

import numpy as np
import pytest

from benchmarks.accuracy import DATA_SETS, DataSet, Trial, Truth
from benchmarks.accuracy.trial import trial_seed
from benchmarks.programs import Program
from nearer.datasets import make_gaussian, public_sets, sample_triplets

# A stand-in for cblearn: no fit is real. GNMDS puts object i at i * (1 + lambd), STE fails, TSTE never ends, CKL
# orders the objects the wrong way unless mu is 10, SOE says how it was called.
_EMBEDDING = """
import time
import numpy as np

class Base:
    def __init__(self, n_components, random_state, max_iter=1000, **settings):
        self.n_components, self.random_state, self.settings = n_components, random_state, settings

    def fit(self, rows, n_objects):
        assert rows.shape[1] == 3 and rows.max() < n_objects
        line = self.place(np.arange(n_objects, dtype=float), rows)
        self.embedding_ = np.column_stack([line, np.zeros((n_objects, self.n_components - 1))])
        return self

class GNMDS(Base):
    def place(self, line, rows):
        return line * (1 + self.settings.get("lambd", 0))

class STE(Base):
    def place(self, line, rows):
        raise ValueError("no such map")

class TSTE(Base):
    def place(self, line, rows):
        time.sleep(60)

class CKL(Base):
    def place(self, line, rows):
        return line if self.settings.get("mu") == 10 else np.where(line % 2, line, -5 * line)

class SOE(Base):
    def place(self, line, rows):
        print("cblearn has something to say")
        return line
"""


@pytest.fixture
def peer(tmp_path, monkeypatch):
    package = tmp_path / "peer" / "cblearn"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "embedding.py").write_text(_EMBEDDING)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    return Program("cblearn", sys.executable, "0.4.0")


@pytest.fixture
def tiny(monkeypatch):
    """A data set that takes no time: twelve points in 2-D, a tenth of the answers flipped."""
    data = DataSet("tiny", "twelve points", 12, 2, (20, 40), _draw_tiny)
    monkeypatch.setitem(DATA_SETS, "tiny", data)
    return data


def _draw_tiny(seed, trial, size):
    source = trial_seed(seed, trial)
    points = make_gaussian(12, 2, random_state=source)
    given, right = (sample_triplets(points, 600, flipped=share, random_state=source) for share in (0.1, 0.0))
    answers = np.where(given.rows[40:, 1] == right.rows[40:, 1], 1, -1).astype(np.int8)
    return Trial(given[:size], right[40:], answers, 2, source, Truth(1 / 20, 2, flipped=0.1))


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    """A place from which no human judgments can be seen."""
    monkeypatch.delenv("NEARER_DATA", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(public_sets, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "public_sets.py"))
    return tmp_path


@pytest.fixture
def judgments(no_data, monkeypatch):
    """The file of a data set, cars.npz, with 900 answers of two rows over six objects on a line."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(900):
        low, middle, high = np.sort(rng.choice(6, 3, replace=False))
        rows += [(low, middle, high), (high, middle, low)]
    np.savez(no_data / "cars.npz", triplets=np.array(rows, dtype=np.int32), trial=np.repeat(np.arange(900), 2))
    monkeypatch.setenv("NEARER_DATA", str(no_data))
    return no_data / "cars.npz"
