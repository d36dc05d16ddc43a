"""Links lead somewhere, and a thing has one word."""

import re
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
