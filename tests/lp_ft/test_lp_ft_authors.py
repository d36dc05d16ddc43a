"""The short scripts for the paper's authors: each stands alone and prints what lies beside it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from claim_tables import CLAIMS, STUDY

from replication.registry import ERRATA, THEORY
from replication.verification.reference import read_reference, reference_folder

FOLDER = STUDY.folder / "authors"
SCRIPTS = sorted(FOLDER.glob("*.py"))
ALLOWED = {"numpy", "scipy", "torch"}
LONGEST = 40
"""Lines."""


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_prints_what_lies_beside_it(script, tmp_path):
    found = subprocess.run(
        [sys.executable, "-I", str(script)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert found.stdout == script.with_suffix(".txt").read_text()
    lines = found.stdout.splitlines()
    assert 3 <= len(lines) <= 10
    assert lines[0].startswith(("Paper", "Released code"))
    assert not found.stderr
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_and_stands_alone(script):
    text = script.read_text()
    assert len(text.splitlines()) <= LONGEST
    tree = ast.parse(text)
    docstring = ast.get_docstring(tree)
    assert docstring
    assert "\n" not in docstring
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= ALLOWED


def test_every_erratum_and_every_refuted_statement_of_the_theory_has_a_script():
    root = Path(__file__).parents[2]
    verdicts = read_reference(reference_folder(root, "lp_ft"))[0].verdicts
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
