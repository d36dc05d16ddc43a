"""The abstracts in the registry are those that were published, whole and in order."""

import hashlib

import pytest
from registered import CLAIMS, STUDY

from replication.study.claims import ERRATA, SHOWN, THEORY
from replication.study.registry import read_registry

REGISTRY = read_registry(STUDY.folder / "registry.yaml")
PUBLISHED = {
    "arXiv 2505.19458v2": (
        166,
        "31f620385f419e8513dc129d9535e846e66463204e9359f3a15cea7e7784c627",
    ),
    "arXiv 2505.19458v4, the last version": (
        206,
        "32064186aba700923ff5b058c12b2f9de96b27b18b8f4f120d4b8ffc81c97153",
    ),
}
"""Number of words, and the SHA-256 of the text in UTF-8."""


def test_versions():
    assert [abstract.version for abstract in REGISTRY.abstracts] == [*PUBLISHED]


@pytest.mark.parametrize("abstract", REGISTRY.abstracts, ids=lambda each: each.version)
def test_abstracts_are_verbatim(abstract):
    words, digest = PUBLISHED[abstract.version]
    assert abstract.text.startswith("The theoretical understanding of self-attention (SA)")
    assert abstract.text.endswith("a pseudo-energy for monitoring inference dynamics.")
    assert len(abstract.text.split()) == words
    assert hashlib.sha256(abstract.text.encode()).hexdigest() == digest


def test_sentences_are_decided_by_claims_of_the_paper():
    decided = {name for each in REGISTRY.abstracts for s in each.sentences for name in s.claims}
    assert {CLAIMS[name].group for name in decided} == {SHOWN, THEORY, ERRATA}
