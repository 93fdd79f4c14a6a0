"""What all results share: plain values for JSON and back, a text, a figure, and a folder of files.

A result is a frozen dataclass that inherits `Result`. Its fields, and their types, say how it becomes JSON and how it
is read again: arrays are lists there, results within results are objects, and numbers that are not finite are null.
"""

from __future__ import annotations

import json
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from os import PathLike
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
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
from nearer._common.json_files import plain_values
from nearer._common.tables import csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The rows of a table, the header first.
Rows: TypeAlias = Sequence[Sequence[Any]]

#: Metadata of a field that `to_dict` leaves out: it is large, or no plain value. It needs a default.
NOT_STORED = {"stored": False}


class Result:
    """Base of results, which are frozen dataclasses."""

    #: The name of the file with all values, where a result is written into a folder.
    json_name: ClassVar[str] = "results.json"

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values for JSON, with what follows from them and readers ask for."""
        found = {each.name: _plain(getattr(self, each.name)) for each in _stored(type(self))}
        return found | {key: _plain(value) for key, value in self._derived().items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the result that `to_dict` was called on; keys that are no fields are ignored."""
        types_of, given = get_type_hints(cls), {}
        for each in _stored(cls):
            if each.name in values:
                given[each.name] = _restored(types_of[each.name], values[each.name], f"{cls.__name__}.{each.name}")
            elif each.default is MISSING and each.default_factory is MISSING:
                raise ValueError(f"{cls.__name__} needs a value of {each.name!r}; got {', '.join(map(str, values))}")
        return cls(**given)

    def summary(self) -> str:
        """Return the result as text."""
        return repr(self)

    def __str__(self) -> str:
        return self.summary()

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
        """Write values, tables and figures into a folder, and return the names of the files.

        Parameters
        ----------
        folder : path
            Made if it is not there.
        """
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
    """Draw figures as PNG and PDF and return the names of the files; none, and a warning, without matplotlib."""
    names: list[str] = []
    for name, draw in figures.items():
        try:
            ax = draw()
        except ImportError as error:  # matplotlib is an extra
            warnings.warn(f"no figure was drawn: {error}", UserWarning, stacklevel=3)
            return names
        for ending in ("png", "pdf"):
            save_figure(ax, folder / f"{name}.{ending}")
            names.append(f"{name}.{ending}")
    return names


def text_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of text whose cells stand in columns.

    Examples
    --------
    >>> text_table([("method", "error"), ("STE", "0.2")])
    ['method  error', 'STE     0.2']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _stored(cls: type) -> list[Field[Any]]:
    return [each for each in fields(cls) if each.metadata.get("stored", True)]


def _plain(value: Any) -> Any:
    """Return plain values, of results within a value too."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return plain_values(value)


def _restored(of: Any, value: Any, where: str) -> Any:
    """Return the value of this type that plain values stand for."""
    origin, inner = get_origin(of), get_args(of)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in inner:
            return None
        choices = [each for each in inner if each is not type(None)]
        of = next((each for each in choices if _fits(each, value)), choices[0])
        return _restored(of, value, where)
    if of is Any or origin is Literal:
        return value
    if origin is np.ndarray:
        (scalar,) = get_args(inner[1])
        return np.array(value) if scalar is Any else np.array(value, dtype=scalar)
    if value is None and of is float:
        return float("nan")
    if not _fits(of, value):
        raise ValueError(f"{where} must be {getattr(of, '__name__', of)}, got {str(value)[:40]!r}")
    if isinstance(of, type) and issubclass(of, Result):
        return of.from_dict(value)
    if origin is tuple and inner[-1] is not Ellipsis:
        return tuple(_restored(each, item, where) for each, item in zip(inner, value, strict=True))
    if origin in (tuple, list):
        return origin(_restored(inner[0], item, where) for item in value)
    if origin is dict:
        return {key: _restored(inner[1], item, where) for key, item in value.items()}
    return of(value)


def _fits(of: Any, value: Any) -> bool:
    """Whether plain values can stand for something of this type."""
    origin = get_origin(of)
    if origin in (np.ndarray, tuple, list):
        return isinstance(value, list)
    if origin is dict or (isinstance(of, type) and issubclass(of, Result)):
        return isinstance(value, Mapping)
    if of is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if of is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(of, type) or isinstance(value, of)
