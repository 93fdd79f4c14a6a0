"""Folders to begin with: an empty study, and one of colors that is ready to run."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from string import Template

import numpy as np
from numpy.typing import NDArray

from nearer._common.formatting import format_number
from nearer.datasets import load_colors
from nearer.survey.settings import DEFAULTS, SETTINGS_FILE, translations
from nearer.survey.stimuli import ENDINGS, MAX_TEXT_CHARACTERS, STIMULI_FOLDER

N_COLORS = 24

_README = f"""\
Put one file for each object into this folder.

The name of a file without its ending is the label of the object: cat.png is the object cat. People do not see labels.
Endings that are shown: {", ".join(each[1:] for each in ENDINGS)}.
A .txt file has up to {format_number(MAX_TEXT_CHARACTERS)} characters. Pictures need not be larger than 1000 pixels.

To show a caption below an object, put a table called objects.csv next to study.toml, saved as CSV UTF-8:

    object,caption
    cat,A cat on a mat

Further columns are kept with the objects. An object of the table that has no file is shown as text: its caption, or
else its label. This README is not shown to anybody; you may delete it.
"""
_DEMO = {
    "title": "Colors",
    "question": "Which of the two colors is more like the one at the top?",
    "welcome": (
        "This short survey is about colors. It takes about two minutes.\n\n"
        "Each question shows a color at the top and two below. Choose the one of the two that looks more like the "
        "color at the top. There are no right or wrong answers: go by your first impression."
    ),
    "consent": (
        "This is a demonstration. Your answers, and how long each took, are kept on the computer that runs this survey."
        "\n\n"
        "You may stop at any time by closing the page."
    ),
    "thanks": "Thank you! The map of colors now knows a little more.",
    "responsible": "the person who runs this demonstration",
    "contact": "the same person",
    "purpose": "to show how a survey works",
    "storage_place": "on the computer that runs this survey",
    "storage_period": "until the demonstration ends",
    "authority": "that of your country",
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
    """Make the folder of a new study, settings with comments and a place for its objects, and return it."""
    return _make_folder(folder, settings_text(), {"README.txt": _README})


def demo_study(folder: Path, n_colors: int = N_COLORS, **settings: object) -> Path:
    """Make the folder of a study of colors that is ready to run, with the given settings, and return it."""
    colors = load_colors()
    squares = {}
    for at in farthest_points(colors.lab, n_colors):
        red, green, blue = (round(255 * each) for each in colors.rgb[at].tolist())
        squares[f"{colors.names[at]}.svg"] = _SQUARE.format(fill=f"#{red:02x}{green:02x}{blue:02x}")
    return _make_folder(folder, settings_text(**{**_DEMO, **settings}), squares)


def settings_text(**settings: object) -> str:
    """Return a commented study.toml with the given settings, and defaults for all others."""
    template = Template((resources.files("nearer.survey") / "templates" / SETTINGS_FILE).read_text(encoding="utf-8"))
    values = {key: _toml_value(value) for key, value in {**DEFAULTS, **settings}.items()}
    return template.substitute(values, languages=", ".join(map(_toml_value, translations())))


def _toml_value(value: object) -> str:
    """Return a value in TOML; a text of several lines between three quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if not isinstance(value, str):
        return str(value)
    if "\n" not in value:
        return json.dumps(value, ensure_ascii=False)
    escaped = value.replace("\\", "\\\\").replace('"""', '""\\"')
    return f'"""\n{escaped}\n"""'


def farthest_points(points: NDArray[np.float64], count: int) -> list[int]:
    """Return indices of points far apart: each next one is farthest from those taken so far."""
    taken = [0]
    nearest = np.linalg.norm(points - points[0], axis=1)
    while len(taken) < min(count, len(points)):
        taken.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, np.linalg.norm(points - points[taken[-1]], axis=1))
    return taken


def _make_folder(folder: Path, settings: str, stimuli: dict[str, str]) -> Path:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; give the name of a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise ValueError(f"{folder} is not empty; give the name of a new folder, so that nothing in it is overwritten")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # answers of people will be kept in it
    (folder / STIMULI_FOLDER).mkdir()
    for file_name, text in stimuli.items():
        (folder / STIMULI_FOLDER / file_name).write_text(text, encoding="utf-8")
    (folder / SETTINGS_FILE).write_text(settings, encoding="utf-8")
    return folder
