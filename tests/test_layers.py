"""The architecture: a folder imports only from those above it in the list, and folders form no cycle."""

import ast
from graphlib import CycleError, TopologicalSorter
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
    ("clustering",),
    ("storage",),
    ("evaluation",),
    ("active",),
    ("datasets",),
    ("plotting",),
    ("checking",),
    ("planning",),
    ("study",),
    ("survey",),
    ("comparing",),
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


def modules(source):
    """Return the modules of the package that a module imports, as parts of their dotted names without the first."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            found += [name.name for name in node.names]
    return [tuple(name.split(".")[1:]) for name in found if name.startswith("nearer.")]


def neighbours(sources, folder):
    """Return, for each folder within a folder, the others in it that its files import; files are (parts, source)."""
    depth, graph = len(folder), {}
    for parts, source in sources:
        if parts[:depth] != folder or len(parts) < depth + 2:
            continue
        inside = {module[depth] for module in modules(source) if module[:depth] == folder and len(module) > depth}
        graph.setdefault(parts[depth], set()).update(inside - {parts[depth]})
    return {name: others & graph.keys() for name, others in graph.items()}


SOURCES = [(path.relative_to(ROOT).parts, path.read_text(encoding="utf-8")) for path in FILES]
FOLDERS = sorted({parts[:depth] for parts, _ in SOURCES for depth in range(len(parts) - 1)})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: "/".join(("nearer", *folder)))
def test_folders_form_no_cycle(folder):
    list(TopologicalSorter(neighbours(SOURCES, folder)).static_order())


def test_a_cycle_is_seen():
    there, back = "from nearer.lab.paper import runner", "def late():\n    import nearer.lab.accuracy.run"
    sources = [(("lab", "accuracy", "run.py"), there), (("lab", "paper", "runner.py"), "")]
    assert neighbours(sources, ("lab",)) == {"accuracy": {"paper"}, "paper": set()}
    sources[1] = (("lab", "paper", "runner.py"), back)
    with pytest.raises(CycleError):
        list(TopologicalSorter(neighbours(sources, ("lab",))).static_order())


def test_an_upward_import_is_seen():
    assert upward("from nearer.embedding import DMOE", "solvers") == [("embedding", 1)]
    assert upward("def late():\n    from nearer import metrics", "embedding") == [("metrics", 2)]
    assert upward("import nearer.cli.main", "data") == [("cli", 1)]
    assert upward("from nearer.common.words import counted", "data") == []


def test_every_part_has_its_place():
    parts = {path.stem if path.is_file() else path.name for path in ROOT.iterdir()}
    assert parts - {"__init__", "__pycache__", "py"} == HEIGHT.keys() | FACADES
    assert not any(name.startswith("_") for name in HEIGHT)


def test_lab_is_named_in_the_table_of_commands_alone():
    naming = [path for path in ROOT.rglob("*.py") if '"nearer.lab' in path.read_text(encoding="utf-8")]
    assert {str(path.relative_to(ROOT)) for path in naming if path.relative_to(ROOT).parts[0] != "lab"} == {
        "cli/main.py"
    }
