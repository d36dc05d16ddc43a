"""Citation of a paper and its replication, with their addresses on the web."""

import re
from pathlib import Path
from typing import Any, NamedTuple

from replication.base.citation_file import name_author, read_citation_file
from replication.study.registry import Registry

ARXIV_NUMBER = re.compile(r"\b(\d\d)(?:0[1-9]|1[0-2])\.\d{4,5}(?:v\d+)?\b")
"""Number of a paper on arXiv, which begins with the year and the month: 2305.16380v4."""


class Link(NamedTuple):
    """A link to another place on the web."""

    name: str
    url: str


class Citation(NamedTuple):
    """Links and entries that a reader cites."""

    links: list[Link]
    """Paper, repository and DOI, as far as they are known."""
    bibtex: str
    """Entries of the paper and of the replication."""
    repository: str
    """Address of the project's repository; empty if it is not known."""


def read_citation(registry: Registry, root: Path) -> Citation:
    """Return the citation of a paper, from its registry and the project's `CITATION.cff`.

    Raises:
        InputError: if `CITATION.cff` cannot be read.
    """
    project, paper = read_citation_file(root), registry.url or ""
    repository, doi = str(project.get("repository-code", "")), str(project.get("doi", ""))
    arxiv = re.search(r"arxiv\.org/abs/([\w.]+)", paper)
    links = [
        Link(f"arXiv:{arxiv[1]}" if arxiv else "paper", paper),
        Link("repository", repository),
        Link(f"doi:{doi}", f"https://doi.org/{doi}" if doi else ""),
    ]
    web = [link for link in links if link.url.startswith(("https://", "http://"))]
    entries = [_paper(registry), *([_software(project)] if project else [])]
    known = repository if repository in {link.url for link in web} else ""
    return Citation(web, "\n\n".join(entries), known)


def _paper(registry: Registry) -> str:
    year = _year(registry.venue, registry.url or "")
    names = registry.author_names
    last = [part for part in names[0].split() if any(map(str.isalpha, part))][-1]
    first = re.sub(r"[^\w-]", "", last).lower()
    word = re.search(r"[A-Za-z]+", registry.title)
    return _entry(
        "misc",
        f"{first}{year}{word[0].lower() if word else ''}",
        title=f"{{{registry.title}}}",
        author=" and ".join(names),
        howpublished=registry.venue,
        year=year,
        url=registry.url or "",
    )


def _year(venue: str, url: str) -> str:
    """Return the year that a venue names, else that of the paper's number on arXiv, else none."""
    # Without the number, which may begin as a year does: 2005.14165 is of 2020.
    if named := re.search(r"\b(19|20)\d\d\b", ARXIV_NUMBER.sub("", venue)):
        return named[0]
    numbered = ARXIV_NUMBER.search(f"{venue} {url}")
    return f"20{numbered[1]}" if numbered else ""


def _software(project: dict[str, Any]) -> str:
    authors = (
        f"{{{name_author(author)}}}" if "name" in author else name_author(author)
        for author in project.get("authors", [])
    )
    title = str(project.get("title", ""))
    return _entry(
        "software",
        re.sub(r"\W", "", title),
        title=f"{{{title}}}",
        author=" and ".join(authors),
        version=str(project.get("version", "")),
        year=str(project.get("date-released", ""))[:4],
        url=str(project.get("repository-code", "")),
        doi=str(project.get("doi", "")),
    )


def _entry(kind: str, key: str, **fields: str) -> str:
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
