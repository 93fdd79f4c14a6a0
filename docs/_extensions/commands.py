"""The reference of the command line, made from the parsers of the program when Sphinx reads docs/commands.md.

The line `<!-- every command -->` of that page becomes a section for each command: what it does, how it is called, and
its options with what they mean. Nothing of it is written by hand, so that it is never out of date.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx

PLACE = "<!-- every command -->"
_PAGE = "commands"
_QUOTES = "`'"
_CODE = re.compile(r"(`[^`]+`|(?<!\w)'[^']+'(?!\w)|(?<![\w-])--?[a-z][\w-]*)")
_PLAIN = ("positional arguments", "options")  # groups that argparse makes by itself


def commands_of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command with its summary, parts of a command after it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                yield summaries.get(name, ""), command
                yield from commands_of(command)


def page_of(parser: argparse.ArgumentParser) -> str:
    """Return the sections of all commands, in Markdown."""
    found = list(commands_of(parser))
    table = [
        f"| [`{command.prog}`](#{command.prog.replace(' ', '-')}) | {_prose(summary)} |"
        for summary, command in found
        if command.prog.count(" ") == 1
    ]
    sections = [_section(command) for _, command in found]
    return "\n".join(["| command | what it does |", "| --- | --- |", *table, "", *sections])


def _section(parser: argparse.ArgumentParser) -> str:
    level = "#" * len(parser.prog.split())
    lines = [f"{level} {parser.prog}", "", described(parser.description or ""), "", _fenced("text", _usage(parser))]
    lines += [f"```{{program}} {parser.prog}\n```\n"]
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if _is_shown(action)]
        if not actions:
            continue
        title = group.title or ""
        if title not in _PLAIN:
            lines += [f"**{title[:1].upper()}{title[1:]}**", ""]
        lines += [_option(action) for action in actions]
    return "\n".join(lines)


def _is_shown(action: argparse.Action) -> bool:
    hidden = action.help == argparse.SUPPRESS or isinstance(action, argparse._HelpAction | argparse._SubParsersAction)
    return not hidden


def described(text: str) -> str:
    r"""Return a description: paragraphs as prose, and what is indented as it stands.

    Examples
    --------
    >>> described("Compare:\n\n  nearer compare a b    two *maps*\n\nThat is all.")
    'Compare:\n\n```text\nnearer compare a b    two *maps*\n```\n\nThat is all.'
    """
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.split("\n")
        if all(line.startswith("  ") for line in lines):
            blocks.append(_fenced("text", "\n".join(line[2:] for line in lines)).rstrip())
        else:
            blocks.append(_prose(block))
    return "\n\n".join(blocks)


def _prose(text: str) -> str:
    r"""Return words in which options, and what stands in backquotes or quotes, are code, and nothing else is special.

    Examples
    --------
    >>> _prose("rows such as 'rt > 0.2' of *.csv, see --where; people's own")
    "rows such as `rt > 0.2` of \\*.csv, see `--where`; people's own"
    """
    pieces = _CODE.split(text.replace("%%", "%"))
    pieces[::2] = [re.sub(r"([\\*_<>\[\]|$#{}])", r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [f"`{piece.strip(_QUOTES)}`" for piece in pieces[1::2]]
    return "".join(pieces)


def _usage(parser: argparse.ArgumentParser) -> str:
    """Return the shortest call that is complete: what must be given, and that there are options."""
    needed = [action for action in parser._actions if _is_shown(action) and action.required]
    optional = any(_is_shown(action) and not action.required for action in parser._actions)
    flags = [_called(action) for action in needed if action.option_strings]
    places = [
        _value(action) if _is_shown(action) else f"{action.metavar} ..."
        for action in parser._actions
        if not action.option_strings
    ]
    return " ".join([parser.prog, *places, *flags, *(["[options]"] if optional else [])])


def _called(action: argparse.Action) -> str:
    """Return how an option is written, the short way if it has one."""
    return " ".join(filter(None, [action.option_strings[0], _value(action)]))


def _value(action: argparse.Action) -> str:
    """Return what stands for the value of an option or an argument."""
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    choices = "|".join(map(str, action.choices)) if action.choices else None
    value = action.metavar or choices or action.dest.upper()
    return {"+": f"{value} ...", "*": f"[{value} ...]", "?": f"[{value}]"}.get(str(action.nargs), value)


def _option(action: argparse.Action) -> str:
    value = _value(action)
    names = [" ".join(filter(None, [name, value])) for name in action.option_strings] or [value]
    # Choices take lines of their own: a heading of many does not fit a phone.
    body = []
    if action.choices and not action.metavar:
        names = [name.replace(f" {value}", " CHOICE") for name in names] if action.option_strings else [action.dest]
        body = ["One of " + ", ".join(f"`{choice}`" for choice in action.choices) + "."]
    words = _help(action)
    return f"```{{option}} {', '.join(names)}\n{' '.join(filter(None, [words, *body]))}\n```\n"


def _help(action: argparse.Action) -> str:
    text = (action.help or "").strip()
    text = f"{text[:1].upper()}{text[1:]}"
    text = f"{_prose(text)}." if text and text[-1] not in ".!?" else _prose(text)
    if action.option_strings and action.required:
        return f"{text} Must be given."
    told = action.default in (None, False, argparse.SUPPRESS) or action.default == [] or f"({action.default}" in text
    return text if told or "(" in text else f"{text} Default: `{action.default}`."


def _fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text}\n```\n"


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    if name == _PAGE:
        from nearer.cli.main import _parser

        source[0] = source[0].replace(PLACE, page_of(_parser()))


def setup(app: Sphinx) -> dict[str, Any]:
    """Fill the page in when it is read."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
