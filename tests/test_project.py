"""What stands around the package: workflows, targets, citation."""

import re
import tomllib
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, flags=re.MULTILINE))


def read(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def commands(workflow):
    return [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]


def test_the_workflow_of_ci_covers_every_version_and_system_that_is_supported():
    jobs = read(".github/workflows/ci.yml")["jobs"]
    assert [step["run"] for step in jobs["check"]["steps"] if "run" in step] == [".ci/run"]
    supported = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert supported == ["3.11", "3.12", "3.13", "3.14"]
    assert jobs["check"]["strategy"]["matrix"]["python"] == supported
    assert jobs["elsewhere"]["strategy"]["matrix"] == {
        "system": ["macos-latest", "windows-latest"], "python": supported,
    }  # fmt: skip
    (compared,) = [step for step in jobs["promises"]["steps"] if "--since" in step.get("run", "")]
    assert "python docs/_extensions/stability.py --since" in compared["run"]


def test_the_workflow_of_packages_makes_them_and_publishes_tags_without_a_secret():
    workflow = read(".github/workflows/dist.yml")
    assert commands(workflow) == ["make dist"]
    publish = workflow["jobs"]["publish"]
    assert "tag" in publish["if"]
    assert publish["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github/workflows/dist.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_actions_are_pinned_and_can_write_nothing(path):
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    used = re.findall(r"uses: (.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", each)] == []
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = read(".github/conda/recipe.yaml")
    assert recipe["context"]["version"] == PROJECT["version"]
    renamed = {"lazy_loader": "lazy-loader", "matplotlib": "matplotlib-base"}
    needed = [re.fullmatch(r"([\w.-]+)(.*)", each).groups() for each in PROJECT["dependencies"]]
    wanted = [f"{renamed.get(name, name)} {limit}" for name, limit in needed]
    assert recipe["requirements"]["run"] == [f"python {PROJECT['requires-python']}", *wanted]
    assert recipe["requirements"]["host"][-1].split() == ["hatchling", ">=1.26"]


def test_the_lowest_versions_are_those_of_the_package():
    lowest = dict(line.split("==") for line in (ROOT / "constraints-lowest.txt").read_text(encoding="utf-8").split())
    limits = dict(re.fullmatch(r"([\w.-]+)>=(.*)", each).groups() for each in PROJECT["dependencies"])
    alike = {name: (lowest[name] + ".0.0").startswith(limit + ".") for name, limit in limits.items()}
    assert [name for name, same in alike.items() if not same] == []


def test_the_page_of_the_package_has_no_link_that_leads_nowhere(monkeypatch):
    pytest.importorskip("hatchling")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_extensions"))
    from package_page import with_absolute_links

    page = (ROOT / "README.md").read_text(encoding="utf-8")
    without, known = (with_absolute_links(page, each, "1.0.0") for each in ("", "https://example.org/nearer"))
    for text in (without, known):
        assert [link for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("https://")] == []
    assert "https://example.org/nearer/blob/v1.0.0/docs/tutorial.md" in known
    assert "![A report: the verdict" in known
    assert "https://example.org/nearer/raw/v1.0.0/docs/report.png" in known
    assert "[arXiv:1812.01939](https://arxiv.org/abs/1812.01939)" in without


def test_files_for_the_community_name_what_exists():
    folder = ROOT / ".github"
    for name in ("CODE_OF_CONDUCT.md", "SECURITY.md", "SUPPORT.md", "PULL_REQUEST_TEMPLATE.md"):
        text = (folder / name).read_text(encoding="utf-8")
        named = re.findall(r"`((?:docs|\.ci)/[\w./-]*|CHANGELOG\.md)`", text)
        assert [each for each in named if not (ROOT / each).exists()] == []
    for form in (folder / "ISSUE_TEMPLATE").glob("*.yml"):
        assert {"name", "description", "body"} <= set(read(form))


def test_the_paper_cites_what_it_lists_and_measures_what_the_manual_does():
    folder = ROOT / ".github" / "paper"
    text, works = ((folder / name).read_text(encoding="utf-8") for name in ("paper.md", "paper.bib"))
    assert set(re.findall(r"@([a-z]+\d{4}\w*)", text)) == set(re.findall(r"^@\w+\{(\w+),", works, re.MULTILINE))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    figures = ("93.5% to 97.0%", "1.4", "8.4", "0.2 to 0.5 s", "33 to 53 times", "467", "949", "46%", "22%")
    assert [each for each in figures if each not in readme or each not in " ".join(text.split())] == []


def test_targets_that_are_spoken_of_exist():
    spoken = {"CONTRIBUTING.md", "README.md", ".ci/run", ".github/workflows/dist.yml", "docs/stability.md"}
    for path in spoken:
        text = (ROOT / path).read_text(encoding="utf-8")
        named = set(re.findall(r"(?:`|run: |^)make ([a-z][a-z-]*)", text, flags=re.MULTILINE))
        assert named <= TARGETS, path
    assert set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, flags=re.MULTILINE)[1].split()) == TARGETS


@pytest.mark.parametrize("path", [".ci/run", "Makefile"])
def test_tests_that_are_chosen_exist(path):
    chosen = re.findall(r"\btests/[\w/.]+", (ROOT / path).read_text(encoding="utf-8"))
    assert len(chosen) >= 3
    assert [each for each in chosen if not (ROOT / each).exists()] == []


def test_the_citation_is_of_this_version_and_of_the_paper():
    citation = read("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert (citation["title"], citation["type"]) == ("nearer", "software")
    assert (citation["version"], citation["license"]) == (PROJECT["version"], PROJECT["license"])
    assert citation["authors"] == PROJECT["authors"]
    assert citation["message"]
    paper = citation["preferred-citation"]
    assert paper["title"].startswith("Less but Better: ")
    assert [author["family-names"] for author in paper["authors"]] == ["Ma", "Xu", "Yang", "Cao"]
    assert paper["year"] == 2019
