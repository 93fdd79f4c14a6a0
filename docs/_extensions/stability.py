"""What is stable: public names, commands and files, as a record that changes only on purpose.

``python docs/_extensions/stability.py``, which `make stability` runs, writes the record into docs/stable: a line for
each public name with its parameters, a line for each command and option, and a JSON Schema for each kind of file, made
from the records in the code. After the first release it refuses to drop a line that CHANGELOG.md does not announce.
``--since REVISION`` compares with the record of another commit, as workflows do, and writes nothing.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from schemas import SCHEMAS, leaves

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "stable"
COMMAND = "make stability"
_FILES = {name: f"{name}.toml" if name == "study" else f"{name}.json" for name in SCHEMAS}
_BETWEEN = re.compile(r", (?![^(\[{]*[)\]}])")  # parameters, not the items of a default
_ATTRIBUTES = re.compile(r"^Attributes\n-+\n(.*?)(?=\n\n\w[\w ]+\n-+\n|\Z)", re.DOTALL | re.MULTILINE)


def public_names() -> Iterator[str]:
    """Yield a line for each name of the modules that docs/api documents, and for the members of classes."""
    pages = sorted((ROOT / "docs" / "api").glob("*.md"))
    modules = [name for page in pages for name in re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8"))]
    for module in map(import_module, modules):
        for name in sorted(module.__all__):
            value = getattr(module, name)
            yield f"{module.__name__}.{name}" + (_parameters(value) if callable(value) else "")
            if inspect.isclass(value):
                yield from _members(value)


def _members(of: type) -> Iterator[str]:
    """Yield a line with all attributes of a class that are no parameters, and one for each method."""
    members = {key for base in of.__mro__ if base.__module__.startswith("nearer") for key in vars(base)}
    documented = _ATTRIBUTES.search(inspect.getdoc(of) or "")
    attributes = re.findall(r"^(\w[\w, ]*?)(?: :|$)", documented[1], re.MULTILINE) if documented else []
    members |= {each for line in attributes for each in line.split(", ")}
    members -= set(re.findall(r"\w+", _parameters(of)))
    public = {each: getattr(of, each, None) for each in sorted(members) if not each.startswith("_")}
    methods = [name for name, value in public.items() if inspect.isroutine(value) and callable(value)]
    if len(methods) < len(public):
        yield "    " + " ".join(f".{name}" for name in public if name not in methods)
    yield from (f"    .{name}{_parameters(public[name])}" for name in methods)


def _parameters(function: Any) -> str:
    """Return names, kinds and defaults of parameters; types may become wider without a break."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # of a class that is made by other means
        return ""
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    bare = bare[1:] if bare and bare[0].name == "self" else bare
    text = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r"<function (\S+) at \w+>", r"<\1>", text)


def commands() -> Iterator[str]:
    """Yield a line for each command, and for each argument and option of it with its choices."""
    from commands import _is_shown, commands_of

    from nearer.cli.main import _parser

    program = _parser()
    for parser in (program, *(command for _, command in commands_of(program))):
        yield parser.prog
        for action in parser._actions:
            if _is_shown(action):
                choices = f"({', '.join(map(str, action.choices))})" if action.choices else ""
                yield f"{parser.prog} {' '.join(action.option_strings) or action.dest}{choices}"


def record() -> dict[str, str]:
    """Return the texts of the record, by the names of their files."""
    texts = {"names.txt": public_names(), "commands.txt": commands()}
    schemas = {f"schemas/{name}.json": json.dumps(make(), indent=1) for name, make in SCHEMAS.items()}
    return {name: "\n".join(lines) + "\n" for name, lines in texts.items()} | {
        name: text + "\n" for name, text in schemas.items()
    }


def lines(texts: Mapping[str, str]) -> list[str]:
    r"""Return what a record promises, a line for each promise; of a schema, each value with its type.

    >>> lines({"names.txt": "a.B(c)\n    .d .e\n    .f(g, h)\n"})
    ['a.B(c)', 'a.B.d', 'a.B.e', 'a.B.f(g, h)']
    """
    found = []
    for name, text in texts.items():
        if name.endswith(".json"):
            found += [f"{_FILES[Path(name).stem]} {line}" for line in leaves(json.loads(text))]
            continue
        above = ""
        for line in text.splitlines():
            inside = line.strip()
            above = above if line.startswith(" ") else _name(line)
            members = [inside] if "(" in inside else inside.split()
            found += [above + each for each in members] if line.startswith(" ") else [line]
    return found


def breaks(old: list[str], new: list[str]) -> list[str]:
    """Return the promises of an old record that a new one does not keep: names, options or values gone or changed.

    A parameter that has a default may be added at the end, and so may a choice of an option.

    >>> breaks(["f(a, b=1)", "g(a)", "h", "k(a, b)"], ["f(a, b=1, c=2)", "g(a, b)", "k(b, a)"])
    ['g(a)', 'h', 'k(a, b)']
    >>> breaks(["nearer fit --kind(triplet, grid)"], ["nearer fit --kind(triplet, odd-one-out)"])
    ['nearer fit --kind(triplet, grid)']
    """
    now = {_name(line): line for line in new}
    return [line for line in old if _name(line) not in now or not _is_kept(line, now[_name(line)])]


def _name(line: str) -> str:
    return line.partition("(")[0]


def _is_kept(before: str, after: str) -> bool:
    old, new = (re.split(_BETWEEN, line.partition("(")[2].removesuffix(")")) for line in (before, after))
    if ".json " in before or ".toml " in before:  # a value of a schema
        return before == after
    if " " in _name(before):  # an option, with choices
        return set(old) <= set(new)
    first, now_first = _positional(old), _positional(new)
    needed = [each for each in new if each not in old and "=" not in each and not each.startswith("*")]
    return now_first[: len(first)] == first and set(old) - {"*"} <= set(new) and not needed


def _positional(parameters: list[str]) -> list[str]:
    """Return the parameters that may be given by position: those before the first star."""
    return list(itertools.takewhile(lambda each: not each.startswith("*"), parameters))


def unannounced(broken: list[str], changelog: str) -> list[str]:
    r"""Return the breaks that no line below "Changed" or "Removed" of the coming version names; none before a release.

    >>> log = "## [1.1.0] - unreleased\n### Removed\n- `nearer.io.f`: use `g`.\n## [1.0.0] - 2027-01-01\n"
    >>> unannounced(["nearer.io.f(a)", "nearer.io.h(a)"], log)
    ['nearer.io.h(a)']
    """
    _, *versions = re.split(r"^## (?=\[\d)", changelog, flags=re.MULTILINE)
    if not any(re.match(r"\[[\d.]+\] - \d{4}-", each) for each in versions):
        return []
    parts = re.findall(r"^### (?:Changed|Removed)\n(.*?)(?=^#|\Z)", versions[0], re.DOTALL | re.MULTILINE)
    said = set(re.findall(r"`([^`]+)`", "\n".join(parts)))
    return [line for line in broken if _name(line) not in said]


def on_file(folder: Path = FOLDER) -> dict[str, str]:
    """Return the texts of the record in a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def of_revision(revision: str) -> dict[str, str]:
    """Return the texts of the record as a commit has it."""

    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    prefix = FOLDER.relative_to(ROOT).as_posix() + "/"
    names = git("ls-tree", "-r", "--name-only", revision, prefix).splitlines()
    return {name.removeprefix(prefix): git("show", f"{revision}:{name}") for name in names}


def main() -> int:
    """Write the record, or compare it with that of a commit; the status is 1 if a break is not announced."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--since", metavar="REVISION", help="compare with the record of this commit; write nothing")
    options = parser.parse_args()
    now, before = record(), of_revision(options.since) if options.since else on_file()
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    silent = unannounced(breaks(lines(before), lines(now)), changelog)
    if silent:
        sys.stderr.write(
            "these are in the record and would go or change; name each, up to its bracket and in backquotes, in "
            "CHANGELOG.md below Changed or Removed of the coming version:\n" + "\n".join(silent) + "\n"
        )
        return 1
    if not options.since:
        for name, text in now.items():
            (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
            (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
