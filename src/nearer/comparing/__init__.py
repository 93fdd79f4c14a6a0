"""What is compared once there is a map: groups of people, two maps, a map and a model, methods, attributes."""

from nearer.comparing.properties import Category, PropertyFit, PropertyFits, fit_properties

__all__ = ["Category", "PropertyFit", "PropertyFits", "fit_properties"]
