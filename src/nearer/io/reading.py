"""Reading answers: from whatever people have to comparisons."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from nearer._common.findings import Finding
from nearer.io import ambiguity, column_checks, presets
from nearer.io.answers import Answers, BadAnswers, Kind, LeftOut, ReadingReport, with_objects
from nearer.io.attention_checks import catch_rows, mark_repeated_objects, with_labels
from nearer.io.column_checks import Prompt
from nearer.io.columns import NEAR_FAR, AmbiguousColumns, LayoutMatch, split_names
from nearer.io.delimited import unescape_columns
from nearer.io.formats import open_table, without_impossible
from nearer.io.labels import label_by_address, short_names, with_addresses, with_whole_numbers
from nearer.io.messages import Proposal, describe_prompt, format_proposals, note, sentence
from nearer.io.multi_file import file_list, is_files, join_files, namespace_by_file
from nearer.io.names import with_names
from nearer.io.presets import PRESETS, PURPOSE, TRIAL_TYPE, ReadOptions, TableHints
from nearer.io.questions import Question, read_question
from nearer.io.selecting import Rule, drop_non_trials, resolve_column, rules_from, select_rows, with_rows
from nearer.io.table import LoadedRows, RowErrors, Table
from nearer.io.trials import assemble, read_extras
from nearer.io.writing import is_native, read_native

Preset = Literal["salmon", "jspsych", "cblearn"]
_ITEM_KINDS = ("odd-one-out", "most-central")
MIN_ANSWERS = 5  # answers in which anchors and options may well differ by chance


def read_answers(
    source: Any,
    kind: Kind | None = None,
    *,
    columns: Mapping[str, Any] | None = None,
    preset: Preset | None = None,
    sheet: str | None = None,
    skip_bad: bool = False,
    undecided: Literal["drop", "split"] = "drop",
    weight_by_confidence: bool = False,
    first_is: Any = None,
    keep: Mapping[str, Any] | None = None,
    exclude: Mapping[str, Any] | None = None,
    where: str | Iterable[str] | None = None,
    also: Iterable[str] = (),
    catch: str | None = None,
    separate_labels: bool = False,
    names: Any = None,
) -> Answers:
    """Read what people answered, from a file, many files or a table.

    Parameters
    ----------
    source : path, sequence of paths, data frame or dict of columns
        CSV, TSV or other delimited text, JSON lines or a JSON array of objects (each also as .gz), Parquet, npz,
        npy, or a workbook of Excel or LibreOffice; a frame of pandas, polars or pyarrow. A folder, a pattern such as
        ``"data/*.csv"`` and several paths mean many files, which are read as one table; where no column identifies who
        answered, the name of each file does.
    kind : str, optional
        How people were asked; found from the columns if left out.

        ============  ==================================================================================
        triplet       anchor, near, far; or anchor, left, right, answer
        quadruplet    near_1, near_2, far_1, far_2 (or i, j, l, k); or left_1, left_2, right_1, right_2, answer
        odd-one-out   object_1, object_2, object_3, ..., odd; or items, a list in a cell, and odd
        most-central  object_1, object_2, object_3, ..., central; or items, a list in a cell, and central
        grid          anchor, shown, chosen: lists in a cell, or numbered columns shown_1, shown_2, ...
        ranking       anchor, ranking: nearest first; every earlier object is nearer than every later one
        ranked-grid   anchor, shown, ranking: the nearest of those shown, in order; or first_choice, second_choice, ...
        ============  ==================================================================================

        An answer names the object, the side (left, right), or is a number or a truth value; see ``first_is``.
    columns : dict, optional
        Columns by what they hold, where their names do not tell: ``{"anchor": "Referenz"}``; a list of names for
        several columns that make up items, shown, chosen or ranking (or one text, "first+second"); "hue*lightness" for
        objects that two columns make up together, which are then called "red/dark"; None, or "", for a column that is
        not to be used. Beside the names above: annotator, trial, seconds, confidence, weight.
    preset : {"salmon", "jspsych", "cblearn"}, optional
        The program that wrote the file; found from the columns where they are unmistakable.
    sheet : str, optional
        Which sheet of a workbook to read, where several hold something.
    skip_bad : bool
        Leave out rows that cannot be used, and count them, instead of refusing the file.
    undecided : {"drop", "split"}
        What to do with answers such as "can't tell": count and leave out, or make the comparisons of all possible
        answers, with a total weight of 1.
    weight_by_confidence : bool
        Whether confidences, divided by the largest, multiply the weights.
    first_is : optional
        The answer that means the first option (or, with near and far, that a row is correct as written), where
        answers are numbers, truth values or keys whose meaning is ambiguous: 0 or 1, True or False, "f". Numbers of
        more than two options count on from it.
    keep, exclude : dict, optional
        Rows to read, and rows to leave out, by what a column holds: ``{"condition": "A"}``,
        ``{"person": ["TEST", "p07"]}``. A column may be named by its role, such as person.
    where : str or sequence of str, optional
        Rules that rows must follow, such as ``"rt > 0.2 and block != practice"``; values as the table has them.
    also : sequence of str
        Further columns to keep with the answers, as ``answers.also["group"]``.
    catch : str, optional
        The column that says which questions are catch questions: it holds their right answers and is empty elsewhere,
        or yes and no, where the answer of most people to the same question counts as right. They are left out, and
        ``answers.catches`` says how people did.
    separate_labels : bool
        Whether columns may hold different objects by design, such as anchors that are never options. Otherwise labels
        of one column that are in no other, beyond what chance explains, are taken for other names of the same objects,
        and refused.
    names : path or sequence of str, optional
        Names of the objects, where the answers hold their numbers: a file with a name a line, or a table with a column
        such as uniqueID, name or object. Numbers count from 0, or from 1 if the largest is the number of names.

    Returns
    -------
    Answers
        Comparisons of one answer share a trial and have a total weight of 1. So have rows with the same trial in a file
        that has a column of trials (the same trial of two annotators is two trials), unless it has a column of weights.

    Raises
    ------
    BadAnswers
        Naming file, line and reason of the rows that cannot be used.
    ValueError
        If the columns make no kind of question, or the file is none that can be read.
    OSError
        If there is no such file.

    Notes
    -----
    Labels are text as written, without spaces around them, so that "01" stays "01"; where all labels of a text file are
    numbers, "13.0" is "13". In Parquet files, npz files and frames, labels that are all integers stay integers.
    Response times are taken to be milliseconds if the name of the column says so (rt_ms), in exports of jsPsych, or if
    their median is above 100.

    Numbers without a line of column names, three or more in every line of a text file or in an array, say nothing of
    what they are: text is refused unless ``kind`` or ``columns`` is given. With kind="odd-one-out" the last of a row
    is the odd one of all in it, as in the files of THINGS and VICE; with "triplet" the three are anchor, near and far.

    Examples
    --------
    >>> table = {"anchor": ["cat", "car"], "left": ["dog", "cat"], "right": ["car", "bus"], "answer": ["left", "right"]}
    >>> answers = read_answers(table)
    >>> answers.kind, answers.places.tolist(), answers.comparisons
    ('triplet', [0, 1], Comparisons(2 triplets over 4 objects))
    """
    if preset is not None and preset not in PRESETS:
        raise ValueError(f"preset={preset!r}: it must be one of {', '.join(PRESETS)}, or left out")
    if undecided not in ("drop", "split"):
        raise ValueError(f"undecided={undecided!r}: it must be 'drop' or 'split'")
    split, rules = undecided == "split", rules_from(keep, exclude, where)
    options = ReadOptions(
        kind, columns, preset, skip_bad, split, weight_by_confidence, first_is, separate_labels, sheet
    )
    if is_files(source):
        files = file_list(source)
        several = len(files.paths) > 1
        table = join_files(files, options, rules) if several else open_table(files.paths[0], kind, sheet)
        table = replace(table, findings=(*files.findings, *table.findings))
    else:
        table = open_table(source, kind)
    options = _with_places(table, options)
    answers = _read_filtered(table, options, rules, also, catch)
    if names is not None:
        answers = with_names(answers, names)
    wrong = answers.report.trial_numbers
    for warning in (*([f"{answers.source}: {wrong}"] if wrong is not None else []), *answers.report.notes):
        warnings.warn(warning, UserWarning, stacklevel=2)
    return answers


def _with_places(table: Table, options: ReadOptions) -> ReadOptions:
    """Return options that say what the numbers of rows without column names are, by the kind of question alone."""
    names = list(table.names)
    by_number = [str(at) for at in range(1, len(names) + 1)]
    if options.columns is not None or not (table.delimited or table.positional):
        return options
    if options.kind == "odd-one-out" and len(names) > 2 and names in (by_number, [f"object_{at}" for at in by_number]):
        return replace(options, columns={"items": names, "odd": names[-1]})
    roles = {"triplet": ("anchor", "near", "far"), "quadruplet": NEAR_FAR}.get(options.kind or "", ())
    if roles and names == by_number and len(names) == len(roles):
        return replace(options, columns=dict(zip(roles, names, strict=True)))
    return options


def _read_filtered(
    table: Table, options: ReadOptions, rules: tuple[Rule, ...], also: Iterable[str], catch: str | None
) -> Answers:
    """Return the answers in the rows of a table that rules keep, with further columns."""
    out: tuple[LeftOut, ...] = ()
    absent: tuple[Finding, ...] = ()
    if rules:
        table, out, absent = select_rows(table, rules, options.columns)
        table = table.with_findings(*absent)
    catches = None
    if catch is not None:
        quiet = replace(options, skip_bad=True, split=True, separate_labels=True, repeats_allowed=True)
        catches = catch_rows(table, catch, options.columns, lambda some: _read(some, quiet))
        table = with_rows(table, ~catches.rows)
    try:
        if is_native(table) and options.columns is None and options.preset in (None, "cblearn"):
            answers = read_native(table, options)
        else:
            answers = _read(table, options)
    except BadAnswers as error:  # perhaps rows that a filter would have left out, but for a typing error
        raise BadAnswers(error.bad_rows, error.n_bad, "\n".join([error.remedy, *map(sentence, absent)])) from None
    if catches is not None:
        rows = set(zip(answers.lines.tolist(), answers.lines if answers.files is None else answers.files, strict=True))
        if len(rows) < len(answers):
            raise ValueError(f"{table.source} has several answers in a row; catch questions need a row for each answer")
        answers = catches.score(answers)
    meant = {wanted: resolve_column(wanted, table, options.columns) for wanted in also}
    if meant:
        loaded = table.load(list(dict.fromkeys(meant.values())))
        at = loaded.sources.find(answers.lines, answers.files)
        texts = {wanted: loaded.columns[name][at].texts().astype(np.str_) for wanted, name in meant.items()}
        answers = replace(answers, also=texts)
    unused = tuple(name for name in answers.report.unused if name not in meant)
    answers = answers.reported(left_out=(*out, *answers.report.left_out), unused=unused)
    answers = presets.with_purposes(answers, table, tell=PURPOSE not in meant)  # whoever asks for it knows what it says
    return answers if "nearer_kind" in table.names else _with_short_names(answers)


def _with_short_names(answers: Answers) -> Answers:
    """Return answers about paths in which objects are called by what differs between them."""
    labels = answers.comparisons.objects.tolist()
    names = short_names(labels)
    if not names:
        return answers
    path, name = next(iter(names.items()))
    answers = answers.reported(note("short-paths", answers.source, path=path, name=name))
    answers = with_objects(answers, [names[label] for label in labels])
    return replace(answers, paths={name: path for path, name in names.items()})


def _read(table: Table, options: ReadOptions) -> Answers:
    """Return the answers of a table; where it can be read in several ways, all are tried."""
    table = presets.with_combined_columns(table, options.columns)
    listed = {name for columns in (options.columns or {}).values() for name in split_names(columns) if name}
    if table.objects is None and not listed <= set(table.names):  # fields of questions, perhaps, such as object_1
        rows = presets.wide_to_long(table)
        table = rows if rows is not None and listed <= set(rows.names) else table
    try:
        return _read_once(table, options)
    except AmbiguousColumns as unclear:
        if not unclear.kinds:
            answers = _read_wide(table, options) if table.objects is None else None
            if answers is None:
                raise _with_proposals(unclear, table, options) from None
            return answers

        def read(kind: str, first: str | None, skip: bool) -> Answers:
            changed = replace(options, kind=kind, first_is=first or options.first_is, skip_bad=skip or options.skip_bad)
            return _read_once(table, changed, in_doubt=True)

        return ambiguity.resolve(unclear, table.names, table.source, read)


def _read_wide(table: Table, options: ReadOptions) -> Answers | None:
    """Return the answers of a table with a row for each person; None if it is no such table."""
    rows = presets.wide_to_long(table)
    if rows is None:
        return None
    try:
        return _read(rows, options)
    except AmbiguousColumns as unclear:
        if unclear.kinds:
            raise AmbiguousColumns(f"{sentence(rows.findings[-1])}. {unclear}", unclear.kinds) from None
        return None


def _with_proposals(unclear: AmbiguousColumns, table: Table, options: ReadOptions) -> AmbiguousColumns:
    """Return an error that says what to type, if anything works."""

    def read(columns: Mapping[str, Any], settings: Mapping[str, str]) -> Answers:
        changed = replace(
            options,
            columns={**(options.columns or {}), **columns},
            first_is=settings.get("first_is", options.first_is),
            skip_bad="skip_bad" in settings or options.skip_bad,
        )
        return _read_once(table, changed)

    found = ambiguity.proposals(table, options.kind, options.columns or {}, read)
    return AmbiguousColumns(f"{unclear.start}{format_proposals(found)}") if found else unclear


def _read_once(table: Table, options: ReadOptions, in_doubt: bool = False) -> Answers:
    source, program = table.source, presets.detect_program(table.names)
    if options.preset and program in PRESETS and program != options.preset:
        raise ValueError(f"{source} has the columns of {program}, not of {options.preset}; leave the preset out")
    preset = options.preset or program
    if preset == "salmon":
        table = presets.with_salmon_names(table)
    hints = presets.hints_of(preset, table.names, options, source)
    if preset == "psychopy":
        hints = presets.with_psychopy_component(hints, table)
    found, loaded, others = _load_columns(table, hints, in_doubt)
    own, names = "nearer_kind" in table.names, table.objects
    if options.repeats_allowed:
        loaded = mark_repeated_objects(loaded if names is None else with_labels(loaded, found, names), found)
        names = None
    role = ambiguity.answer_of(found)
    if preset == "jspsych" and role is not None:
        hints = presets.with_button_coding(hints, loaded, found.roles[role][0])
    errors = RowErrors(len(loaded))
    if len(loaded) == 0:
        errors.collect(loaded, options.skip_bad, any_left=False)
    named_roles = frozenset(role for role, column in (options.columns or {}).items() if column)
    question = Question(found, loaded.columns, errors, source, options.split, hints.coding, names, named_roles)
    extras, of_extras = read_extras(question, hints, options.weight_by_confidence, own)
    asked = read_question(question)
    ambiguity.refuse_rivals(question, asked, others, loaded.sources)
    if not own and options.kind is None and not named_roles:
        ambiguity.refuse_choice_among_pairs(question)  # where the third was chosen, it seems to be compared with itself
    bad_rows, n_bad = errors.collect(loaded, options.skip_bad, len(asked.rows) > 0)
    is_clear = own or options.kind is not None or bool({"items", "odd", "central"} & named_roles)
    # Right answers of catch questions may all be in two places.
    if not options.repeats_allowed and (in_doubt or not is_clear):
        kinds = _ITEM_KINDS if in_doubt else (found.layout.kind,)
        ambiguity.refuse_anchor_among_items(question, asked, kinds, ~errors.bad)
    if not own and not options.separate_labels:
        column_checks.refuse_two_naming_schemes(table, found, hints, loaded.columns, ~errors.bad)
    findings = [*table.findings, *loaded.findings, *of_extras, *asked.findings]
    if hints.suggested.get("anchor") in found.roles.get("anchor", ()):
        rows, n_answers = asked.rows, len(np.unique(asked.row_of))
        if n_answers >= MIN_ANSWERS and not np.isin(rows[:, 0], rows[:, 1:]).any():  # it may hold what was asked
            findings.append(note("unmatched-anchor", source, column=question.name("anchor")))
    if not own and not table.positional:
        once = (name for name in table.names if table.names.count(name) == 1)
        candidates = [name for name in once if presets.may_hold_objects(name, preset)]
        findings += column_checks.unused_columns(table, found, asked.objects.labels, candidates)
    report = ReadingReport(tuple(findings), bad_rows, n_bad)
    answers = assemble(question, asked, extras, loaded.sources, report, options.weight_by_confidence)
    answers = column_checks.with_columns(answers, table.names, found, loaded.columns)
    return label_by_address(answers) if preset == "jspsych" and not own else answers


def _load_columns(table: Table, hints: TableHints, in_doubt: bool) -> tuple[LayoutMatch, LoadedRows, list[str]]:
    """Return the layout and its columns, without columns that turn out to hold no objects.

    Also returns other columns, loaded as well, that may be the answer.
    """
    own, source = "nearer_kind" in table.names, table.source
    believed = {name for columns in hints.columns.values() for name in [str(columns), *split_names(columns)]}
    trusted = own or hints.trusted or table.positional
    known = {*hints.columns, *hints.suggested}
    prompts: dict[str, tuple[str, Prompt]] = {}
    empty: list[str] = []
    strange: list[str] = []
    while True:
        without = (*prompts, *empty, *strange)
        try:
            found = hints.find_columns(table.names, source, without)
        except AmbiguousColumns as unclear:
            raise _with_prompts(unclear, prompts, table) from None
        if own and "place" in table.names:
            found = LayoutMatch(found.layout, found.roles | {"place": ("place",)})
        if twice := [name for name in found.names if table.names.count(name) > 1]:
            raise ValueError(f"{source} has two columns {twice[0]!r}; rename one of them")
        named_so = [] if trusted else ambiguity.rivals(table.names, found, known)
        others = [name for name in named_so if name not in empty]
        extra = {TRIAL_TYPE} & set(table.names) - set(found.names)
        loaded = table.load([*found.names, *others, *extra])
        if table.indices:
            loaded = without_impossible(loaded, sorted(found.objects))
        if (name := ambiguity.empty_answer(loaded, found, others)) is not None:
            empty.append(name)
            continue
        loaded = unescape_columns(loaded) if own and table.delimited else loaded
        loaded = presets.drop_header_rows(loaded)
        if not own:
            loaded = with_addresses(with_whole_numbers(loaded, found) if table.delimited else loaded, found)
        loaded = drop_non_trials(loaded, found, hints, own)
        if trusted:
            break
        new = column_checks.find_prompts(loaded, found, believed, in_doubt)
        for each, why in new.items():  # HTML is written like no plain name
            role = next(role for role, names in found.roles.items() if each in names)
            settings = {"separate_labels": "yes"} if why.reason.startswith("html") else {}
            prompts[each] = str(Proposal(settings, {role: "+".join(found.roles[role])})), why
        name = None if new else _other_anchor(table, found, loaded, hints, without)
        strange += [name] if name is not None else []
        if not new and name is None:
            break
    findings = [
        *(note("prompt", source, column=name, **why._asdict()) for name, (_, why) in prompts.items()),
        *(note("empty-answer", source, column=name) for name in empty),
        *(note("other-labels", source, column=name, anchor=found.roles["anchor"][0]) for name in strange),
    ]
    trials = {name: namespace_by_file(loaded.columns[name], loaded.sources) for name in found.roles.get("trial", ())}
    return found, replace(loaded.with_columns(trials), findings=(*findings, *loaded.findings)), others


def _other_anchor(
    table: Table, found: LayoutMatch, loaded: LoadedRows, hints: TableHints, without: Sequence[str]
) -> str | None:
    """Return the column of the anchor if it has other labels than the options, and another column has the same."""
    if "anchor" not in found.layout.roles or "anchor" in hints.columns:
        return None
    rows = np.ones(len(loaded), bool)
    unmatched = column_checks.unmatched_columns(found, loaded.columns, rows)
    strange = next((each for each in unmatched if each.role == "anchor"), None)
    if strange is None or strange.missing < strange.labels:
        return None
    if not (strange.is_other_naming_scheme or strange.has_other_form):
        return None
    try:
        other = hints.find_columns(table.names, table.source, (*without, strange.name))
    except AmbiguousColumns:
        return None
    if "anchor" not in other.layout.roles:
        return None
    return strange.name if column_checks.shares_labels(other, table.load(other.names).columns, "anchor") else None


def _with_prompts(unclear: AmbiguousColumns, prompts: dict[str, tuple[str, Prompt]], table: Table) -> AmbiguousColumns:
    """Return an error that also says which columns were taken for prompts, and which may be the answer."""
    prefix = "".join(
        f"{table.source}: column {name!r} {describe_prompt(*why)}, as a prompt does; if it names objects, use "
        f"{advice}. "
        for name, (advice, why) in prompts.items()
    )
    if unclear.kinds:
        return AmbiguousColumns(f"{prefix}{unclear}", unclear.kinds, prefix)
    prefix += "Without it there is no kind of question: " if prefix else ""
    alike = ambiguity.answer_columns_hint(table.names)
    return AmbiguousColumns(f"{prefix}{unclear}{alike}", start=f"{prefix}{unclear.start}{alike}")
