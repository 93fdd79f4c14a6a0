"""The notice on data protection that participants read before they agree: a template with the facts of study.toml."""

from __future__ import annotations

import re
from importlib import resources

from nearer.survey.settings import FACTS, Settings


def notice_text(settings: Settings) -> str:
    """Return the notice, by the study's own text or else the template in its language; "" where there is none."""
    text = settings.notice
    if not text and settings.responsible:
        file = resources.files("nearer.survey") / "templates" / f"notice.{settings.language}.txt"
        text = file.read_text(encoding="utf-8")
    return re.sub(rf"\{{({'|'.join(FACTS)})\}}", lambda found: str(getattr(settings, found[1])), text)
