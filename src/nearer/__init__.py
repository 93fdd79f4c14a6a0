"""Ordinal embedding: maps of objects from judgments such as "a is nearer to b than to c"."""

TYPE_CHECKING = False  # as in `typing`, which takes longer to load than all of this
if TYPE_CHECKING:
    from nearer.data.comparisons import Comparisons
    from nearer.data.file import ComparisonsFile
    from nearer.problems.penalty import Penalty

    __version__: str

__all__ = ["Comparisons", "ComparisonsFile", "Penalty", "__version__"]
# Loaded when they are asked for: the program answers, and can be stopped, before NumPy and SciPy are there.
_HOMES = {"Comparisons": "data.comparisons", "ComparisonsFile": "data.file", "Penalty": "problems.penalty"}


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("nearer")
    from nearer.common.loading import loaded_when_asked

    return loaded_when_asked(__name__, _HOMES)(name)
