"""Python's warnings, as lines of the program: a sentence each, once, without file names and code."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_FOR_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)


@contextmanager
def warnings_told(silent: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Show warnings as sentences on stderr, those for developers of libraries left out.

    ``silent`` says that no more is to be told: a fit that was stopped warns of it, and the program says so already.

    Examples
    --------
    >>> import contextlib, io
    >>> with contextlib.redirect_stderr(io.StringIO()) as shown, warnings_told():
    ...     warnings.warn("index 0 never occurs", UserWarning)
    ...     warnings.warn("index 0 never occurs", UserWarning)
    >>> shown.getvalue().splitlines()
    ['nearer: index 0 never occurs']
    """
    told: set[str] = set()

    def tell(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        sentence = " ".join(str(message).split())
        if issubclass(category, RuntimeWarning):  # of NumPy, in a few words that name no subject
            sentence = f"while computing: {sentence}; look at what was found with care"
        if not (sentence in told or issubclass(category, _FOR_DEVELOPERS) or silent()):
            sys.stderr.write(f"nearer: {sentence}\n")
        told.add(sentence)

    with warnings.catch_warnings():
        warnings.showwarning = tell
        yield
