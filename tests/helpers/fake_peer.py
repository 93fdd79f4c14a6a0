"""A stand-in for cblearn, in a Python of its own as far as anybody can tell: tests need no package and no network.

Its losses differ in temper: GNMDS takes a tenth of a second and puts all objects at the origin, SOE insists on one
start, STE runs out of memory, TSTE never ends. All are quick on the data of the warm-up.
"""

import sys

_EMBEDDING = """
import time
import numpy as np

class Base:
    def __init__(self, n_components, random_state, n_init=10):
        self.n_components, self.random_state, self.n_init = n_components, random_state, n_init

    def fit(self, rows):
        assert rows.dtype.kind == "i" and rows.shape[1] == 3
        self.embedding_ = np.zeros((rows.max() + 1, self.n_components))
        self.n_iter_ = 7
        if len(rows) != 500:  # not the warm-up
            self.work()
        return self

class GNMDS(Base):
    def work(self):
        time.sleep(0.1)

class SOE(Base):
    def work(self):
        assert self.n_init == 1

class STE(Base):
    def work(self):
        raise MemoryError("a matrix of 20 GB")

class TSTE(Base):
    def work(self):
        time.sleep(60)
"""


def make_peer(folder):
    """Write the package and a program that runs Python with it; return the path of that program."""
    (folder / "cblearn").mkdir(parents=True)
    (folder / "cblearn" / "__init__.py").write_text("")
    (folder / "cblearn" / "embedding.py").write_text(_EMBEDDING)
    (folder / "cblearn-0.4.0.dist-info").mkdir()
    (folder / "cblearn-0.4.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: cblearn\nVersion: 0.4.0\n"
    )
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return str(python)
