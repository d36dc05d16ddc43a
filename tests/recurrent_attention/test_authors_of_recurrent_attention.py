"""Scripts for the authors: they stand alone, and print what stands beside them."""

from pathlib import Path

import pytest
from registered import CLAIMS, STUDY
from scripts_for_authors import check_text, printed_alone

from replication.bundle.bundle import read_verdicts, reference_folder
from replication.study.claims import ERRATA, THEORY, Bounds, Published

FOLDER = STUDY.folder / "authors"
SCRIPTS = sorted(FOLDER.glob("*.py"))


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
    assert wanted == ["J1", "J2", "J5", "E1", "E2", "E3", "E4", "E6"]
    # Of what the workflow does not compute, these are matters of arithmetic all the same.
    assert sorted([*wanted, "E8", "E11", "E15"]) == [path.stem for path in SCRIPTS]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_stand_alone_and_print_what_is_kept(path, tmp_path):
    check_text(path)
    first, *_ = printed_alone(path, tmp_path)
    assert first.startswith("Paper")
