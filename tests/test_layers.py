"""The architecture: a folder imports only from those above it in the list, and folders form no cycle."""

import ast
from pathlib import Path

import pytest

import nearer

ROOT = Path(nearer.__file__).parent
LAYERS = (
    ("common",),
    ("geometry",),
    ("data",),
    ("formats",),
    ("losses",),
    ("kernels",),
    ("problems",),
    ("solvers",),
    ("posterior",),
    ("embedding",),
    ("storage",),
    ("evaluation",),
    ("datasets",),
    ("plotting",),
    ("checking",),
    ("planning",),
    ("study",),
    ("report",),
    ("cli",),
    ("lab",),
)
# Names of the public surface whose home is elsewhere; nothing in the package imports them.
FACADES = {
    "annotators",
    "ceiling",
    "graphs",
    "metrics",
    "model_selection",
    "reproducibility",
    "runs",
    "streaming",
    "uncertainty",
}
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
FILES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem in HEIGHT)


def imported(source):
    """Return the parts of the package that a module imports, with the line of each, also inside functions."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "nearer":
            first = node.module.split(".")[1:2]
            found += [(part, node.lineno) for part in (first or [name.name for name in node.names])]
        elif isinstance(node, ast.Import):
            found += [(name.name.split(".")[1], node.lineno) for name in node.names if name.name.startswith("nearer.")]
    return found


def upward(source, part):
    """Return the imports that a module of a part of the package must not have."""
    return [(name, line) for name, line in imported(source) if name in FACADES or HEIGHT.get(name, -1) > HEIGHT[part]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downward(path):
    assert upward(path.read_text(encoding="utf-8"), path.relative_to(ROOT).parts[0].removesuffix(".py")) == []


def test_an_upward_import_is_seen():
    assert upward("from nearer.embedding import DMOE", "solvers") == [("embedding", 1)]
    assert upward("def late():\n    from nearer import metrics", "embedding") == [("metrics", 2)]
    assert upward("import nearer.cli.main", "data") == [("cli", 1)]
    assert upward("from nearer.common.words import counted", "data") == []


def test_every_part_has_its_place():
    parts = {path.stem if path.is_file() else path.name for path in ROOT.iterdir()}
    assert parts - {"__init__", "__pycache__", "py"} == HEIGHT.keys() | FACADES
    assert not any(name.startswith("_") for name in HEIGHT)
