"""The devices of PyTorch, which this module does not import before it needs it."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

_DEVICE_PATTERN = re.compile(r"cpu|mps|cuda(:\d+)?")
_USABLE_MEMORY_SHARE = 0.9  # of the free memory: allocators lose some of it to fragmentation


def import_torch(device: str) -> Any:
    """Return the module torch, or raise an ImportError that says what to install."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise ImportError(
            f"device={device!r} needs PyTorch: pip install torch, or leave device out to compute without it"
        ) from error


def available_device(device: str) -> str | None:
    """Return an available device, or raise an error that lists those available.

    With "auto" it is the first of CUDA and MPS that is there, and None where there is neither: the compiled loops then
    do better than PyTorch on the same processor.
    """
    if device != "auto" and not (isinstance(device, str) and _DEVICE_PATTERN.fullmatch(device)):
        raise ValueError(f"device must be None, 'auto', 'cuda', 'cuda:1' and the like, 'mps' or 'cpu', got {device!r}")
    torch = import_torch(device)
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
    """Raise MemoryError if a fit needs more memory than its device has free."""
    free = _free_bytes(device)
    if free is not None and n_bytes > _USABLE_MEMORY_SHARE * free:
        raise MemoryError(
            f"{what} take about {n_bytes / 1e9:.1f} GB on {device!r}, and {free / 1e9:.1f} GB are free; end what else "
            "uses it, fit fewer comparisons, or leave device out"
        )


def _free_bytes(device: str) -> int | None:
    """Return the free memory of a device; None for the processor, whose system manages it."""
    torch = import_torch(device)
    if device.startswith("cuda"):
        # Memory that PyTorch has reserved but not allocated can be used again.
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + kept)
    if device == "mps":
        return int(torch.mps.recommended_max_memory() - torch.mps.current_allocated_memory())
    return None


@cache
def accumulation_dtype(device: str) -> Any:
    """Return the dtype of sums and scalar products: float64, or float32 on MPS, which has no float64."""
    torch = import_torch(device)
    return torch.float32 if device == "mps" else torch.float64
