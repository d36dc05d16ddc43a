"""The abstract stands in both of the paper's registries, whole, and each clause is decided once."""

import hashlib

import pytest
from settings_of_the_paper import REGISTRY

from replication.study.claims import BEYOND, ERRATA
from replication.study.registry import Abstract, Sentence, read_registry
from replication.study.studies import find_studies

OTHERS = find_studies()["scan_and_snap_text"].folder / "registry.yaml"
HERE, OTHER = "scan_and_snap", "scan_and_snap_text"
SHA_256 = "2eedb015378767d880599da4d2788e490ae356527c344037272d7845e6f9669f"
"""Of the abstract as arXiv has it."""


def abstract(study: str) -> Abstract:
    (found,) = (REGISTRY if study == HERE else read_registry(OTHERS)).abstracts
    return found


@pytest.mark.parametrize("study", [HERE, OTHER])
def test_abstract_is_that_of_the_paper(study):
    found = abstract(study)
    assert hashlib.sha256(found.text.encode()).hexdigest() == SHA_256
    assert len(found.text.split()) == 245
    assert found.text.startswith("Transformer architectures have shown impressive performance")
    assert found.text.endswith("dynamics on synthetic and real-world data (WikiText).")
    assert found.version in REGISTRY.venue.replace(":", " ")


def test_every_clause_is_decided_by_one_of_the_two_studies():
    pairs = zip(abstract(HERE).sentences, abstract(OTHER).sentences, strict=True)
    for here, there in pairs:
        assert here.words == there.words
        assert [here.study, there.study].count(None) == 1
        assert here.study in (None, OTHER)
        assert there.study in (None, HERE)


def test_what_is_said_of_text_is_decided_there():
    (last,) = (each for each in abstract(OTHER).sentences if each.study is None)
    assert last.words == "and real-world data (WikiText)."
    assert {"T24a", "T24b"} <= {*last.claims}


def decided_by(words: str) -> Sentence:
    (found,) = (each for each in abstract(HERE).sentences if words in each.words)
    return found


def test_clauses_are_decided_by_claims_for_and_against():
    """Verdicts differ between them, so that a favourable choice would show."""
    assert {"T20d"} == {*decided_by("almost").claims}
    assert "T19n" in decided_by("phase transition").claims
    assert {"T20d", "T21a"} <= {*decided_by("synthetic").claims}
    assert "T20b" in decided_by("winner-takes-all").claims


@pytest.mark.parametrize("study", [HERE, OTHER])
def test_only_what_the_paper_claims_decides_a_clause(study):
    registry = REGISTRY if study == HERE else read_registry(OTHERS)
    claims = {claim.id: claim for claim in registry.claims}
    deciding = [claims[name] for each in abstract(study).sentences for name in each.claims]
    assert [claim.id for claim in deciding if claim.group in (BEYOND, ERRATA)] == []
