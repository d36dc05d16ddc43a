"""Receipts that are refused, also those of earlier references."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT
from made_receipts import AMENDED, ONE, STUDY, TOLD, project_with_receipt, rewritten, told

from replication.base.errors import InputError
from replication.bundle.bundle import reference_folder
from replication.verify.differences import Difference
from replication.verify.receipt import MOST_BYTES, Receipt, write_receipt
from replication.verify.reference_summary import ReferenceInShort, read_in_short, to_json
from replication.verify.reproductions import (
    EARLIER_FOLDER,
    FOLDER,
    all_reproductions,
    compared_files,
    record_earlier,
    reproductions,
)


@pytest.fixture
def root(tmp_path):
    return project_with_receipt(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:99], "is no whole receipt"),
        (lambda text: "", "is no whole receipt"),
        (lambda text: "[]", "is no whole receipt"),
        (lambda text: text + " " * MOST_BYTES, "more than 1,000,000 bytes"),
        (lambda text: "[" * 990 + "]" * 990, "is no whole receipt"),
        (lambda text: "[" * 9**5 + "]" * 9**5, "is no whole receipt (RecursionError"),
        (lambda text: f'{text[:-2]}, "level": "hash"}}', "the key 'level' stands twice"),
        (lambda text: text.replace('"differences": 0', '"differences": NaN'), "NaN is no number"),
        (lambda text: text.replace("checksum", "sum"), "is no whole receipt"),
        (lambda text: text.replace('"reproduced"', '"verified"'), "changed after it was written"),
        (lambda text: text.replace('"level": "full"', '"level": "hash"'), "was changed after"),
        (rewritten(format=2), "format: Input should be 1"),
        (rewritten(level="half"), "level: Input should be"),
        (rewritten(date="today"), "date: Input should be a valid datetime"),
        (rewritten(host="vm"), "unknown key 'host'"),
        (rewritten(machine__processor="<b>"), "machine > processor: String should match"),
        (rewritten(machine__processor="e" + "\u0301" * 99), "letters, each with few accents"),
        (rewritten(machine__emulated={"@name": "1"}), "@name > [key]: is no variable that"),
        (rewritten(machine__emulated={"MKL_CBWR": "*b*"}), "emulated > MKL_CBWR: String should"),
        (rewritten(machine__gpu="[a](b)"), "machine > gpu: String should match pattern"),
        (rewritten(machine__system="a\u202eb"), "system: must be one line of printable letters"),
        (rewritten(machine__cores=10**9), "machine > cores: Input should be less than or equal"),
        (rewritten(packages__torch="https://a.b"), "packages > torch: String should match pattern"),
        (rewritten(packages__torch="9" * 61), "packages > torch: String should have at most 60"),
        (rewritten(packages={"<b>": "1"}), "packages > <b> > [key]: String should match pattern"),
        (rewritten(date="9999-12-31T00:00:00Z"), "date: must be of the years 2026 to 2099"),
        (rewritten(date="0001-01-01T00:00:00Z"), "date: must be of the years 2026 to 2099"),
        (rewritten(study="scan_and_snap"), "is of the study scan_and_snap; move it"),
        (rewritten(reference="0" * 16), "was compared with a reference that example never had"),
        (rewritten(verdicts={}, runs={}), "it has neither a verdict nor a run"),
        (rewritten(runs__printed__agreement="differ"), "does not list the differences that it"),
        (rewritten(differences=10**15), "differences: Input should be less than or equal to"),
        (rewritten(runs__printed__agreement="within tolerance"), "runs of printed are not the"),
        (rewritten(**AMENDED, runs__printed__number=10**6), "counts 1000000 runs of printed"),
        (rewritten(**AMENDED, runs__printed__number=10**15), "number: Input should be less than"),
        (rewritten(**AMENDED, runs__printed__number=1), "counts 1 runs of printed, which"),
        (rewritten(**AMENDED, runs__printed__seeds="1-999999"), "by seeds that the reference has"),
        (rewritten(**AMENDED, runs__printed__seeds="1-4,9"), "by seeds that the reference has not"),
        (rewritten(**AMENDED, runs__printed__seeds="1-4", runs__printed__number=4),
         "tells 4 of 5 runs of printed"),
        (rewritten(runs={}), "tells none of 5 runs of printed"),
        (rewritten(verdicts__C1__holding=-5), "holding: Input should be greater than or equal to"),
        (rewritten(verdicts__C1__holding=17), "17 of 16 comparisons cannot hold"),
        (rewritten(verdicts__C1__comparisons=10**9), "comparisons: Input should be less than or"),
        (rewritten(verdicts__C2__verdict="does not hold", verdicts__C2__agrees=False),
         "1 verdicts that are not the reference's, but fewer differences"),
        (rewritten(verdicts__C2__highest=None), "C2: a claim that was measured, and no other, has"),
        (rewritten(verdicts__C2__highest=-99.0), "above the largest, -99.0"),
        (rewritten(verdicts__C2__highest=sys.float_info.max), "highest: Input should be less than"),
        (rewritten(verdicts__C2__highest=1e999), "is no number of JSON"),
        (rewritten(verdicts__C1__agrees=False), "C1 does not agree with the reference, but it"),
        (rewritten(verdicts__C1__holding=15), "verdict on C1 agrees with the reference, but it"),
        (rewritten(verdicts__C3__verdict="replicated"), "verdict on C3 agrees with the reference"),
        (rewritten(verdicts__C3__decisions="0" * 16), "verdict on C3 agrees with the reference"),
        (rewritten(verdicts__C2__seeds=99), "verdict on C2 agrees with the reference, but it does"),
        (rewritten(runs__printed__digest="0" * 16), "runs of printed are the reference's bit for"),
        (rewritten(runs__printed__seeds="1-4"), "counts 5 runs of printed, which the reference"),
        (rewritten(runs__printed__seeds="all"), "seeds: String should match pattern"),
        (rewritten(runs__printed__seeds="5-1"), "seeds '5,1': must be ascending"),
        (rewritten(runs__printed__seeds="1-1000000002"), "more than 1000000 seeds"),
        (rewritten(runs__printed__seeds="1-10,999"), "by seeds that the reference has not"),
        (rewritten(runs__printed__number=1000), "counts 1000 runs of printed, which the reference"),
        (rewritten(verdicts={}), "tells no verdict on C1"),
        (rewritten(verdicts__C1__agrees="yes"), "agrees: Input should be a valid boolean"),
        (rewritten(by="Eve\r# Hacked"), "by: must be one line of printable letters"),
        (rewritten(by="\u202eeve"), "by: must be one line of printable letters"),
        (rewritten(by=" "), "by: must have no spaces around it"),
        (rewritten(runs__printed__number=0), "number: Input should be greater than or equal to 1"),
    ],
)  # fmt: skip
def test_a_damaged_or_tampered_receipt_is_refused_in_one_sentence(root, change, message):
    path = root / FOLDER / STUDY / ONE
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=re.escape(message)) as error:
        all_reproductions(root)
    assert error.value.message.startswith(str(path))
    assert "\n" not in error.value.message


def test_a_claim_or_experiment_that_there_is_not_is_refused(root):
    path = root / FOLDER / STUDY / ONE
    receipt = told()
    for part, message in (("verdicts", "no verdict on X1"), ("runs", "no runs of X1")):
        items = getattr(receipt, part)
        other = {part: items | {"X1": next(iter(items.values()))}}
        write_receipt(path, receipt.model_copy(update=other))
        with pytest.raises(InputError, match=message):
            reproductions(root, STUDY)


def test_what_is_no_receipt_of_a_study_is_refused(root):
    (root / FOLDER / STUDY).rename(root / FOLDER / f"{STUDY}s")
    with pytest.raises(InputError, match=f"unknown study '{STUDY}s'; did you mean '{STUDY}'"):
        all_reproductions(root)


def test_a_file_of_another_name_and_the_same_receipt_twice_are_refused(root):
    own = root / FOLDER / STUDY / ONE
    again = own.with_name("2026-02-01-other.json")
    shutil.copy(own, again)
    with pytest.raises(InputError, match=r"is the same as .*; delete one of them"):
        reproductions(root, STUDY)
    again.rename(own.with_name("copy of one.json"))
    with pytest.raises(InputError, match=r"copy of one\.json is no <date>-"):
        reproductions(root, STUDY)


def test_a_verdict_that_agrees_cannot_be_called_different(root):
    difference = Difference("results", "a", "1", "2")
    receipt = told(differences=[difference]).model_dump(mode="json")
    receipt["verdicts"]["C1"]["agrees"] = False
    write_receipt(root / FOLDER / STUDY / ONE, Receipt.parse(receipt, "receipt"))
    with pytest.raises(InputError, match="C1 does not agree with the reference, but it does;"):
        reproductions(root, STUDY)


def replace_reference(root, record=True):
    """Give a project another reference, and keep what receipts need of the one before."""
    manifest = reference_folder(root, STUDY) / "manifest.json"
    before = read_in_short(reference_folder(ROOT, STUDY))
    text = manifest.read_text()
    manifest.write_text(text.replace(json.loads(text)["files"]["evidence.csv"], "0" * 64))
    if record:
        record_earlier(root, STUDY, *before)


def test_receipts_of_an_earlier_reference_stay(root):
    (before,) = reproductions(root, STUDY)
    assert before.is_current
    replace_reference(root, record=False)
    with pytest.raises(InputError, match="a reference that example never had"):
        reproductions(root, STUDY)
    replace_reference(root)
    (after,) = reproductions(root, STUDY)
    assert not after.is_current
    assert "3 of 3 agree, with an earlier reference" in after.row


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdicts__T999": TOLD["verdicts"]["C1"]}, "the study has no verdict on T999"),
        ({"runs__fig1": TOLD["runs"]["printed"]}, "the study has no runs of fig1"),
        ({"runs__printed__number": 10**6}, "counts 1000000 runs of printed"),
        ({"verdicts__C2__verdict": "does not hold"}, "C2 agrees with the reference, but it does"),
        ({"runs__printed__digest": "0" * 16}, "the reference's bit for bit, but they are not"),
        ({"runs": {}}, "tells none of 5 runs of printed"),
    ],
)  # fmt: skip
def test_receipts_of_an_earlier_reference_are_checked_against_it(root, changes, message):
    replace_reference(root)
    path = root / FOLDER / STUDY / ONE
    path.write_text(rewritten(**changes)(path.read_text()))
    with pytest.raises(InputError, match=re.escape(message)):
        reproductions(root, STUDY)


def test_a_record_of_an_earlier_reference_that_is_damaged_is_named(root):
    replace_reference(root)
    (record,) = (root / FOLDER / STUDY / EARLIER_FOLDER).iterdir()
    for damaged in (b"{}", b"\xff"):
        record.write_bytes(damaged)
        with pytest.raises(InputError, match=record.name):
            reproductions(root, STUDY)


def test_an_earlier_reference_that_git_never_had_is_refused(root):
    def git(*words):
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)

    record_earlier(root, STUDY, *read_in_short(reference_folder(root, STUDY)))
    git("init", "-q")
    git("add", "results/reference")
    git("commit", "-q", "-m", "The reference")
    assert len(all_reproductions(root)) == 1
    (record,) = (root / FOLDER / STUDY / EARLIER_FOLDER).iterdir()
    invented = record.with_name(f"{'0' * 16}.json")
    shutil.copy(record, invented)
    with pytest.raises(InputError, match=f"{invented.name}: {STUDY} never had such a reference"):
        all_reproductions(root)
    invented.unlink()
    invented.symlink_to(record)
    with pytest.raises(InputError, match="never had such a reference"):
        all_reproductions(root)


def test_what_cannot_be_checked_is_said(root, tmp_path, capsys):
    """Without git, in a repository without a commit, and in a clone of depth 1."""

    def git(folder, *words):
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)

    def said(folder):
        assert len(all_reproductions(folder)) == 1
        return capsys.readouterr().err.removeprefix(f"{folder / FOLDER}: not checked whether git ")

    ever = f"ever had the earlier references of {STUDY}, as "
    assert said(root) == ""
    record_earlier(root, STUDY, *read_in_short(reference_folder(root, STUDY)))
    assert said(root) == f"{ever}git does not know this folder, or is not installed\n"
    git(root, "init", "-q")
    assert said(root) == f"{ever}git has no commit of it yet\n"
    git(root, "add", "results/reference", FOLDER)
    for message in ("The reference", "Another"):
        git(root, "commit", "-q", "--allow-empty", "-m", message)
    assert said(root) == ""
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", root.absolute().as_uri(), str(shallow))
    assert said(shallow) == (
        f"{ever}this clone has a part of the history alone; run `git fetch --unshallow`\n"
    )
    git(shallow, "fetch", "-q", "--unshallow")
    assert said(shallow) == ""


def test_every_record_of_an_earlier_reference_can_be_read():
    for record in (ROOT / FOLDER).glob(f"*/{EARLIER_FOLDER}/*.json"):
        text = record.read_text("utf-8")
        assert to_json(ReferenceInShort.parse_json(text, record.name).model_dump()) + "\n" == text


def test_a_page_depends_on_records_of_earlier_references(root):
    replace_reference(root)
    names = [path.name for path in compared_files(root, STUDY)]
    (record,) = (root / FOLDER / STUDY / EARLIER_FOLDER).iterdir()
    assert names == [ONE, record.name, "manifest.json", "verdicts.json", "fingerprints.csv"]
    (root / FOLDER / STUDY / ONE).unlink()
    assert compared_files(root, STUDY) == []


def test_verdicts_that_were_changed_are_no_reference_to_check_against(root):
    verdicts = reference_folder(root, STUDY) / "verdicts.json"
    verdicts.write_text(verdicts.read_text().replace("reproduced", "verified"))
    with pytest.raises(InputError, match="changed after it was made; restore it with git"):
        reproductions(root, STUDY)


def test_new_code_alone_leaves_the_reference_the_same(root):
    manifest = reference_folder(root, STUDY) / "manifest.json"
    text = manifest.read_text()
    code = json.loads(text)["code"]
    manifest.write_text(text.replace(code["replication.base.code_digest"], "0" * 12))
    assert manifest.read_text() != text
    assert [item.is_current for item in reproductions(root, STUDY)] == [True]
