"""The abstract in the registry: word for word, and what decides its sentences."""

from hashlib import sha256

from claim_tables import CLAIMS, REGISTRY

from replication.study.claims import ERRATA, SHOWN, THEORY

[ABSTRACT] = REGISTRY.abstracts
DIGEST = "40f0b64f00c48dac0dce72eb225b24ad720f50ca9497df030a68a6dce90c4d2e"
"""Of the abstract as arXiv has it."""
WORDS = 218


def test_the_abstract_is_whole():
    assert sha256(ABSTRACT.text.encode()).hexdigest() == DIGEST
    assert len(ABSTRACT.text.split()) == WORDS
    assert ABSTRACT.text.startswith("The two-stage fine-tuning (FT) method, linear probing then")
    assert ABSTRACT.text.endswith("available at https://github.com/tom4649/lp-ft_ntk.")


def test_both_sides_decide_a_sentence():
    """LP has a clause, FT one for each distribution; what fails decides as what holds does."""
    decided = {each.words: each.claims for each in ABSTRACT.sentences}
    assert [*decided.values()][:3] == [
        ["L16d", "L16e", "L16i", "L16j"],
        ["L16a", "L16g"],
        ["L16b", "L16h"],
    ]
    named = {number for claims in decided.values() for number in claims}
    # What LP-FT loses against is there, as is the proposition that fails as it is printed.
    assert {"L16a", "L16b", "L15f", "E1a", "L12b"} <= named
    known = {CLAIMS[number].group for number in named}
    assert {SHOWN, THEORY, ERRATA} <= known
    assert all(CLAIMS[number].test for number in named)


def test_only_the_paper_decides_a_sentence():
    """No statement of ours does: each claim has the paper's own words, be they an erratum."""
    deciding = {number for each in ABSTRACT.sentences for number in each.claims}
    assert all(CLAIMS[number].kind != "finding" and CLAIMS[number].quote for number in deciding)
