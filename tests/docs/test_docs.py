"""The documentation: every page can be reached, every example runs, every link leads somewhere."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("few_repeats")
DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
GALLERY = sorted((DOCS / "gallery").glob("*.py"))
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n)?^```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE
)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:)(?P<path>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")


def name(page):
    return page.relative_to(DOCS).with_suffix("").as_posix()


def text_of(page):
    return page.read_text(encoding="utf-8")


def prose_of(page):
    """Return a page without its code, in which brackets are no links."""
    if page.suffix == ".py":
        return text_of(page).split('"""')[1]
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text_of(page), flags=re.DOTALL | re.MULTILINE)


def anchors_of(page):
    headings = re.findall(r"^#+ (.+)$", prose_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_the_table_of_contents():
    listed = {"index"}
    for page in PAGES:
        for block in TOCTREE.findall(text_of(page)):
            entries = [line for line in block.splitlines() if line and not line.startswith(":")]
            folder = name(page.parent / "x")[:-1]
            listed |= {folder + entry for entry in entries}
    present = {name(page) for page in [*PAGES, *GALLERY]}
    assert present == listed


@pytest.mark.parametrize("page", [*PAGES, *GALLERY], ids=name)
def test_every_link_leads_somewhere(page):
    broken = []
    for path, anchor in LINK.findall(prose_of(page)):
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(f"{path}#{anchor}")
    assert broken == []


# The examples of python.md run in test_readme.py, on a part of the study for speed.
@pytest.mark.parametrize("page", [p for p in PAGES if "```python" in text_of(p) and name(p) != "python"], ids=name)
def test_every_example_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = list(BLOCK.finditer(text_of(page)))
    assert len(found) == text_of(page).count("```python\n")
    for block in found:
        if block["reason"] is None:
            exec(compile(block["code"], f"docs/{name(page)}.md", "exec"), {})
    assert capsys.readouterr().out or all(block["reason"] for block in found)


KINDS = {"triplet": 2, "quadruplet": 1, "odd-one-out": 2, "most-central": 2, "grid": 4, "ranking": 3, "ranked-grid": 5}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_is_read_as_the_page_says(kind, tmp_path):
    from nearer.io import read_answers

    section = text_of(DOCS / "files.md").split(f"\n### {kind}\n")[1].split("\n#")[0]
    for number, block in enumerate(re.findall(r"^```text\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)):
        path = tmp_path / f"answers{number}.csv"
        path.write_text(block, encoding="utf-8")
        answers = read_answers(path)
        assert (answers.kind, len(answers.comparisons)) == (kind, KINDS[kind])


def test_every_estimator_has_a_page():
    from nearer import embedding

    titles = {text_of(page).splitlines()[0].removeprefix("# ") for page in (DOCS / "estimators").glob("*.md")}
    assert titles == {"Estimators", *embedding.__all__}


def test_every_public_module_has_a_page():
    source = DOCS.parent / "src" / "nearer"
    modules = {path.stem for path in source.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    public = {module for module in modules if not module.startswith("_")} - {"cli", "model", "survey"}
    assert {page.stem for page in (DOCS / "api").glob("*.md")} == public | {"index", "nearer"}


def test_every_formula_can_be_drawn(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    from formulas import mathml

    drawn = 0
    for page in PAGES:
        text = prose_of(page)
        for formula in re.findall(r"\$\$(.+?)\$\$", text, flags=re.DOTALL):
            assert mathml(formula, block=True).startswith("<math")
            drawn += 1
        for formula in re.findall(r"\$([^$\n]+)\$", re.sub(r"\$\$.+?\$\$", "", text, flags=re.DOTALL)):
            assert mathml(formula).startswith("<math")
            drawn += 1
    assert drawn > 100


def test_a_script_of_the_gallery_becomes_a_page(monkeypatch):
    pytest.importorskip("myst_parser")
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    from examples import page_of

    page = page_of('"""A title.\n\nA story.\n"""\n\nprint(1)\n', "script", "1\n")
    assert page.startswith("# A title\n\nA story.\n\n![A title](/_build/gallery/script.png)")
    assert "```python\nprint(1)\n```" in page
    assert "```text\n1\n```" in page


def test_docstrings_are_shown_as_they_are_meant(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    from docstrings import readable

    source = """Return |x| of `embedding_`, shape (n_objects_, p).

    d2 = |x - y|^2

Parameters
----------
x : array
    First paragraph.

    Second paragraph.

Examples
--------
>>> abs_(x)  # |x|"""
    shown = readable(source.split("\n"))
    assert shown[0] == r"Return \|x\| of `embedding_`, shape (n_objects\_, p)."
    assert shown[2:5] == ["::", "", "    d2 = |x - y|^2"]
    assert "    Second paragraph." in shown
    assert shown.count("::") == 1
    assert shown[-1] == ">>> abs_(x)  # |x|"


@pytest.mark.parametrize(
    "page", [DOCS / "architecture.md", DOCS.parent / "CONTRIBUTING.md"], ids=lambda path: path.stem
)
def test_every_file_that_the_architecture_names_exists(page):
    named = set(re.findall(r"`((?:[\w.]+/)+[\w.]*|[\w/]+\.py)`", page.read_text(encoding="utf-8")))
    roots = (DOCS.parent, DOCS.parent / "src" / "nearer")
    assert len(named) > 3
    assert sorted(name for name in named if not any((root / name).exists() for root in roots)) == []
