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
