"""Published judgments: music, cars, food, scenes of nature and covers of Vogue.

None of them is part of this package. A file is looked for in a few folders, and otherwise downloaded once from a fixed
address and checked against its sha256, as cblearn publishes them.
"""

from __future__ import annotations

import io
import os
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from nearer.data.comparisons import Comparisons
from nearer.io.formats import read_arrays

SetT = TypeVar("SetT")
Folder: TypeAlias = str | os.PathLike[str] | None


class RemoteFile(NamedTuple):
    """A file that can be downloaded."""

    what: str  # as a sentence begins: "The music judgments"
    name: str  # on disk
    url: str
    sha256: str


MUSIC = RemoteFile(
    "The music judgments",
    "music_triplets.mat",
    "https://raw.githubusercontent.com/alphaprime/Stabilized_Stochastic_BB/"
    "887f7514c6ed8174f42e910577f69d809a7ffc74/Data/Music/music_triplets.mat",
    "ce7b33bbb208ea9e441f2860d59574a98272a0d110fc1b4d9e96d4c88d59b313",
)
_MUSIC_WITH_NAMES = "music.npz"
CARS = RemoteFile(
    "The judgments about cars",
    "60_cars_data.zip",
    "http://www.tml.cs.uni-tuebingen.de/team/luxburg/code_and_data/60_cars_data.zip",
    "5fa2ad932d48adf5cfe36bd16a08b25fd88d1519d974908f6ccbba769f629640",
)
FOOD = RemoteFile(
    "The judgments about food",
    "food100-dataset.zip",
    "http://vision.cornell.edu/se3/wp-content/uploads/2014/09/food100-dataset.zip",
    "18f5e210174dfdbf6a7b4ed7538cf8ba53fd65e0cbe193519231b8ab4ea8fc62",
)
NATURE_AND_VOGUE = RemoteFile(
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


def data_folders(data_home: Folder = None) -> list[Path]:
    """Return the folders in which data sets that are no part of this package are looked for, in that order."""
    named = [data_home, os.environ.get("NEARER_DATA")]
    folders = [Path(folder).expanduser() for folder in named if folder]
    folders.append(Path.cwd().parent / "shared" / "data")
    checkout = Path(__file__).resolve().parents[3]
    # Installed from a wheel, the same ancestor is some folder of the interpreter's.
    if (checkout / "pyproject.toml").is_file():
        folders.append(checkout.parent / "shared" / "data")
    return list(dict.fromkeys(folders))


def find_or_download(remote: RemoteFile, readers: dict[str, Callable[[Path], SetT]], data_home: Folder) -> SetT:
    """Return what the first file that is found holds; the remote one, downloaded, if there is none."""
    folders = data_folders(data_home)
    for folder in folders:
        for name, read in readers.items():
            if (folder / name).is_file():
                return _read_checked(folder / name, read, remote)
    return _read_checked(_download(remote, data_home, folders), readers[remote.name], remote)


def _download(remote: RemoteFile, data_home: Folder, folders: list[Path]) -> Path:
    wanted = (
        f"{remote.what} were not found in {', '.join(map(str, folders))}. Put the file {remote.name} "
        f"(from {remote.url}, sha256 {remote.sha256}) into one of these folders, "
        "or name its folder in the environment variable NEARER_DATA"
    )
    try:
        import pooch
    except ImportError as error:
        raise FileNotFoundError(f"{wanted}; or install pooch with `pip install pooch` to download it.") from error
    cache = pooch.os_cache("nearer") if data_home is None else Path(data_home).expanduser()
    try:
        path = pooch.retrieve(
            remote.url, known_hash=f"sha256:{remote.sha256}", fname=remote.name, path=cache, progressbar=True
        )
    except (OSError, ValueError) as error:  # pooch raises ValueError for a file with another checksum
        raise FileNotFoundError(f"{wanted}. Downloading it into {cache} failed: {error}") from error
    return Path(path)


def _read_checked(path: Path, read: Callable[[Path], SetT], remote: RemoteFile) -> SetT:
    """Read a file that may have been damaged since it was written."""
    try:
        return read(path)
    except OSError:
        raise
    except Exception as error:  # zipfile, zlib, NumPy and SciPy each have errors of their own for damaged files
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error) or type(error).__name__
        what = remote.what[0].lower() + remote.what[1:]
        raise ValueError(
            f"{path} does not hold {what}: {reason}; delete it, or replace it with {remote.name} from {remote.url}"
        ) from error


@dataclass(frozen=True, eq=False)
class MusicSet:
    """The judgments about musical artists of "Less but Better" (Ellis, Whitman, Berenzweig and Lawrence 2002).

    Attributes
    ----------
    comparisons : Comparisons
        9090 triplets over 400 artists, labelled with the names where the file has them.
    names : ndarray of str, shape (400,), or None
        Artists, in the order of the objects.
    genres : ndarray of str, shape (400,), or None
        One of nine genres for each artist.
    n_degenerate : int
        Rows left out because they compare an artist with itself, 17.
    """

    comparisons: Comparisons
    names: NDArray[np.str_] | None
    genres: NDArray[np.str_] | None
    n_degenerate: int


def fetch_music(data_home: Folder = None) -> MusicSet:
    """Load the music judgments from a local file, or download them once.

    ``music.npz`` (with names and genres) or ``music_triplets.mat`` (indices alone) is looked for in ``data_home``, in
    the folder named by the environment variable ``NEARER_DATA``, and in ``../shared/data`` as seen from the current
    folder and from a source checkout. Failing that, the .mat file is downloaded, which needs pooch. Where neither is
    possible, a FileNotFoundError says where to put which file.

    Parameters
    ----------
    data_home : path, optional
        Folder looked in first. A download is kept there, or in the user's cache when this is None.

    Examples
    --------
    ``fetch_music()`` is all it takes; here a file of three rows stands in for the real one.

    >>> from tempfile import TemporaryDirectory
    >>> from scipy.io import savemat
    >>> with TemporaryDirectory() as folder:
    ...     savemat(Path(folder) / "music_triplets.mat", {"triplets": [[1, 2, 4], [2, 2, 1], [4, 1, 2]]})
    ...     music = fetch_music(folder)
    >>> music.comparisons, music.n_degenerate
    (Comparisons(2 triplets over 3 objects), 1)
    """
    return find_or_download(MUSIC, {_MUSIC_WITH_NAMES: _music_npz, MUSIC.name: _music_mat}, data_home)


def _music_npz(path: Path) -> MusicSet:
    stored = read_arrays(path.read_bytes(), path.name)
    labels, names, rows = stored["labels"], stored["names"], stored["triplets_all"]
    if labels.shape != names.shape or names.dtype.kind != "U":
        raise ValueError("names and labels are not one for each artist")
    _check_positions(labels, len(stored["label_names"]), "labels")
    _check_positions(rows, len(names), "triplets_all")
    return _music_set(rows, names, stored["label_names"][labels])


def _check_positions(indices: NDArray[Any], count: int, name: str) -> None:
    if indices.dtype.kind not in "iu" or indices.size == 0 or not 0 <= indices.min() <= indices.max() < count:
        raise ValueError(f"{name} holds something else than positions 0 to {count - 1}")


def _music_mat(path: Path) -> MusicSet:
    from scipy.io import loadmat

    stored = loadmat(path)
    if "triplets" not in stored:
        raise ValueError("it has no variable 'triplets'")
    if stored["triplets"].dtype.kind not in "iuf" or stored["triplets"].shape[1:] != (3,):
        raise ValueError("'triplets' is no table of three columns of numbers")
    # Some artists of the original list are in no triplet; the others are renumbered without gaps.
    original_index, rows = np.unique(stored["triplets"].astype(np.int64), return_inverse=True)
    names = None
    if "names" in stored:
        every_name = [str(np.squeeze(name)) for name in stored["names"].ravel()]
        _check_positions(original_index - 1, len(every_name), "triplets")
        names = np.array(every_name)[original_index - 1]
    return _music_set(rows.reshape(-1, 3), names, None)


def _music_set(rows: NDArray[np.integer], names: NDArray[np.str_] | None, genres: NDArray[np.str_] | None) -> MusicSet:
    labelled = rows if names is None else names[rows]
    with warnings.catch_warnings():
        # The rows left out are reported as n_degenerate.
        warnings.simplefilter("ignore", UserWarning)
        comparisons = Comparisons.without_degenerate(labelled, objects=names)
    return MusicSet(comparisons, names, genres, n_degenerate=len(rows) - len(comparisons.rows))


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
    """

    comparisons: Comparisons
    classes: NDArray[np.str_] | None
    cite: str


def fetch_cars(data_home: Folder = None) -> PublicSet:
    """Load 7097 answers about 60 cars: which of three is the most central? (Kleindessner and von Luxburg 2017).

    Parameters
    ----------
    data_home : path, optional
        As for `fetch_music`; the files are ``cars.npz`` and ``60_cars_data.zip``.

    Returns
    -------
    PublicSet
        Two comparisons for each answer.
    """
    return find_or_download(CARS, {"cars.npz": lambda path: _npz(path, _CITE_CARS), CARS.name: _cars}, data_home)


def fetch_food(data_home: Folder = None) -> PublicSet:
    """Load judgments about 100 pictures of food, chosen from grids (Wilber, Kwak and Belongie 2014).

    Parameters
    ----------
    data_home : path, optional
        As for `fetch_music`; the files are ``food.npz``, which knows people and trials, and ``food100-dataset.zip``,
        which has triplets alone.
    """
    return find_or_download(FOOD, {"food.npz": lambda path: _npz(path, _CITE_FOOD), FOOD.name: _food}, data_home)


def fetch_nature_scenes(data_home: Folder = None) -> PublicSet:
    """Load odd-one-out answers about 120 pictures of nature (Heikinheimo and Ukkonen 2013).

    Parameters
    ----------
    data_home : path, optional
        As for `fetch_music`; the file is ``nature_and_vogue_triplets.zip``.

    Returns
    -------
    PublicSet
        Two comparisons for each answer.
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
    """
    return _odd_ones("vogue/vogue_triplets.txt", data_home)


def _npz(path: Path, cite: str) -> PublicSet:
    """Read triplets with their trials and workers, as `np.savez` has stored them."""
    stored = read_arrays(path.read_bytes(), path.name)
    trials, rows, names = stored["trial"], stored["triplets"], stored.get("names")
    weights = 1 / np.bincount(trials)[trials]
    comparisons = Comparisons.from_triplets(
        rows if names is None else names[rows],
        weights=weights,
        annotators=stored["worker"],
        trials=trials,
        objects=names,
    )
    return PublicSet(comparisons, stored["label_names"][stored["labels"]] if "labels" in stored else None, cite)


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
        rows = rows.reshape(-1, 3)  # the odd one is the last
        return _of_two(rows, rows[:, [1, 0, 2]], objects, _CITE_NATURE)

    return find_or_download(NATURE_AND_VOGUE, {NATURE_AND_VOGUE.name: read}, data_home)


def _member(path: Path, name: str) -> io.TextIOWrapper:
    with zipfile.ZipFile(path) as archive:
        return io.TextIOWrapper(io.BytesIO(archive.read(name)), encoding="utf-8")


def _of_two(first: NDArray[Any], second: NDArray[Any], objects: NDArray[Any], cite: str) -> PublicSet:
    """Return the two comparisons that each answer implies, as one trial."""
    rows = np.stack([first, second], axis=1).reshape(-1, 3)
    weights, trials = np.full(len(rows), 0.5), np.repeat(np.arange(len(first)), 2)
    return PublicSet(
        Comparisons.from_triplets(objects[rows], weights=weights, trials=trials, objects=objects), None, cite
    )
