"""What is compared once there is a map: groups of people, two maps, a map and a model, methods."""

from nearer.comparing.people import Gain, PeopleComparison, compare_people

__all__ = ["Gain", "PeopleComparison", "compare_people"]
