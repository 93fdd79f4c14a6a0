"""Data to try things on: a small study, synthetic points and their triplets, named colours, and judgments about music.

Importing this package loads no optional dependency: `fetch_music` needs pooch only to download.
"""

from nearer.datasets.colors import ColorSet, load_colors
from nearer.datasets.example import ExampleStudy, load_example
from nearer.datasets.music import MusicSet, fetch_music
from nearer.datasets.simulated import draw_questions, simulate_answers
from nearer.datasets.synthetic import make_gaussian, sample_triplets

__all__ = [
    "ColorSet",
    "ExampleStudy",
    "MusicSet",
    "draw_questions",
    "fetch_music",
    "load_colors",
    "load_example",
    "make_gaussian",
    "sample_triplets",
    "simulate_answers",
]
