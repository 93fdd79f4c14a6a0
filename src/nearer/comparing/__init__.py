"""Comparisons of maps: of groups of people, of single people, of two maps, of models (RSA), methods and attributes.

Each function returns a result that is a frozen dataclass: ``print`` it for a summary, ``plot`` draws it, ``write`` puts
values, tables and figures into a folder, ``to_dict`` and ``from_dict`` make plain values for JSON and read them.
"""

from nearer.comparing.group_results import (
    CrossPrediction,
    Displacements,
    GroupComparison,
    PairOfGroups,
    SignFlipTest,
)
from nearer.comparing.groups import compare_groups
from nearer.comparing.maps import CrossError, MapComparison, compare_maps
from nearer.comparing.matrices import MatrixComparison, ModelDifference, ModelFit, compare_matrices
from nearer.comparing.matrix_files import read_matrix
from nearer.comparing.matrix_regression import PartialMantelTest, WeightedModels, partial_mantel, weigh_models
from nearer.comparing.matrix_tests import (
    MantelTest,
    MatrixCeiling,
    MatrixNoise,
    full_posterior,
    mantel,
    matrix_noise,
    people_matrices,
)
from nearer.comparing.methods import MethodComparison, MethodScore, compare_methods
from nearer.comparing.people import HeldOutLoss, PeopleComparison, compare_people
from nearer.comparing.people_correlations import PeopleCorrelations, correlate_people
from nearer.comparing.power import Power, predict_power
from nearer.comparing.properties import Category, PropertyFit, PropertyFits, fit_properties
from nearer.comparing.rdms import from_rdms, to_rdms
from nearer.evaluation.distances import Distances, distance_matrix
from nearer.io.matrix_files import NamedMatrix

__all__ = [
    "Category",
    "CrossError",
    "CrossPrediction",
    "Displacements",
    "Distances",
    "GroupComparison",
    "HeldOutLoss",
    "MantelTest",
    "MapComparison",
    "MatrixCeiling",
    "MatrixComparison",
    "MatrixNoise",
    "MethodComparison",
    "MethodScore",
    "ModelDifference",
    "ModelFit",
    "NamedMatrix",
    "PairOfGroups",
    "PartialMantelTest",
    "PeopleComparison",
    "PeopleCorrelations",
    "Power",
    "PropertyFit",
    "PropertyFits",
    "SignFlipTest",
    "WeightedModels",
    "compare_groups",
    "compare_maps",
    "compare_matrices",
    "compare_methods",
    "compare_people",
    "correlate_people",
    "distance_matrix",
    "fit_properties",
    "from_rdms",
    "full_posterior",
    "mantel",
    "matrix_noise",
    "partial_mantel",
    "people_matrices",
    "predict_power",
    "read_matrix",
    "to_rdms",
    "weigh_models",
]
