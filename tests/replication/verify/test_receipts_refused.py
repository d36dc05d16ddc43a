"""Receipts that are refused."""

import re
import shutil
import sys

import pytest
from conftest import ROOT
from made_receipts import ONE, REFERENCE, STUDY, found, project_with_receipt, rewritten, told

from replication.base.errors import InputError
from replication.bundle.bundle import reference_folder, write_bundle
from replication.verify.receipt import MOST_BYTES, write_receipt
from replication.verify.reproductions import (
    FOLDER,
    all_reproductions,
    receipt_files,
    reproductions,
)


@pytest.fixture
def root(tmp_path):
    return project_with_receipt(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:99], "Invalid JSON"),
        (lambda text: "", "Invalid JSON"),
        (lambda text: "[]", "must be a mapping"),
        (lambda text: text + " " * MOST_BYTES, "more than 1,000,000 bytes"),
        (lambda text: "[" * 9**5 + "]" * 9**5, "Invalid JSON: recursion limit exceeded"),
        (lambda text: text.replace('"differences": 0', '"differences": NaN'), "differences: Input"),
        (rewritten(format=2), "format: Input should be 1"),
        (rewritten(level="half"), "level: Input should be"),
        (rewritten(date="today"), "date: Input should be a valid datetime"),
        (rewritten(host="vm"), "unknown key 'host'"),
        (rewritten(machine__processor="<b>"), "machine > processor: String should match"),
        (rewritten(machine__processor="e" + "\u0301" * 99), "processor: String should match"),
        (rewritten(machine__emulated={"@na<me": "1"}), "@na<me > [key]: String should match"),
        (rewritten(machine__emulated={"MKL_CBWR": "*b*"}), "emulated > MKL_CBWR: String should"),
        (rewritten(machine__gpu="[a](b)"), "machine > gpu: String should match pattern"),
        (rewritten(machine__system="a\u202eb"), "system: String should match pattern"),
        (rewritten(packages__torch="`a`"), "packages > torch: String should match pattern"),
        (rewritten(packages__torch="9" * 999), "packages > torch: String should have at most 300"),
        (rewritten(packages={"<b>": "1"}), "packages > <b> > [key]: String should match pattern"),
        (rewritten(date="9999-12-31T00:00:00Z"), "is of the future by the clock of this machine"),
        (rewritten(study="scan_and_snap"), "is of the study scan_and_snap; move it"),
        (rewritten(differences=10**15), "differences: Input should be less than or equal to"),
        (rewritten(runs__printed__number=10**15), "number: Input should be less than"),
        (rewritten(runs__printed__seeds="all"), "seeds: String should match pattern"),
        (rewritten(runs__printed__agreement="yes"), "agreement: Input should be 'bit for bit'"),
        (rewritten(verdicts__C1__verdict="<b>"), "verdict: Input should be"),
        (rewritten(verdicts__C1__holding=-5), "holding: Input should be greater than or equal to"),
        (rewritten(verdicts__C2__highest=sys.float_info.max), "highest: Input should be less than"),
        (rewritten(verdicts__C2__highest=1e999), "highest: Input should be a finite number"),
        (rewritten(by="Eve\r# Hacked"), "by: must be one line of printable letters"),
        (rewritten(by="\u202eeve"), "by: must be one line of printable letters"),
        (rewritten(by="e" + "\u0301" * 99), "by: must be one line of printable letters"),
    ],
)  # fmt: skip
def test_a_damaged_or_tampered_receipt_is_refused_in_one_sentence(root, change, message):
    path = root / FOLDER / STUDY / ONE
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=re.escape(message)) as error:
        all_reproductions(root)
    assert error.value.message.startswith(str(path.parent))
    assert "\n" not in error.value.message


def test_a_link_is_refused(root):
    path = root / FOLDER / STUDY / ONE
    path.rename(root / "elsewhere.json")
    path.symlink_to(root / "elsewhere.json")
    with pytest.raises(InputError, match="a link; put the file itself there"):
        all_reproductions(root)


def test_a_receipt_of_no_study_is_refused(root):
    other = root / FOLDER / f"{STUDY}s" / ONE
    write_receipt(other, told().model_copy(update={"study": f"{STUDY}s"}))
    with pytest.raises(InputError, match=f"unknown study '{STUDY}s'; did you mean '{STUDY}'"):
        all_reproductions(root)


def test_an_agreement_that_is_none_and_a_claim_that_is_none_are_not_counted(root):
    """Whatever the receipt says of itself."""
    path = root / FOLDER / STUDY / ONE
    (honest,) = reproductions(root, STUDY)
    assert honest.verdicts == "3 of 3 agree"
    invented = told().verdicts["C1"].model_dump(mode="json")
    other = rewritten(verdicts__C3__verdict="replicated", verdicts__X1=invented)
    path.write_text(other(path.read_text()))
    (item,) = reproductions(root, STUDY)
    assert item.verdicts == "2 of 4 agree"


def test_receipts_of_an_earlier_reference_stay(root):
    (before,) = reproductions(root, STUDY)
    assert (before.is_current, before.restated) == (True, set())
    verdicts = {
        claim: verdict.model_copy(update={"seeds": verdict.seeds + 1 * (claim == "C3")})
        for claim, verdict in REFERENCE.verdicts.items()
    }
    write_bundle(reference_folder(root, STUDY), found(verdicts=verdicts))
    (after,) = reproductions(root, STUDY)
    assert (after.is_current, after.restated) == (False, {"C3"})
    assert "3 of 3 agree, with an earlier reference" in after.row


def test_a_page_depends_on_receipts_and_the_reference(root):
    names = [path.name for path in receipt_files(root, STUDY)]
    assert names == [ONE, "manifest.json", "verdicts.json"]
    (root / FOLDER / STUDY / ONE).unlink()
    assert receipt_files(root, STUDY) == []


def test_new_code_alone_leaves_the_reference_the_same(root):
    manifest = reference_folder(root, STUDY) / "manifest.json"
    text = manifest.read_text()
    code = REFERENCE.depends["code"]["replication.base.code_digest"]
    manifest.write_text(text.replace(code, "0" * 12))
    assert manifest.read_text() != text
    assert [item.is_current for item in reproductions(root, STUDY)] == [True]


def test_receipts_that_git_has_stay_as_they_are_and_are_shown(root):
    """Those of earlier versions of the engine, too, which wrote more into them."""
    shutil.rmtree(root / FOLDER)
    shutil.copytree(ROOT / FOLDER, root / FOLDER)
    shutil.copytree(ROOT / "results/reference", root / "results/reference", dirs_exist_ok=True)
    number = len([*(ROOT / FOLDER).glob("*/*.json")])
    assert len(all_reproductions(root)) == number > 0
