"""What the checks found, and how it is shown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, overload

from nearer._common.findings import SEVERITIES, Finding, Severity
from nearer._common.formatting import pluralize, quote_all
from nearer._common.html import html_block
from nearer._common.json_files import plain_values
from nearer.checking.messages import PERSON_FLAGS, message_of
from nearer.evaluation.annotators import AnnotatorReliability

_WIDTH = 100
_INDENT = " " * 10


@dataclass(frozen=True, eq=False)
class Findings(Sequence[Finding]):
    """All findings, worst first; ``print`` it for a report.

    Attributes
    ----------
    source : str
        Name of the file that was checked.
    items : tuple of Finding
        Sorted by severity; within one in the order of the checks.
    counts : mapping
        Every figure that was computed, by name: plain numbers, None where there is nothing to say.
    annotators : AnnotatorReliability or None
        Error of each person against maps of the others, where people are known.

    Examples
    --------
    >>> findings = Findings("answers.csv", (
    ...     Finding("connected", "good"),
    ...     Finding("numbered-from-one", "warning", concerned=(0,)),
    ... ))
    >>> findings.worst, [finding.code for finding in findings]
    ('warning', ['numbered-from-one', 'connected'])
    >>> print(findings)
    answers.csv: 1 warning, 1 good sign
    <BLANKLINE>
    WARNING   Object 0 is in no comparison, all others are
              The objects seem to be numbered from 1; subtract 1, or give the objects names.
              - 0
    <BLANKLINE>
    GOOD      The comparison graph is 2-connected
              Every object and every group of objects is compared with the rest through more than one
              object.
    """

    source: str
    items: tuple[Finding, ...] = ()
    counts: Mapping[str, Any] = field(default_factory=dict)
    annotators: AnnotatorReliability | None = None

    def __post_init__(self) -> None:
        ranked = sorted(self.items, key=lambda finding: SEVERITIES.index(finding.severity))
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
    def worst(self) -> Severity:
        """The worst severity found; "good" where there is nothing."""
        return self.items[0].severity if self.items else "good"

    @property
    def heading(self) -> str:
        """The source, and how many findings there are of each severity."""
        nouns = {"error": "error", "warning": "warning", "note": "note", "good": "good sign"}
        numbers = {severity: sum(each.severity == severity for each in self.items) for severity in SEVERITIES}
        parts = [pluralize(number, nouns[severity]) for severity, number in numbers.items() if number]
        return f"{self.source}: {', '.join(parts) or 'nothing found'}"

    def flags(self) -> dict[str, list[str]]:
        """Return what warnings say of each person they concern, by name."""
        found: dict[str, list[str]] = {}
        for finding in self.items:
            if finding.code in PERSON_FLAGS and finding.severity in ("error", "warning"):
                for person in dict.fromkeys(finding.concerned):
                    found.setdefault(str(person), []).append(PERSON_FLAGS[finding.code])
        return found

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return all findings with their text as plain values, ready for JSON."""
        found = [{**finding.to_dict(), **message_of(finding)._asdict()} for finding in self.items]
        return [{key: plain_values(each[key]) for key in each if key != "source"} for each in found]

    def _repr_html_(self) -> str:
        rows = [(each.severity, *message_of(each)[:2]) for each in self.items]
        return html_block("Findings", [self.heading], {"worst first": [("severity", "finding", "what to do"), *rows]})

    def __str__(self) -> str:
        return "\n\n".join([self.heading, *map(format_finding, self.items)])


def format_finding(finding: Finding) -> str:
    """Return a finding as indented lines of text."""
    title, text, examples = message_of(finding)
    first = f"{finding.severity.upper():<10}"
    lines = textwrap.wrap(title, _WIDTH, initial_indent=first, subsequent_indent=_INDENT)
    lines += textwrap.wrap(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    for example in examples:
        lines += textwrap.wrap(
            example, _WIDTH, initial_indent=f"{_INDENT}- ", subsequent_indent=f"{_INDENT}  ", break_on_hyphens=False
        )
    return "\n".join(lines)


def format_line(finding: Finding) -> str:
    """Return a finding on one line, with the people whom it concerns."""
    title, text, _ = message_of(finding)
    if finding.code in PERSON_FLAGS and finding.concerned:
        return f"{finding.severity}: {title}: {quote_all(finding.concerned, 10)}. {text}"
    return f"{finding.severity}: {title}"
