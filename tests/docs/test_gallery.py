import ast
import re
import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("few_repeats")
SCRIPTS = sorted((Path(__file__).parents[2] / "docs" / "gallery").glob("*.py"))
# They run when the documentation is built, too.
SLOW = {"compare_methods", "ellipses", "figure_for_a_paper", "models_of_a_map", "scale_of_greys", "what_people_go_by"}


@pytest.mark.parametrize(
    "script",
    [pytest.param(script, marks=[pytest.mark.slow] * (script.stem in SLOW)) for script in SCRIPTS],
    ids=lambda script: script.stem,
)
def test_a_script_runs_prints_and_draws(script, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()
    picture = tmp_path / f"{script.stem}.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 5_000


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_is_short_and_tells_a_story(script):
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    title, empty, *story = text.split('"""')[1].split("\n")
    assert title.endswith(".")
    assert empty == ""
    assert len(" ".join(story).split()) > 30


def test_every_script_has_a_tile_and_a_page_in_the_same_order():
    page = (SCRIPTS[0].parent / "index.md").read_text(encoding="utf-8")
    tiles, toctree = (re.search(rf"```{{{name}}}\n(.*?)```", page, re.DOTALL)[1] for name in ("tiles", "toctree"))
    names = [line.partition(": ")[0] for line in tiles.splitlines()]
    assert all(line.partition(": ")[2] for line in tiles.splitlines())
    assert names == [line for line in toctree.splitlines() if line and not line.startswith(":")]
    assert sorted(names) == [script.stem for script in SCRIPTS]


@pytest.fixture
def tool(monkeypatch):
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    monkeypatch.syspath_prepend(str(SCRIPTS[0].parents[1] / "_extensions"))
    import examples

    return examples


def code_of(notebook):
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_has_all_of_its_script(script, tool):
    """The scripts run above, so that their notebooks do."""
    text = script.read_text(encoding="utf-8")
    notebook = tool.notebook_of(text, script.stem)
    install, *blocks, picture = code_of(notebook)
    assert "pip install" in install
    assert f"{script.stem}.png" in picture
    script_tree = ast.parse(text)
    del script_tree.body[0]  # the docstring is the first cell
    assert ast.dump(ast.parse("\n\n".join(blocks))) == ast.dump(script_tree)
    assert len(blocks) > 1
    assert "".join(notebook["cells"][0]["source"]).startswith("# ")


def test_the_cells_of_a_notebook_run_in_order(tool, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    script = next(each for each in SCRIPTS if each.stem == "clear_cut_answers")
    names = {}
    for cell in code_of(tool.notebook_of(script.read_text(encoding="utf-8"), script.stem))[:-1]:  # which needs IPython
        exec(compile(cell, script.stem, "exec"), names)
    assert capsys.readouterr().out.strip()
    assert (tmp_path / "clear_cut_answers.png").exists()
