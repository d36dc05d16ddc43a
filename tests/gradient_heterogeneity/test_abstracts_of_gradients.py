"""The abstracts that the registry answers to, word for word."""

from hashlib import sha256

from declared import CLAIMS, STUDY

from replication.registry import read_registry

FIRST, LATER = read_registry(STUDY.folder / "registry.yaml").abstracts
WORDS = 160
"""Of the first version's abstract."""
DIGEST = "0e352b098155739f9c1d45ee6631f99d4638f68b8bac7e4e99877df02fdd08cc"
"""SHA-256 of it, as arXiv has it."""


def test_the_first_version_is_there_word_for_word():
    assert len(FIRST.text.split()) == WORDS
    assert sha256(FIRST.text.encode()).hexdigest() == DIGEST
    assert FIRST.text.startswith("Transformer models are challenging to optimize with SGD")
    assert FIRST.text.endswith(r"\url{https://github.com/tom4649/gradient-heterogeneity}.")


def test_later_clauses_are_quoted_by_the_claims_that_decide_them():
    for sentence in LATER.sentences:
        for number in sentence.claims:
            quote = CLAIMS[number].quote
            if quote and "third version" in quote.place:
                assert sentence.words.strip(",") in quote.words or quote.words in sentence.words


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


def test_no_finding_of_ours_decides_a_sentence():
    for sentence in (each for abstract in (FIRST, LATER) for each in abstract.sentences):
        for number in sentence.claims:
            assert (CLAIMS[number].kind, CLAIMS[number].quote is None) == ("claim", False), number
