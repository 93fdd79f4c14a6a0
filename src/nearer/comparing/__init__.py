"""What is compared once there is a map: groups of people, two maps, a map and a model, methods."""

from nearer.comparing.groups import GroupComparison, compare_groups

__all__ = ["GroupComparison", "compare_groups"]
