"""Scripts for the paper's authors: each stands alone, and prints what is beside it."""

import json
from pathlib import Path

import pytest
from declared import CLAIMS, STUDY
from scripts_for_authors import check_text, printed_alone

from replication.study.claims import THEORY

SCRIPTS = sorted((STUDY.folder / "authors").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_prints_what_is_beside_it(script, tmp_path):
    printed_alone(script, tmp_path)
    check_text(script)


def test_every_erratum_and_broken_statement_of_the_theory_has_one():
    reference = Path(__file__).parents[2] / "results" / "reference" / STUDY.name
    judged = json.loads((reference / "verdicts.json").read_text(encoding="utf-8"))["verdicts"]
    broken = {item["claim"] for item in judged if item["verdict"] == "does not hold"}
    wanted = {
        number
        for number, claim in CLAIMS.items()
        if claim.kind == "erratum" or (claim.group == THEORY and number in broken)
    }
    assert {script.stem for script in SCRIPTS} == wanted
