"""Links lead somewhere, and a thing has one word."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from conftest import ROOT

DOCUMENTS = [
    path
    for pattern in ("*.md", "config/*.md", "docs/**/*.md", "src/*/*/README.md")
    for path in sorted(ROOT.glob(pattern))
]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)")


@cache
def anchors(path: Path) -> set[str]:
    """What a link into a document can name: headings, as GitHub writes them, and ids."""
    text = path.read_text()
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


def test_every_link_leads_to_a_file_and_a_place_in_it():
    wrong = []
    for document in DOCUMENTS:
        for path, place in LINK.findall(document.read_text()):
            target = (document.parent / path).resolve() if path else document
            if not target.exists() or (place and place not in anchors(target)):
                wrong.append(f"{document.relative_to(ROOT)}: {path}#{place}")
    assert not wrong


OTHER_WORDS = {
    "comparison": r"\bnames? of (the |their )?cells?\b|\bcells? of (a claim|an experiment)"
    r"|\b(claim's|evidence) cells?\b|\ba row per cell\b",
    "figure or picture": r"\b(a|the|each|every|its|no) drawing\b(?! of)",
    "metric or evidence": r"\bstudy's measures\b|\bmeasures? of a claim\b|\bmeasures are\b",
}
"""Words that a thing had beside its own, as they stood in texts."""


def texts() -> Iterator[tuple[Path, str]]:
    """Documents, registries and templates, and the words of the engine: docstrings and messages."""
    templates = (ROOT / "src/replication").rglob("*.html")
    for path in [*DOCUMENTS, *templates, *(ROOT / "src").glob("*/*/registry.yaml")]:
        yield path, path.read_text()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, node.value


def test_a_thing_has_one_word():
    assert not [
        f"{path.relative_to(ROOT)}: '{found[0]}': say {word}"
        for path, text in texts()
        for word, others in OTHER_WORDS.items()
        for found in re.finditer(others, text, re.IGNORECASE)
    ]


def test_a_page_leads_to_each_term_of_the_glossary_once():
    terms = re.findall(
        r'^\| <a id="([\w-]+)">', (ROOT / "docs/glossary.md").read_text(), re.MULTILINE
    )
    assert 0 < len(terms) <= 30
    assert terms == sorted(terms)
    for document in DOCUMENTS:
        named = re.findall(r"glossary\.md#([\w-]+)", document.read_text())
        assert len(named) == len(set(named)), document
    assert "glossary.md#claim" in (ROOT / "README.md").read_text()
