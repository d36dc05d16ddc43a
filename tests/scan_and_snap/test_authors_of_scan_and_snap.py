"""Scripts that show the paper's authors, by themselves, what does not hold of the theory."""

import json
from pathlib import Path

import pytest
from scripts_for_authors import check_text, printed_alone
from settings_of_the_paper import REGISTRY, STUDY

from replication.bundle.bundle import VERDICTS, reference_folder
from replication.study.claims import ERRATA, THEORY

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((STUDY.folder / "authors").glob("*.py"))


def test_every_erratum_and_every_theorem_that_fails_has_a_script():
    text = (reference_folder(ROOT, STUDY.name) / VERDICTS).read_text()
    failed = {item["claim"] for item in json.loads(text)["verdicts"] if _fails(item)}
    wanted = {
        claim.id
        for claim in REGISTRY.claims
        if claim.group == ERRATA or (claim.group == THEORY and claim.id in failed)
    }
    assert sorted(wanted) == sorted(name for path in SCRIPTS for name in path.stem.split("_"))
    assert {path.with_suffix(".txt") for path in SCRIPTS} == {*SCRIPTS[0].parent.glob("*.txt")}


def _fails(verdict: dict[str, object]) -> bool:
    return verdict["verdict"] == "does not hold"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_prints_what_stands_beside_it(script, tmp_path):
    lines = printed_alone(script, tmp_path)
    assert lines[0].startswith("Paper, ")
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_is_short_and_stands_alone(script):
    check_text(script)
