"""Many files as one table, most often one file for each participant.

Files become one table before anything is read from it, and not answers that are joined afterwards: what kind of
question was asked, which column is what, what 0 and 1 mean, and whether labels are numbers is then decided once, by all
rows. A file of a few rows, in which everybody chose the left one, could not tell. Every row knows its file and its line
in it (`nearer.io.table.RowSources`).

Columns are matched by their names, whatever their order and the delimiter of a file. A file that names a column of the
question in another way than most files do (item_1, object1) is read as if it named it so. Where no column identifies
who answered, the name of the file does.

Of a folder, or of a pattern such as ``data/*.csv``, those files are read whose names end like a table. What labs keep
next to them is ignored, with a finding: a README, files of the system (.DS_Store) or of an open spreadsheet
(~$p01.csv), and empty files, as of somebody who closed the window at once. A file that is named outright is always
read.
"""

from __future__ import annotations

import glob
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from os.path import commonpath
from pathlib import Path
from typing import Any

import numpy as np

from nearer._common.files import printable, refuse_special_file
from nearer._common.findings import Finding, Source
from nearer._common.formatting import pluralize, quote_all
from nearer._common.progress import progress_bar
from nearer.data.labels import normalize_name
from nearer.io.columns import EXTRAS, SYNONYMS, LayoutMatch, by_plain, find_columns
from nearer.io.delimited import NoRows
from nearer.io.formats import OpenedTable, open_table
from nearer.io.messages import listing, note
from nearer.io.presets import ReadOptions, detect_program, drop_header_rows, hints_of
from nearer.io.selecting import Rule, keeps_any_row, keeps_person
from nearer.io.table import Column, LoadedRows, RowSources, Table

PERSON = "person"  # the column that says which file a row is from
_MAX_REASONS = 5  # in an error


@dataclass(frozen=True)
class _FilePart:
    """One of the files: its table, and the names that its columns get."""

    name: str
    person: str
    table: Table
    renamed: dict[str, str]

    @property
    def names(self) -> list[str]:
        return [self.renamed.get(name, name) for name in self.table.names]

    def load(self, wanted: Sequence[str], ragged: bool = False) -> LoadedRows:
        """Return the columns that are there, by their new names; of ``ragged`` rows, or of all others."""
        own = dict(zip(reversed(self.names), reversed(self.table.names), strict=True))
        there = [name for name in wanted if name in own]
        # At least one: where a program has written further lines of headers, any column tells.
        read = self.table.ragged if ragged else self.table.load
        if read is None:
            return LoadedRows({}, RowSources(self.name, np.zeros(0, np.int64)))
        loaded = read(list(dict.fromkeys([*(own[name] for name in there), self.table.names[0]])))
        if self.table.delimited and not ragged:
            loaded = drop_header_rows(loaded)
        return replace(loaded, columns={name: loaded.columns[own[name]] for name in there})


def namespace_by_file(column: Column, sources: RowSources) -> Column:
    """Return a column of trials, or of other numbers, that mean something within a file alone."""
    if len(sources) == 0 or sources.file_of is None or sources.file_of[-1] == 0:
        return column
    codes = sources.file_of * len(column.values) + column.codes
    distinct, new = np.unique(codes, return_inverse=True)
    if len(np.unique(column.codes)) == len(distinct):
        return column
    return Column(np.where(column.codes < 0, -1, new).astype(np.int32), list(range(len(distinct))))


def join_files(files: FileList, options: ReadOptions, rules: tuple[Rule, ...]) -> OpenedTable:
    """Return two files or more as one table."""
    people = dict(zip(files.names, files.people, strict=True))
    opened, unread, findings = _opened(files, options)
    out = {
        name
        for name, each in opened.items()
        if rules and not keeps_any_row(rules, each.table, options.columns, people[name])
    }
    counting = [each for name, each in opened.items() if name not in out] or [*opened.values()]
    usual = _usual_layout([each.table.names for each in counting], options)
    parts, first = [], counting[0]
    for name, each in opened.items():
        renamed, misfit = _rename_columns(each.table, usual, options)
        if (each.names, each.kind) != (first.names, first.kind):
            misfit = "numbers its objects, or asks, in another way than the first file; join the arrays first"
        if misfit:
            unread[name] = f"{name} {misfit}"
        else:
            parts.append(_FilePart(name, people[name], each.table, renamed))
    out |= {name for name in unread if name not in opened and not keeps_person(rules, people[name])}
    if left_out := [name for name in unread if name in out]:
        findings.append(note("filtered-files", files.source, names=left_out))
    if reasons := [why for name, why in unread.items() if name not in out]:
        if not options.skip_bad:
            raise ValueError(_mismatch_message(reasons, files.source))
        findings.append(note("unread-files", files.source, reasons=reasons))
    if not parts:
        raise ValueError(f"{files.source}: none can be read")
    table = _table(parts, files.source, _person_column(parts, usual, options))
    return OpenedTable(replace(table, findings=(*findings, *table.findings)), first.names, first.kind)


def _opened(files: FileList, options: ReadOptions) -> tuple[dict[str, OpenedTable], dict[str, str], list[Finding]]:
    """Return the tables of files by their names, why others have none, and findings."""
    found: dict[str, OpenedTable] = {}
    unread, without_rows = dict[str, str](), []
    same: dict[tuple[str, str], list[tuple[str, Finding]]] = {}
    bar = progress_bar("open", len(files.paths), files.paths, unit="file")
    for path, name in zip(bar, files.names, strict=True):
        try:
            opened = open_table(path, options.kind)
        except NoRows:
            without_rows.append(name)
            continue
        except ValueError as error:
            unread[name] = str(error)
            continue
        for each in opened.table.findings:
            same.setdefault((each.code, repr(each.numbers)), []).append((name, each))
        found[name] = opened._replace(table=replace(opened.table, source=name, findings=()))
    findings = [note("files-without-rows", files.source, names=without_rows)] if without_rows else []
    for together in same.values():
        first, finding = together[0]
        numbers = {**finding.numbers, "files": [name for name, _ in together]}
        findings.append(replace(finding, source=Source(first), numbers=numbers))
    if not found:
        raise ValueError("; ".join([*unread.values()][:_MAX_REASONS]) or f"{files.source}: none holds an answer")
    return found, unread, findings


def _mismatch_message(reasons: list[str], source: str) -> str:
    """Return an error about files that do not match the others."""
    them = "it" if len(reasons) == 1 else "them"
    more = f"; {len(reasons) - _MAX_REASONS} more do not either" if len(reasons) > _MAX_REASONS else ""
    return (
        f"{source}: {pluralize(len(reasons), 'file does', 'files do')} not match the others: "
        f"{'; '.join(reasons[:_MAX_REASONS])}{more}. Put {them} elsewhere, or skip {them} with --skip-bad "
        "(skip_bad=True)"
    )


def _find_layout(names: Sequence[str], source: str, options: ReadOptions) -> LayoutMatch:
    """Return which columns of a file are what; ValueError if they make no question, or several."""
    preset = options.preset or detect_program(names)
    hints = hints_of(preset, names, options.kind, options.columns, None, source)
    return find_columns(names, hints.kind, hints.columns, source, hints.suggested)


def _usual_layout(names: list[tuple[str, ...]], options: ReadOptions) -> tuple[tuple[str, ...], LayoutMatch | None]:
    """Return the names that most files have, and which are what; None where one file alone cannot tell."""
    spelled = [frozenset(map(normalize_name, each)) for each in names]
    most, _ = Counter(spelled).most_common(1)[0]
    usual = names[spelled.index(most)]
    try:
        return usual, _find_layout(usual, "", options)
    except ValueError:  # reading the whole says what is wrong with it
        return usual, None


def _rename_columns(
    table: Table, usual: tuple[tuple[str, ...], LayoutMatch | None], options: ReadOptions
) -> tuple[dict[str, str], str]:
    """Return the usual names of the columns of a file, and why it does not match the others."""
    names, found = usual
    spelled = {normalize_name(name): name for name in reversed(names)}
    if sorted(map(normalize_name, table.names)) == sorted(map(normalize_name, names)) or found is None:
        renamed = {name: spelled.get(normalize_name(name), name) for name in table.names}
        return (renamed if len(set(renamed.values())) == len(table.names) else {}), ""
    kind = found.layout.kind
    try:
        own = _find_layout(table.names, table.source, options)
    except ValueError:
        return {}, f"has columns that make no question of kind {kind}: {listing(table.names)}"
    if twice := [name for name in own.names if table.names.count(name) > 1]:
        return {}, f"has two columns {twice[0]!r}; rename one of them"
    if own.layout != found.layout:
        other = f"of kind {own.layout.kind}" if own.layout.kind != kind else "in other columns"
        return {}, f"holds answers {other}, and the others are of kind {kind} ({', '.join(found.layout.roles)})"
    renamed = {name: spelled.get(normalize_name(name), name) for name in table.names}
    for role in (*found.layout.roles, *(role for role in EXTRAS if role != "seconds")):  # whose unit is in the name
        here, there = own.roles.get(role, ()), found.roles.get(role, ())
        if len(here) == len(there):
            renamed |= {old: new for old, new in zip(here, there, strict=True) if new not in table.names}
    return renamed, ""


def _person_column(
    parts: list[_FilePart], usual: tuple[tuple[str, ...], LayoutMatch | None], options: ReadOptions
) -> str | None:
    """Return the column that says who answered, or is to say so; None if the caller wants none."""
    if "annotator" in (options.columns or {}):
        named = (options.columns or {})["annotator"]
        return named if any(named in part.names for part in parts) else None
    if usual[1] is not None and "annotator" in usual[1].roles:
        return usual[1].roles["annotator"][0]
    spelled = by_plain(list(dict.fromkeys(name for part in parts for name in part.names)))
    return next((spelled[name] for name in SYNONYMS["annotator"] if name in spelled), PERSON)


def _table(parts: list[_FilePart], source: str, person: str | None) -> Table:
    names = list(dict.fromkeys(name for part in parts for name in part.names))
    findings = _missing_columns(parts, names, source, person)
    files = tuple(part.name for part in parts)
    if person is not None and person not in names:
        names.append(person)

    def load(wanted: Sequence[str], ragged: bool = False) -> LoadedRows:
        loaded = [part.load(wanted, ragged) for part in parts]
        columns = {name: _column(name, parts, loaded, name == person) for name in wanted}
        bad = [
            replace(row, source=Source(name, row.row))
            for name, each in zip(files, loaded, strict=True)
            for row in each.bad_rows
        ]
        file_of = np.repeat(np.arange(len(parts)), [len(each) for each in loaded])
        sources = RowSources(source, np.concatenate([each.sources.lines for each in loaded]), files, file_of)
        return LoadedRows(columns, sources, bad, sum(each.n_bad for each in loaded))

    repeated = [name for part in parts for name in part.names if part.names.count(name) > 1]
    return Table(
        source,
        (*names, *dict.fromkeys(repeated)),
        load,
        delimited=any(part.table.delimited for part in parts),
        positional=all(part.table.positional for part in parts),
        indices=all(part.table.indices for part in parts),
        ragged=lambda wanted: load(wanted, True),
        findings=tuple(findings),
    )


def _column(name: str, parts: list[_FilePart], loaded: list[LoadedRows], is_person: bool) -> Column:
    """Return a column over all files: empty where a file has none, or its name if it is who answered."""
    pieces = []
    for part, each in zip(parts, loaded, strict=True):
        missing = Column(np.full(len(each), 0 if is_person else -1, np.int32), [part.person] if is_person else [])
        pieces.append(each.columns.get(name, missing))
    kinds = {type(value) for piece in pieces for value in piece.values}
    index: dict[Any, int] = {}
    codes = []
    for piece in pieces:
        values = piece.values if len(kinds) < 2 else [str(value) for value in piece.values]  # 1 next to "1"
        new = np.fromiter((index.setdefault(value, len(index)) for value in values), np.int32, len(values))
        codes.append(np.append(new, np.int32(-1))[piece.codes])
    return Column(np.concatenate(codes), list(index))


def _missing_columns(parts: list[_FilePart], names: list[str], source: str, person: str | None) -> list[Finding]:
    """Return findings on who answered, where files say it, and on columns that some files lack."""
    findings = []
    anonymous = [part.person for part in parts if person is not None and person not in part.names]
    if anonymous:
        findings.append(note("no-person-column", source, people=anonymous, n_files=len(parts)))
    lacking: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        without = tuple(part.name for part in parts if name not in part.names)
        if without and name != person:
            lacking.setdefault(without, []).append(name)
    return findings + [note("lacking-columns", source, columns=of, lacking=files) for files, of in lacking.items()]


_ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".parquet", ".npz", ".npy")
_DOCUMENT_STEMS = ("readme", "license", "licence", "codebook", "changelog", "notes")
_GENERIC_FOLDERS = ("data", "raw", "csv", "answers", "files", "results")
_RESULTS_FILE = "results.json"  # of a map


@dataclass(frozen=True)
class FileList:
    """Files of answers."""

    paths: tuple[Path, ...]
    source: str  # what to call them: the name of the one file, or "40 files in data"
    title: str  # A heading for what is made of them
    findings: tuple[Finding, ...] = ()  # what was ignored

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each file; with folders where the files are of several."""
        if len({path.parent for path in self.paths}) == 1:
            return tuple(printable(path.name) for path in self.paths)
        above = Path(commonpath([path.absolute().parent for path in self.paths]))
        return tuple(printable(path.absolute().relative_to(above).as_posix()) for path in self.paths)

    @property
    def people(self) -> tuple[str, ...]:
        """Who answered, by the name of each file; by that of its folder where all files have one name."""
        stems = tuple(_stem(path) for path in self.paths)
        if len(set(stems)) == 1 and len({path.parent for path in self.paths}) == len(self.paths):
            return tuple(printable(path.absolute().parent.name) for path in self.paths)
        return stems

    def digest(self) -> str:
        """Return the SHA-256 of the one file, or of the sorted names and digests of several, a line each."""
        digests = [_digest(path) for path in self.paths]
        if len(digests) == 1:
            return digests[0]
        lines = sorted(f"{name} {digest}\n" for name, digest in zip(self.names, digests, strict=True))
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def is_files(source: Any) -> bool:
    """Whether a source is a path, or a sequence of paths."""
    if isinstance(source, str | PathLike):
        return True
    return isinstance(source, list | tuple) and all(isinstance(each, str | PathLike) for each in source)


def file_list(source: Any) -> FileList:
    """Return the files that a path, a folder, a pattern or a sequence of these means."""
    given = [Path(source)] if isinstance(source, str | PathLike) else [Path(each) for each in source]
    if not given:
        raise ValueError("there is no file to read; name one, or a folder of files")
    paths: dict[Path, Path] = {}
    passed: list[Path] = []
    for each in given:
        found = _files_below(each)
        if found is None:
            paths.setdefault(each.absolute(), each)
            continue
        answers = [path for path in found if _is_table(path)]
        passed += [path for path in found if not _is_table(path)]
        if not answers:
            raise ValueError(_no_files_message(each, found))
        paths |= {path.absolute(): path for path in answers if path.absolute() not in paths}
    return _list_of_files(tuple(paths.values()), given, passed)


def _list_of_files(paths: tuple[Path, ...], given: list[Path], passed: list[Path]) -> FileList:
    parents = {path.absolute().parent for path in paths}
    folder = next(iter(parents)).name if len(parents) == 1 else ""
    if len(paths) == 1:
        source, title = printable(paths[0].name or str(paths[0])), printable(paths[0].stem)
    else:
        source = f"{len(paths)} files in {printable(folder)}" if folder else f"{len(paths)} files"
        title = _folder_title(next(iter(parents))) if folder else _stem(given[0])
    names = [printable(path.name) for path in passed]
    findings = (note("passed-files", source, names=names, endings=_ENDINGS),) if passed else ()
    return FileList(paths, source, title, findings)


def _folder_title(folder: Path) -> str:
    """Return what the answers of a folder are called: "data" says nothing, the folder around it more."""
    return printable((folder.parent.name if folder.name.lower() in _GENERIC_FOLDERS else "") or folder.name)


def _files_below(path: Path) -> list[Path] | None:
    """Return the files of a folder or of a pattern, in order; None for anything else, which is a file."""
    if path.is_dir():
        if (path / _RESULTS_FILE).is_file():
            raise ValueError(f"{path} holds a map, not answers; name the file, or the folder, of the answers")
        return sorted(each for each in path.iterdir() if not each.is_dir())
    if not path.exists() and glob.has_magic(str(path)):
        return sorted(each for each in map(Path, glob.glob(str(path), recursive=True)) if not each.is_dir())
    return None


def _is_table(path: Path) -> bool:
    name = path.name.lower().removesuffix(".gz")
    if name.startswith((".", "~$")) or not name.endswith(_ENDINGS) or name.partition(".")[0] in _DOCUMENT_STEMS:
        return False
    if not path.is_file():  # a pipe, a device, or a link to a file that is gone
        return False
    with path.open("rb") as file:
        return bool(file.read(2**16).strip(b" \t\r\n\xef\xbb\xbf"))


def _no_files_message(path: Path, found: Iterable[Path]) -> str:
    """Return why there is nothing to read."""
    if not path.is_dir():
        return f"no file of answers is named like {path}; check the pattern and the folder"
    names = [each.name for each in found]
    folders = sorted(each.name for each in path.iterdir() if each.is_dir())
    message = f"{path} is a folder without a file of answers ({', '.join(_ENDINGS[:3])}, ...)"
    if names:
        return f"{message}; it has {quote_all(names, 5)}"
    return (
        f"{message}; its folders are {quote_all(folders, 5)}: name one of them"
        if folders
        else f"{message}; it is empty"
    )


def _stem(path: Path) -> str:
    name = path.name
    for ending in (".gz", *_ENDINGS):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return printable(name or path.name)


def _digest(path: Path) -> str:
    refuse_special_file(path)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
