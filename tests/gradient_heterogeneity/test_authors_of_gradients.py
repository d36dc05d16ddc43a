"""Scripts for the paper's authors: none is needed now."""

import json
from pathlib import Path

from declared import CLAIMS, STUDY

from replication.study.claims import THEORY

SCRIPTS = sorted((STUDY.folder / "authors").glob("*.py"))


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
