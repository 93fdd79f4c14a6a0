"""What is compared once there is a map: groups of people, two maps, a map and a model, methods."""

from nearer.comparing.crossing import CrossPrediction
from nearer.comparing.groups import GroupComparison, PairOfGroups, compare_groups
from nearer.comparing.maps import CrossError, MapComparison, compare_maps
from nearer.comparing.moved import Displacements
from nearer.comparing.permuting import Permuted

__all__ = [
    "CrossError",
    "CrossPrediction",
    "Displacements",
    "GroupComparison",
    "MapComparison",
    "PairOfGroups",
    "Permuted",
    "compare_groups",
    "compare_maps",
]
