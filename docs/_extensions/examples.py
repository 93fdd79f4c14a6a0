"""Pages of the gallery: a script of docs/gallery is run, and shown with what it drew and printed.

The docstring of the script, in Markdown, is the text of its page. A script writes its picture into the folder it runs
in, under its own name: first_map.py writes first_map.png. It runs when Sphinx reads the page. Each is offered as a
notebook, too.

The directive `tiles` shows the pictures of scripts beside one another, each a link to its page. Its lines are the name
of a script and a few words on it:

    first_map: colors, placed by answers alone
"""

from __future__ import annotations

import ast
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

_FOLDER = "_build/gallery"
_TILES = "gallery/index"
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def told_by(text: str) -> tuple[str, str]:
    """Return the title and the story of a script."""
    title, _, story = (ast.get_docstring(ast.parse(text)) or "").partition("\n")
    return title.rstrip("."), story


def notebook_of(text: str, name: str) -> dict[str, Any]:
    """Return a script as a notebook: its story, a cell for each block of its code, and its picture."""
    title, story = told_by(text)
    code = text.split('"""', 2)[2].strip()
    lines, starts = code.splitlines(), [node.lineno - 1 for node in ast.parse(code).body]
    # A block begins where a statement follows an empty line.
    bounds = [0, *(start for start in starts if start and not lines[start - 1].strip()), len(lines)]
    blocks = ["\n".join(lines[first:last]).strip() for first, last in itertools.pairwise(bounds)]
    install = "# %pip install 'nearer[plot]'"
    picture = f'from IPython.display import Image\n\nImage("{name}.png")'
    cells = [
        _cell("markdown", f"# {title}\n\n{story.strip()}"),
        *(_cell("code", each) for each in [install, *blocks, picture]),
    ]
    return {"cells": cells, "metadata": {"kernelspec": _KERNEL}, "nbformat": 4, "nbformat_minor": 4}


def _cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def page_of(text: str, name: str, printed: str) -> str:
    """Return the Markdown page of a script."""
    title, story = told_by(text)
    picture = f"![{title}](/{_FOLDER}/{name}.png)"
    code = text.split('"""', 2)[2].strip()
    output = f"It prints\n\n```text\n{printed.rstrip()}\n```\n" if printed.strip() else ""
    download = f"{{download}}`As a notebook </{_FOLDER}/{name}.ipynb>`"
    return f"# {title}\n\n{story.strip()}\n\n{picture}\n\n{download}\n\n```python\n{code}\n```\n\n{output}"


def run_script(script: Path, folder: Path) -> str:
    """Run a script in a folder and return what it printed."""
    folder.mkdir(parents=True, exist_ok=True)
    picture = folder / f"{script.stem}.png"
    picture.unlink(missing_ok=True)
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(script)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ExtensionError(f"{script.name} failed:\n{done.stderr}")
    if not picture.exists():
        raise ExtensionError(f"{script.name} wrote no {picture.name}")
    return done.stdout


class ExampleParser(MystParser):
    """Reads a script of the gallery as a page."""

    supported = ("example",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Run the script, and read the page made of it."""
        script = Path(document["source"])
        folder = Path(document.settings.env.srcdir) / _FOLDER
        printed = run_script(script, folder)
        notebook = json.dumps(notebook_of(inputstring, script.stem), ensure_ascii=False, indent=1)
        (folder / f"{script.stem}.ipynb").write_text(f"{notebook}\n", encoding="utf-8")
        super().parse(page_of(inputstring, script.stem, printed), document)


class Tiles(SphinxDirective):
    """The pictures of scripts in this folder, each with its title and a few words, as links to their pages."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make a tile of each line."""
        tiles = nodes.container(classes=["tiles"])
        for line in self.content:
            name, _, words = line.partition(": ")
            script = Path(self.env.doc2path(self.env.docname)).parent / f"{name}.py"
            self.env.note_dependency(str(script))
            title, _ = told_by(script.read_text(encoding="utf-8"))
            tile = nodes.container(classes=["tile"])
            text = [f"[![](/{_FOLDER}/{name}.png) {title}]({name}.py)", "", words]
            self.state.nested_parse(StringList(text, str(script)), self.content_offset, tile)
            tiles += tile
        return [tiles]


def _tiles_last(app: Sphinx, environment: BuildEnvironment, names: list[str]) -> None:
    """Read the page of tiles after those that draw the pictures."""
    if _TILES in names:
        names.remove(_TILES)
        names.append(_TILES)


def setup(app: Sphinx) -> dict[str, Any]:
    """Take Python files for pages."""
    app.add_source_suffix(".py", "example")
    app.add_source_parser(ExampleParser)
    app.add_directive("tiles", Tiles)
    app.connect("env-before-read-docs", _tiles_last)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
