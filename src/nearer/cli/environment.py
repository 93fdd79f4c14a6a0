"""What a report of a defect should say about the computer: `nearer --version --verbose`."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from nearer._common.formatting import pluralize
from nearer._common.results import text_table

_THREAD_VARIABLES = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def describe_environment() -> str:
    """Return versions of Python, the system and all dependencies, threads and caches, a line each."""
    rows = [
        ("nearer", version("nearer")),
        ("python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"),
        ("system", f"{platform.platform()}, {platform.machine()}"),
        *((name, _version_of(name)) for name in _dependencies()),
        ("threads", _threads()),
        ("compiled loops", _compiled_loops()),
    ]
    return "\n".join(text_table(rows)) + "\n"


def _dependencies() -> list[str]:
    """Return the names of the packages that are needed, then of those of the extras for users."""
    found = {"": [], "extra": []}  # type: dict[str, list[str]]
    for line in requires("nearer") or ():
        name = re.match(r"[\w.-]+", line)
        developers = re.search(r"extra == .(bench|dev|docs)\b", line)
        if name and name[0] != "nearer" and not developers:
            found["extra" if "extra ==" in line else ""].append(name[0])
    return list(dict.fromkeys([*found[""], *found["extra"]]))


def _version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _threads() -> str:
    """Return how many processors there are, and how many threads the loops and each linear algebra library take."""
    import scipy.linalg  # noqa: F401 - loads its library
    from threadpoolctl import threadpool_info

    from nearer.optimize.kernels.compiling import default_threads

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    libraries = {f"{each['internal_api']} {each['version']}: {each['num_threads']}" for each in threadpool_info()}
    given = [f"{name}={os.environ[name]}" for name in _THREAD_VARIABLES if name in os.environ]
    parts = [f"{pluralize(usable or 1, 'processor')}, loops: {default_threads()}", *sorted(libraries), *given]
    return ", ".join(parts)


def _compiled_loops() -> str:
    """Return where compiled loops are kept, and how many functions have some there."""
    from nearer.optimize.kernels import compiling, points  # noqa: F401 - most loops, which name their folder

    folders = sorted(compiling.cache_folders)
    count = sum(len(list(Path(folder).glob("*.nbi"))) for folder in folders)
    return f"of {pluralize(count, 'function')} in {', '.join(folders) or 'no folder, as none is writable'}"
