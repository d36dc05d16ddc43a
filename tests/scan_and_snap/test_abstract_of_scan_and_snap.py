"""The abstract stands in both of the paper's registries, whole, and each clause is decided once."""

import hashlib

import pytest
from settings_of_the_paper import REGISTRY

from replication.study.claims import ERRATA
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
    assert {"T7h", "T20g"} <= {*decided_by("phase transition").claims}
    assert {"T8b", "R1", "R2", "R3", "A"} <= {*decided_by("we prove").claims}
    assert {"T11b", "P1"} <= {*decided_by("attends more").claims}
    assert {"T20d", "T21a"} <= {*decided_by("synthetic").claims}
    assert "T20b" in decided_by("winner-takes-all").claims


def test_every_erratum_decides_whether_the_paper_is_rigorous_and_no_other_clause():
    errata = {claim.id for claim in REGISTRY.claims if claim.group == ERRATA}
    decide = {name for each in abstract(HERE).sentences for name in errata & {*each.claims}}
    assert errata == decide == errata & {*decided_by("rigorous").claims}
    assert {"E1", "E3"} <= {*decided_by("we prove").errata}
