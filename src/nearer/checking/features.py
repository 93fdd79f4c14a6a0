"""Whether features belong to the objects that the answers are about, and say something of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from nearer._common.findings import Finding, Severity
from nearer.checking.context import Context, subsample
from nearer.embedding import PosteriorEmbedding
from nearer.embedding.base import OrdinalEmbedding
from nearer.embedding.posterior_embedding import MIN_FEATURE_SHARE

_MOSTLY_MISSING = 0.5  # of the objects
_MIN_COMPARISONS = 20  # of a fit that tells how much features say


def check_labels(context: Context) -> Iterator[Finding]:
    """Match the rows of features with the objects."""
    objects = context.comparisons.objects
    for each in context.features:
        known = ~np.isnan(each.of(objects)).any(axis=1)
        rows = each.labels_for(objects, new=True)
        others = rows[~np.isin(rows, objects)]
        numbers: dict[str, Any] = {"features": each.name, "n_objects": len(objects), "n_rows": len(rows)}
        if not known.any():
            names = {"objects": objects[:3].tolist(), "rows": rows[:3].tolist()}
            yield Finding("features-unmatched", "error", numbers=numbers | names)
            continue
        if not known.all():
            missing = context.object_names(~known)
            severity: Severity = "warning" if len(missing) > _MOSTLY_MISSING * len(objects) else "note"
            yield Finding("features-missing", severity, numbers=numbers, concerned=missing)
        if len(others):
            yield Finding("features-unasked", "note", numbers=numbers, concerned=tuple(others.tolist()))


def check_shares(context: Context) -> Iterator[Finding]:
    """Fit a posterior to see how much each feature set says about the answers."""
    part = subsample(context)
    matched = [each for each in context.features if not np.isnan(each.of(part.objects)).any(axis=1).all()]
    if not matched or len(part) < _MIN_COMPARISONS:
        return
    model = PosteriorEmbedding(context.n_components, features=matched, solver="fast", random_state=context.seed)
    yield from share_findings(model.fit(part))


def share_findings(model: OrdinalEmbedding) -> Iterator[Finding]:
    """Return what each feature set explains of the places on a map."""
    for name, share in (getattr(model, "feature_share_", None) or {}).items():
        if np.isnan(share.low):  # chosen by cross-validation, without an interval
            continue
        numbers = {"features": name, **share._asdict()}
        if share.high < MIN_FEATURE_SHARE:
            yield Finding("features-useless", "warning", numbers=numbers)
        elif share.low < MIN_FEATURE_SHARE:
            yield Finding("features-unclear", "note", numbers=numbers)
        else:
            yield Finding("features-used", "good", numbers=numbers)
