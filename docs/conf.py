"""Settings of the documentation: `make docs` builds it into docs/_build/html, without a network."""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "nearer"
author = "The nearer developers"
project_copyright = author
version = release = version_of("nearer")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "formulas",
    "examples",
    "commands",
    "docstrings",
]
include_patterns = ["**.md", "gallery/*.py"]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

# Docstrings write names of the package in single backquotes; those that lead nowhere are shown as code.
default_role = "py:obj"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc sections give types and shapes; signatures with both cannot be read

html_theme = "furo"
html_title = f"nearer {version}"
html_static_path = ["_static"]
html_css_files = ["nearer.css"]
html_copy_source = False
html_show_sphinx = False
