"""The sections that tell how the map was made, how to make it again, and whom to cite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearer.common.words import counted
from nearer.report.escaping import text
from nearer.report.sections import Results, paragraph
from nearer.report.wording import n_fitted, setting_name, setting_value


def settings(results: Results) -> str:
    """Show the settings, the versions and the command that repeats the map exactly."""
    parts = []
    later = (results["placed"] or {}).get("commands") or []
    files, commands = ("files", "commands") if later else ("file", "command")
    if results["command"]:
        parts += [
            paragraph(f"The same {files}, versions, seed and {commands} give the same map."),
            copyable("command", "\n".join([str(results["command"]), *later]), code=True),
        ]
    chosen = results["settings"] or {}
    lists = (
        ("Data", _about_data(results)),
        ("Method", ({"method": chosen["method"]} if chosen.get("method") else {}) | (chosen.get("parameters") or {})),
        ("Chosen by the data", chosen.get("chosen") or {}),
        ("Versions", results["versions"] or {}),
    )
    parts.append('<div class="facts">' + "".join(_listing(title, facts) for title, facts in lists) + "</div>")
    return "".join(parts)


def _about_data(results: Results) -> dict[str, Any]:
    source, summary, later = results["source"] or {}, results["summary"] or {}, results["placed"] or {}
    return {
        "file": source.get("file"),
        "sha256": source.get("sha256"),
        "kind of answers": source.get("kind"),
        "answers": source.get("n_answers"),
        "bad rows skipped": source.get("n_bad"),
        "undecided answers": source.get("n_undecided"),
        "comparisons": summary.get("n_comparisons"),
        "objects": n_fitted(results) if summary.get("n_objects") is not None else None,
        "objects placed later": len(later["objects"]) if later else None,
        "answers they were placed by": later.get("n_answers"),
        "objects never compared": summary.get("n_unseen"),
        "annotators": summary.get("n_annotators"),
        "trials": summary.get("n_trials"),
        "seed": results["seed"],
        "date": results["date"],
        "seconds": None if results["seconds"] is None else f"{results['seconds']:.1f}",
    }


def _listing(title: str, facts: Mapping[str, Any]) -> str:
    """Return names and values; what is not known, or was left open, is left out."""
    keep = {name: value for name, value in facts.items() if value is not None}
    if not keep:
        return ""
    rows = "".join(
        f"<div><dt>{text(setting_name(name))}</dt><dd>{text(setting_value(name, value))}</dd></div>"
        for name, value in keep.items()
    )
    return f"<section><h3>{text(title)}</h3><dl>{rows}</dl></section>"


def citing(results: Results) -> str | None:
    """Show what to cite, with a button that copies it."""
    found = results["citations"]
    if not found:
        return None
    lines = [cite["text"] + (f" doi:{cite['doi']}" if cite.get("doi") else "") for cite in found]
    return paragraph(f"If this map is of use in a publication, please cite {counted(len(lines), 'work')}:") + copyable(
        "citations", "\n".join(lines)
    )


def copyable(name: str, content: str, *, code: bool = False) -> str:
    """Return lines of text with a button that copies them; it works without a network."""
    rows = "".join(f'<span class="line">{text(row)}\n</span>' for row in content.split("\n"))
    tag = "code" if code else "span"
    return (
        f'<div class="copyable"><pre id="{name}-text"><{tag}>{rows}</{tag}></pre>'
        f'<button type="button" class="copy" data-copies="{name}-text">Copy</button></div>'
    )
