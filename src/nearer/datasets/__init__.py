"""Data to try things on: a small study, synthetic points and their triplets, named colours, and published judgments.

Importing this package loads no optional dependency: fetchers need pooch only to download.
"""

from nearer.datasets.colors import ColorSet, load_colors
from nearer.datasets.example import ExampleStudy, load_example
from nearer.datasets.music import MusicSet, fetch_music
from nearer.datasets.public_sets import (
    PublicSet,
    fetch_cars,
    fetch_food,
    fetch_imagenet,
    fetch_materials,
    fetch_nature_scenes,
    fetch_things,
    fetch_vogue_covers,
)
from nearer.datasets.simulated import draw_questions, simulate_answers
from nearer.datasets.synthetic import make_gaussian, sample_triplets

__all__ = [
    "ColorSet",
    "ExampleStudy",
    "MusicSet",
    "PublicSet",
    "draw_questions",
    "fetch_cars",
    "fetch_food",
    "fetch_imagenet",
    "fetch_materials",
    "fetch_music",
    "fetch_nature_scenes",
    "fetch_things",
    "fetch_vogue_covers",
    "load_colors",
    "load_example",
    "make_gaussian",
    "sample_triplets",
    "simulate_answers",
]
