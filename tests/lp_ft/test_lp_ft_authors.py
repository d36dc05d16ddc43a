"""The short scripts for the paper's authors: each stands alone and prints what lies beside it."""

from pathlib import Path

import pytest
from claim_tables import CLAIMS, STUDY
from scripts_for_authors import check_text, printed_alone

from replication.bundle.bundle import read_bundle, reference_folder
from replication.study.claims import ERRATA, THEORY

FOLDER = STUDY.folder / "authors"
SCRIPTS = sorted(FOLDER.glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_prints_what_lies_beside_it(script, tmp_path):
    first, *_ = printed_alone(script, tmp_path)
    assert first.startswith(("Paper", "Released code"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_and_stands_alone(script):
    check_text(script)


def test_every_erratum_and_every_refuted_statement_of_the_theory_has_a_script():
    root = Path(__file__).parents[2]
    verdicts = read_bundle(reference_folder(root, "lp_ft"))[0].verdicts
    wrong = {
        number
        for number, claim in CLAIMS.items()
        if claim.group == ERRATA
        or (
            claim.group == THEORY
            and number in verdicts
            and verdicts[number].verdict == "does not hold"
        )
    }
    assert {path.stem for path in SCRIPTS} == wrong
    assert {path.stem for path in FOLDER.glob("*.txt")} == wrong
