"""Strict JSON: numbers that are not finite, duplicate names and nesting too deep for Python are refused."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, NoReturn

import numpy as np

from nearer._common.formatting import quote


def parse_json(text: bytes) -> Any:
    """Return the value that a JSON text stands for, or raise ValueError that says what is wrong with it."""
    try:
        return json.loads(
            text.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse_number, parse_float=_finite
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start + 1} is no text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no whole JSON: {error}") from None
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for k, (key, _) in enumerate(pairs) if key in (other for other, _ in pairs[:k]))
        raise ValueError(f"{quote(twice)} is there twice")
    return found


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse_number(text)


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text[:40]} is no finite number")


def plain_values(value: Any) -> Any:
    """Return a value as JSON has it: lists for arrays, None for what is no number."""
    if isinstance(value, Mapping):
        return {str(key): plain_values(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain_values(value.tolist())
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {"class": type(value).__name__, **plain_values(asdict(value))}
    return str(value)
