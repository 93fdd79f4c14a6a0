import re
from pathlib import Path

import pytest

from nearer.cli.main import main
from nearer.embedding import PosteriorEmbedding
from nearer.sampling import Microcanonical

pytestmark = pytest.mark.usefixtures("few_repeats")
README = Path(__file__).parents[2] / "README.md"
PYTHON = README.parent / "docs" / "python.md"


def examples(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


SHORT, LONG, SURE, LARGE = examples(PYTHON)
(FIRST,) = examples(README)


def test_the_short_example_prints_what_it_says(capsys):
    exec(compile(SHORT, "python.md", "exec"), {})
    map_line, prediction, chances, gap = capsys.readouterr().out.splitlines()
    assert map_line.startswith("{'bus': [")
    assert prediction == "[1]"
    assert chances.startswith("[[")
    assert float(gap) < 1e-3


@pytest.mark.filterwarnings("ignore:PosteriorEmbedding:sklearn.exceptions.ConvergenceWarning")
def test_the_long_example_takes_a_table_to_a_map(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["example", "study"]) == 0
    table = tmp_path / "study" / "answers.csv"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    table.write_text("".join(lines[:241]), encoding="utf-8")  # of three people, for speed
    assert "p17" in LONG
    exec(compile(LONG.replace("p17", "p02"), "python.md", "exec"), {})
    out = capsys.readouterr().out
    assert re.search(r"2[34]\d answers by 3 people", out)
    assert re.search(r"\d Reliability\(mean=0\.[5-9]", out)
    assert float(re.search(r"held-out error (0\.\d+)", out)[1]) < 0.3
    assert (tmp_path / "map.png").stat().st_size > 10_000


@pytest.mark.filterwarnings("ignore:PosteriorEmbedding:sklearn.exceptions.ConvergenceWarning")
def test_the_sure_example_finds_two_dimensions(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few_draws = Microcanonical(2, n_warmup=300, n_steps=1000)
    monkeypatch.setitem(PosteriorEmbedding.__init__.__kwdefaults__, "solver", few_draws)
    smaller = SURE.replace("(25, 2,", "(15, 2,").replace("1500", "600")  # for speed
    assert smaller.count("15, 2") == smaller.count("600") == 1
    exec(compile(smaller, "python.md", "exec"), {})
    dimension, *_, chances, deviations = capsys.readouterr().out.splitlines()
    assert dimension.startswith("2 [")
    assert chances.startswith("[[")
    assert len(deviations.strip("[]").split()) == 2
    assert (tmp_path / "ellipses.png").stat().st_size > 10_000


def test_the_large_example_places_continues_and_streams(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(LARGE, "python.md", "exec"), {})
    continued, careful, streamed = capsys.readouterr().out.splitlines()
    assert continued.startswith("(200, 3) ")
    assert float(continued.split()[-1]) > 0.95
    assert float(careful) > 0.95
    assert float(streamed) > 0.9


@pytest.mark.filterwarnings("ignore:PosteriorEmbedding:sklearn.exceptions.ConvergenceWarning")
def test_the_first_example_draws_a_map(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["example", "study"]) == 0
    table = tmp_path / "study" / "answers.csv"
    lines = table.read_text(encoding="utf-8").splitlines(keepends=True)
    table.write_text("".join(lines[:241]), encoding="utf-8")  # of three people, for speed
    exec(compile(FIRST, "README.md", "exec"), {})
    assert "answers by 3 people" in capsys.readouterr().out
    assert (tmp_path / "map.png").stat().st_size > 10_000
    assert len(FIRST.strip().splitlines()) <= 9


def test_its_commands_are_those_of_the_program():
    named = re.findall(r"^nearer (\w+)", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert named == ["demo", "survey", "example", "check", "fit", "report", "features", "fit"]


def test_it_is_short():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


@pytest.mark.parametrize("folder", ["", "docs", "docs/estimators", "src"])
def test_no_command_installs_a_package_that_no_index_has(folder):
    top = README.parent / folder
    pages = [*top.glob("*.md"), *(top.rglob("*.py") if folder == "src" else ())]
    assert pages
    wrong = re.compile(r"pip install[^\n`]* ['\"]?nearer\b")
    assert [page.name for page in pages if wrong.search(page.read_text(encoding="utf-8"))] == []


def test_everything_it_links_to_is_there():
    links = re.findall(r"\]\((?!http)([^)#]+)(?:#([^)]+))?\)", README.read_text(encoding="utf-8"))
    assert ("docs/pictures-to-map.png", "") in links
    assert [link for link, _ in links if not (README.parent / link).exists()] == []
    for link, anchor in links:
        headings = re.findall(r"^#+ (.+)$", (README.parent / link).read_text(encoding="utf-8"), re.M) if anchor else []
        assert anchor in ["", *(heading.lower().replace(" ", "-") for heading in headings)]


@pytest.mark.parametrize("page", [README, README.parent / "docs" / "index.md"], ids=lambda page: page.stem)
@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("how many answers", "tutorial.md#the-next-study"),
        ("groups", "groups.md"),
        ("csv", "files.md"),
        ("ellipses", "gallery/ellipses.py"),
        ("method", "estimators/index.md"),
        ("pictures", "features.md"),
        ("survey", "survey.md"),
        ("jspsych", "asking.md"),
    ],
)
def test_a_question_leads_to_its_page(page, words, target):
    lines = page.read_text(encoding="utf-8").replace("docs/", "").split("\n")
    assert [line for line in lines if words in line.lower() and target in line]
    assert "cite" in page.read_text(encoding="utf-8").lower()
    assert "https://arxiv.org/abs/1812.01939" in page.read_text(encoding="utf-8")


def test_its_figures_are_those_of_the_pages_it_names():
    text, docs = README.read_text(encoding="utf-8"), README.parent / "docs"
    pages = {name: (docs / f"{name}.md").read_text(encoding="utf-8") for name in ("accuracy", "active", "validity")}
    assert "is 1.4 among 18 methods; the best method of cblearn reaches 8.4" in text
    assert "a mean rank of 1.4 among 18 methods" in pages["accuracy"]
    assert "the best method of cblearn has 8.4" in pages["accuracy"]
    assert "467 instead of 949 for an error of 0.05" in text
    eggs = pages["active"].split("### eggs")[1].split("###")[0]
    assert [re.findall(rf"{name} .*\| +(\d+) \(.*?\|.*?\|.*?\|$", eggs, re.M) for name in ("random", "ours")] == [
        ["949"],
        ["467"],
    ]
    features = (docs / "features.md").read_text(encoding="utf-8")
    errors = [re.search(rf"\| zappos, {kind} \| \.\d+ \| (\.\d+)", features)[1] for kind in ("plain", "features")]
    without, given = (f"{float(error):.0%}" for error in errors)
    claim = f"{without} of people's answers about shoes are predicted wrong without pictures and {given} with them"
    assert claim in " ".join(text.split())
    sections = re.findall(r"### Ellipses of the posterior(?:, 4-D)?\n(.*?)\n\n(?=#)", pages["validity"], re.S)
    rates = [float(rate) for part in sections for rate in re.findall(r"coverage \| ([\d.]+) ±", part)]
    assert len(rates) == 5
    assert f"contain {min(rates):.1f}% to {max(rates):.1f}% of the true places" in " ".join(text.split())
