"""A stand-in for Salmon, in a Python of its own as far as anybody can tell: tests need no package and no network.

Its sampler likes the questions best whose numbers sum to most, and puts all objects on a line in their order.
"""

import sys

_SAMPLERS = """
import numpy as np

print("something that nobody asked for")

class Search:
    def _random_queries(self, n, num=1000, trim=True):
        raise AssertionError("every question is to be scored")

    def score(self, num):
        queries = np.array(self._random_queries(5, num=num))
        return queries, queries.sum(axis=1)

class ARR:
    def __init__(self, n, d, random_state):
        self.n, self.d, self.told = n, d, []
        self.search, self.opt, self.meta = Search(), self, {"empty_pa_calls": 0}

    def process_answers(self, answers):
        assert self.meta["empty_pa_calls"] == 0
        self.told += [(each["head"], each["winner"]) for each in answers]
        if len(self.told) > 60:
            raise MemoryError("too many answers")

    def get_queries(self, stop):
        assert stop.is_set()
        queries, scores = self.search.score(num=4096)
        return queries, scores, {}

    def embedding(self):
        return np.column_stack([np.arange(self.n)] + [np.zeros(self.n)] * (self.d - 1)).astype("float32")
"""


def make_salmon(folder):
    """Write the package and a program that runs Python with it; return the path of that program."""
    (folder / "salmon" / "triplets").mkdir(parents=True)
    (folder / "salmon" / "__init__.py").write_text("")
    (folder / "salmon" / "triplets" / "__init__.py").write_text("")
    (folder / "salmon" / "triplets" / "samplers.py").write_text(_SAMPLERS)
    (folder / "torch.py").write_text("def set_num_threads(n): pass\ndef manual_seed(seed): pass\n")
    (folder / "salmon_triplets-1.0.3.dist-info").mkdir()
    (folder / "salmon_triplets-1.0.3.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: salmon-triplets\nVersion: 1.0.3\n"
    )
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return str(python)
