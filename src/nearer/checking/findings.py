"""What the doctor found, for people and for machines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, overload

from nearer._common.formatting import pluralize
from nearer.evaluation.annotators import AnnotatorReliability

Level: TypeAlias = Literal["error", "warning", "note", "good"]

LEVELS: tuple[Level, ...] = ("error", "warning", "note", "good")  # worst first
_WIDTH = 100
_INDENT = " " * 10


@dataclass(frozen=True)
class Finding:
    """One thing to know about the data.

    Attributes
    ----------
    level : {"error", "warning", "note", "good"}
        An error means that no map of these data can be right; a warning, that something should be looked at first.
    code : str
        A name for machines, such as "contradictions".
    title : str
        The headline, with the figure.
    text : str
        What it means and what to do, in one or two sentences.
    examples : tuple of str
        The culprits by name, or the first of them.
    people : mapping of annotator to str
        What is said of each of the people found, in a few words; not in `as_dict`.

    Examples
    --------
    >>> finding = Finding("note", "contradictions", "12 questions were answered both ways", "People differ.")
    >>> finding.as_dict()["code"]
    'contradictions'
    """

    level: Level
    code: str
    title: str
    text: str
    examples: tuple[str, ...] = ()
    people: Mapping[Any, str] = field(default_factory=dict, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "level": self.level,
            "code": self.code,
            "title": self.title,
            "text": self.text,
            "examples": list(self.examples),
        }

    def __str__(self) -> str:
        lines = textwrap.wrap(self.title, _WIDTH, initial_indent=f"{self.level.upper():<10}", subsequent_indent=_INDENT)
        lines += textwrap.wrap(self.text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
        for example in self.examples:
            lines += textwrap.wrap(
                example, _WIDTH, initial_indent=f"{_INDENT}- ", subsequent_indent=f"{_INDENT}  ", break_on_hyphens=False
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Findings(Sequence[Finding]):
    """All that was found, worst first; ``print`` it for a report.

    Attributes
    ----------
    source : str
        Name of the file that was looked at.
    items : tuple of Finding
        Sorted by level; within a level in the order of the checks.
    counts : mapping
        Every figure that was worked out, by name: plain numbers, None where there is nothing to say.
    annotators : AnnotatorReliability or None
        Error of each person against maps of the others, where people are known.

    Examples
    --------
    >>> findings = Findings("answers.csv", (
    ...     Finding("good", "groups", "All objects are connected", "One map can hold them."),
    ...     Finding("warning", "too-fast", "1 person answers too fast", "Look at the answers.", ("'Bob'",)),
    ... ))
    >>> findings.worst, [finding.code for finding in findings]
    ('warning', ['too-fast', 'groups'])
    >>> print(findings)
    answers.csv: 1 warning, 1 good sign
    <BLANKLINE>
    WARNING   1 person answers too fast
              Look at the answers.
              - 'Bob'
    <BLANKLINE>
    GOOD      All objects are connected
              One map can hold them.
    """

    source: str
    items: tuple[Finding, ...] = ()
    counts: Mapping[str, Any] = field(default_factory=dict)
    annotators: AnnotatorReliability | None = None

    def __post_init__(self) -> None:
        ranked = sorted(self.items, key=lambda finding: LEVELS.index(finding.level))
        object.__setattr__(self, "items", tuple(ranked))
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Finding, ...]: ...
    def __getitem__(self, index: int | slice) -> Finding | tuple[Finding, ...]:
        return self.items[index]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.items)

    @property
    def worst(self) -> Level:
        """The gravest level found; "good" where there is nothing."""
        return self.items[0].level if self.items else "good"

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return all findings as plain values, ready for JSON."""
        return [finding.as_dict() for finding in self.items]

    def __str__(self) -> str:
        return "\n\n".join([self._heading(), *map(str, self.items)])

    def _heading(self) -> str:
        names = {"error": "error", "warning": "warning", "note": "note", "good": "good sign"}
        numbers = {level: sum(finding.level == level for finding in self.items) for level in LEVELS}
        listed = ", ".join(pluralize(number, names[level]) for level, number in numbers.items() if number)
        return f"{self.source}: {listed or 'nothing found'}"
