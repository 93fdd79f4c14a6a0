"""What is found out about data, as a record: readers and checks make findings, and one renderer per folder words them.

A `Finding` holds facts and no sentence. Whoever makes one gives a code and what its sentence needs; a module of
messages (`nearer.io.messages`, say) has one template or function per code, and is called by whoever shows the finding.
Nothing reads a sentence back: tests and programs ask for ``code``, ``source``, ``numbers`` and ``concerned``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

Severity: TypeAlias = Literal["error", "warning", "note", "good"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)  # worst first


@dataclass(frozen=True)
class Source:
    """Where a fact stands: a file or a table, and a row in it, or None for the whole."""

    file: str
    row: int | None = None

    def __str__(self) -> str:
        return self.file if self.row is None else f"{self.file}:{self.row}"


@dataclass(frozen=True)
class Finding:
    """One thing to know about data.

    Attributes
    ----------
    code : str
        A name for machines, such as "contradictions", by which its sentence is found.
    severity : {"error", "warning", "note", "good"}
        An error means that the data, or the row, cannot be used as they are; a warning, that something should be looked
        at first.
    source : Source, optional
        Where it was found; None for all that was looked at.
    numbers : mapping from str to plain values
        The figures that the sentence needs, and the names of columns, files and settings in it.
    concerned : tuple of labels
        The objects or people that it is about.
    """

    code: str
    severity: Severity
    source: Source | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict, hash=False)
    concerned: tuple[Any, ...] = ()

    @property
    def row(self) -> int:
        """The row that it is about, 0 for none."""
        return (self.source and self.source.row) or 0

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "code": self.code,
            "severity": self.severity,
            "source": None if self.source is None else {"file": self.source.file, "row": self.source.row},
            "numbers": dict(self.numbers),
            "concerned": list(self.concerned),
        }
