"""The interactive map of the report within a notebook: a frame that holds all it needs and loads nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

from nearer._common.files import write_text
from nearer._common.formatting import pluralize, quote
from nearer._common.parameters import check_level
from nearer.embedding.base import OrdinalEmbedding
from nearer.report.escaping import text
from nearer.report.page import assemble_inline, read_thumbnails
from nearer.study.results import RegionRecord, StudyResults

_HEIGHT_PIXELS = 760


@dataclass(frozen=True, repr=False)
class InlineMap:
    """A page with a map, which notebooks show in a frame.

    Attributes
    ----------
    page : str
        The page, HTML that needs nothing else.
    title : str
    """

    page: str
    title: str

    def _repr_html_(self) -> str:
        # In its own origin, without access to the notebook around it.
        return (
            f'<iframe title="{text(self.title)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{_HEIGHT_PIXELS}px;border:0" srcdoc="{_quoted(self.page)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"InlineMap({quote(self.title)}); a notebook shows it, and save('map.html') writes it"

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file, and return its path."""
        write_text(Path(path), self.page)
        return Path(path)


def show_map(
    model: OrdinalEmbedding,
    attributes: Mapping[str, Sequence[Any]] | None = None,
    *,
    thumbnails: str | PathLike[str] | None = None,
    level: float = 0.95,
) -> InlineMap:
    """Return the interactive map of a fitted estimator, for a notebook.

    Parameters
    ----------
    model : fitted estimator
    attributes : mapping of names to columns, or data frame, optional
        What is known of the objects, in the order of ``model.objects_``, to color them by.
    thumbnails : path, optional
        Folder of pictures named after the objects.
    level : float
        Of the ellipses, which a posterior has.

    Examples
    --------
    >>> from nearer.embedding import STE
    >>> model = STE(random_state=0).fit([("a", "b", "c"), ("c", "b", "a")])
    >>> model.show()
    InlineMap('Map of 3 objects'); a notebook shows it, and save('map.html') writes it
    """
    check_is_fitted(model)
    check_level(level)
    covariances = getattr(model._chosen, "covariances_", None)
    scales = tuple(float(np.sqrt(chi2.ppf(level, n_axes))) for n_axes in (1, 2, 3))
    objects = tuple(str(label) for label in model.objects_.tolist())
    results = StudyResults.from_dict(
        StudyResults(
            title=f"Map of {pluralize(len(objects), 'object')}",
            objects=objects,
            embedding=model.embedding_,
            attributes={str(name): np.asarray(column).tolist() for name, column in dict(attributes or {}).items()},
            covariances=covariances,
            regions=None if covariances is None else RegionRecord("credible"),
            level=level,
            scales=None if covariances is None else scales,
            scree=tuple(np.sort(model.embedding_.var(axis=0))[::-1].tolist()),
        ).to_dict()
    )
    pictures = {} if thumbnails is None else read_thumbnails(thumbnails, objects)
    return InlineMap(assemble_inline(results, pictures), str(results.title))


def _quoted(page: str) -> Markup:
    """Return a page as the value of an attribute: the browser undoes it."""
    return Markup(page.replace("&", "&amp;").replace('"', "&quot;"))
