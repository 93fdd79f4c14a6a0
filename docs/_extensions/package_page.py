"""README.md as a package index shows it, and the addresses of the project, when a wheel or an sdist is built.

A package index has none of the files that README.md links to. `repository` in pyproject.toml is the one place where the
address of the repository stands: with it, links become absolute and lead to the files of this version; as long as it is
empty, only their text is left, and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def with_absolute_links(text: str, repository: str, version: str) -> str:
    """Return a page in Markdown whose relative links lead to files of a version in a repository, if there is one."""

    def of(link: re.Match[str]) -> str:
        picture, words, path = link.groups()
        if repository:
            return f"{picture}[{words}]({repository}/{'raw' if picture else 'blob'}/v{version}/{path})"
        return "" if picture else words

    return _LINK.sub(of, text)


class PackagePage(MetadataHookInterface):
    """Fills in what pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the text of the package's page, and the addresses of the project."""
        repository = self.config.get("repository", "").rstrip("/")
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        page = with_absolute_links(text, repository, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": page}
        if repository:
            metadata["urls"] = {
                "Source": repository,
                "Issues": f"{repository}/issues",
                "Changelog": f"{repository}/blob/v{metadata['version']}/CHANGELOG.md",
            }
