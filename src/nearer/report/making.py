"""The sections that tell how the map was made, how to make it again, and whom to cite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearer.common.words import counted
from nearer.report.section import Content, Results
from nearer.report.wording import n_fitted, setting_name, setting_value


def settings(results: Results) -> Content:
    """Show the settings, the versions and the command that repeats the map exactly."""
    later = (results["placed"] or {}).get("commands") or []
    files, commands = ("files", "commands") if later else ("file", "command")
    repeat = f"The same {files}, versions, seed and {commands} give the same map."
    chosen = results["settings"] or {}
    lists = {
        "Data": _about_data(results),
        "Method": ({"method": chosen["method"]} if chosen.get("method") else {}) | (chosen.get("parameters") or {}),
        "Chosen by the data": chosen.get("chosen") or {},
        "Versions": results["versions"] or {},
    }
    facts = [(title, known) for title, facts in lists.items() if (known := _known(facts))]
    if not results["command"]:
        return {"paragraphs": [], "commands": [], "facts": facts}
    return {"paragraphs": [repeat], "commands": "\n".join([results["command"], *later]).split("\n"), "facts": facts}


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


def _known(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return names and values in words; what is not known, or was left open, is left out."""
    return [(setting_name(name), setting_value(name, value)) for name, value in facts.items() if value is not None]


def citing(results: Results) -> Content | None:
    """Show what to cite, with a button that copies it."""
    found = results["citations"]
    if not found:
        return None
    works = [cite["text"] + (f" doi:{cite['doi']}" if cite.get("doi") else "") for cite in found]
    please = f"If this map is of use in a publication, please cite {counted(len(works), 'work')}:"
    return {"paragraphs": [please], "id": "citations", "lines": "\n".join(works).split("\n")}
