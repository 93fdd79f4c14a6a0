"""What all results share: plain values for JSON and back, a text, a figure, and a folder of files.

A result is a frozen dataclass that inherits `Result`. Its fields, and their types, say how it becomes JSON and how it
is read again: arrays are lists there, results within results are objects, and numbers that are not finite, or larger
than any that is read, are null.

Files get damaged and edited, so that `from_dict` checks all that it reads: types, and the `Bounds` of numbers. Its
errors name the place, as in ``error.map must be a number from 0 to 1; got 5``.
"""

from __future__ import annotations

import json
import reprlib
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from functools import cache
from os import PathLike
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Self,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np

from nearer._common.figures import save_figure
from nearer._common.files import write_text
from nearer._common.html import html_block
from nearer._common.json_files import plain_values
from nearer._common.tables import csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The rows of a table, the header first.
Rows: TypeAlias = Sequence[Sequence[Any]]

#: The largest absolute value of a number that is read: far beyond any result, and its square is still a number.
MAX_NUMBER = 1e100
_MAX_DEPTH = 20  # of values that may be any JSON


@dataclass(frozen=True)
class Bounds:
    """The least and the greatest value of a number, or length of a list: ``Annotated[float, Bounds(0, 1)]``."""

    low: float = -MAX_NUMBER
    high: float = MAX_NUMBER

    def __str__(self) -> str:
        if self.high < MAX_NUMBER:
            return f" from {self.low:g} to {self.high:g}"
        return f" of {self.low:g} or more" if self.low > -MAX_NUMBER else ""


Number: TypeAlias = Annotated[float, Bounds()]  # finite: null is not taken for nan
Share: TypeAlias = Annotated[float, Bounds(0, 1)]
Amount: TypeAlias = Annotated[float, Bounds(0)]
Count: TypeAlias = Annotated[int, Bounds(0)]

#: Metadata of a field that `to_dict` leaves out: it is large, or no plain value. It needs a default.
NOT_STORED = {"stored": False}


def stored_as(key: str) -> dict[str, str]:
    """Return the metadata of a field that is stored under another key."""
    return {"key": key}


class Result:
    """Base of results, which are frozen dataclasses."""

    #: The name of the file with all values, where a result is written into a folder.
    json_name: ClassVar[str] = "results.json"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values for JSON, with what follows from them and readers ask for."""
        found = {key: _plain(getattr(self, each.name)) for key, each in stored_fields(type(self)).items()}
        return found | {key: _plain(value) for key, value in self._derived().items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "") -> Self:
        """Return the result that `to_dict` was called on; keys that are no fields are ignored.

        Errors begin with ``where``, the place of the values in a file.
        """
        if not isinstance(values, Mapping):
            reject(where or cls.__name__, "an object", values)
        missing = [
            key
            for key, each in stored_fields(cls).items()
            if each.default is MISSING and each.default_factory is MISSING and key not in values
        ]
        if missing:
            raise ValueError(f"{where or cls.__name__} lacks {', '.join(missing)}")
        kinds = types_of(cls)  # type: ignore[arg-type]  # mypy takes classes for unhashable
        prefix = f"{where}." if where else ""
        given = {
            each.name: _restored(kinds[each.name], values[key], f"{prefix}{key}")
            for key, each in stored_fields(cls).items()
            if key in values
        }
        return cls(**given)

    def summary(self) -> str:
        """Return the result as text."""
        return repr(self)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return html_block(type(self).__name__, self.summary().splitlines(), self.tables())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the result and return the Axes."""
        raise NotImplementedError(f"{type(self).__name__} has no figure of its own")

    def tables(self) -> dict[str, Rows]:
        """Return the rows of each table, by the name of its file."""
        return {}

    def figures(self) -> dict[str, Callable[[], Axes]]:
        """Return what draws each figure, by the name of its file without an ending."""
        return {}

    def write(self, folder: str | PathLike[str]) -> list[str]:
        """Write values, tables and figures into a folder, which may be new, and return the names of the files."""
        texts = {self.json_name: json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"}
        texts |= {name: csv_text(rows) for name, rows in self.tables().items()}
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_text(Path(folder) / name, text)
        return [*texts, *save_figures(Path(folder), self.figures())]

    def _derived(self) -> Mapping[str, Any]:
        """Return values that are stored with the fields for readers, but follow from them."""
        return {}


def save_figures(folder: Path, figures: Mapping[str, Callable[[], Axes]]) -> list[str]:
    """Draw figures as PNG and PDF and return the names of the files."""
    names: list[str] = []
    for name, draw in figures.items():
        ax = draw()
        for ending in ("png", "pdf"):
            save_figure(ax, folder / f"{name}.{ending}")
            names.append(f"{name}.{ending}")
    return names


def text_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of text whose cells stand in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def reject(where: str, wanted: str, value: Any) -> NoReturn:
    """Raise an error that names a place in a file, what it should hold, and what it holds."""
    raise ValueError(f"{where} must be {wanted}; got {reprlib.repr(value)}")


def stored_fields(cls: type) -> dict[str, Field[Any]]:
    """Return the fields that `to_dict` has, by their keys."""
    stored = [each for each in fields(cls) if each.metadata.get("stored", True)]
    return {each.metadata.get("key", each.name): each for each in stored}


@cache
def types_of(cls: type) -> dict[str, Any]:
    """Return the types of fields, which are evaluated from text once."""
    return get_type_hints(cls, include_extras=True)


def _plain(value: Any) -> Any:
    """Return plain values, of results within a value too."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    plain = plain_values(value)
    return None if isinstance(plain, float) and abs(plain) > MAX_NUMBER else plain  # as none so large is read again


def _restored(of: Any, value: Any, where: str, bounds: Bounds | None = None) -> Any:
    """Return the value of this type that plain values stand for."""
    origin, inner = get_origin(of), get_args(of)
    if origin is Annotated:
        return _restored(inner[0], value, where, inner[1])
    if origin in (Union, types.UnionType):
        if value is None and type(None) in inner:
            return None
        choices = [each for each in inner if each is not type(None)]
        return _restored(next((each for each in choices if _fits(each, value)), choices[0]), value, where)
    if of is Any:
        _check_plain(value, where)
        return value
    if origin is Literal:
        if not isinstance(value, str) or value not in inner:
            reject(where, f"one of {', '.join(map(str, inner))}", value)
        return value
    if value is None and of is float and bounds is None:
        return float("nan")
    if not _fits(of, value):
        reject(where, _described(of, bounds), value)
    if isinstance(of, type) and issubclass(of, Result):
        return of.from_dict(value, where)
    if of in (int, float):
        limits = bounds or Bounds()
        if not limits.low <= value <= limits.high:
            reject(where, _described(of, limits), value)
        return of(value)
    if isinstance(value, list | tuple) and bounds is not None and len(value) < bounds.low:
        reject(where, f"a list{bounds}", value)
    if origin is np.ndarray:
        (scalar,) = get_args(inner[1])
        try:
            return np.array(value) if scalar is Any else np.array(value, dtype=scalar)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(f"{where} must be rows of numbers of one length") from None
    if origin is tuple and inner[-1] is not Ellipsis:
        if len(value) != len(inner):
            reject(where, f"a list of {len(inner)}", value)
        pairs = enumerate(zip(inner, value, strict=True))
        return tuple(_restored(each, item, f"{where}[{k}]") for k, (each, item) in pairs)
    if origin in (tuple, list):
        return origin(_restored(inner[0], item, f"{where}[{k}]") for k, item in enumerate(value))
    if origin is dict:
        return {key: _restored(inner[1], item, f"{where}[{reprlib.repr(key)}]") for key, item in value.items()}
    return value


def _check_plain(value: Any, where: str, depth: int = 0) -> None:
    """Reject what JSON does not have, and nesting beyond reason."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"{where[:40]}... must be nested at most {_MAX_DEPTH} deep")
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, item in items:
        _check_plain(item, f"{where}[{reprlib.repr(key)}]", depth + 1)
    if isinstance(value, int | float) and not isinstance(value, bool) and not abs(value) <= MAX_NUMBER:
        reject(where, "a finite number", value)


def _described(of: Any, bounds: Bounds | None) -> str:
    """Return what a value of this type is called in an error."""
    limits = str(bounds or "")
    if of is float:
        return f"{'a' if 'from' in limits else 'a finite'} number{limits}"
    named = {int: f"a whole number{limits}", str: "a string", bool: "true or false"}
    if of in named:
        return named[of]
    return "a list" if get_origin(of) in (np.ndarray, tuple, list) else "an object"


def _fits(of: Any, value: Any) -> bool:
    """Whether plain values can stand for something of this type."""
    if get_origin(of) is Annotated:
        of = get_args(of)[0]
    origin = get_origin(of)
    if origin in (np.ndarray, tuple, list):
        return isinstance(value, list | tuple)
    if origin is dict or (isinstance(of, type) and issubclass(of, Result)):
        return isinstance(value, Mapping)
    if of is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if of is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(of, type) or isinstance(value, of)
