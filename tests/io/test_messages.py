"""What reading says of every layout and lab export, as text that is compared with `messages.json`.

``python tests/io/test_messages.py`` writes the file anew; read its diff as a user would.
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers import lab_exports, layouts

from nearer.cli.arguments import add_reading
from nearer.io import read_answers

GOLDEN = Path(__file__).with_name("messages.json")
LAYOUTS = {f"layout: {layout.name}": layout for layout in layouts.LAYOUTS}
EXPORTS = {f"export: {export.name}": export for export in lab_exports.EXPORTS}


def said(source, options):
    """Return the notes or the error that reading ends in, without the name of the folder."""
    try:
        found = list(read_answers(source, **options).report.notes)
    except ValueError as error:
        found = str(error).split("\n")
    return [sentence.replace(str(source), "SOURCE") for sentence in found]


def typed(options):
    """Return the options of a command as those of `read_answers`."""
    import argparse

    parser = argparse.ArgumentParser()
    add_reading(parser)
    parsed = vars(parser.parse_args(list(options)))
    return {name: parsed[name] for name in ("kind", "columns", "first_is", "preset") if parsed[name] is not None}


def found_in(name, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if name in LAYOUTS:
            layout = LAYOUTS[name]
            return [said(layouts.table(layout, layout.trials, folder), layout.options)]
        file = EXPORTS[name].write(folder)
        return [said(file, {}), said(file, typed(EXPORTS[name].options))]


@pytest.mark.parametrize("name", [*LAYOUTS, *EXPORTS])
def test_messages_are_those_of_the_golden_file(name, tmp_path):
    assert found_in(name, tmp_path) == json.loads(GOLDEN.read_text(encoding="utf-8"))[name]


if __name__ == "__main__":
    found = {}
    for each in [*LAYOUTS, *EXPORTS]:
        with tempfile.TemporaryDirectory() as made:
            found[each] = found_in(each, Path(made))
    GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
