"""Folders to begin with: an empty study, and one of colours that is ready to run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import format_number
from nearer.datasets import load_colors
from nearer.survey.settings import SETTINGS_FILE
from nearer.survey.settings_template import TEMPLATE, commented
from nearer.survey.stimuli import ENDINGS, LONGEST_TEXT, STIMULI_FOLDER

N_COLOURS = 24

_README = f"""\
Put one file for each object into this folder.

The name of a file without its ending is the label of the object: cat.png is the object cat. People do not see labels.
Endings that are shown: {", ".join(each[1:] for each in ENDINGS)}.
A .txt file holds a text of up to {format_number(LONGEST_TEXT)} characters. Pictures need not be larger than 1,000
pixels.

To show a caption below an object, put a table called objects.csv beside study.toml, saved as CSV UTF-8:

    object,caption
    cat,A cat on a mat

Further columns are kept with the objects. An object of the table that has no file is shown as text: its caption, or
else its label. This README is not shown to anybody; you may delete it.
"""
_DEMO = {
    "title": "Colours",
    "question": "Which of the two colours is more like the one at the top?",
    "welcome": (
        "This short survey is about colours. It takes about two minutes.\n\n"
        "Each question shows a colour at the top and two below. Choose the one of the two that looks more like the "
        "colour at the top. There are no right or wrong answers: go by your first impression."
    ),
    "consent": (
        "This is a demonstration. Your answers, and how long each took, are kept on the computer that runs this survey."
        "\n\n"
        "You may stop at any time by closing the page."
    ),
    "thanks": "Thank you! The map of colours now knows a little more.",
    "per_person": 20,
    "practice": 1,
    "break_every": 0,
}
_SQUARE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400" viewBox="0 0 400 400">
<rect x="2" y="2" width="396" height="396" rx="24" fill="{fill}" stroke="#8c8c8c" stroke-width="2"/>
</svg>
"""


def new_study(folder: Path) -> Path:
    """Make the folder of a new study: settings with comments, and a place for its objects.

    Raises
    ------
    ValueError
        If there is something in the folder already.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     sorted(path.name for path in new_study(Path(folder) / "birds").iterdir())
    ['stimuli', 'study.toml']
    """
    return _made(folder, TEMPLATE, {"README.txt": _README})


def demo_study(folder: Path, n_colours: int = N_COLOURS, **settings: object) -> Path:
    """Make the folder of a study of colours that is ready to run, with settings that are its own or these.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     len(list((demo_study(Path(folder)) / "stimuli").iterdir()))
    24
    """
    colors = load_colors()
    squares = {}
    for at in spread_out(colors.lab, n_colours):
        red, green, blue = (round(255 * each) for each in colors.rgb[at].tolist())
        squares[f"{colors.names[at]}.svg"] = _SQUARE.format(fill=f"#{red:02x}{green:02x}{blue:02x}")
    return _made(folder, commented(**{**_DEMO, **settings}), squares)


def spread_out(points: NDArray[np.float64], count: int) -> list[int]:
    """Return which points to take so that they lie far apart: each next one is farthest from those taken so far.

    Examples
    --------
    >>> spread_out(np.array([[0.0], [1.0], [9.0], [10.0]]), 3)
    [0, 3, 1]
    """
    taken = [0]
    nearest = np.linalg.norm(points - points[0], axis=1)
    while len(taken) < min(count, len(points)):
        taken.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.linalg.norm(points - points[taken[-1]], axis=1))
    return taken


def _made(folder: Path, settings: str, stimuli: dict[str, str]) -> Path:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; give the name of a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty; give the name of a new folder, so that nothing in it is overwritten")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # answers of people will be kept in it
    (folder / STIMULI_FOLDER).mkdir()
    for called, text in stimuli.items():
        (folder / STIMULI_FOLDER / called).write_text(text, encoding="utf-8")
    (folder / SETTINGS_FILE).write_text(settings, encoding="utf-8")
    return folder
