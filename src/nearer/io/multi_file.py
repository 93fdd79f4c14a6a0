"""Many files as one table, most often one file for each participant.

Files become one table before anything is read from it: what kind of question was asked, which column is what, and what
0 and 1 mean is decided once, by all rows. Columns are matched by their names; a file that names a column of a question
in another way than most files do is read as if it named it so. Where no column identifies who answered, the name of the
file does. Of a folder, or of a pattern such as ``data/*.csv``, those files are read whose names end like a table.
"""

from __future__ import annotations

import glob
import hashlib
from collections import Counter, defaultdict
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
from nearer.io.columns import EXTRAS, SYNONYMS, LayoutMatch, by_plain
from nearer.io.delimited import NoRows
from nearer.io.formats import open_table
from nearer.io.messages import listing, note
from nearer.io.presets import ReadOptions, detect_program, drop_header_rows, hints_of
from nearer.io.selecting import Rule, keeps_any_row, keeps_person
from nearer.io.table import Column, LoadedRows, RowSources, Table, join_rows

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
        there = {name: own[name] for name in wanted if name in own}
        read = self.table.ragged if ragged else self.table.load
        if read is None:
            return LoadedRows({}, RowSources(self.name, np.zeros(0, np.int64)))
        # At least one: where a program has written further lines of headers, any column tells.
        loaded = read(list(dict.fromkeys([*there.values(), self.table.names[0]])))
        if self.table.delimited and not ragged:
            loaded = drop_header_rows(loaded)
        return replace(loaded, columns={name: loaded.columns[column] for name, column in there.items()})


def namespace_by_file(column: Column, sources: RowSources) -> Column:
    """Return a column of trials, or of other numbers, that mean something within a file alone."""
    if len(sources) == 0 or sources.file_of is None or sources.file_of[-1] == 0:
        return column
    distinct, codes = np.unique(sources.file_of * len(column.values) + column.codes, return_inverse=True)
    if len(np.unique(column.codes)) == len(distinct):
        return column
    return Column(np.where(column.filled, codes, -1).astype(np.int32), list(range(len(distinct))))


def join_files(files: FileList, options: ReadOptions, rules: tuple[Rule, ...]) -> Table:
    """Return two files or more as one table."""
    people = dict(zip(files.names, files.people, strict=True))
    opened, unread, findings = _opened(files, options)
    out = {
        name for name, each in opened.items() if rules and not keeps_any_row(rules, each, options.columns, people[name])
    }
    counting = [each for name, each in opened.items() if name not in out] or [*opened.values()]
    usual, found = _usual_layout([each.names for each in counting], options)
    parts, first = [], counting[0]
    for name, table in opened.items():
        renamed, misfit = _rename_columns(table, usual, found, options)
        if (table.objects, table.kind) != (first.objects, first.kind):
            misfit = "numbers its objects, or asks, in another way than the first file; join the arrays first"
        if misfit:
            unread[name] = f"{name} {misfit}"
        else:
            parts.append(_FilePart(name, people[name], table, renamed))
    out |= {name for name in unread if name not in opened and not keeps_person(rules, people[name])}
    if left_out := [name for name in unread if name in out]:
        findings.append(note("filtered-files", files.source, names=left_out))
    if reasons := [why for name, why in unread.items() if name not in out]:
        if not options.skip_bad:
            raise ValueError(_mismatch_message(reasons, files.source))
        findings.append(note("unread-files", files.source, reasons=reasons))
    if not parts:
        raise ValueError(f"{files.source}: none can be read")
    return _table(parts, files.source, _person_column(parts, found, options), findings)


def _opened(files: FileList, options: ReadOptions) -> tuple[dict[str, Table], dict[str, str], list[Finding]]:
    """Return the tables of files by their names, why others have none, and findings."""
    opened: dict[str, Table] = {}
    unread, without_rows = dict[str, str](), []
    same: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    bar = progress_bar("open", len(files.paths), files.paths, unit="file")
    for path, name in zip(bar, files.names, strict=True):
        try:
            table = open_table(path, options.kind, options.sheet)
        except NoRows:
            without_rows.append(name)
            continue
        except ValueError as error:
            unread[name] = str(error)
            continue
        for each in table.findings:
            same[each.code, repr(each.numbers)].append(replace(each, source=Source(name)))
        opened[name] = replace(table, source=name, findings=())
    findings = [note("files-without-rows", files.source, names=without_rows)] if without_rows else []
    for alike in same.values():
        of_files = [each.source.file for each in alike if each.source]
        findings.append(replace(alike[0], numbers={**alike[0].numbers, "files": of_files}))
    if not opened:
        raise ValueError("; ".join([*unread.values()][:_MAX_REASONS]) or f"{files.source}: none holds an answer")
    return opened, unread, findings


def _mismatch_message(reasons: list[str], source: str) -> str:
    them = "it" if len(reasons) == 1 else "them"
    more = f"; {len(reasons) - _MAX_REASONS} more do not either" if len(reasons) > _MAX_REASONS else ""
    return (
        f"{source}: {pluralize(len(reasons), 'file does', 'files do')} not match the others: "
        f"{'; '.join(reasons[:_MAX_REASONS])}{more}. Put {them} elsewhere, or skip {them} with --skip-bad "
        "(skip_bad=True)"
    )


def _find_layout(names: Sequence[str], source: str, options: ReadOptions) -> LayoutMatch:
    preset = options.preset or detect_program(names)
    return hints_of(preset, names, options, source).find_columns(names, source)


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
    table: Table, usual: tuple[str, ...], found: LayoutMatch | None, options: ReadOptions
) -> tuple[dict[str, str], str]:
    """Return the usual names of the columns of a file, and why it does not match the others."""
    spelled = {normalize_name(name): name for name in reversed(usual)}
    renamed = {name: spelled.get(normalize_name(name), name) for name in table.names}
    if sorted(map(normalize_name, table.names)) == sorted(map(normalize_name, usual)) or found is None:
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
    for role in (*found.layout.roles, *(role for role in EXTRAS if role != "seconds")):  # whose unit is in the name
        here, there = own.roles.get(role, ()), found.roles.get(role, ())
        if len(here) == len(there):
            renamed |= {old: new for old, new in zip(here, there, strict=True) if new not in table.names}
    return renamed, ""


def _person_column(parts: list[_FilePart], found: LayoutMatch | None, options: ReadOptions) -> str | None:
    """Return the column that says who answered, or is to say so; None if the caller wants none."""
    columns = options.columns or {}
    if "annotator" in columns:
        return columns["annotator"] if any(columns["annotator"] in part.names for part in parts) else None
    if found is not None and "annotator" in found.roles:
        return found.roles["annotator"][0]
    spelled = by_plain(list(dict.fromkeys(name for part in parts for name in part.names)))
    return next((spelled[name] for name in SYNONYMS["annotator"] if name in spelled), PERSON)


def _table(parts: list[_FilePart], source: str, person: str | None, findings: list[Finding]) -> Table:
    names = list(dict.fromkeys(name for part in parts for name in part.names))
    anonymous = [part.person for part in parts if person is not None and person not in part.names]
    if anonymous:
        findings.append(note("no-person-column", source, people=anonymous, n_files=len(parts)))
    lacking: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in names:
        without = tuple(part.name for part in parts if name not in part.names)
        if without and name != person:
            lacking[without].append(name)
    findings += [note("lacking-columns", source, columns=of, lacking=files) for files, of in lacking.items()]
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
        objects=parts[0].table.objects,
        kind=parts[0].table.kind,
        ragged=lambda wanted: load(wanted, True),
        findings=tuple(findings),
    )


def _column(name: str, parts: list[_FilePart], loaded: list[LoadedRows], is_person: bool) -> Column:
    """Return a column over all files: empty where a file has none, or its name if it is who answered."""
    pieces = []
    for part, each in zip(parts, loaded, strict=True):
        missing = Column(np.full(len(each), 0 if is_person else -1, np.int32), [part.person] if is_person else [])
        pieces.append(each.columns.get(name, missing))
    if len({type(value) for piece in pieces for value in piece.values}) > 1:  # 1 next to "1"
        pieces = [piece.replace_values(str) for piece in pieces]
    return join_rows(pieces)


_ENDINGS = (
    ".csv", ".tsv", ".tab", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".parquet", ".npz", ".npy", ".mat",
    ".xlsx", ".xlsb", ".xls", ".ods",
)  # fmt: skip
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
        digests = []
        for path in self.paths:
            refuse_special_file(path)
            with open(path, "rb") as file:
                digests.append(hashlib.file_digest(file, "sha256").hexdigest())
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
    found: dict[Path, Path] = {}
    passed: list[Path] = []
    for each in given:
        below = _files_below(each)
        answers = [each] if below is None else [path for path in below if _is_table(path)]
        passed += [path for path in below or () if path not in answers]
        if not answers:
            raise ValueError(_no_files_message(each, below or ()))
        for path in answers:
            found.setdefault(path.absolute(), path)
    paths, parents = tuple(found.values()), {path.parent for path in found}
    source, title = f"{len(paths)} files", _stem(given[0])
    if len(paths) == 1:
        source, title = printable(paths[0].name or str(paths[0])), printable(paths[0].stem)
    elif len(parents) == 1 and (folder := parents.pop()).name:
        source, title = f"{source} in {printable(folder.name)}", _folder_title(folder)
    ignored = note("passed-files", source, names=[printable(path.name) for path in passed], endings=_ENDINGS)
    return FileList(paths, source, title, (ignored,) if passed else ())


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
    if not path.is_dir():
        return f"no file of answers is named like {path}; check the pattern and the folder"
    names = [each.name for each in found]
    folders = sorted(each.name for each in path.iterdir() if each.is_dir())
    message = f"{path} is a folder without a file of answers ({', '.join(_ENDINGS[:3])}, ...)"
    if names:
        return f"{message}; it has {quote_all(names, 5)}"
    return f"{message}; " + (f"its folders are {quote_all(folders, 5)}: name one of them" if folders else "it is empty")


def _stem(path: Path) -> str:
    name = path.name
    for ending in (".gz", *_ENDINGS):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return printable(name or path.name)
