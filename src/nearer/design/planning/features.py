"""Features of the objects of simulated studies, and maps of which they explain a share.

Without a pilot nobody knows what features are worth. On four real sets, vectors of pictures, a physical parameter and
names of dishes, they explained 0.55 to 0.84 of the variance of the coordinates (docs/features.md). So each simulated
study draws a share of about that, and a power from its prior. After a pilot, both are drawn from its posterior.
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
from nearer.sampling.features import FeatureKernel, FeaturePrior, FeatureShare, feature_basis

ASSUMED_SHARES = 0.5, 0.85  # of the variance: about those learned on real sets


def labeled(sets: Sequence[Features], objects: Labels) -> tuple[Features, ...]:
    """Return feature sets with labels; rows of those without are about the objects, in order."""
    return tuple(
        each
        if each.objects is not None
        else Features(each.values, each.labels_for(objects), each.name, each.standardize)
        for each in sets
    )


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
        objects = described_objects(sets)
        sets = labeled(sets, read_objects(objects) if objects else np.arange(len(sets[0].values)))
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

    def draw(self, n_objects: int, rng: np.random.Generator) -> tuple[Features, ...]:
        """Return the rows of so many of the objects, drawn at random unless it is all of them."""
        objects = self.objects
        if n_objects < len(objects):
            objects = objects[np.sort(rng.permutation(len(objects))[:n_objects])]
        return self.of(objects)

    def draw_coordinates(
        self, sets: Sequence[Features], n_objects: int, n_components: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return coordinates of variance 1 of objects that ``sets`` describe, (n, p), by the assumed shares."""
        prior, position = FeaturePrior(), rng.random()
        shares = [low + position * (high - low) for _, low, high in self.shares.values()]
        power = float(np.exp(prior.power[0] + prior.power[1] * rng.normal()))
        numbers = np.arange(n_objects)
        basis = feature_basis([FeatureKernel.of(each, numbers) for each in sets], numbers)
        assert basis is not None, "there is a set"
        covariance = basis.covariance(shares, power)
        own = np.sqrt(covariance.own)[:, None] * rng.normal(size=(n_objects, n_components))
        coordinates: FloatArray = own + covariance.directions @ rng.normal(
            size=(covariance.directions.shape[1], n_components)
        )
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
        parts = [
            f"{name} {percent(round(low, 2))} to {percent(round(high, 2))}" if low < high else f"{name} {percent(low)}"
            for name, (_, low, high) in self.shares.items()
        ]
        why = "learned from the pilot" if self.is_learned else "assumed"
        return f"Features explain a share of the variance of places ({why}): {', '.join(parts)}."
