"""Salmon's adaptive sampler ARR, in a process of its own.

Runs under the Python of Salmon and needs that and what it imports alone:

    python salmon_worker.py

Reads one line of JSON for each request, and answers with one. The first sets up: ``n``, ``d``, ``seed`` and, for a
pool, ``questions``, the only ones that may be asked. Every other has ``answers``, triplets (head, winner, loser), and
``k``, how many questions are wanted; the answer to it has ``rows`` and the map, ``embedding``.

The sampler is used as its server does: `process_answers`, then `get_queries`, of which those with the highest scores
are asked. The server goes on fitting while people answer: here `process_answers` is called five times a batch, four of
them without answers. Its search scores random questions for as long as there is time. Here it scores every question
once: all of them are fewer than the two million at which that search ends. In a pool, questions that were asked are
left out.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
from typing import Any

# A script's own folder comes first on the path; no file next to this one may stand in for a package.
_HERE = os.path.dirname(os.path.abspath(__file__))
_FITS = 5  # a batch


class Worker:
    """A sampler, and the questions that it may ask."""

    def __init__(self, n: int, d: int, seed: int, questions: list[list[int]] | None) -> None:
        import numpy as np

        torch = importlib.import_module("torch")
        samplers = importlib.import_module("salmon.triplets.samplers")
        logging.disable(logging.CRITICAL)  # it logs every answer
        torch.set_num_threads(1)
        np.random.seed(seed)  # noqa: NPY002 - it draws from there
        torch.manual_seed(seed)
        self.once = questions is not None
        if questions is None:
            pairs = [(a, b) for b in range(n) for a in range(b)]
            questions = [[head, a, b] for head in range(n) for a, b in pairs if head not in (a, b)]
        self.left = {tuple(question) for question in questions}
        self.open = np.array(sorted(self.left))
        self.sampler = samplers.ARR(n=n, d=d, random_state=seed)
        self.sampler.search._random_queries = lambda *_, **__: self.open

    def step(self, answers: list[list[int]], k: int) -> dict[str, Any]:
        """Take answers, and return the next questions and the map."""
        import numpy as np

        answered = [{"head": h, "left": w, "right": other, "winner": w} for h, w, other in answers]
        if answered:
            self.sampler.process_answers(answered)
            for _ in range(_FITS - 1):
                self.sampler.meta["empty_pa_calls"] = 0  # each twentieth call without answers would do nothing
                self.sampler.process_answers([])
        if self.once:
            self.left -= {(h, min(a, b), max(a, b)) for h, a, b in answers}
            self.open = np.array(sorted(self.left)).reshape(-1, 3)
        rows: list[list[int]] = []
        if k and len(self.open):
            found, scores, _ = self.sampler.get_queries(stop=_Now())
            rows = found[np.argsort(-scores)[:k]].tolist()
        return {"rows": rows, "embedding": np.asarray(self.sampler.opt.embedding(), dtype=float).tolist()}


class _Now:
    """An event that has come: the search ends after its first round, which has scored every question."""

    def is_set(self) -> bool:
        """Return True."""
        return True


def serve() -> None:
    """Answer requests until there are no more."""
    replies, sys.stdout = sys.stdout, sys.stderr  # whatever is printed besides
    worker = Worker(**json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        replies.write(json.dumps(worker.step(**json.loads(line))) + "\n")
        replies.flush()


if __name__ == "__main__":
    sys.path = [folder for folder in sys.path if os.path.abspath(folder or ".") != _HERE]
    serve()
