"""docs/commands.md: every command of the program and every option of it, from the parsers themselves."""

import argparse
import re
from pathlib import Path

import pytest

from nearer.cli import main as program

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def tool(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    import commands

    return commands


def all_parsers(parser):
    yield parser
    for action in parser._actions:
        for part in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from all_parsers(part)


def sections_of(page):
    found = re.split(r"^#{2,} (nearer .*)$", page, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_every_command_and_every_option_is_there(tool):
    parser = program._parser()
    sections = sections_of(tool.page_of(parser))
    parsers = list(all_parsers(parser))[1:]
    assert list(sections) == [each.prog for each in parsers]
    assert {f"nearer {name}" for name in program._COMMANDS} <= set(sections)
    n_options = 0
    for each in parsers:
        named = re.findall(r"^```\{option\} (.*)$", sections[each.prog], flags=re.MULTILINE)
        for action in each._actions:
            for option in action.option_strings if not isinstance(action, argparse._HelpAction) else ():
                assert any(re.search(rf"(?<![\w-]){option}(?![\w-])", line) for line in named), (each.prog, option)
                n_options += 1
            for choice in action.choices or () if not isinstance(action, argparse._SubParsersAction) else ():
                assert f"`{choice}`" in sections[each.prog]
    assert n_options > 100
    text = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert tool.PLACE in text
    assert "--version" in text


def test_an_option_says_what_it_takes_and_what_is_left_out_means(tool):
    parser = argparse.ArgumentParser(prog="nearer")
    one = parser.add_subparsers().add_parser("one", description="Do it.\n\n  nearer one A   as *it* stands", help="do")
    one.add_argument("file", nargs="+", metavar="FILE", help="what to *read*")
    one.add_argument("-o", "--out", required=True, metavar="DIR", help="folder")
    group = one.add_argument_group("how")
    group.add_argument("--kind", choices=("a", "b"), default="a", help="which of them")
    group.add_argument("--size", default=3, metavar="N", help="of it (3)")
    group.add_argument("--no", action="store_true", help=argparse.SUPPRESS)
    page = tool.page_of(parser)
    assert "| [`nearer one`](#nearer-one) | do |" in page
    assert "```text\nnearer one A   as *it* stands\n```" in page
    assert "```text\nnearer one FILE ... -o DIR [options]\n```" in page
    assert "```{option} FILE ...\nWhat to \\*read\\*.\n```" in page
    assert "```{option} -o DIR, --out DIR\nFolder. Must be given.\n```" in page
    assert "**How**" in page
    assert "```{option} --kind CHOICE\nWhich of them. Default: `a`. One of `a`, `b`.\n```" in page
    assert "```{option} --size N\nOf it (3).\n```" in page
    assert "--no" not in page
