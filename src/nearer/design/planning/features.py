"""Features of the objects of simulated studies, and maps of which they explain a share.

Without a pilot nobody knows what features are worth. On four real sets, vectors of pictures, a physical parameter and
names of dishes, they explained 0.55 to 0.84 of the variance of the coordinates (docs/features.md), so each simulated
study draws a share of about that. The other part is each object's own. What features explain of the k-th axis is their
k-th principal direction: people judge by what the features vary in most. Had axes arbitrary weights for all directions,
as draws from the prior of the model have, features would help far less in simulations than on the real sets.

After a pilot, share and weights are those of its posterior. Other objects with features are then where these weights
put them, except for parts of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from nearer._common.arrays import FloatArray
from nearer._common.formatting import percent, pluralize
from nearer._common.parameters import check_number
from nearer.data.features import Features, as_feature_sets, described_objects
from nearer.data.labels import Labels, read_objects
from nearer.sampling.features import FeatureKernel, FeatureShare

ASSUMED_SHARES = 0.5, 0.85  # of the variance: about those learned on real sets


def plain_shares(shares: dict[str, FeatureShare] | None) -> dict[str, dict[str, float]] | None:
    """Return shares in plain types, for JSON."""
    return None if shares is None else {name: share._asdict() for name, share in shares.items()}


@dataclass(frozen=True, eq=False)
class StudyFeatures:
    """Features of the objects that studies are about, and how much they explain.

    Attributes
    ----------
    sets : tuple of Features
        With labels.
    shares : dict of str to FeatureShare
        Of each set in the variance of the coordinates, with an interval: as learned from a pilot, or as assumed.
    is_learned : bool
        Whether they were learned.
    """

    sets: tuple[Features, ...]
    shares: dict[str, FeatureShare]
    is_learned: bool = False

    @classmethod
    def assumed(cls, given: Any, share: float | None = None) -> Self:
        """Return features with an assumed share of all sets together, of which each has the same part."""
        sets = as_feature_sets(given)
        described = described_objects(sets)
        objects = read_objects(described) if described else np.arange(len(sets[0].values))
        sets = tuple(each.labeled(objects) for each in sets)
        if share is not None:
            check_number("feature_share", share, least=0)
            if not share < 1:
                raise ValueError(f"feature_share={share} must be below 1: places are never known for sure")
        low, high = (each / len(sets) for each in (ASSUMED_SHARES if share is None else (share, share)))
        return cls(sets, {each.name: FeatureShare((low + high) / 2, low, high) for each in sets})

    @property
    def objects(self) -> Labels:
        """The objects that are described."""
        return read_objects(described_objects(self.sets))

    def of(self, objects: Labels) -> tuple[Features, ...]:
        """Return the rows of some objects, named by their numbers in the list."""
        position, numbered = {label: at for at, label in enumerate(objects.tolist())}, []
        for each in self.sets:
            kept = each.among(objects)
            assert kept.objects is not None
            rows = [position[label] for label in kept.objects.tolist()]
            numbered.append(Features(kept.values, rows, each.name, each.standardize))
        return tuple(numbered)

    def choose(self, n_objects: int, rng: np.random.Generator) -> Labels:
        """Return so many of the objects, at random and in their order."""
        objects = self.objects
        return objects[np.sort(rng.permutation(len(objects))[:n_objects])]

    def draw_coordinates(
        self, sets: Sequence[Features], n_objects: int, n_components: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return coordinates of variance 1 of objects that ``sets`` describe, (n, p), by the assumed shares."""
        position, numbers = rng.random(), np.arange(n_objects)
        own, known = np.ones((n_objects, n_components)), np.zeros((n_objects, n_components))
        for each in sets:
            _, low, high = self.shares[each.name]
            share, kernel = low + position * (high - low), FeatureKernel.of(each, numbers)
            n, n_axes = len(kernel.rows), min(n_components, len(kernel.values))
            about = np.ix_(kernel.objects, np.arange(n_axes))
            known[about] += np.sqrt(share * n) * kernel.directions[:, :n_axes]
            own[about] -= share
        coordinates: FloatArray = known + np.sqrt(own) * rng.normal(size=own.shape)
        return coordinates

    def check_size(self, n_objects: int) -> None:
        """Check that so many objects are described."""
        n_described = len(self.objects)
        if n_objects > n_described:
            raise ValueError(
                f"features describe {pluralize(n_described, 'object')}, and the study has {n_objects}; give a row for "
                "each object, or plan with fewer objects (--objects, n_objects)"
            )

    def __str__(self) -> str:
        return describe_shares(self.shares, is_learned=self.is_learned)


def describe_shares(shares: dict[str, FeatureShare], *, is_learned: bool) -> str:
    """Return how much each feature set explains in a sentence."""
    parts = [
        f"{name} {percent(low)} to {percent(high)}" if low < high else f"{name} {percent(low)}"
        for name, (_, low, high) in shares.items()
    ]
    why = "learned from the pilot" if is_learned else "assumed"
    return f"Features explain a share of the variance of places ({why}): {', '.join(parts)}."
