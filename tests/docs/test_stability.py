"""What is stable: the record is that of the code, a break is seen, and files are as their schemas say."""

import doctest
import re
import tomllib
from pathlib import Path

import pytest
from helpers.report_sample import color_results
from helpers.schemas import FOLDER, fits, validator

from nearer.study.results import StudyResults
from nearer.survey.scaffold import demo_study, settings_text
from nearer.survey.settings import read_settings

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def tool(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    import stability

    return stability


def test_the_record_is_that_of_the_code(tool):
    recorded, now = tool.on_file(), tool.record()
    outdated = [name for name in recorded.keys() | now.keys() if recorded.get(name) != now.get(name)]
    assert outdated == [], f"public names, commands or files have changed; run `{tool.COMMAND}` and look at the diff"


def test_its_examples_are_right(tool):
    found = doctest.testmod(tool)
    assert (found.failed, found.attempted > 4) == (0, True)


def test_it_holds_what_is_public(tool):
    promised = tool.lines(tool.on_file())
    names = {line.partition("(")[0] for line in promised}
    assert {
        "nearer.Comparisons.from_triplets", "nearer.embedding.STE", "nearer.embedding.STE.fit",
        "nearer.io.read_answers", "nearer.embedding.PosteriorEmbedding.embedding_", "nearer fit -o --out",
        "nearer survey run --port", "results.json embedding", "results.json ErrorRecord.held_out",
        "study.toml people.most",
    } <= names  # fmt: skip
    assert not [line for line in promised if " at 0x" in line]
    assert len(promised) == len(set(promised))


@pytest.mark.parametrize(
    ("before", "after", "broken"),
    [
        ("m.f(a)", "m.f(b)", True),
        ("m.f(a, b)", "m.f(b, a)", True),
        ("m.f(a, b=1)", "m.f(a, b=2)", True),
        ("m.f(a, b=1)", "m.f(a, c=0, b=1)", True),
        ("m.f(a, b=1)", "m.f(a, *, b=1)", True),
        ("m.f(a)", "m.f(a, b)", True),
        ("m.f(a)", "m.f(a, *, b)", True),
        ("m.f(a)", "m.f(a, b=1)", False),
        ("m.f(a, *, b=1)", "m.f(a, *, c=(1, 2), b=1)", False),
        ("m.f(a, b=(1, 2))", "m.f(a, b=(1, 3))", True),
        ("nearer fit --by(a, b)", "nearer fit --by(b)", True),
        ("nearer fit --by(a, b)", "nearer fit --by(a, b, c)", False),
        ('study.toml pay({"maximum": 9})', 'study.toml pay({"maximum": 8})', True),
    ],
)
def test_a_break_is_seen(tool, before, after, broken):
    assert tool.breaks([before], [after]) == ([before] if broken else [])
    assert tool.breaks([before], [before]) == []
    assert tool.breaks([before], []) == [before]


def test_a_removal_needs_a_line_in_the_changelog_once_there_is_a_release(tool):
    gone = ["m.C.f(a)", "nearer fit --by(a, b)"]
    coming, released = "# Changelog\n\n## [1.1.0] - unreleased\n\n### Removed\n\n", "\n## [1.0.0] - 2027-01-31\n"
    assert tool.unannounced(gone, coming) == []
    assert tool.unannounced(gone, coming + released) == gone
    assert tool.unannounced(gone, f"{coming}- `m.C.f`: use `m.C.g`.\n{released}") == gone[1:]
    assert tool.unannounced(gone, f"{coming}- `m.C.f`.\n\n### Added\n- `nearer fit --by`\n{released}") == gone[1:]
    assert tool.unannounced(gone, f"{coming}{released}\n### Removed\n- `m.C.f`\n") == gone
    changelog = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## \[\d+\.\d+\.\d+\] - (unreleased|\d{4}-\d\d-\d\d)$\n\n### ", changelog, re.MULTILINE)


# Values of every kind that JSON has; none of them stands for what another does.
VALUES = [None, True, -3, 7.5, "text", [], [[1]], {}, {"x": 1}]
# Checked in one record only when it is with others: how many there are of something, which a schema does not say.
COUNTED = ("objects", "embedding", "attributes", "covariances", "scree", "scales", "placed")


@pytest.mark.parametrize("key", sorted(set(color_results()) - set(COUNTED)))
def test_results_that_the_schema_allows_can_be_read_and_hardly_any_others(key):
    whole = StudyResults.from_dict(color_results()).to_dict()
    assert fits("results", whole)
    for value in VALUES:
        changed = whole | {key: value}
        try:
            StudyResults.from_dict(changed)
        except ValueError:
            assert not fits("results", changed), value
        else:
            # What is not there, or null, is not known to readers; files that are written have all keys.
            assert fits("results", changed) or value is None or isinstance(value, dict), value


def test_every_schema_is_one():
    for path in FOLDER.glob("*.json"):
        validator(path.stem)
        assert not fits(path.stem, 17)


def test_settings_that_the_schema_allows_can_be_read_and_no_others(tmp_path):
    assert fits("study", tomllib.loads(settings_text()))
    assert fits("study", tomllib.loads((demo_study(tmp_path / "colors") / "study.toml").read_text(encoding="utf-8")))
    path = tmp_path / "study.toml"
    for text in (
        "pay = 1", "[people]\npay = -1", "[people]\npay = 2", "[people]\nmost = 1.5", "[look]\naccent = 'red'",
        "[questions]\nper_person = 0", "[sampling]\nmethod = 'none'", "language = 'xx'", "[other]\na = 1",
        "features = 'a.csv'", "features = ['a.csv', 'b.csv']", "features = 1", "title = 5", f"title = '{'x' * 201}'",
        "[people]\ncompletion_code = 'a b'", "[people]\ncompletion_code = 'ABC-1'",
    ):  # fmt: skip
        path.write_text(text, encoding="utf-8")
        try:
            read_settings(path)
        except ValueError:
            assert not fits("study", tomllib.loads(text)), text
        else:
            assert fits("study", tomllib.loads(text)), text
