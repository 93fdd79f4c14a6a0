"""Compiles the Triton loop for GPUs, none of which need be there; prints the sizes of the machine code as JSON.

A program of its own: another test may have chosen the interpreter for its process.
"""

import json

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from nearer.optimize.kernels.triton_loops import _loop

VOLTA, AMPERE, HOPPER = 70, 80, 90


def size(capability, family, *, triplets=True, weighted=False, dtype="fp32", squared=False, rows=64, columns=16):
    pointers = {"points": f"*{dtype}", "objects": "*i32", "weights": f"*{dtype}", "gradient": f"*{dtype}"}
    numbers = {"totals": "*fp64", "n_rows": "i32", "n_columns": "i32", "first": "fp32", "second": "fp32"}
    choices = {
        "FAMILY": family,
        "SQUARED": squared,
        "TRIPLETS": triplets,
        "WEIGHTED": weighted,
        "ROWS": rows,
        "COLUMNS": columns,
    }
    signature = pointers | numbers | dict.fromkeys(choices, "constexpr")
    source = ASTSource(fn=_loop, signature=signature, constexprs=choices)
    return len(triton.compile(source, target=GPUTarget("cuda", capability, 32)).asm["cubin"])


sizes = {
    "pull": size(AMPERE, "linear", dtype="fp64"),
    "pull of many columns": size(AMPERE, "linear", dtype="fp64", rows=2, columns=512),
    "GNMDS": size(VOLTA, "hinge", weighted=True, squared=True),
    "DMOE": size(HOPPER, "hinge", triplets=False, weighted=True),
    "STE": size(HOPPER, "logistic", rows=128, columns=2),
    "TSTE": size(AMPERE, "log_ratio", triplets=False),
    "SOE": size(VOLTA, "distance_hinge", rows=128, columns=4),
}
print(json.dumps(sizes))  # noqa: T201
