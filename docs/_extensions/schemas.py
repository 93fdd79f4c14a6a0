"""JSON Schemas of the files that the package writes and reads, made from the records in the code.

Keys beyond those of a schema may be there, and may change; study.toml alone has no others.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from nearer import comparing
from nearer._common.results import MAX_NUMBER, Bounds, Result, stored_fields, types_of
from nearer.comparing.results import Comparison
from nearer.study.results import KEYS, StudyResults

Schema = dict[str, Any]
_DRAFT = "http://json-schema.org/draft-07/schema#"
_NAMED = {str: "string", bool: "boolean", int: "integer", float: "number", types.NoneType: "null"}


class Records:
    """The schemas of the records that a schema refers to, by the names of their classes."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of what `Result.to_dict` makes of a value of a type."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self.of(inner[0]) | _limits(inner[0], inner[1])
        if kind is float:  # nan is null in JSON
            return {"type": ["number", "null"]}
        if kind in _NAMED:
            return {"type": _NAMED[kind]}
        if kind is Any:
            return {}
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(each) for each in inner]}
        if origin is np.ndarray:
            return {"type": "array"}
        if origin is tuple and inner[-1] is not Ellipsis:
            return {"type": "array", "items": [self.of(each) for each in inner], "minItems": len(inner)}
        if origin in (tuple, list):
            return {"type": "array", "items": self.of(inner[0])}
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self.of(inner[1])}
        if isinstance(kind, type) and issubclass(kind, Result):
            return self.refer(kind)
        raise TypeError(f"there is no schema of {kind!r}; say in docs/_extensions/schemas.py what it is in JSON")

    def refer(self, record: type[Result]) -> Schema:
        """Return a reference to the schema of a record."""
        name = record.__name__
        if name not in self.definitions:
            self.definitions[name] = {}  # a record may hold itself
            stored, kinds = stored_fields(record), types_of(record)
            optional = getattr(record, "optional", ())
            self.definitions[name] = {
                "type": "object",
                "properties": {key: self.of(kinds[each.name]) for key, each in stored.items()},
                "required": [key for key, each in stored.items() if each.name not in optional],
            }
        return {"$ref": f"#/definitions/{name}"}


def _limits(kind: Any, bounds: Bounds) -> Schema:
    """Return the limits of a number, or of the length of a list; such a number is never null."""
    if kind not in (int, float):
        return {"minItems": int(bounds.low)}
    limits = {"type": _NAMED[kind], "minimum": bounds.low, "maximum": bounds.high}
    return {key: value for key, value in limits.items() if key == "type" or abs(value) < MAX_NUMBER}


def _whole(title: str, schema: Schema, definitions: Mapping[str, Schema] | None = None) -> Schema:
    found = {"$schema": _DRAFT, "title": title, **schema}
    return found | {"definitions": dict(sorted(definitions.items()))} if definitions else found


def results() -> Schema:
    """Return the schema of results.json, which `nearer fit` writes."""
    records = Records()
    records.refer(StudyResults)
    own = records.definitions.pop("StudyResults")
    own["properties"]["format"] = {"const": StudyResults.format}
    return _whole("results.json, which nearer fit writes", own | {"required": list(KEYS)}, records.definitions)


def comparison() -> Schema:
    """Return the schema of comparison.json, which `nearer compare` writes."""
    records = Records()
    kinds = sorted(
        (each for each in vars(comparing).values() if isinstance(each, type) and issubclass(each, Comparison)),
        key=lambda each: each.__name__,
    )
    for each in kinds:
        records.refer(each)
        own = records.definitions[each.__name__]
        own["properties"]["kind"] = {"const": each.kind}
        own["required"].append("kind")
    ways = [{"$ref": f"#/definitions/{each.__name__}"} for each in kinds]
    return _whole("comparison.json, which nearer compare writes", {"anyOf": ways}, records.definitions)


def study() -> Schema:
    """Return the schema of study.toml, the settings of `nearer survey`."""
    from nearer.survey import settings

    kinds = get_type_hints(settings.Settings)

    def of(setting: str) -> Schema:
        schema = Records().of(kinds[setting])
        if setting == "features":  # one file may stand without a list
            return {"anyOf": [{"type": "string"}, schema]}
        if setting == "language":
            return {"enum": sorted(settings.translations())}
        if setting in settings.RANGES:
            low, high = settings.RANGES[setting]
            schema |= {"type": "integer" if kinds[setting] is int else "number", "minimum": low, "maximum": high}
        if setting in settings.PATTERNS:
            schema |= {"pattern": f"^(?:{settings.PATTERNS[setting][0].pattern})$"}
        if setting in settings.MAX_CHARACTERS:
            schema |= {"maxLength": settings.MAX_CHARACTERS[setting]}
        return schema

    def table(name: str) -> Schema:
        properties = {settings.KEYS[each]: of(each) for each in settings.TABLES[name]}
        return {"type": "object", "properties": properties, "additionalProperties": False}

    whole = table("")
    whole["properties"] |= {name: table(name) for name in settings.TABLES if name}
    return _whole("study.toml, the settings of nearer survey", whole)


def model() -> Schema:
    """Return the schema of model.json, which `save_model` writes: values with a word for what is no plain JSON."""
    from nearer import embedding
    from nearer.embedding.storage import BY_STATE, FORMAT, READABLE_CLASSES

    value = {"$ref": "#/definitions/value"}
    values = {"type": "object", "additionalProperties": value}

    def kind(**properties: Schema) -> Schema:
        return {
            "type": "object", "properties": properties, "required": list(properties), "additionalProperties": False,
        }  # fmt: skip

    estimators = {"enum": sorted(embedding.__all__)}
    definitions = {
        "value": {
            "anyOf": [
                {"type": ["null", "boolean", "string", "number"]},
                kind(number={"enum": ["nan", "inf", "-inf"]}),
                kind(array={"type": "integer", "minimum": 0}),
                *(kind(**{word: {"type": "array", "items": value}}) for word in ("list", "tuple", "labels")),
                *(kind(**{word: values}) for word in ("dict", "comparisons")),
                kind(**{"class": {"enum": sorted(READABLE_CLASSES)}, "fields": values}),
                kind(estimator=estimators, settings=value, fitted=value),
            ]
        }
    }
    top = {"format": {"const": FORMAT}, "nearer": {"type": "string"}}
    ways = [
        kind(**top, estimator=estimators, settings=value, fitted=value),
        kind(**top, by_state={"enum": sorted(BY_STATE)}, state=value),
    ]
    return _whole("model.json, which save_model writes with the arrays in model.npz", {"anyOf": ways}, definitions)


#: What makes the schema of each kind of file.
SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "results": results, "comparison": comparison, "study": study, "model": model,
}  # fmt: skip


def leaves(schema: Schema, place: str = "") -> Iterator[str]:
    """Yield a line for each value that a schema describes: where it stands, and in brackets what it is."""
    for key, each in schema.get("properties", {}).items():
        if "properties" in each:
            yield from leaves(each, f"{place}{key}.")
        else:
            yield f"{place}{key}({json.dumps(each)})"
    for name, each in schema.get("definitions", {}).items():
        yield from leaves(each, f"{name}.")
