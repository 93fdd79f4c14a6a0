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


def test_the_workflow_of_ci_runs_it_on_every_version_that_is_supported():
    workflow = read(".github/workflows/ci.yml")
    assert commands(workflow) == [".ci/run"]
    (job,) = workflow["jobs"].values()
    supported = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
    assert job["strategy"]["matrix"]["python"] == supported == ["3.11", "3.12", "3.13"]


def test_the_workflow_of_packages_makes_them():
    assert commands(read(".github/workflows/dist.yml")) == ["make dist"]


def test_targets_that_are_spoken_of_exist():
    spoken = {"CONTRIBUTING.md", "README.md", ".ci/run", ".github/workflows/dist.yml"}
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
