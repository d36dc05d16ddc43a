"""The abstracts that the registry answers to, word for word."""

from hashlib import sha256

import pytest
from declared import CLAIMS, STUDY

from replication.study.registry import read_registry

FIRST, LATER = read_registry(STUDY.folder / "registry.yaml").abstracts
# Number of words of each, and SHA-256, as arXiv has it.
WHOLE = [
    (FIRST, 160, "0e352b098155739f9c1d45ee6631f99d4638f68b8bac7e4e99877df02fdd08cc"),
    (LATER, 198, "b42c7e3ba2d519f01cad99f1ceb750f5cb04c826ea749948b416d6f5bff06aeb"),
]


@pytest.mark.parametrize(("abstract", "words", "digest"), WHOLE, ids=["first", "later"])
def test_every_version_is_there_word_for_word(abstract, words, digest):
    assert len(abstract.text.split()) == words
    assert sha256(abstract.text.encode()).hexdigest() == digest
    assert abstract.text.startswith("Transformer")
    assert "https://github.com/tom4649/gradient-heterogeneity" in abstract.text


def test_claims_quote_the_abstracts_word_for_word():
    later = [
        claim.quote.words
        for claim in CLAIMS.values()
        if claim.quote and claim.quote.place == "abstract, third version"
    ]
    assert later
    assert [words for words in later if words not in LATER.text] == []


def test_the_papers_claims_of_an_abstract_decide_a_sentence():
    named = {
        number
        for abstract in (FIRST, LATER)
        for sentence in abstract.sentences
        for number in sentence.claims
    }
    quoted = {
        number
        for number, claim in CLAIMS.items()
        if claim.kind == "claim" and claim.quote and claim.quote.place.startswith("abstract")
    }
    assert quoted <= named
