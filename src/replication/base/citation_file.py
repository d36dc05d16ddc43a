"""`CITATION.cff`: how a project is cited, who wrote it, and under which licence."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replication.base.yaml_files import read_yaml

CITATION = "CITATION.cff"
"""File that says how to cite the project; `url` in it is the address of the published pages."""
LICENCE = "MIT"
"""Licence of a project whose file names none."""


def read_citation_file(root: Path) -> dict[str, Any]:
    """Return the content of a project's `CITATION.cff`; nothing if there is none."""
    path = root / CITATION
    return read_yaml(path) if path.is_file() else {}


def name_author(author: Mapping[str, Any]) -> str:
    """Return an author's name as lists of names sort it: family name first."""
    names = ("name",) if "name" in author else ("family-names", "given-names")
    return ", ".join(str(author[name]) for name in names if author.get(name))


def licence_url(citation: Mapping[str, Any]) -> str:
    """Return the address of the text of a project's licence."""
    return f"https://spdx.org/licenses/{citation.get('license', LICENCE)}"
