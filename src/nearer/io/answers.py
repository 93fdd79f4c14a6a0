"""What people answered, as read from a file or a table.

An *answer* is one act of judgment: one row of a spreadsheet. It can say several things at once (the odd one of three is
farther from both others than they are from each other) and so expands to one or more comparisons, which keep together
as a trial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from nearer._common.findings import Finding, Source
from nearer._common.formatting import intcomma, pluralize
from nearer._common.html import MAX_ROWS, html_block
from nearer.data.comparisons import Comparisons
from nearer.data.groups import trial_indices
from nearer.data.labels import factorize
from nearer.io.messages import left_out_where, place, sentence, trial_example

Kind: TypeAlias = Literal["triplet", "quadruplet", "odd-one-out", "most-central", "grid", "ranking", "ranked-grid"]
KINDS: tuple[str, ...] = get_args(Kind)

_LISTED_ROWS = 10


class BadAnswers(ValueError):
    """Rows that could not be used, when none may be skipped or none is left.

    Parameters
    ----------
    bad_rows : sequence of Finding
        The first of them, each with its file and row.
    n_bad : int
        How many there are in all.
    remedy : str
        What to do.

    Examples
    --------
    >>> print(BadAnswers([Finding("missing", "error", Source("answers.csv", 2), {"what": "anchor"})], 1, "fill it in"))
    1 row cannot be used:
      answers.csv:2: there is no anchor
    fill it in
    """

    def __init__(self, bad_rows: Sequence[Finding], n_bad: int, remedy: str) -> None:
        self.bad_rows = tuple(bad_rows)
        self.n_bad = n_bad
        self.remedy = remedy
        listed = [f"  {sentence(row)}" for row in self.bad_rows[:_LISTED_ROWS]]
        more = [f"  and {n_bad - _LISTED_ROWS} more"] if n_bad > _LISTED_ROWS else []
        super().__init__("\n".join([f"{n_bad} row{'s' * (n_bad != 1)} cannot be used:", *listed, *more, remedy]))


class LeftOut(NamedTuple):
    """Rows of a table that were left out on purpose, by a rule or because they ask catch questions.

    Examples
    --------
    >>> str(LeftOut(12, "condition", "!=", ("B",)))
    "12 rows left out where condition is 'B'"
    """

    n_rows: int
    column: str
    sign: str  # what the rows that were kept are: "==", "!=", "<", "<=", ">", ">="; or "catch", for catch questions
    values: tuple[str, ...] = ()  # what cells were compared with

    def __str__(self) -> str:
        return f"{pluralize(self.n_rows, 'row')} left out where {self.where}"

    @property
    def where(self) -> str:
        """Where rows are left out, in words."""
        return left_out_where(self.column, self.sign, self.values)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, with ``where`` as text, ready for JSON."""
        return {**self._asdict(), "values": list(self.values), "where": self.where}


class Catches(NamedTuple):
    """How people did on catch questions, which are asked to see who looks.

    Attributes
    ----------
    column : str
        The column that says which questions they are.
    by : {"expected", "majority"}
        Whether that column holds the right answers, or the answer of most people counts as right.
    people : tuple of str
        Who was asked; one "" where nobody knows who answered.
    n_asked, n_right : tuple of int
        Catch questions of each, and right answers among them.

    Examples
    --------
    >>> str(Catches("catch", "expected", ("p1", "p2"), (4, 4), (4, 1)))
    'catch questions (column catch): 5 of 8 answers right'
    """

    column: str
    by: Literal["expected", "majority"]
    people: tuple[str, ...]
    n_asked: tuple[int, ...]
    n_right: tuple[int, ...]

    def __str__(self) -> str:
        right, asked = sum(self.n_right), sum(self.n_asked)
        return f"catch questions (column {self.column}): {right} of {pluralize(asked, 'answer')} right"


class TrialExample(NamedTuple):
    """Rows with one number of a trial that are not one trial: the first of them, and how many there are."""

    rows: tuple[tuple[Source, tuple[str, ...]], ...]  # where each stands, and the objects that it is about
    n_rows: int


class TrialNumbers(NamedTuple):
    """A column of trials whose numbers stand for several trials each, as where they begin again with every block.

    Examples
    --------
    >>> print(TrialNumbers("trial", 600, 60, 60, 600, ()))
    column 'trial' does not number trials: 60 of its 60 numbers are shared by several trials; each row is read as a
    trial of its own
    """

    column: str
    n_answers: int  # with a number
    n_numbers: int  # that differ (of different people, where these are known)
    n_mixed: int  # numbers of several answers that are not about one question, or ask it again
    n_trials: int  # that the answers were read as instead
    examples: tuple[TrialExample, ...]  # of some of these numbers, the first row of each of its trials

    def __str__(self) -> str:
        return f"{self.title}; {self.remedy}"

    @property
    def title(self) -> str:
        """What is wrong with the column."""
        numbers, are = pluralize(self.n_numbers, "number"), "is" if self.n_mixed == 1 else "are"
        mixed = f"{intcomma(self.n_mixed)} of its {numbers} {are} shared by several trials"
        return f"column {self.column!r} does not number trials: {mixed}"

    @property
    def remedy(self) -> str:
        """What was made of it."""
        if self.n_trials == self.n_answers:
            return "each row is read as a trial of its own"
        trials = pluralize(self.n_trials, "trial")
        return f"rows next to each other are read as one trial if they are about one question ({trials})"

    def listed(self, whole: str) -> tuple[str, ...]:
        """Return the examples as text, where all answers are called ``whole``."""
        return tuple(trial_example(*example, whole) for example in self.examples)


@dataclass(frozen=True)
class ReadingReport:
    """What reading answers found out about their file.

    Attributes
    ----------
    findings : tuple of Finding
        What a reader of the file should know, such as that it was not in UTF-8.
    bad_rows : tuple of Finding
        Rows that were skipped, the first thousand of them, each with its file and row.
    n_bad : int
        How many were skipped in all.
    n_undecided : int
        Answers "can't tell" in the file.
    undecided : dict from str to int
        How many of these each person gave; without those who gave none, and empty where people are not known.
    columns : dict from str to tuple of str
        Names of the columns that were read, by what they hold: ``{"anchor": ("Referenz",), ...}``. Empty for answers
        that do not come from a table, and for files that `write_answers` wrote.
    unused : tuple of str
        Columns of the table that were not read.
    left_out : tuple of LeftOut
        Rows that were left out on purpose: how many, and why.
    catches : Catches or None
        How people did on catch questions, which are not among the answers.
    trial_numbers : TrialNumbers or None
        What is wrong with the column of trials, if its numbers do not stand for one question each.
    """

    findings: tuple[Finding, ...] = ()
    bad_rows: tuple[Finding, ...] = ()
    n_bad: int = 0
    n_undecided: int = 0
    undecided: dict[str, int] = field(default_factory=dict)
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    catches: Catches | None = None
    trial_numbers: TrialNumbers | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The findings as sentences, which `read_answers` also gives as warnings."""
        return tuple(map(sentence, self.findings))

    @property
    def skipped(self) -> tuple[str, ...]:
        """The rows that were skipped, the first thousand of them, as sentences."""
        return tuple(map(sentence, self.bad_rows))


@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """Answers of people, and the comparisons that follow from them.

    Attributes
    ----------
    comparisons : Comparisons
        m comparisons. Those of one answer that expands to several share a trial and have a total weight of 1.
    answer_of : ndarray of int, shape (m,)
        Which of the a answers each comparison follows from.
    kind : str
        How people were asked.
    source : str
        Name of the file, for messages.
    lines : ndarray of int, shape (a,)
        Line of each answer in the file, or number of its row in a table; from 1, with the header counted in a file.
    annotators : ndarray of labels, shape (a,), or None
    seconds, confidences : ndarray of float, shape (a,), or None
        Response times and confidences, NaN where there is none.
    places : ndarray of int, shape (a,), or None
        Which of the options shown was chosen, 0 for the first (the left one), -1 where that is not known.
    also : dict from str to ndarray of str, shape (a,)
        Further columns that were asked for, such as the group of a person, by the names that they were asked for with;
        "" where a cell is empty.
    files : ndarray of str, shape (a,), or None
        Name of the file of each answer, where there were several; lines are those in it.
    paths : dict from str to str
        The paths of objects that go by shorter names: ``{"cat": "assets/stimuli/cat.png", ...}``.
    report : ReadingReport
        What reading found out about the file: columns, rows that were skipped or left out, and what should be known.

    Examples
    --------
    >>> from nearer.io import read_answers
    >>> answers = read_answers({"item_1": ["cat"], "item_2": ["car"], "item_3": ["dog"], "odd": ["car"]})
    >>> answers
    Answers(odd-one-out: 1 answer, 2 comparisons, 3 objects)
    >>> answers.kind, len(answers), len(answers.comparisons), answers.places.tolist()
    ('odd-one-out', 1, 2, [1])
    """

    comparisons: Comparisons
    answer_of: NDArray[np.intp]
    kind: Kind
    source: str
    lines: NDArray[np.int64]
    annotators: NDArray[Any] | None = None
    seconds: NDArray[np.float64] | None = None
    confidences: NDArray[np.float64] | None = None
    places: NDArray[np.int64] | None = None
    also: dict[str, NDArray[np.str_]] = field(default_factory=dict)
    files: NDArray[np.str_] | None = None
    paths: dict[str, str] = field(default_factory=dict)
    report: ReadingReport = field(default_factory=ReadingReport)

    def reported(self, *findings: Finding, **changes: Any) -> Answers:
        """Return the answers with more findings, or other changes, in their report."""
        return replace(self, report=replace(self.report, findings=(*self.report.findings, *findings), **changes))

    def with_paths(self) -> Answers:
        """Return answers whose objects are called by their paths, as in the file."""
        labels = [self.paths.get(label, label) for label in self.comparisons.objects.tolist()]
        return replace(with_objects(self, labels), paths={}) if self.paths else self

    def __getitem__(self, index: Any) -> Answers:
        """Return some of the answers, about the same objects.

        Parameters
        ----------
        index : slice, array of bool, shape (a,), or of int
            Each answer at most once.
        """
        chosen = np.zeros(len(self), dtype=bool)
        chosen[index] = True
        if not chosen.any():
            raise ValueError("the index selects no answers; there must be one at least")
        rows = chosen[self.answer_of]
        per_answer: dict[str, Any] = {
            name: None if (of := getattr(self, name)) is None else of[chosen]
            for name in ("lines", "annotators", "seconds", "confidences", "places", "files")
        }
        also = {name: column[chosen] for name, column in self.also.items()}
        answer_of = (np.cumsum(chosen) - 1)[self.answer_of[rows]]
        return replace(self, comparisons=self.comparisons[rows], answer_of=answer_of, also=also, **per_answer)

    def where(self, rule: str) -> Answers:
        """Return the answers that follow a rule about who gave them, seconds, confidence or place.

        Other columns of a file can be selected by while it is read; see `nearer.io.read_answers`.

        Parameters
        ----------
        rule : str
            Such as ``"seconds > 0.2"`` or ``"person != TEST and confidence >= 2"``.

        Examples
        --------
        >>> from nearer.io import read_answers
        >>> table = {"anchor": "aab", "near": "bbc", "far": "cca", "person": ["x", "TEST", "x"]}
        >>> answers = read_answers({name: list(values) for name, values in table.items()})
        >>> real = answers.where("person != TEST")
        >>> len(real), [str(left) for left in real.report.left_out]
        (2, ["1 row left out where annotator is 'TEST'"])
        """
        from nearer.io.selecting import answers_where

        return answers_where(self, rule)

    def line(self, at: int) -> str:
        """Return where an answer stands, for a message: its line, or file and line where there are several files."""
        return place(self.row_source(at), self.source)

    def row_source(self, at: int) -> Source:
        """Return the file and the row of an answer."""
        return Source(self.source if self.files is None else str(self.files[at]), int(self.lines[at]))

    @property
    def n_files(self) -> int:
        """How many files the answers come from."""
        return 1 if self.files is None else len(set(self.files.tolist()))

    @property
    def trial_of(self) -> NDArray[np.intp]:
        """The act of judgment that each comparison is part of, (m,): a trial, or an answer where none are known."""
        return self.answer_of if self.comparisons.trials is None else trial_indices(self.comparisons)

    def __len__(self) -> int:
        return len(self.lines)

    def _repr_html_(self) -> str:
        report = self.report
        lines = [repr(self), *map(str, report.left_out), *report.notes, *report.skipped[:MAX_ROWS]]
        columns = {
            "columns": [("what", "column"), *((what, ", ".join(names)) for what, names in report.columns.items())]
        }
        return html_block(f"Answers from {self.source}", lines, columns if report.columns else {})

    def __repr__(self) -> str:
        parts = [
            pluralize(len(self), "answer"),
            pluralize(len(self.comparisons), "comparison"),
            pluralize(self.comparisons.n_objects, "object"),
        ]
        if self.annotators is not None:
            parts.append(pluralize(len(factorize(self.annotators)[0]), "person", "people"))
        if self.report.n_bad:
            parts.append(f"{pluralize(self.report.n_bad, 'row')} skipped")
        if self.report.findings:
            parts.append(pluralize(len(self.report.findings), "note"))
        return f"Answers({self.kind}: {', '.join(parts)})"


def with_objects(answers: Answers, labels: Sequence[Any]) -> Answers:
    """Return answers about objects that are called otherwise."""
    return replace(answers, comparisons=replace(answers.comparisons, objects=np.array(labels)))
