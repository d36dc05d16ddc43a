"""Descriptions of the project for archives and catalogues: `codemeta.json` and `.zenodo.json`.

Both are made from `CITATION.cff`, for people and papers, and `pyproject.toml`, for the software.
CodeMeta is read by Software Heritage and others, `.zenodo.json` by Zenodo at each release.
"""

import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement

from replication.base.citation_file import CITATION, name_author, read_citation_file
from replication.base.errors import InputError

JsonObject = dict[str, Any]
PACKAGE = "pyproject.toml"
CODEMETA = "codemeta.json"
ZENODO = ".zenodo.json"
CONTEXT = "https://w3id.org/codemeta/3.0"
"""Vocabulary of `codemeta.json`."""
_NEEDED = ("title", "abstract", "authors", "license", "version")
"""Keys of `CITATION.cff` that an archive asks for."""


class Described(NamedTuple):
    """The two sources of a description of the project."""

    citation: JsonObject
    """Content of `CITATION.cff`."""
    package: JsonObject
    """Table `project` of `pyproject.toml`."""


def deposit_files(root: Path) -> dict[str, str]:
    """Return path and text of both files; none if the project has no `CITATION.cff`.

    Raises:
        InputError: if a key is missing, or the two sources have different versions.
    """
    if not (root / CITATION).is_file():
        return {}
    described = read_sources(root)
    return {CODEMETA: _to_json(codemeta(described)), ZENODO: _to_json(zenodo(described))}


def read_sources(root: Path) -> Described:
    """Return `CITATION.cff` and what `pyproject.toml` says of the package.

    Raises:
        InputError: if a key is missing, or the two have different versions.
    """
    citation = read_citation_file(root)
    if missing := [key for key in _NEEDED if not citation.get(key)]:
        raise InputError(f"{CITATION}: has no {', '.join(missing)}; add it")
    package = tomllib.loads((root / PACKAGE).read_text(encoding="utf-8"))["project"]
    if str(citation["version"]) != package["version"]:
        raise InputError(
            f"{CITATION}: is of version {citation['version']}, and {PACKAGE} of"
            f" {package['version']}; write the same into both"
        )
    return Described(citation, package)


def codemeta(described: Described) -> JsonObject:
    """Return the description in the terms of CodeMeta."""
    citation, package = described
    return _without_empty(
        {
            "@context": CONTEXT,
            "@type": "SoftwareSourceCode",
            "name": citation["title"],
            "description": _one_line(citation["abstract"]),
            "version": str(citation["version"]),
            "datePublished": str(citation.get("date-released", "")),
            "license": f"https://spdx.org/licenses/{citation['license']}",
            "author": [_agent(each) for each in citation["authors"]],
            "keywords": citation.get("keywords", []),
            "programmingLanguage": "Python",
            "runtimePlatform": f"Python {package.get('requires-python', '')}".strip(),
            "softwareRequirements": [
                _required_package(each) for each in package.get("dependencies", [])
            ],
            "codeRepository": citation.get("repository-code", ""),
            "url": citation.get("url", ""),
            "identifier": _doi(citation),
            "referencePublication": [_article(each) for each in citation.get("references", [])],
        }
    )


def zenodo(described: Described) -> JsonObject:
    """Return the description in the terms of Zenodo's deposits."""
    citation = described.citation
    return _without_empty(
        {
            "title": f"{citation['title']} {citation['version']}",
            "description": _one_line(citation["abstract"]),
            "upload_type": "software",
            "version": str(citation["version"]),
            "publication_date": str(citation.get("date-released", "")),
            "access_right": "open",
            "license": citation["license"],
            "creators": [{"name": name_author(each)} for each in citation["authors"]],
            "keywords": citation.get("keywords", []),
            "related_identifiers": [
                *_related(citation.get("repository-code", ""), "isSupplementTo"),
                *(
                    related
                    for each in citation.get("references", [])
                    for related in _related(each.get("url", ""), "cites")
                ),
            ],
        }
    )


def _agent(author: JsonObject) -> JsonObject:
    """Return an author, who is a person unless there is one name only."""
    if "name" in author:
        return {"@type": "Organization", "name": author["name"]}
    return _without_empty(
        {
            "@type": "Person",
            "@id": author.get("orcid", ""),
            "givenName": author.get("given-names", ""),
            "familyName": author.get("family-names", ""),
        }
    )


def _required_package(requirement: str) -> JsonObject:
    """Return a package and its versions, such as `pydantic` and `>=2.10`, as CodeMeta names it."""
    found = Requirement(requirement)
    return _without_empty(
        {
            "@type": "SoftwareApplication",
            "name": found.name,
            "softwareVersion": str(found.specifier),
        }
    )


def _article(reference: JsonObject) -> JsonObject:
    return _without_empty(
        {
            # CodeMeta's own vocabulary has no articles; `schema` is its prefix of schema.org.
            "@type": "schema:ScholarlyArticle",
            "@id": reference.get("url", ""),
            "name": reference["title"],
            "author": [_agent(each) for each in reference["authors"]],
            "datePublished": str(reference.get("year", "")),
        }
    )


def _related(url: str, relation: str) -> list[JsonObject]:
    return [{"identifier": url, "relation": relation, "scheme": "url"}] if url else []


def _doi(citation: JsonObject) -> str:
    return f"https://doi.org/{citation['doi']}" if citation.get("doi") else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _without_empty(described: JsonObject) -> JsonObject:
    return {key: value for key, value in described.items() if value not in ("", [])}


def _to_json(described: JsonObject) -> str:
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"
