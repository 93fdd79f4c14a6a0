"""What is compared once there is a map: groups of people, single people, two maps, models, methods, attributes."""

from nearer.comparing.groups.comparison import GroupComparison, PairOfGroups, compare_groups
from nearer.comparing.groups.crossing import CrossPrediction
from nearer.comparing.groups.moved import Displacements
from nearer.comparing.groups.permuting import Permuted
from nearer.comparing.interval_figure import plot_matrices, plot_methods
from nearer.comparing.maps import CrossError, MapComparison, compare_maps
from nearer.comparing.matrices.ceiling import MatrixNoise, NoiseCeilingOfMatrix, full_posterior, matrix_noise
from nearer.comparing.matrices.comparison import compare_matrices, people_matrices
from nearer.comparing.matrices.files import NamedMatrix, read_matrix
from nearer.comparing.matrices.mantel import MantelTest, mantel
from nearer.comparing.matrices.results import MatrixComparison, ModelDifference, ModelFit
from nearer.comparing.method_results import MethodComparison, MethodScore
from nearer.comparing.methods import compare_methods
from nearer.comparing.people import Gain, PeopleComparison, compare_people
from nearer.comparing.properties import Category, PropertyFit, PropertyFits, fit_properties
from nearer.evaluation.distances import Distances, distance_matrix

__all__ = [
    "Category",
    "CrossError",
    "CrossPrediction",
    "Displacements",
    "Distances",
    "Gain",
    "GroupComparison",
    "MantelTest",
    "MapComparison",
    "MatrixComparison",
    "MatrixNoise",
    "MethodComparison",
    "MethodScore",
    "ModelDifference",
    "ModelFit",
    "NamedMatrix",
    "NoiseCeilingOfMatrix",
    "PairOfGroups",
    "PeopleComparison",
    "Permuted",
    "PropertyFit",
    "PropertyFits",
    "compare_groups",
    "compare_maps",
    "compare_matrices",
    "compare_methods",
    "compare_people",
    "distance_matrix",
    "fit_properties",
    "full_posterior",
    "mantel",
    "matrix_noise",
    "people_matrices",
    "plot_matrices",
    "plot_methods",
    "read_matrix",
]
