"""The paper about the software, in the format of the Journal of Open Source Software."""

import re

import yaml
from conftest import ROOT

FOLDER = ROOT / "docs/paper"
_, METADATA, TEXT = (FOLDER / "paper.md").read_text().split("---\n", 2)
MOST_WORDS = 1000
SECTIONS = [
    "Summary", "Statement of need", "State of the field", "Software design",
    "Research impact statement", "AI usage disclosure", "References",
]  # fmt: skip
"""As the journal asks for them since 2026."""


def test_the_metadata_are_those_that_the_journal_asks_for():
    found = yaml.safe_load(METADATA)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= found.keys()
    indices = {each["index"] for each in found["affiliations"]}
    assert all(author["name"] and author["affiliation"] in indices for author in found["authors"])
    assert (FOLDER / found["bibliography"]).is_file()


def test_the_paper_is_short_and_has_its_sections():
    assert re.findall(r"^# (.*)$", TEXT, re.MULTILINE) == SECTIONS
    words = re.findall(r"[\w'-]+", TEXT)
    assert len(words) <= MOST_WORDS


def test_every_work_is_cited_and_listed_once():
    keys = re.findall(r"^@\w+\{([\w-]+),$", (FOLDER / "paper.bib").read_text(), re.MULTILINE)
    assert len(keys) == len(set(keys))
    assert {*re.findall(r"@([\w-]+)\]", TEXT)} == {*keys}
