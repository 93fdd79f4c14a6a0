"""Which device PyTorch is to compute on, and what to say where there is none.

This module can be imported without PyTorch; what it asks for needs it.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

_KNOWN = re.compile(r"cpu|mps|cuda(:\d+)?")
_SPARE = 0.9  # of the free memory: allocators cut it into pieces, and some of it is lost between them


def torch_or_advice(device: str) -> Any:
    """Return the module torch; ImportError says what to install."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs PyTorch: pip install torch, or leave device out to compute without it"
        ) from error


def available_device(device: str) -> str | None:
    """Return a device that is there, or raise an error that says what there is.

    Parameters
    ----------
    device : str
        "cuda", "cuda:1" and so on, "mps" or "cpu". With "auto" the first of CUDA and MPS that is there.

    Returns
    -------
    str or None
        None for "auto" where there is neither: the compiled loops then do better than PyTorch on the same processor.

    Examples
    --------
    >>> available_device("gpu")
    Traceback (most recent call last):
    ValueError: device must be None, 'auto', 'cuda', 'cuda:1' and the like, 'mps' or 'cpu', got 'gpu'
    """
    if device != "auto" and not (isinstance(device, str) and _KNOWN.fullmatch(device)):
        raise ValueError(f"device must be None, 'auto', 'cuda', 'cuda:1' and the like, 'mps' or 'cpu', got {device!r}")
    torch = torch_or_advice(device)
    n_cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    there = ["cpu"] + ["mps"] * torch.backends.mps.is_available() + [f"cuda:{k}" for k in range(n_cuda)]
    if device == "auto":
        return "cuda" if n_cuda else "mps" if "mps" in there else None
    if device in there or (device == "cuda" and n_cuda):
        return device
    raise ValueError(
        f"there is no device {device!r} here: PyTorch {torch.__version__} finds {', '.join(there)}; check the driver "
        "and that PyTorch was installed for it, or leave device out"
    )


def refuse_too_large(device: str, n_bytes: int, what: str) -> None:
    """Raise MemoryError before a fit begins that the memory of its device will not do for."""
    free = _free_bytes(device)
    if free is not None and n_bytes > _SPARE * free:
        raise MemoryError(
            f"{what} take about {n_bytes / 1e9:.1f} GB on {device!r}, and {free / 1e9:.1f} GB are free; end what else "
            "uses it, fit fewer comparisons, or leave device out"
        )


def _free_bytes(device: str) -> int | None:
    """Return the free memory of a device; None for the processor, whose system decides for itself."""
    torch = torch_or_advice(device)
    if device.startswith("cuda"):
        # What PyTorch has kept of earlier fits, to use again, is free for this one.
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + kept)
    if device == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    return None


@cache
def accumulation_dtype(device: str) -> Any:
    """Return the dtype of sums and scalar products: float64, but on MPS, which has none."""
    torch = torch_or_advice(device)
    return torch.float32 if device == "mps" else torch.float64
