"""The architecture: a folder imports only from those above it in the list, and folders form no cycle."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import nearer

ROOT = Path(nearer.__file__).parent
LAYERS = (
    "_common",
    "geometry",
    "data",
    "io",
    "features",
    "model",
    "optimize",
    "sampling",
    "embedding",
    "evaluation",
    "datasets",
    "plotting",
    "design",
    "checking",
    "study",
    "survey",
    "comparing",
    "report",
    "cli",
)
HEIGHT = {name: height for height, name in enumerate(LAYERS)}
SOURCES = {
    path.relative_to(ROOT).with_suffix("").parts: path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")
}


def modules(source):
    """Return the modules of the package that a module imports, also inside functions, as parts of their names."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{name.name}" for name in node.names]
        elif isinstance(node, ast.Import):
            found += [name.name for name in node.names]
    return [tuple(name.split(".")[1:]) for name in found if name.startswith("nearer.")]


def upward(source, part):
    """Return the parts of the package that a module of a part imports and must not."""
    return sorted({name for name, *_ in modules(source) if HEIGHT.get(name, -1) > HEIGHT[part]})


def neighbours(sources, folder):
    """Return, for each folder within a folder, the others in it that its files import."""
    depth, graph = len(folder), {}
    for parts, source in sources.items():
        if parts[:depth] == folder and len(parts) >= depth + 2:
            inside = {module[depth] for module in modules(source) if module[:depth] == folder and len(module) > depth}
            graph.setdefault(parts[depth], set()).update(inside - {parts[depth]})
    return {name: others & graph.keys() for name, others in graph.items()}


def test_every_part_has_its_place():
    assert {parts[0] for parts in SOURCES if parts != ("__init__",)} <= set(LAYERS)


def test_imports_point_downward():
    wrong = {parts: upward(source, parts[0]) for parts, source in SOURCES.items() if parts[0] in HEIGHT}
    assert {parts: found for parts, found in wrong.items() if found} == {}


def test_folders_form_no_cycle():
    for folder in {parts[:depth] for parts in SOURCES for depth in range(len(parts) - 1)}:
        list(TopologicalSorter(neighbours(SOURCES, folder)).static_order())


def test_benchmarks_are_not_part_of_the_package():
    sources = {parts: source.replace("python -m benchmarks", "") for parts, source in SOURCES.items()}
    assert [parts for parts, source in sources.items() if "benchmarks." in source] == []


def test_a_cycle_is_seen():
    there, back = "from nearer.study.paper import runner", "def late():\n    import nearer.study.accuracy.run"
    sources = {("study", "accuracy", "run"): there, ("study", "paper", "runner"): ""}
    assert neighbours(sources, ("study",)) == {"accuracy": {"paper"}, "paper": set()}
    sources["study", "paper", "runner"] = back
    with pytest.raises(CycleError):
        list(TopologicalSorter(neighbours(sources, ("study",))).static_order())


def test_an_upward_import_is_seen():
    assert upward("from nearer.embedding import DMOE", "data") == ["embedding"]
    assert upward("def late():\n    from nearer import study", "embedding") == ["study"]
    assert upward("import nearer.cli.main", "data") == ["cli"]
    assert upward("from nearer.data.rows import Rows", "embedding") == []
