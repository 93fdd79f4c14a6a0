"""Runs the Triton loop in Triton's interpreter against PyTorch's operations; prints how far apart they are, as JSON.

A program of its own: the interpreter must be chosen before Triton is imported.
"""

import json
import os
import warnings

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import torch

from nearer.model import Compiled
from nearer.optimize.kernels import Rows, tensors, triton_loops

FAMILIES = [
    Compiled("linear"),
    Compiled("hinge", (0.0, 2.0)),
    Compiled("hinge", (0.3, 2.0)),
    Compiled("hinge", (0.5, 1.0)),
    Compiled("hinge", (0.5, 3.5)),
    Compiled("logistic", (0.0,)),
    Compiled("logistic", (1.0,)),
    Compiled("log_ratio", (1.0, 1.0)),
    Compiled("log_ratio", (0.4, 0.7)),
    Compiled("distance_hinge"),
]
BOTH = [Compiled("hinge", (0.3, 2.0)), Compiled("logistic", (0.0,))]


def rows_of(width, m, n=7, weighted=True, seed=0):
    rng = np.random.default_rng(seed)
    objects = rng.permuted(np.tile(np.arange(n), (m, 1)), axis=1)[:, :width]
    return Rows.of(objects, rng.choice([-1, 1], m), rng.uniform(0, 2, m) if weighted else None)


def apart(compiled, rows, p, dtype=torch.float32, n=7):
    points = torch.tensor(np.random.default_rng(1).normal(size=(n, p)), dtype=dtype)
    points[1] = points[0]  # a distance of 0
    tensor_rows = tensors.TensorRows.of(rows, "cpu", dtype)
    ours, theirs = (each.evaluate(compiled, points, tensor_rows) for each in (triton_loops, tensors))
    return [float((a - b).abs().max() / b.abs().max().clamp(min=1e-3)) for a, b in zip(ours, theirs, strict=True)]


found = {}
for width in (3, 4):
    for compiled in FAMILIES:
        for weighted in (False, True):
            found[f"{compiled} {width} {weighted}"] = apart(compiled, rows_of(width, 300, weighted=weighted), 3)
    for p in (1, 2, 5, 10, 17, 300, 1500):
        for compiled in BOTH:
            found[f"{compiled} {width} p={p}"] = apart(compiled, rows_of(width, 40), p)
    for m in (1, 2, 127, 128, 129, 257):
        found[f"{width} m={m}"] = apart(BOTH[0], rows_of(width, m), 2)
# Few anchors for many rows: blocks of one anchor, and such as end in the middle of one.
found["one anchor"] = apart(BOTH[1], rows_of(3, 1500, n=3), 2, n=3)
found["float64"] = apart(Compiled("linear"), rows_of(3, 300), 5, torch.float64)
works = triton_loops.is_usable("cpu", Compiled("log_ratio", (1.0, 2.0)), weighted=True)
with warnings.catch_warnings(record=True) as caught:
    # A loop that adds nothing.
    triton_loops.evaluate = lambda compiled, points, rows: (torch.zeros(()), torch.zeros_like(points))
    assert not triton_loops.is_usable("cpu", Compiled("logistic", (1.0,)), triplets=False, n_columns=5)
print(json.dumps({"apart": found, "works": works, "warned": str(caught[-1].message)}))  # noqa: T201
