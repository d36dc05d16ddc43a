"""Findings of a study, as its README tells them in Markdown, as HTML of its page."""

import re
from collections.abc import Container
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from replication.figures.typeset import typeset

_SECTION = re.compile(r"^## What holds\n(.*?)(?=^## |^\||\Z)", re.DOTALL | re.MULTILINE)
"""Section of a README with the findings, until its first table: paragraphs and pictures."""
_LINK = re.compile(r"\[([^\]]+)\]\(([^()\s]+)\)")
_PARSER = MarkdownIt("zero").enable(["emphasis", "link"])
_PARSER.add_render_rule("text", lambda _, tokens, at, *__: typeset(tokens[at].content))


def findings(readme: Path, claims: Container[str]) -> list[Markup]:
    """Return the paragraphs of the section "What holds" of a README; none without such a section.

    Tables, the sentences that lead to them, and all behind them are left out. Links lead to claims
    of the page, given by number, or to the web; of other links, and of pictures, words remain.
    """
    text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
    section = _SECTION.search(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL))
    parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n", section[1] if section else ""))

    def link(match: re.Match[str]) -> str:
        claim = match[2].partition("#")[2]
        if claim in claims:
            return f"[{match[1]}](#claim-{claim})"
        return match[0] if match[2].startswith(("https://", "http://")) else match[1]

    return [
        Markup(_PARSER.renderInline(_LINK.sub(link, part)))
        for part in parts
        if part and part[0] not in "#!" and part[-1] != ":"
    ]
