"""Findings of a study, as its README tells them in Markdown, as HTML of its page."""

import re
from collections.abc import Container
from pathlib import Path

from markupsafe import Markup

from replication.figures.typeset import typeset

_SECTION = re.compile(r"^## What holds\n(.*?)(?=^## |^\||\Z)", re.DOTALL | re.MULTILINE)
"""Section of a README with the findings, until its first table: paragraphs and pictures."""
_SPAN = re.compile(r"\[([^\]]+)\]\(([^()\s]+)\)|\*\*([^*]+)\*\*|\*([^*]+)\*")
"""A link, strong words, or emphasised ones."""


def findings(readme: Path, claims: Container[str]) -> list[Markup]:
    """Return the paragraphs of the section "What holds" of a README; none if there is no such one.

    A table, the sentence that leads to it, and what follows it are left out: the page has the
    abstract itself.

    Args:
        readme: path of the README of the study.
        claims: numbers of the claims that the page shows.

    Raises:
        OSError: if the file cannot be read.
    """
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    section = _SECTION.search(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))
    parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n", section[1] if section else ""))
    shown = (part for part in parts if part and part[0] not in "#!" and part[-1] != ":")
    return [_paragraph(part, claims) for part in shown]


def _paragraph(text: str, claims: Container[str]) -> Markup:
    """Return a paragraph: links, strong and emphasised words, and formulas, typeset."""
    made, at = Markup(), 0
    for match in _SPAN.finditer(text):
        words, address, strong, emphasised = match.groups()
        made += typeset(text[at : match.start()])
        if words:
            made += _link(words, address, claims)
        else:
            tag = Markup("strong" if strong else "em")
            made += Markup("<{0}>{1}</{0}>").format(tag, typeset(strong or emphasised))
        at = match.end()
    return made + typeset(text[at:])


def _link(words: str, address: str, claims: Container[str]) -> Markup:
    """Return a link to a claim of the page or to the web; files of the repository are not here."""
    claim = address.partition("#")[2]
    if claim in claims:
        return Markup('<a href="#claim-{}">{}</a>').format(claim, typeset(words))
    if address.startswith(("https://", "http://")):
        return Markup('<a href="{}" rel="noreferrer">{}</a>').format(address, typeset(words))
    return typeset(words)
