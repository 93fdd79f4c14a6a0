"""Putting sets of comparisons together: their objects, and the labels of their rows."""

from __future__ import annotations

import numpy as np

from nearer.data.rows import Labels, are_indices, same_labels, union


def common_objects(parts: list[Labels]) -> Labels:
    """Return the labels of all parts; of plain indices, as many as the largest has."""
    if all(same_labels(parts[0], part) for part in parts[1:]):
        return parts[0]
    if all(are_indices(part) for part in parts):
        return max(parts, key=len)
    return union(parts)


def join_labels(parts: list[Labels | None], name: str) -> Labels | None:
    """Return the labels of rows one after the other, in all parts or in none."""
    present = [part for part in parts if part is not None]
    if not present:
        return None
    if len(present) < len(parts):
        raise ValueError(f"{len(present)} of {len(parts)} parts have {name}; give {name} to all parts or to none")
    if len({part.dtype.kind for part in present}) > 1:
        present = [part.astype(object) for part in present]  # or NumPy would turn the label 1 into "1"
    return np.concatenate(present)
