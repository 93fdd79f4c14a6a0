"""Files held against the recorded JSON Schemas."""

import json
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "stable" / "schemas"


@cache
def validator(name):
    """Return a function that raises for values that are not as a schema says."""
    fastjsonschema = pytest.importorskip("fastjsonschema", reason="checks files: pip install fastjsonschema")
    return fastjsonschema.compile(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def fits(name, values):
    """Whether values are as a schema says."""
    check = validator(name)
    from fastjsonschema import JsonSchemaValueException

    try:
        check(values)
    except JsonSchemaValueException:
        return False
    return True


def check_file(path, name=None):
    """Validate a JSON file by a schema, that of its name if left out."""
    validator(name or path.stem)(json.loads(path.read_text(encoding="utf-8")))
