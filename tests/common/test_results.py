"""Results: fields become plain values and come back by their types, and a folder gets all files."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from nearer._common.results import MAX_NUMBER, NOT_STORED, Result, text_table


@dataclass(frozen=True)
class Part(Result):
    low: float
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True, eq=False)
class Whole(Result):
    name: str
    count: int
    known: bool
    errors: NDArray[np.float64]
    sizes: NDArray[np.int64]
    seen: NDArray[np.bool_]
    labels: NDArray[Any]
    part: Part
    parts: tuple[Part, ...]
    by_name: dict[str, Part]
    pair: tuple[str, float]
    none: NDArray[np.float64] | None
    maybe: float | NDArray[np.float64]
    model: Any = field(default=None, metadata=NOT_STORED)

    json_name = "whole.json"

    def _derived(self):
        return {"total": self.errors.sum(), "parts_named": {"first": self.parts[0]}}

    def summary(self):
        return f"{self.name}: {self.count}"

    def tables(self):
        return {"errors.csv": [["label", "error"], *zip(self.labels.tolist(), self.errors.tolist(), strict=True)]}

    def figures(self):
        return {"errors": self.plot}

    def plot(self, ax=None):
        from nearer._common.figures import new_figure

        ax = new_figure(2, 2).add_subplot() if ax is None else ax
        ax.plot(self.errors)
        return ax


def whole(**changes):
    values = {
        "name": "one", "count": np.int64(3), "known": np.True_, "errors": np.array([[0.1, np.nan], [1 / 3, 2.0]]),
        "sizes": np.array([4, 5]), "seen": np.array([True, False]), "labels": np.array(["=a", "b"]),
        "part": Part(0.5), "parts": (Part(0.25, "b"), Part(float("nan"))), "by_name": {"x": Part(1.0)},
        "pair": ("left", 0.5), "none": None, "maybe": np.array([1.0, 2.0]), "model": object(),
    }  # fmt: skip
    return Whole(**values | changes)


def test_plain_values_are_json_and_come_back_by_their_types():
    values = json.loads(json.dumps(whole().to_dict(), allow_nan=False))
    found = Whole.from_dict(values)
    np.testing.assert_array_equal(found.errors, whole().errors)
    assert [found.sizes.dtype, found.seen.dtype, found.labels.dtype.kind] == [np.int64, np.bool_, "U"]
    assert found.part == Part(0.5)
    assert found.parts[0] == Part(0.25, "b")
    assert np.isnan(found.parts[1].low)
    assert found.by_name == {"x": Part(1.0)}
    assert (found.pair, found.none, found.model) == (("left", 0.5), None, None)
    assert isinstance(found.maybe, np.ndarray)
    assert found.to_dict() == {**values, "total": None}
    assert Whole.from_dict(whole(maybe=0.5, none=np.array([1.0])).to_dict()).maybe == 0.5


def test_what_follows_is_stored_and_what_is_not_stored_is_not():
    values = whole(errors=np.array([1.0, 2.0])).to_dict()
    assert values["total"] == 3.0
    assert values["parts_named"] == {"first": {"low": 0.25, "kind": "b"}}
    assert "model" not in values


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"count": "3"}, "^count must be a whole number; got '3'"),
        ({"known": None}, "^known must be true or false; got None"),
        ({"part": [1]}, "^part must be an object; got "),
        ({"parts": {"low": 1}}, "^parts must be a list"),
        ({"part": {"kind": "b"}}, "^part lacks low"),
    ],
)
def test_values_that_stand_for_no_result_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Whole.from_dict(whole().to_dict() | change)


def test_a_folder_gets_values_tables_and_figures(tmp_path):
    pytest.importorskip("matplotlib")
    found = whole(errors=np.array([1.0, np.nan]))
    assert found.write(tmp_path / "new") == ["whole.json", "errors.csv", "errors.png", "errors.pdf"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(found.write(tmp_path / "new"))
    assert (tmp_path / "new" / "errors.csv").read_bytes() == b"label,error\r\n'=a,1.0\r\nb,\r\n"
    assert json.loads((tmp_path / "new" / "whole.json").read_text()) == found.to_dict()
    assert str(found) == "one: 3"


def test_cells_of_text_stand_in_columns():
    assert text_table([("a", "long"), ("longer", "b")]) == ["a       long", "longer  b"]


def test_a_number_that_would_not_be_read_is_written_as_unknown():
    large = Part(10 * MAX_NUMBER)
    assert large.to_dict()["low"] is None
    assert np.isnan(Part.from_dict(large.to_dict()).low)
