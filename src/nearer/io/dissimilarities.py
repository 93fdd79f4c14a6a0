"""Reading dissimilarities: matrices, and tables of ratings, of same or different, of confusions, and of piles.

Whatever the layout, a file becomes entries: who, one object, the other, a number, and how many trials it sums up.
Entries of several files are put together, a person for each file where no column says who judged.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearer._common.arrays import FloatArray
from nearer._common.findings import Finding
from nearer._common.formatting import quote
from nearer._common.progress import progress_bar
from nearer.data.dissimilarities import DISSIMILARITY_KINDS, Direction, Dissimilarities, DissimilarityKind, Evidence
from nearer.data.labels import normalize_name
from nearer.io.columns import SYNONYMS, split_names
from nearer.io.formats import open_table
from nearer.io.labels import short_names
from nearer.io.matrices import MatrixPart, UnclearMatrix, matrices_in
from nearer.io.messages import Proposal, format_proposals, listing, note, one_of, sentence
from nearer.io.multi_file import FileList, file_list, is_files
from nearer.io.selecting import rules_from, select_rows
from nearer.io.table import Column, LoadedRows, RowErrors, Table, plain_numbers

ROLES = ("object_1", "object_2", "rating", "same", "different", "trials", "stimulus", "response", "count", "object",
         "pile", "annotator")  # fmt: skip
_ENDS = (("1", "2"), ("a", "b"), ("left", "right"), ("first", "second"), ("one", "two"), ("row", "column"),
         ("row", "col"), ("i", "j"), ("from", "to"), ("x", "y"))  # fmt: skip
_DIFFERENT, _SIMILAR = ("dissim", "distance", "differ", "unlike", "unähn"), ("similar", "alike", "ähnlich", "likeness")
_RATING = "rating ratings value values score judgment judgement slider sliderresponse response answer proximity y x4"
_NAMES = {
    "rating": tuple(_RATING.split()),
    "same": ("same", "nsame", "samecount", "countsame", "same_n"),
    "different": ("different", "ndifferent", "differentcount", "countdifferent", "diff", "ndiff"),
    "trials": ("trials", "ntrials", "n", "total", "count"),
    "pile": ("pile", "group", "category", "cluster", "bin", "sort", "pilenumber", "groupname", "categorylabel"),
    "object": ("object", "item", "stimulus", "card", "cardlabel", "word", "image", "element", "label", "stim"),
    "stimulus": ("stimulus", "stim", "presented", "target", "signal", "shown"),
    "response": ("response", "responded", "reported", "answer", "identified", "resp"),
    "count": ("count", "n", "frequency", "freq", "trials"),
    "annotator": (*SYNONYMS["annotator"], "source", "sourceid"),  # as PROXSCAL calls people
}  # fmt: skip
_SAME, _OTHER = ("same", "s", "identical", "equal"), ("different", "d", "diff", "other", "unequal")
_NEEDED: dict[str, tuple[str, ...]] = {
    "ratings": ("object_1", "object_2", "rating"),
    "same-different": ("object_1", "object_2", "rating"),
    "confusions": ("stimulus", "response"),
    "sorting": ("annotator", "object", "pile"),
}
_BY_KIND: tuple[Direction, Evidence] = ("different", "kind")
MIN_SHARED = 0.5  # share of the labels of two columns that both have


@dataclass(frozen=True)
class _Entries:
    """Numbers of pairs of objects, and what is known of them."""

    people: NDArray[Any] | None
    first: NDArray[Any]
    second: NDArray[Any]
    numbers: FloatArray
    trials: FloatArray
    kind: DissimilarityKind
    high_is: Direction
    known_by: Evidence
    columns: dict[str, str]
    findings: tuple[Finding, ...] = ()
    n_bad: int = 0


def read_dissimilarities(
    source: Any,
    kind: DissimilarityKind | None = None,
    *,
    columns: Mapping[str, Any] | None = None,
    sheet: str | None = None,
    high_is: Direction | None = None,
    scale: tuple[float, float] | None = None,
    skip_bad: bool = False,
    keep: Mapping[str, Any] | None = None,
    exclude: Mapping[str, Any] | None = None,
    where: str | Iterable[str] | None = None,
) -> Dissimilarities:
    """Read how different people find pairs of objects, from a file, many files, a table or an array.

    Parameters
    ----------
    source : path, sequence of paths, data frame, dict of columns, or array of shape (n, n) or (k, n, n)
        Tables as for `read_answers`; matrices as CSV, workbook, npy, npz or mat, with or without names; results of the
        multi-arrangement task of Meadows as JSON or mat. Of several files each is a person, unless a column says who
        judged.
    kind : str, optional
        What the file holds; found from its layout if left out, except for confusions.

        ==============  ================================================================================
        matrix          a row and a column for each object, one matrix or one for each person
        ratings         object_1, object_2, rating
        same-different  object_1, object_2, rating ("same" or "different"); or counts, same and different
        confusions      a matrix of counts, stimuli by responses; or stimulus, response and perhaps count
        arrangement     distances on the screen, from Meadows
        sorting         annotator, object, pile
        ==============  ================================================================================
    columns : dict, optional
        Columns by what they hold, where their names do not tell: ``{"object_1": "Wort A", "rating": "Urteil"}``. Beside
        the names above: annotator.
    sheet : str, optional
        Of a workbook with several.
    high_is : {"different", "similar"}, optional
        What a large number means. Left out: as the name of the column says, or the diagonal of the matrix; otherwise
        "different", with a note that this was assumed.
    scale : (float, float), optional
        The least and the greatest rating; rows beyond cannot be used.
    skip_bad, keep, exclude, where
        As for `read_answers`.

    Returns
    -------
    Dissimilarities

    Examples
    --------
    >>> table = {"item1": list("aab"), "item2": list("bcc"), "similarity": [7, 2, 1]}
    >>> found = read_dissimilarities(table)
    >>> found, found.high_is, found.combined().round(2).tolist()
    (Dissimilarities(ratings: 3 objects, 3 of 3 pairs), 'similar', [-1.4, 0.51, 0.89])
    """
    if kind is not None and kind not in DISSIMILARITY_KINDS:
        raise ValueError(f"the kind {kind!r} must be one of {', '.join(DISSIMILARITY_KINDS)}")
    if high_is not in (None, "different", "similar"):
        raise ValueError(f"high_is={high_is!r}: it must be 'different' or 'similar', or left out")
    unknown = [role for role in columns or {} if role not in ROLES]
    if unknown:
        raise ValueError(f"columns: {unknown[0]!r} is no role of a column; roles are {', '.join(ROLES)}")
    reader = _Reader(kind, columns or {}, sheet, high_is, scale, skip_bad, rules_from(keep, exclude, where))
    if isinstance(source, np.ndarray):
        parts, name = [reader.of_matrices(matrices_in(source, "array"), "array")], "array"
    elif is_files(source):
        files = file_list(source)
        name = files.source
        bar = progress_bar("open", len(files.paths), files.paths, unit="file")
        parts = [reader.of_file(path, each) for path, each in zip(bar, files.names, strict=True)]
        parts = _one_person_a_file(parts, files) if len(parts) > 1 else parts
    else:
        parts, name = [reader.of_table(open_table(source))], "table"
    found = _together(parts, name)
    for finding in found.findings:
        warnings.warn(sentence(finding), UserWarning, stacklevel=2)
    return found


@dataclass(frozen=True)
class _Reader:
    """What the caller says of all files."""

    kind: DissimilarityKind | None
    columns: Mapping[str, Any]
    sheet: str | None
    high_is: Direction | None
    scale: tuple[float, float] | None
    skip_bad: bool
    rules: tuple[Any, ...]

    def of_file(self, path: Path, name: str) -> _Entries:
        """Return the entries of a file: of the matrices in it, or of its table."""
        if self.kind in (None, "matrix", "confusions", "arrangement") and not self.columns:
            matrices = matrices_in(path, name, self.sheet)
            if matrices:
                return self.of_matrices(matrices, name)
            if self.kind in ("matrix", "arrangement"):
                raise ValueError(
                    f"{name} has no square matrix: give a row and a column for each object, with the same names in the "
                    "first row and the first column"
                )
        return self.of_table(replace(open_table(path, sheet=self.sheet), source=name))

    def of_matrices(self, found: Sequence[MatrixPart], source: str) -> _Entries:
        """Return the entries of matrices."""
        kind = self.kind or found[0].kind
        if self.kind is None and self.high_is is None and all(each.looks_like_counts for each in found):
            raise UnclearMatrix(
                f"{source} is a matrix of whole numbers that are largest on the diagonal. If they count the responses "
                f"(columns) to stimuli (rows), use {one_of('kind', ['confusions'])}; if they are similarities, "
                f"{one_of('high_is', ['similar'])}"
            )
        if kind in ("ratings", "same-different", "sorting"):
            kind = "matrix"
        high_is, known_by = self._direction(found, kind)
        parts = [each.entries(kind == "confusions") for each in found]
        first, second, numbers = (np.concatenate(each) for each in zip(*parts, strict=True))
        named = len(found) > 1 or found[0].person is not None
        people = np.repeat([str(each.person or at) for at, each in enumerate(found, 1)], [len(p[0]) for p in parts])
        notes = tuple(
            note("matrix", source, what=what) for what in dict.fromkeys(w for each in found for w in each.notes)
        )
        if kind == "confusions" and (numbers < 0).any():
            raise ValueError(f"{source} holds counts below 0; a matrix of confusions holds how often each was answered")
        counts = numbers if kind == "confusions" else np.ones(len(numbers))
        return _Entries(people if named else None, first, second, numbers, counts, kind, high_is, known_by, {}, notes)

    def _direction(self, found: Sequence[MatrixPart], kind: str) -> tuple[Direction, Evidence]:
        if kind in ("confusions", "arrangement"):
            return _BY_KIND
        if self.high_is is not None:
            return self.high_is, "option"
        if all(each.holds_similarities for each in found):
            return "similar", "diagonal"
        return "different", "diagonal" if all(each.has_zero_diagonal for each in found) else "assumed"

    def of_table(self, table: Table) -> _Entries:
        """Return the entries of a table, a row for each judgment."""
        out: tuple[Finding, ...] = ()
        if self.rules:
            table, _, out = select_rows(table, self.rules, None)
        roles, kind = self._roles(table)
        loaded = table.load(list(dict.fromkeys(roles.values())))
        errors = RowErrors(len(loaded))
        first, second, numbers, trials, of_kind = _numbers_of(kind, roles, loaded, errors, self.scale)
        name = roles.get("rating", "")
        high_is, known_by = self._named_direction(name) if of_kind == "ratings" else _BY_KIND
        pairs = _filled(first, second, errors, roles) & ~np.isnan(numbers)
        same = np.array([one == other for one, other in zip(first, second, strict=True)], bool) & pairs
        _, n_bad = errors.collect(loaded, self.skip_bad, bool(pairs.any()))
        kept = pairs & ~errors.bad & (~same | (of_kind == "confusions"))
        findings = [*table.findings, *out, *loaded.findings]
        for code, rows in (("identical-pairs", same & ~kept), ("not-judged", ~pairs & ~errors.bad)):
            findings += [note(code, table.source, n_rows=int(rows.sum()))] if rows.any() else []
        if not kept.any():
            raise ValueError(f"{table.source} holds no judgment of two different objects")
        people = loaded.columns[roles["annotator"]].texts()[kept] if "annotator" in roles else None
        entries = _Entries(
            people, first[kept], second[kept], numbers[kept], trials[kept], of_kind, high_is, known_by, roles,
            tuple(findings), n_bad,
        )  # fmt: skip
        return _of_piles(entries) if of_kind == "sorting" else entries

    def _named_direction(self, name: str) -> tuple[Direction, Evidence]:
        if self.high_is is not None:
            return self.high_is, "option"
        spelled = normalize_name(name)
        if any(part in spelled for part in _DIFFERENT):
            return "different", "name"
        return ("similar", "name") if any(part in spelled for part in _SIMILAR) else ("different", "assumed")

    def _roles(self, table: Table) -> tuple[dict[str, str], DissimilarityKind]:
        """Return which column is what, and the kind that they make; or say what is missing, and what would read it."""
        given = {role: split_names(name)[0] for role, name in self.columns.items() if name}
        for name in given.values():
            if name not in table.names:
                raise ValueError(f"{table.source} has no column {name!r}; it has {listing(table.names)}")
        kinds = [self.kind] if self.kind else ["sorting", "same-different", "ratings"]
        for kind in kinds:
            roles = _find_roles(kind, table, given, self.kind is None)
            if roles is not None:
                return {role: name for role, name in roles.items() if self.columns.get(role, name)}, kind  # type: ignore[return-value]
        wanted = "; or ".join(f"{', '.join(_NEEDED[kind])} for {kind}" for kind in kinds if kind in _NEEDED)
        found = proposals(table, self.kind)
        advice = format_proposals(found) or ". Name them with --columns object_1=NAME,object_2=NAME,rating=NAME"
        raise ValueError(
            f"{table.source} has the columns {listing(table.names)}, which hold no {self.kind or 'dissimilarities'}: "
            f"needed are {wanted}{advice}"
        )


def _find_roles(kind: str, table: Table, given: Mapping[str, str], alone: bool) -> dict[str, str] | None:
    """Return the columns of the roles that a kind needs, and of the annotator; None if one is missing.

    ``alone``: two columns of objects make a pair only if there is no third.
    """
    spelled = {normalize_name(name): name for name in reversed(table.names)}
    found = dict(given)

    def find(role: str) -> bool:
        if role not in found:
            free = (spelled[each] for each in map(normalize_name, _NAMES[role]) if each in spelled)
            name = next((each for each in free if each not in found.values()), None)
            found.update({} if name is None else {role: name})
        return role in found

    if kind in ("ratings", "same-different"):
        if not {"object_1", "object_2"} <= found.keys():
            pair = _pair_of_columns(table, set(found.values()), alone)
            if pair is None:
                return None
            found |= {
                role: name for role, name in zip(("object_1", "object_2"), pair, strict=True) if role not in given
            }
        if kind == "same-different" and find("same") and (find("different") or find("trials")):
            find("annotator")
            return found if _is_numeric(table, [found["same"]]) else None
        found = {role: name for role, name in found.items() if role not in ("same", "trials") or role in given}
        directed = [name for each, name in spelled.items() if any(part in each for part in (*_DIFFERENT, *_SIMILAR))]
        directed = [name for name in directed if name not in found.values() and _is_numeric(table, [name])]
        if "rating" not in found and directed and kind == "ratings":
            found["rating"] = directed[0]
        if not find("rating"):
            return None
        find("annotator")
        words = _is_same_or_different(table, found["rating"])
        return (
            found if words == (kind == "same-different") and (words or _is_numeric(table, [found["rating"]])) else None
        )
    if kind == "confusions" and find("stimulus") and find("response"):
        find("count")
        find("annotator")
        return found
    if kind == "sorting" and find("annotator") and find("pile") and find("object"):
        return found
    return None


def _pair_of_columns(table: Table, taken: set[str], alone: bool) -> tuple[str, str] | None:
    """Return two columns of objects whose names differ in 1 and 2, a and b, ..., and that share labels.

    ``alone``: none if a third column has the same labels.
    """
    names = [name for name in table.names if name not in taken]
    spelled = {normalize_name(name): name for name in reversed(names)}
    candidates = []
    for one, other in _ENDS:
        for each, name in spelled.items():
            at_end = each.removesuffix(one) + other if each.endswith(one) else ""
            in_front = other + each.removeprefix(one) if each.startswith(one) else ""
            candidates += [(name, spelled[twin]) for twin in (at_end, in_front) if twin in spelled]
    found = [pair for pair in dict.fromkeys(candidates) if _share_labels(table, pair)]
    words = [pair for pair in found if not _is_numeric(table, pair)]  # names go before numbers of objects
    pair = next(iter(words or found), None)
    return None if pair is None or (alone and _has_third(table, pair, names)) else pair


def _has_third(table: Table, pair: tuple[str, str], names: Sequence[str]) -> bool:
    """Whether another column has the objects of two as well: the question was about three, or the answer names one."""
    labels = {str(value) for column in _peeked(table, pair) for value in column.present}
    others = [name for name in names if name not in pair and not _is_numeric(table, [name])]
    found = [{str(value) for value in column.present} for column in _peeked(table, others)]
    return any(len(each) > 1 and len(each & labels) >= MIN_SHARED * len(each) for each in found)


def _share_labels(table: Table, pair: Sequence[str]) -> bool:
    one, other = ({str(value) for value in column.present} for column in _peeked(table, pair))
    common = len(one & other)
    return common >= max(MIN_SHARED * min(len(one), len(other)), 1)


def _peeked(table: Table, names: Sequence[str]) -> list[Column]:
    loaded = (table.peek or table.load)(names)
    return [loaded.columns[name] for name in names]


def _is_numeric(table: Table, names: Sequence[str]) -> bool:
    numbers = [plain_numbers(column) for column in _peeked(table, names)]
    return all(np.isfinite(each).sum() > 0.5 * (~np.isnan(each)).sum() > 0 for each in numbers)


def _is_same_or_different(table: Table, name: str) -> bool:
    values = {str(value).casefold().strip() for value in _peeked(table, [name])[0].present}
    return bool(values) and values <= {*_SAME, *_OTHER} and len(values) > 1


def _numbers_of(
    kind: str, roles: Mapping[str, str], loaded: LoadedRows, errors: RowErrors, scale: tuple[float, float] | None
) -> tuple[NDArray[Any], NDArray[Any], FloatArray, FloatArray, DissimilarityKind]:
    """Return the objects of rows, their numbers (NaN where there is none) and trials, and the kind."""
    column = {role: loaded.columns[name] for role, name in roles.items()}
    ones = np.ones(len(loaded))

    def count(role: str) -> FloatArray:
        numbers = plain_numbers(column[role])
        errors.add(np.isinf(numbers), "no-number", lambda row: {"what": role, "value": column[role].value(row)})
        errors.add(numbers < 0, "negative", what=role)
        return numbers

    if kind == "sorting":
        return column["object"].texts(), column["pile"].texts(), ones, ones, "sorting"
    if kind == "confusions":
        numbers = count("count") if "count" in column else ones
        return column["stimulus"].texts(), column["response"].texts(), numbers, numbers, "confusions"
    first, second = column["object_1"].texts(), column["object_2"].texts()
    if "same" in column:
        same = count("same")
        total = count("trials") if "trials" in column else same + count("different")
        errors.add(same > total, "too-many-same")
        return first, second, total - same, total, "same-different"
    rating = column["rating"]
    if kind == "same-different":
        return first, second, _as_different(rating, errors), ones, "same-different"
    numbers = plain_numbers(rating)
    errors.add(np.isinf(numbers), "no-number", lambda row: {"what": "rating", "value": rating.value(row)})
    if scale is not None:
        low, high = scale
        beyond = (numbers < low) | (numbers > high)
        errors.add(beyond, "off-scale", lambda row: {"value": rating.value(row), "low": low, "high": high})
    return first, second, numbers, ones, "ratings"


def _as_different(column: Column, errors: RowErrors) -> FloatArray:
    """Return 1 for "different", 0 for "same", and NaN for nothing; 1 and 0 stand for themselves."""
    meant = dict.fromkeys((*_OTHER, "1"), 1.0) | dict.fromkeys((*_SAME, "0"), 0.0)
    numbers = column.map_values(lambda value: meant.get(str(value).casefold().strip(), np.inf), np.nan, np.float64)
    errors.add(np.isinf(numbers), "no-same", lambda row: {"value": column.value(row)})
    return numbers


def _filled(
    first: NDArray[Any], second: NDArray[Any], errors: RowErrors, roles: Mapping[str, str]
) -> NDArray[np.bool_]:
    """Return the rows that name two objects; those that name one are errors, those that name none no trials."""
    one, other = (np.array([bool(label) for label in labels], bool) for labels in (first, second))
    names = [role for role in ("object_1", "object_2", "stimulus", "response", "object", "pile") if role in roles]
    errors.add(one & ~other, "missing", what=names[-1])
    errors.add(other & ~one, "missing", what=names[0])
    return one & other


def _of_piles(entries: _Entries) -> _Entries:
    """Return, for each person, an entry for each pair of objects: 0 in one pile, 1 in two."""
    assert entries.people is not None
    people, first, second, numbers = [], [], [], []
    for person in dict.fromkeys(entries.people.tolist()):
        mine = entries.people == person
        piles = dict(zip(entries.first[mine].tolist(), entries.second[mine].tolist(), strict=True))
        objects, of = list(piles), np.unique(list(piles.values()), return_inverse=True)[1]
        a, b = np.triu_indices(len(objects), 1)
        labels = np.array(objects, object)
        first.append(labels[a])
        second.append(labels[b])
        numbers.append((of[a] != of[b]).astype(np.float64))
        people.append(np.full(len(a), person, object))
    joined = [np.concatenate(each) for each in (people, first, second, numbers)]
    return replace(
        entries, people=joined[0], first=joined[1], second=joined[2], numbers=joined[3], trials=np.ones(len(joined[0]))
    )


def _one_person_a_file(parts: list[_Entries], files: FileList) -> list[_Entries]:
    """Return the entries of files; where nothing says who judged, the name of the file does."""
    return [
        part if part.people is not None else replace(part, people=np.full(len(part.first), person, object))
        for part, person in zip(parts, files.people, strict=True)
    ]


def _together(parts: Sequence[_Entries], source: str) -> Dissimilarities:
    """Return the entries of all files as one."""
    first = parts[0]
    kinds = dict.fromkeys((part.kind, part.high_is) for part in parts)
    if len(kinds) > 1:
        raise ValueError(
            f"{source}: the files differ in kind or direction: {', '.join(map(str, kinds))}; read them one by one, or "
            "say what they are with --kind and --high-is"
        )
    ends = [np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "second")]
    labels = list(dict.fromkeys(np.concatenate(ends).tolist()))
    if len(labels) < 3:
        raise ValueError(f"{source} is about {len(labels)} objects; a map needs at least 3")
    labels = sorted(labels, key=_in_order) if first.kind != "matrix" else labels
    at = {label: number for number, label in enumerate(labels)}
    a, b = (np.array([at[label] for label in end.tolist()]) for end in ends)
    numbers, trials = (np.concatenate([getattr(part, name) for part in parts]) for name in ("numbers", "trials"))
    people, who = None, np.zeros(len(a), np.intp)
    if first.people is not None:
        names = np.concatenate([part.people for part in parts if part.people is not None]).astype(str)
        people, who = tuple(dict.fromkeys(names.tolist())), np.zeros(len(names), np.intp)
        numbered = {name: number for number, name in enumerate(people)}
        who = np.array([numbered[name] for name in names.tolist()])
    if first.high_is == "similar":
        numbers = numbers.max() + numbers.min() - numbers
    shape = (1 if people is None else len(people), len(labels), len(labels))
    sums, counts = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, (who, a, b), numbers)
    np.add.at(counts, (who, a, b), trials)
    short = short_names(labels)
    known_by = first.known_by
    findings = tuple(finding for part in parts for finding in part.findings)
    if known_by == "assumed":
        findings += (note("assumed-direction", source, what=first.columns.get("rating", "")),)
    return Dissimilarities(
        sums, counts, [str(short.get(label, label)) for label in labels], first.kind, people, source, first.high_is,
        known_by, first.columns, findings, sum(part.n_bad for part in parts),
    )  # fmt: skip


def _in_order(label: str) -> tuple[bool, float, str]:
    return (not label.isdecimal(), float(label) if label.isdecimal() else 0.0, str(label))


def proposals(table: Table, kind: str | None = None) -> list[Proposal]:
    """Return how to read a table as dissimilarities if columns are named: two that share labels, and one of numbers."""
    names = [name for name in table.names if table.names.count(name) == 1 and "," not in name and "=" not in name]
    spelled = {normalize_name(name): name for name in names}
    person = next((spelled[each] for each in SYNONYMS["annotator"] if each in spelled), None)
    known = {*SYNONYMS["trial"], *SYNONYMS["seconds"], *SYNONYMS["annotator"]}
    free = [name for name in names if normalize_name(name) not in known][:20]
    numeric = [name for name in free if _is_numeric(table, [name])]
    words = [name for name in free if name not in numeric]
    pairs = [(a, b) for at, a in enumerate(words) for b in words[at + 1 :] if _share_labels(table, (a, b))]
    pairs = [pair for pair in pairs if not _has_third(table, pair, words)]
    of_person = {} if person is None else {"annotator": person}
    found = []
    for one, other in pairs[:1]:
        if numeric and kind in (None, "ratings"):
            rating = numeric[-1]
            found.append(
                Proposal(
                    {"kind": "ratings"}, {"object_1": one, "object_2": other, "rating": rating} | of_person,
                    f"{quote(rating)} is how different {quote(one)} and {quote(other)} are",
                )
            )  # fmt: skip
        if not numeric and kind in (None, "confusions"):
            found.append(
                Proposal(
                    {"kind": "confusions"}, {"stimulus": one, "response": other} | of_person,
                    f"{quote(other)} is the response to {quote(one)}",
                )
            )  # fmt: skip
    return found


def proposed_command(files: Sequence[Path], sheet: str | None) -> str:
    """Return how to read files as dissimilarities if columns are named, as the last lines of a message; or nothing."""
    try:
        table = open_table(file_list(files).paths[0], sheet=sheet)
        return format_proposals(proposals(table))
    except (ValueError, OSError):
        return ""
