"""Formulas as MathML: every browser draws it, and the pages need neither LaTeX nor a network.

The converter is the one of docutils, which Sphinx brings along.
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)
# The converter knows these sizes only with a side.
_SIDES = {rf"\{size}{bracket}": rf"\{size}{side}{bracket}" for size in ("Big", "big") for side, bracket in ("l(", "r)")}


def mathml(formula: str, *, block: bool = False) -> str:
    """Return a formula in LaTeX as MathML."""
    for old, new in _SIDES.items():
        formula = formula.replace(old, new)
    # Bars that do not know their partner stretch each for itself.
    formula = re.sub(r"(?<!\\left)\\lVert", r"\\left\\lVert", formula)
    formula = re.sub(r"(?<!\\right)\\rVert", r"\\right\\rVert", formula)
    return tex2mathml(formula, as_block=block)


def _render(translator: Any, node: nodes.Element, *, block: bool) -> None:
    try:
        translator.body.append(mathml(node.astext(), block=block))
    except MathError as error:
        _LOGGER.warning("formula %r: %s", node.astext(), error, location=node)
        translator.body.append(f"<code>{escape(node.astext())}</code>")
    raise nodes.SkipNode


def _inline(translator: Any, node: nodes.math) -> None:
    _render(translator, node, block=False)


def _block(translator: Any, node: nodes.math_block) -> None:
    _render(translator, node, block=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make MathML the way to show formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
