"""Pages of the gallery: a script of docs/gallery is run, and shown with what it drew and printed.

The docstring of the script, in Markdown, is the text of its page. A script writes its picture into the folder it runs
in, under its own name: first_map.py writes first_map.png. It runs when Sphinx reads the page.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

_FOLDER = "_build/gallery"


def page_of(text: str, name: str, printed: str) -> str:
    """Return the Markdown page of a script."""
    docstring = ast.get_docstring(ast.parse(text)) or ""
    title, _, story = docstring.partition("\n")
    picture = f"![{title}](/{_FOLDER}/{name}.png)"
    code = text.split('"""', 2)[2].strip()
    output = f"It prints\n\n```text\n{printed.rstrip()}\n```\n" if printed.strip() else ""
    return f"# {title.rstrip('.')}\n\n{story.strip()}\n\n{picture}\n\n```python\n{code}\n```\n\n{output}"


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
        printed = run_script(script, Path(document.settings.env.srcdir) / _FOLDER)
        super().parse(page_of(inputstring, script.stem, printed), document)


def setup(app: Sphinx) -> dict[str, Any]:
    """Take Python files for pages."""
    app.add_source_suffix(".py", "example")
    app.add_source_parser(ExampleParser)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
