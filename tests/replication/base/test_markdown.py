"""What a registry says stands in Markdown as it is: nothing of it is HTML, a link or a heading."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from conftest import JOBS, ROOT
from markdown_it import MarkdownIt

from replication.base.markdown import Markdown, escape_markdown, table
from replication.bundle.bundle import read_bundle, reference_folder
from replication.documents.cited import Citable
from replication.documents.pages import StudyResults, claims_page
from replication.judge.scorecard import to_markdown as scorecard_as_markdown
from replication.study.registry import Registry

HOSTILE = "<script>x</script>\n\n# head\n\n[a](javascript:b) ![c](d) <e@f.org> &lt;g | <!-- h"
RENDER = MarkdownIt("commonmark").enable("table").render
SAID = ("where", "statement", "quantity", "expected", "why", "note", "headline")
WHOLE = JOBS.studies["example"].registry.model_copy(update={"scale": "small", "cells": "names"})


def spoilt(registry: Registry) -> Registry:
    """The same with hostile texts."""
    claims = [
        claim.model_copy(update={name: HOSTILE for name in SAID if getattr(claim, name)})
        for claim in registry.claims
    ]
    figures = {
        name: text.model_copy(update={"caption": HOSTILE})
        for name, text in registry.figures.items()
    }
    head = dict.fromkeys(("title", "authors", "venue", "scale", "cells"), HOSTILE)
    return registry.model_copy(update={**head, "claims": claims, "figures": figures})


@pytest.mark.parametrize(
    "text",
    ["<b>", "</b>", "<!-- b", "<?b", "<https://b.org>", "[a](b)", "![a](b)", "a\n\n# b", "&lt;b"],
)
def test_text_is_shown_as_it_stands(text):
    shown = RENDER(escape_markdown(text))
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert shown == f"<p>{plain}</p>\n"


@pytest.mark.parametrize("text", ["x <= y < 3 <- z", "[0, 1] (2)", "a & b", "R&D", "`d` **e**"])
def test_what_begins_nothing_stays(text):
    assert escape_markdown(text) == text


def test_a_cell_is_one_cell_and_may_be_markdown():
    lines = table(("a", "b"), [("x|y\nz", Markdown("[c](d)<br>"))])
    assert lines == ["| a | b |", "| --- | --- |", r"| x\|y z | [c](d)<br> |"]


def told(registry: Registry) -> StudyResults:
    reference = read_bundle(reference_folder(ROOT, "example"))[0]
    return StudyResults(replace(JOBS.studies["example"], registry=registry), reference)


def documents(registry: Registry) -> Iterator[str]:
    """Whatever Markdown is made of a registry."""
    yield claims_page(told(registry))
    yield scorecard_as_markdown(registry, [])
    paper = told(registry.model_copy(update={"url": "https://a.org"}))
    known = Citable("README.md", [paper], [], JOBS)
    yield known.abstract("example")
    yield known.headlines()
    yield known.not_holding()


def test_nothing_that_a_registry_says_is_live():
    for found, plain in zip(documents(spoilt(WHOLE)), documents(WHOLE), strict=True):
        assert "script" in found
        assert tags(found) == tags(plain)


def tags(markdown: str) -> Counter[str]:
    """How often each HTML tag stands in a rendered document, with its links."""
    return Counter(re.findall(r"<[!?/a-z][^>]*>", RENDER(markdown)))
