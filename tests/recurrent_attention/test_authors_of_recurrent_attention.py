"""Scripts for the authors: they stand alone, and print what stands beside them."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from registered import CLAIMS, STUDY

from replication.registry import ERRATA, THEORY, Bounds, Published
from replication.verification.reference import read_verdicts, reference_folder

FOLDER = STUDY.folder / "authors"
SCRIPTS = sorted(FOLDER.glob("*.py"))
ALLOWED = {"numpy", "scipy", "torch"}


def test_every_erratum_and_every_refuted_theorem_has_a_script():
    """Those of the theory: for claims over seeds, and where nothing is computed, there is none."""
    verdicts = read_verdicts(reference_folder(Path(__file__).parents[2], STUDY.name))
    theory = {
        number: claim
        for number, claim in CLAIMS.items()
        if isinstance(claim.test, Bounds | Published)
    }
    wanted = [
        number
        for number, claim in theory.items()
        if claim.group == ERRATA
        or (claim.group == THEORY and verdicts[number].verdict == "does not hold")
    ]
    assert sorted(wanted) == [path.stem for path in SCRIPTS]
    assert wanted == ["J1", "J2", "J5", "E1", "E2", "E3", "E4", "E6"]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_stand_alone_and_print_what_is_kept(path, tmp_path):
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    assert len(source.splitlines()) <= 40
    assert ast.get_docstring(tree)
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }
    assert imported <= ALLOWED
    found = subprocess.run(
        [sys.executable, "-I", str(path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    kept = path.with_suffix(".txt").read_text(encoding="utf-8")
    assert found.stdout == kept
    assert found.stderr == ""
    assert 3 <= len(kept.splitlines()) <= 10
    assert kept.startswith("Paper")
