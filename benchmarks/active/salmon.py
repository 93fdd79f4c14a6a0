"""Salmon's questions: a process under a Python of its own, which gets answers and sends questions.

Salmon (Sievert, Nowak and Rogers, "Efficiently learning relative similarity embeddings with crowdsourcing", JOSS 2023)
asks random questions until it has one answer an object, and then those that its sampler ARR scores highest, at most one
for each head in a batch.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from typing import Any

import numpy as np

from benchmarks.active import salmon_worker
from benchmarks.active.rules import Random
from benchmarks.active.worlds import Life, Rows
from benchmarks.programs import MeasurementFailed, Program
from nearer._common.arrays import FloatArray
from nearer._common.randomness import stream


class Salmon(Random):
    """Salmon's sampler ARR at its defaults.

    Parameters
    ----------
    life : Life
    n_components : int
    seed : SeedSequence
    program : Program
        Which Python has it.
    """

    def __init__(self, life: Life, n_components: int, seed: np.random.SeedSequence, program: Program) -> None:
        super().__init__(life, n_components, seed)
        self._words = tempfile.TemporaryFile("w+")  # noqa: SIM115 - open as long as the process
        self._process = subprocess.Popen(
            [program.python, str(salmon_worker.__file__)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._words, text=True,
        )  # fmt: skip
        self._send(
            n=self.n_objects,
            d=n_components,
            seed=int(stream(seed, "start").integers(2**31)),
            questions=self.questions.tolist() if life.is_pool else None,
        )
        self._new: list[list[int]] = []
        self._n_told = 0
        self._embedding: FloatArray | None = None

    def ask(self, k: int) -> Rows:
        """Return up to k questions (head, left, right)."""
        if self._n_told <= self.n_objects:
            return super().ask(k)
        rows = self._step(k)
        return np.array(rows, dtype=np.intp).reshape(-1, 3)

    def tell(self, triplets: Rows) -> None:
        """Take answers (anchor, near, far)."""
        self._new += triplets.tolist()
        self._n_told += len(triplets)

    def own_map(self) -> FloatArray | None:
        """Return Salmon's map of all answers."""
        if self._new:
            self._step(0)
        return self._embedding

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._words.close()

    def _step(self, k: int) -> list[list[int]]:
        self._send(answers=self._new, k=k)
        self._new = []
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._failed()
        reply = json.loads(line)
        self._embedding = np.array(reply["embedding"])
        rows: list[list[int]] = reply["rows"]
        return rows

    def _send(self, **request: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed() from None

    def _failed(self) -> MeasurementFailed:
        self._process.wait()
        self._words.seek(0)
        said = self._words.read().strip().splitlines()
        return MeasurementFailed(f"Salmon ended: {said[-1] if said else f'exit status {self._process.returncode}'}")
