"""Data sets that are no part of this package: looked for in a few folders, and otherwise downloaded and checked."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

SetT = TypeVar("SetT")


class Remote(NamedTuple):
    """A file that can be downloaded.

    Attributes
    ----------
    what : str
        What it holds, as a sentence begins: "The music judgments".
    name, url, sha256 : str
        Its name on disk, its address, and what its bytes must add up to.
    """

    what: str
    name: str
    url: str
    sha256: str


def data_folders(data_home: str | os.PathLike[str] | None = None) -> list[Path]:
    """Return the folders in which data sets that are no part of this package are looked for, in that order.

    Examples
    --------
    >>> data_folders("mine")[0].name
    'mine'
    """
    named = [data_home, os.environ.get("NEARER_DATA")]
    folders = [Path(folder).expanduser() for folder in named if folder]
    folders.append(Path.cwd().parent / "shared" / "data")
    checkout = Path(__file__).resolve().parents[3]
    # Installed from a wheel, the same ancestor is some folder of the interpreter's.
    if (checkout / "pyproject.toml").is_file():
        folders.append(checkout.parent / "shared" / "data")
    return list(dict.fromkeys(folders))


def find_or_download(
    remote: Remote, readers: dict[str, Callable[[Path], SetT]], data_home: str | os.PathLike[str] | None
) -> SetT:
    """Return what the first file that is found holds; the remote one, downloaded, if there is none.

    Parameters
    ----------
    remote : Remote
    readers : dict
        From names of files, in order of preference, to what reads them; the name of the remote file is one of them.
    data_home : path, optional
        Folder looked in first, where a download is kept.
    """
    folders = data_folders(data_home)
    for folder in folders:
        for name, read in readers.items():
            if (folder / name).is_file():
                return _whole(folder / name, read, remote)
    return _whole(_download(remote, data_home, folders), readers[remote.name], remote)


def _download(remote: Remote, data_home: str | os.PathLike[str] | None, folders: list[Path]) -> Path:
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


def _whole(path: Path, read: Callable[[Path], SetT], remote: Remote) -> SetT:
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
