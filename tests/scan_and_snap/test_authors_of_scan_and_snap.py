"""Scripts that show the paper's authors, by themselves, what does not hold of the theory."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from settings_of_the_paper import REGISTRY, STUDY

from replication.registry import ERRATA, THEORY
from replication.verification.reference import VERDICTS, reference_folder

ROOT = Path(__file__).parents[2]
SCRIPTS = sorted((STUDY.folder / "authors").glob("*.py"))
ALLOWED = {"numpy", "scipy", "torch"}
MOST_LINES = 40


def test_every_erratum_and_every_theorem_that_fails_has_a_script():
    text = (reference_folder(ROOT, STUDY.name) / VERDICTS).read_text()
    failed = {item["claim"] for item in json.loads(text)["verdicts"] if _fails(item)}
    wanted = {
        claim.id
        for claim in REGISTRY.claims
        if claim.group == ERRATA or (claim.group == THEORY and claim.id in failed)
    }
    assert wanted == {path.stem for path in SCRIPTS}
    assert {path.stem for path in (STUDY.folder / "authors").glob("*.txt")} == wanted


def _fails(verdict: dict[str, object]) -> bool:
    return verdict["verdict"] == "does not hold"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_prints_what_stands_beside_it(script, tmp_path):
    run = subprocess.run(
        [sys.executable, "-I", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert run.stderr == ""
    assert run.stdout == script.with_suffix(".txt").read_text()
    assert not [*tmp_path.iterdir()]
    lines = run.stdout.splitlines()
    assert lines[0].startswith("Paper, ")
    assert 3 <= len(lines) <= 10
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_is_short_and_stands_alone(script):
    text = script.read_text()
    assert len(text.splitlines()) <= MOST_LINES
    tree = ast.parse(text)
    assert "\n" not in ast.get_docstring(tree)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = [
        node.module if isinstance(node, ast.ImportFrom) else alias.name
        for node in nodes
        for alias in node.names
    ]
    assert {name.partition(".")[0] for name in names} <= ALLOWED
    assert "open(" not in text
