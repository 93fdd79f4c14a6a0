"""Judgments that others have published: cars, food, scenes of nature, covers of Vogue, and where to get three more.

None of them is part of this package. Those with one file at a fixed address are downloaded once and checked against its
sha256; addresses and checksums are those that cblearn publishes. Of the others a fetcher says where they are.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearer.data.comparisons import Comparisons
from nearer.datasets.downloading import Remote, find_or_download
from nearer.io.formats import read_arrays

CARS = Remote(
    "The judgments about cars",
    "60_cars_data.zip",
    "http://www.tml.cs.uni-tuebingen.de/team/luxburg/code_and_data/60_cars_data.zip",
    "5fa2ad932d48adf5cfe36bd16a08b25fd88d1519d974908f6ccbba769f629640",
)
FOOD = Remote(
    "The judgments about food",
    "food100-dataset.zip",
    "http://vision.cornell.edu/se3/wp-content/uploads/2014/09/food100-dataset.zip",
    "18f5e210174dfdbf6a7b4ed7538cf8ba53fd65e0cbe193519231b8ab4ea8fc62",
)
NATURE_AND_VOGUE = Remote(
    "The judgments about scenes of nature and covers of Vogue",
    "nature_and_vogue_triplets.zip",
    "http://anttiukkonen.com/nature_and_vogue_triplets.zip",
    "db4718bb742a2492dee87e94daead3070b2afa3a9174aa717be336940e47e3cc",
)
_CITE_CARS = (
    "Kleindessner, M. and von Luxburg, U. (2017). Lens depth function and k-relative neighborhood graph: versatile "
    "tools for ordinal data analysis. Journal of Machine Learning Research 18."
)
_CITE_FOOD = (
    "Wilber, M., Kwak, I. and Belongie, S. (2014). Cost-effective HITs for relative similarity comparisons. "
    "Proceedings of HCOMP."
)
_CITE_NATURE = "Heikinheimo, H. and Ukkonen, A. (2013). The crowd-median algorithm. Proceedings of HCOMP."
Folder = str | os.PathLike[str] | None


@dataclass(frozen=True, eq=False)
class PublicSet:
    """Published judgments.

    Attributes
    ----------
    comparisons : Comparisons
        Those that follow from one answer share a trial, and have a total weight of 1.
    classes : ndarray of str, shape (n,), or None
        A class of each object, where the file has them.
    cite : str
        The work to cite.

    Examples
    --------
    >>> PublicSet(Comparisons.from_triplets([[0, 1, 2]]), None, "Somebody (2020).").comparisons
    Comparisons(1 triplet over 3 objects)
    """

    comparisons: Comparisons
    classes: NDArray[np.str_] | None
    cite: str


Readers: TypeAlias = dict[str, Callable[[Path], PublicSet]]


def fetch_cars(data_home: Folder = None) -> PublicSet:
    r"""Load 7097 answers about 60 cars: which of three is the most central? (Kleindessner and von Luxburg 2017).

    Parameters
    ----------
    data_home : path, optional
        Folder in which ``cars.npz`` or ``60_cars_data.zip`` is looked for first, before the one that the environment
        variable ``NEARER_DATA`` names. A download, which needs pooch, is kept there, or in the
        user's cache.

    Returns
    -------
    PublicSet
        Two comparisons for each answer.

    Raises
    ------
    FileNotFoundError
        When there is no local file and no download; the message says where to put which file.

    Examples
    --------
    Here a file of one answer stands in for the real one: of the cars 1, 2 and 3 the second is central.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with zipfile.ZipFile(Path(folder) / "60_cars_data.zip", "w") as archive:
    ...         archive.writestr("60_cars_data/survey_data.csv", "id,centre,a,b,c,ms\n1,2,1,2,3,900")
    ...     fetch_cars(folder).comparisons.rows.tolist()
    [[0, 1, 2], [2, 1, 0]]
    """
    readers: Readers = {"cars.npz": partial(_npz, cite=_CITE_CARS), CARS.name: _cars}
    return find_or_download(CARS, readers, data_home)


def fetch_food(data_home: Folder = None) -> PublicSet:
    """Load judgments about 100 pictures of food, chosen from grids (Wilber, Kwak and Belongie 2014).

    Parameters
    ----------
    data_home : path, optional
        As for `fetch_cars`; the files are ``food.npz``, which knows people and trials, and ``food100-dataset.zip``,
        which has triplets alone.

    Returns
    -------
    PublicSet

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with zipfile.ZipFile(Path(folder) / "food100-dataset.zip", "w") as archive:
    ...         archive.writestr("food100-dataset/all-triplets.csv", "images/b.jpg;images/a.jpg;images/c.jpg")
    ...     fetch_food(folder).comparisons.objects.tolist()
    ['a.jpg', 'b.jpg', 'c.jpg']
    """
    readers: Readers = {"food.npz": partial(_npz, cite=_CITE_FOOD), FOOD.name: _food}
    return find_or_download(FOOD, readers, data_home)


def fetch_nature_scenes(data_home: Folder = None) -> PublicSet:
    """Load odd-one-out answers about 120 pictures of nature (Heikinheimo and Ukkonen 2013).

    Parameters
    ----------
    data_home : path, optional
        As for `fetch_cars`; the file is ``nature_and_vogue_triplets.zip``.

    Returns
    -------
    PublicSet
        Two comparisons for each answer.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with zipfile.ZipFile(Path(folder) / "nature_and_vogue_triplets.zip", "w") as archive:
    ...         archive.writestr("nature/nature_triplets.txt", "sea.jpg lake.jpg wood.jpg")
    ...     fetch_nature_scenes(folder).comparisons.rows.tolist()
    [[1, 0, 2], [0, 1, 2]]
    """
    return _odd_ones("nature/nature_triplets.txt", data_home)


def fetch_vogue_covers(data_home: Folder = None) -> PublicSet:
    """Load odd-one-out answers about 60 covers of Vogue (Heikinheimo and Ukkonen 2013).

    Parameters
    ----------
    data_home : path, optional
        As for `fetch_nature_scenes`: one file holds both.

    Returns
    -------
    PublicSet
        Two comparisons for each answer.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with zipfile.ZipFile(Path(folder) / "nature_and_vogue_triplets.zip", "w") as archive:
    ...         archive.writestr("vogue/vogue_triplets.txt", "may.jpg june.jpg july.jpg")
    ...     len(fetch_vogue_covers(folder).comparisons)
    2
    """
    return _odd_ones("vogue/vogue_triplets.txt", data_home)


def fetch_materials() -> NoReturn:
    """Say where the judgments about materials are (Lagunas et al. 2019): there is no address with a checksum.

    Examples
    --------
    >>> fetch_materials()
    Traceback (most recent call last):
    FileNotFoundError: the judgments about materials (100 materials, which of two is more like a third) ...
    """
    _by_hand(
        "materials (100 materials, which of two is more like a third)",
        "https://github.com/mlagunas/material-appearance-similarity, folder data, answers_processed_train.json",
        "`answers` has reference and two candidates, `agreement` the votes for each of them: write one row of anchor, "
        "near and far for each vote into answers.csv",
    )


def fetch_imagenet() -> NoReturn:
    """Say where the judgments about ImageNet are (Roads and Love 2020): their archive has no fixed checksum.

    Examples
    --------
    >>> fetch_imagenet()
    Traceback (most recent call last):
    FileNotFoundError: the judgments about ImageNet (two of eight pictures ranked beside a reference) ...
    """
    _by_hand(
        "ImageNet (two of eight pictures ranked beside a reference)",
        "https://osf.io/cn2s3, with the files val/obs/psiz0.4.1/obs-118.hdf5 and obs-195.hdf5",
        "`stimulus_set` has the reference, the two chosen, nearest first, and the others: write columns anchor, chosen "
        "and shown into answers.csv",
    )


def fetch_things() -> NoReturn:
    """Say where the judgments about THINGS are (Hebart et al. 2020): their archive has no fixed checksum.

    Examples
    --------
    >>> fetch_things()
    Traceback (most recent call last):
    FileNotFoundError: the judgments about THINGS (1854 objects, odd one of three) ...
    """
    _by_hand(
        "THINGS (1854 objects, odd one of three)",
        "https://osf.io/z2784, with the file data/data1854_batch5_test10.txt",
        "it has three numbers of objects in a row; see there which of them is the odd one, and write columns object_1, "
        "object_2, object_3 and odd into answers.csv",
    )


def _by_hand(what: str, where: str, how: str) -> NoReturn:
    raise FileNotFoundError(
        f"the judgments about {what} are not downloaded, as no address has a fixed checksum; get them by hand from "
        f"{where}: {how}, and read it with nearer.io.read_answers('answers.csv')"
    )


def _npz(path: Path, cite: str) -> PublicSet:
    """Read triplets with their trials and workers, as `np.savez` has stored them."""
    stored = read_arrays(path.read_bytes(), path.name)
    trials, rows, names = stored["trial"], stored["triplets"], stored.get("names")
    labels = None if "labels" not in stored else stored["label_names"][stored["labels"]]
    return PublicSet(
        Comparisons.from_triplets(
            rows if names is None else names[rows],
            weights=1 / np.bincount(trials)[trials],
            annotators=stored["worker"],
            trials=trials,
            objects=names,
        ),
        labels,
        cite,
    )


def _cars(path: Path) -> PublicSet:
    # Columns: some id, the central car, the three shown, milliseconds; cars are numbered from 1.
    table = np.loadtxt(_member(path, "60_cars_data/survey_data.csv"), dtype=str, delimiter=",", skiprows=1, ndmin=2)
    central, shown = table[:, 1].astype(int) - 1, table[:, 2:5].astype(int) - 1
    if not (shown == central[:, None]).any(axis=1).all():
        raise ValueError("a central car is not one of the three")
    others = shown[shown != central[:, None]].reshape(-1, 2)
    first = np.column_stack([others[:, 0], central, others[:, 1]])
    second = np.column_stack([others[:, 1], central, others[:, 0]])
    return _of_two(first, second, np.arange(int(shown.max()) + 1), _CITE_CARS)


def _food(path: Path) -> PublicSet:
    table = np.loadtxt(_member(path, "food100-dataset/all-triplets.csv"), dtype=str, delimiter=";", ndmin=2)
    names = np.char.rpartition(np.char.strip(table), "/")[..., 2]
    return PublicSet(Comparisons.from_triplets(names), None, _CITE_FOOD)


def _odd_ones(member: str, data_home: Folder) -> PublicSet:
    def read(path: Path) -> PublicSet:
        table = np.loadtxt(_member(path, member), dtype=str, ndmin=2)
        objects, rows = np.unique(table, return_inverse=True)
        a, b, odd = rows.reshape(-1, 3).T
        return _of_two(np.column_stack([a, b, odd]), np.column_stack([b, a, odd]), objects, _CITE_NATURE)

    return find_or_download(NATURE_AND_VOGUE, {NATURE_AND_VOGUE.name: read}, data_home)


def _member(path: Path, name: str) -> io.TextIOWrapper:
    with zipfile.ZipFile(path) as archive:
        return io.TextIOWrapper(io.BytesIO(archive.read(name)), encoding="utf-8")


def _of_two(first: NDArray[Any], second: NDArray[Any], objects: NDArray[Any], cite: str) -> PublicSet:
    """Return the two comparisons that follow from each answer, as one trial."""
    rows = np.stack([first, second], axis=1).reshape(-1, 3)
    trials = np.repeat(np.arange(len(first)), 2)
    comparisons = Comparisons.from_triplets(
        objects[rows], weights=np.full(len(rows), 0.5), trials=trials, objects=objects
    )
    return PublicSet(comparisons, None, cite)
