"""Data to try things on: a small study, synthetic points and their triplets, named colors, and published judgments.

Published judgments are no part of this package. A file is looked for in the folder that is passed as ``data_home``, in
the one that the environment variable ``NEARER_DATA`` names, and otherwise downloaded, for which pooch is needed.

==================================  =====================================================================
data set                            where it is to be had
==================================  =====================================================================
music (400 artists)                 `fetch_music`
cars (60), the central one of 3     `fetch_cars`
food (100 dishes, from grids)       `fetch_food`
scenes of nature (120), odd one     `fetch_nature_scenes`
covers of Vogue (60), odd one       `fetch_vogue_covers`
materials (100)                     https://github.com/mlagunas/material-appearance-similarity, folder data,
                                    answers_processed_train.json: ``answers`` has reference and two
                                    candidates, ``agreement`` the votes for each. Write a row of anchor,
                                    near and far for each vote.
ImageNet, 2 of 8 pictures ranked    https://osf.io/cn2s3, val/obs/psiz0.4.1/obs-118.hdf5 and obs-195.hdf5:
                                    ``stimulus_set`` has the reference, the two chosen, nearest first, and
                                    the others. Write columns anchor, chosen and shown.
THINGS (1,854 objects), odd one     https://osf.io/z2784, data/data1854_batch5_test10.txt: three numbers of
                                    objects in a row; see there which is the odd one. Write columns
                                    object_1, object_2, object_3 and odd.
==================================  =====================================================================

The last three have no address with a fixed checksum; read such an ``answers.csv`` with `nearer.io.read_answers`.
"""

from nearer.datasets.colors import ColorSet, load_colors
from nearer.datasets.example import ExampleStudy, load_example
from nearer.datasets.public_sets import (
    MusicSet,
    PublicSet,
    fetch_cars,
    fetch_food,
    fetch_music,
    fetch_nature_scenes,
    fetch_vogue_covers,
)
from nearer.datasets.synthetic import (
    draw_questions,
    make_dimensions,
    make_gaussian,
    sample_odd_one_out,
    sample_triplets,
    simulate_answers,
)

__all__ = [
    "ColorSet",
    "ExampleStudy",
    "MusicSet",
    "PublicSet",
    "draw_questions",
    "fetch_cars",
    "fetch_food",
    "fetch_music",
    "fetch_nature_scenes",
    "fetch_vogue_covers",
    "load_colors",
    "load_example",
    "make_dimensions",
    "make_gaussian",
    "sample_odd_one_out",
    "sample_triplets",
    "simulate_answers",
]
