"""Scripts for the paper's authors: each stands alone, and prints what is beside it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from declared import CLAIMS, STUDY

from replication.registry import THEORY

SCRIPTS = sorted((STUDY.folder / "authors").glob("*.py"))
ALONE = {"numpy", "scipy", "torch"}
MOST_LINES = 40


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_prints_what_is_beside_it(script, tmp_path):
    ran = subprocess.run(
        [sys.executable, "-I", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == script.with_suffix(".txt").read_text(encoding="utf-8")
    assert 3 <= len(ran.stdout.splitlines()) <= 10
    text = script.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    tree = ast.parse(text)
    assert ast.get_docstring(tree).count("\n") == 0
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {name.name for node in imported for name in node.names}
    assert {name.split(".")[0] for name in names} <= ALONE


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
