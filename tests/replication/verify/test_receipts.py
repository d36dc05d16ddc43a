"""Receipts: what stands in one, which ones are refused, and where they are shown."""

import getpass
import json
import math
import re
import shutil
import socket
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from conftest import DEFAULTS, FIGURE, JOBS, ROOT
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from report_folder import Folder

from replication.base.errors import InputError
from replication.base.provenance import digest
from replication.documents.readme import insert_reproductions
from replication.figures.typeset import number
from replication.plan.jobs import Jobs
from replication.report.page import _environment
from replication.report.verifications import read_history, verifications
from replication.study.studies import find_studies
from replication.verify import issue as issuing
from replication.verify.differences import Difference
from replication.verify.history import append_rows, verdict_rows
from replication.verify.issue import Verified, _code_state, issue_receipt
from replication.verify.levels import main
from replication.verify.machine import gpu
from replication.verify.receipt import (
    MOST_BYTES,
    MOST_LISTED,
    Code,
    Receipt,
    Signature,
    read_receipt,
    write_receipt,
)
from replication.verify.receipt_texts import is_plain
from replication.verify.reference import FINGERPRINTS, read_reference, reference_folder
from replication.verify.reference_summary import (
    ReferenceInShort,
    read_in_short,
    reference_digest,
    to_json,
)
from replication.verify.reproductions import (
    COLUMNS,
    EARLIER_FOLDER,
    FOLDER,
    SUMMARY_COLUMNS,
    Reproduction,
    all_reproductions,
    compared_files,
    record_earlier,
    reproductions,
    summary_rows,
)

STUDY = Path(FIGURE).parent.name
ONE = "2026-01-31-epyc.json"
BY = "J. Roe, https://orcid.org/0000-0002-1825-0097"
REFERENCE = read_reference(reference_folder(ROOT, STUDY))[0]
RUNS = REFERENCE.tables[FINGERPRINTS]
OTHER_BITS = RUNS.assign(digest=RUNS["digest"].str[::-1])


def told(current=REFERENCE, differences=()) -> Receipt:
    """The receipt of a verification that found some results."""
    verified = Verified(STUDY, current, REFERENCE, list(differences))
    return issue_receipt(verified, "full", BY, ROOT, JOBS, JOBS)


def found(**parts):
    return type(REFERENCE)(**vars(REFERENCE) | parts)


def with_runs(runs):
    return found(tables=REFERENCE.tables | {FINGERPRINTS: runs})


TOLD, TOLD_ELSEWHERE = (
    told(results).model_dump(mode="json") for results in (REFERENCE, with_runs(OTHER_BITS))
)
"""Receipts of the same processor and of another one, as data."""


@pytest.fixture
def root(tmp_path):
    """A project with the reference of the template and one receipt."""
    shutil.copytree(reference_folder(ROOT, STUDY), reference_folder(tmp_path, STUDY))
    write_receipt(tmp_path / FOLDER / STUDY / ONE, told())
    return tmp_path


def test_every_receipt_that_was_sent_in_is_what_it_says():
    assert all(len(item.row) == len(COLUMNS) for item in all_reproductions(ROOT))


# What stands in one


def test_a_receipt_is_read_as_it_was_written(root):
    receipt = told()
    path = root / "receipt.json"
    write_receipt(path, receipt)
    assert read_receipt(path) == receipt
    assert {verdict.agrees for verdict in receipt.verdicts.values()} == {True}
    assert {runs.agreement for runs in receipt.runs.values()} == {"bit for bit"}
    assert receipt.reference == reference_digest(reference_folder(ROOT, STUDY))
    assert {"python", "numpy", "scipy", "torch", "matplotlib"} <= receipt.packages.keys()


def test_other_bits_and_other_numbers_are_told_apart():
    close = told(with_runs(OTHER_BITS))
    assert {runs.agreement for runs in close.runs.values()} == {"within tolerance"}
    first = RUNS["experiment"].iloc[0]
    difference = Difference(f"{FINGERPRINTS}, experiment {first}", "norm in row 1", "1", "2", 1)
    far = told(with_runs(OTHER_BITS), [difference])
    agreements = {name: runs.agreement for name, runs in far.runs.items()}
    assert agreements.pop(first) == "differ"
    assert {*agreements.values()} == {"within tolerance"}


def test_one_seed_is_compared_with_the_same_one_of_the_reference():
    seed = RUNS["seed"].iloc[0]
    (runs,) = told(with_runs(RUNS[RUNS["seed"] == seed])).runs.values()
    assert (runs.seeds, runs.number, runs.agreement) == (str(seed), 1, "bit for bit")


def test_what_a_comparison_says_counts_even_if_the_verdict_stays():
    verdict = next(each for each in REFERENCE.verdicts.values() if each.seeds)
    first, *others = verdict.comparisons
    other = first.model_copy(update={"decision": "fails" if first.decision == "open" else "open"})
    changed = verdict.model_copy(update={"comparisons": [other, *others]})
    verdicts = REFERENCE.verdicts | {verdict.claim: changed}
    difference = Difference("results", "decision in row 1", first.decision, other.decision)
    receipt = told(found(verdicts=verdicts), [difference])
    disagree = [name for name, item in receipt.verdicts.items() if not item.agrees]
    assert disagree == [verdict.claim]


def test_differences_are_counted_and_the_first_listed():
    many = [
        Difference("place", f"value in row {row}", "1", "2", 1.0) for row in range(MOST_LISTED + 9)
    ]
    receipt = told(differences=many)
    assert (receipt.differences, len(receipt.listed)) == (MOST_LISTED + 9, MOST_LISTED)
    with pytest.raises(InputError, match="does not list the differences"):
        Receipt.parse(receipt.model_dump(mode="json") | {"listed": []}, "receipt")


@pytest.mark.parametrize(
    "text",
    [
        "/home/jroe/thesis/results/a.parquet: truncated",
        "cannot read '/tmp/tmpx1/results/a'",
        "~/thesis/a",
        "~jroe/a",
        "../../home/jroe/a",
        "C:/Users/jroe",
        r"C:\Users\jroe",
        "file:///home/jroe",
        "host:/home/jroe",
        r"\\server\jroe",
        "//server/jroe",
    ],
)
def test_folders_of_the_machine_are_left_out(root, text):
    receipt = told(differences=[Difference("results", "results/a.parquet", "readable", text)])
    (item,) = receipt.listed
    assert item.quantity == "results/a.parquet"
    assert "jroe" not in receipt.model_dump_json()
    data = receipt.model_dump(mode="json")
    data["listed"][0]["found"] = text
    with pytest.raises(InputError, match="must not name a folder"):
        Receipt.parse(data, "receipt")


def test_a_text_of_several_lines_is_told_in_one():
    receipt = told(differences=[Difference("results", "a\n\u202eb", "1", "e" + "\u0301" * 250)])
    (item,) = receipt.listed
    assert (item.quantity, item.found) == ("a  b", issuing.LEFT_OUT_TEXT)


def test_names_of_a_machine_are_told_in_plain_letters(monkeypatch):
    monkeypatch.setattr(issuing, "own_processor", lambda: "Intel® Xeon®  CPU | @ 2.40GHz")
    monkeypatch.setattr(issuing, "system", lambda: "龙")
    monkeypatch.setattr(
        issuing,
        "arithmetic_variables",
        lambda: {"MKL_CBWR": "", "BLIS_ARCH_TYPE": "{0:4}", "GLIBC_TUNABLES": "/a/b"},
    )
    machine = told().machine
    assert machine.processor == "Intel Xeon CPU @ 2.40GHz"
    assert machine.system == "unknown"
    assert machine.emulated == {
        "MKL_CBWR": "", "BLIS_ARCH_TYPE": "0:4", "GLIBC_TUNABLES": issuing.LEFT_OUT_TEXT
    }  # fmt: skip


def test_an_estimate_that_is_hardly_a_number_is_told_as_far_as_one_is_shown():
    verdict = REFERENCE.verdicts["C1"]
    far = verdict.comparisons[0].model_copy(update={"estimate": sys.float_info.max})
    changed = verdict.model_copy(update={"comparisons": [far, *verdict.comparisons[1:]]})
    receipt = told(found(verdicts=REFERENCE.verdicts | {"C1": changed}))
    assert receipt.verdicts["C1"].highest == 1e300


def test_runs_that_the_reference_has_not_are_not_told():
    more = RUNS.assign(seed=RUNS["seed"].replace(RUNS["seed"].iloc[0], 999))
    differences = [Difference(FINGERPRINTS, "number of rows", "1", "2")]
    number = sum(runs.number for runs in told(with_runs(more), differences).runs.values())
    assert number == len(RUNS) - 1
    with pytest.raises(InputError, match="nothing to tell"):
        told(found(verdicts={}, tables={FINGERPRINTS: RUNS.assign(arm="a")}), differences)


def test_a_text_that_only_divides_stays():
    text = "16 of 16 hold; in 'eta_Y/eta_Z 1', of K/eta_Y and 1 / 3, see https://orcid.org/0000/1"
    (item,) = told(differences=[Difference("results", "a", text, "b")]).listed
    assert item.reference == text


def test_a_receipt_names_neither_folder_nor_computer_nor_user(root, monkeypatch):
    monkeypatch.setenv("USER", "jroe-of-the-lab")
    text = (root / FOLDER / STUDY / ONE).read_text()
    words = set(re.findall(r"[\w.-]+", text))
    assert not {socket.gethostname(), getpass.getuser(), "jroe-of-the-lab"} & words
    assert not any(str(folder) in text for folder in (ROOT, Path.cwd(), Path.home(), root))


def test_the_commit_is_told_in_full_and_whether_files_were_changed(tmp_path):
    assert _code_state(tmp_path) is None
    file = tmp_path / "file"
    file.write_text("1")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (["init", "-q"], ["add", "file"], ["commit", "-qm", "1"], ["tag", "v1"]):
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)
    clean = _code_state(tmp_path)
    assert clean is not None
    assert not clean.dirty
    file.write_text("2")
    assert _code_state(tmp_path) == Code(commit=clean.commit, dirty=True)


def test_only_a_gpu_that_trained_is_named(monkeypatch):
    assert told().machine.gpu is None
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H100")
    assert gpu() == f"NVIDIA H100, CUDA {torch.version.cuda}"


def test_other_settings_are_told_by_their_digest():
    own = DEFAULTS.model_dump(mode="json")
    experiments = own[STUDY]["experiments"]
    for experiment in experiments.values():
        experiment["seeds"] = {"first": 1, "count": 3}
    jobs = Jobs.of(type(DEFAULTS).parse(own, "other"), find_studies())
    verified = Verified(STUDY, REFERENCE, REFERENCE, [])
    receipt = issue_receipt(verified, "hash", None, ROOT, jobs, JOBS)
    assert re.fullmatch("[0-9a-f]{16}", receipt.settings)
    assert told().settings == "default"


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("<script>", "must be without < >"),
        ("[a](b)", r"must be without \[ \]"),
        ("a | b", r"must be without \|"),
        ("x" * 400, "at most 300 characters"),
        ("/home/jroe/a", "must not name a folder"),
        ("", "must not be empty"),
        ("\u3164", "must be one line of printable letters"),
    ],
)
def test_what_could_spoil_a_table_is_no_name(by, message):
    with pytest.raises(InputError, match=f"--by: by: .*{message}"):
        Signature.parse({"by": by}, "--by")


# Which ones are refused


AMENDED = {"runs__printed__digest": "0" * 16, "runs__printed__agreement": "within tolerance"}


def rewritten(**changes):
    """The receipt with other values and a checksum that fits."""

    def change(text):
        data = json.loads(text)
        del data["checksum"]
        for path, value in changes.items():
            *parents, last = path.split("__")
            section = data
            for key in parents:
                section = section[key]
            section[last] = value
        return json.dumps(data | {"checksum": digest(data)})

    return change


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


# The command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--study", STUDY], "there is nothing to tell, as nothing is computed here"),
        (["--study", STUDY, "--study", "scan_and_snap"], "tells the verification of one study"),
        (["--study", STUDY, "--write"], "tells the verification of one study"),
        (["--study", STUDY, "--by", "<b>"], "--by: by: must be without < >"),
    ],
)
def test_a_receipt_of_nothing_or_of_two_studies_is_refused(root, monkeypatch, arguments, message):
    monkeypatch.chdir(root)
    done = CliRunner().invoke(main, [*arguments, "--receipt", "receipt.json"])
    assert done.exit_code == 1
    assert message in done.output
    assert not Path("receipt.json").exists()


@pytest.mark.parametrize("name", ["README.md", "x" * 300, "README.md/receipt.json"])
def test_a_receipt_that_cannot_be_written_is_refused_before_anything_is_computed(
    root, monkeypatch, name
):
    monkeypatch.chdir(root)
    Path("README.md").touch()
    done = CliRunner().invoke(main, ["--study", STUDY, "--level", "full", "--receipt", name])
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit | InputError)
    assert "is there already" in done.output or "cannot be written" in done.output


# Where they are shown


def test_emulation_and_disagreement_are_marked(root, monkeypatch):
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    verdicts = dict(REFERENCE.verdicts)
    verdicts["C3"] = verdicts["C3"].model_copy(update={"verdict": "replicated"})
    receipt = told(found(verdicts=verdicts), [Difference("results", "verdict on C3", "a", "b")])
    assert receipt.machine.emulated == {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "COMPATIBLE"}
    assert "ATEN" not in receipt.machine.processor
    write_receipt(root / FOLDER / STUDY / "2026-02-01-other.json", receipt)
    rows = [
        dict(zip(COLUMNS, item.row, strict=True))
        for item in sorted(all_reproductions(root), key=lambda item: item.receipt.differences)
    ]
    own, emulated = rows
    assert "emulating" not in own["processor"]
    assert emulated["processor"] == (
        f"{own['processor']}, emulating ATEN_CPU_CAPABILITY=avx2, emulating MKL_CBWR=COMPATIBLE"
    )
    assert own["verdicts"] == "3 of 3 agree"
    assert emulated["verdicts"] == "2 of 3 agree, 1 differences"
    assert own["runs"] == emulated["runs"] == "15 bit for bit"


def test_the_readme_has_a_row_per_processor(root):
    earlier = told().model_copy(update={"date": datetime(2026, 1, 31, tzinfo=UTC)})
    write_receipt(root / FOLDER / STUDY / "2026-01-30-epyc.json", earlier)
    readme = (
        "before\n<!-- reproductions: generated -->\nold\n<!-- end of reproductions -->\nafter\n"
    )
    text = insert_reproductions(readme, all_reproductions(root))
    head, _, row = text.splitlines()[2:-2]
    assert head == f"| {' | '.join(SUMMARY_COLUMNS)} |"
    assert row.startswith(f"| {STUDY} | `{told().machine.processor}` | `")
    (latest,) = {item.receipt.date for item in all_reproductions(root)} - {earlier.date}
    assert row.endswith(f"| 2 | {latest:%Y-%m-%d} | 3 of 3 agree | 15 bit for bit |")
    assert insert_reproductions(text, []).splitlines()[2] == "None has been sent in yet."
    with pytest.raises(InputError, match="needs the lines <!-- reproductions: generated"):
        insert_reproductions("# A title", [])


def test_a_receipt_of_the_future_is_not_let_in(root):
    later = told().model_copy(update={"date": datetime(2099, 1, 31, tzinfo=UTC)})
    write_receipt(root / FOLDER / STUDY / "2099-01-31-epyc.json", later)
    with pytest.raises(InputError, match=r"receipt of 2099-01-31 .* is of the future by the clock"):
        all_reproductions(root)
    assert len(reproductions(root, STUDY)) == 2, "a page can be made whatever the clock says"


def test_the_page_shows_those_of_its_study(tmp_path, monkeypatch):
    receipt = told().model_copy(update={"study": "paper"})
    monkeypatch.chdir(tmp_path)
    page = Folder(tmp_path)
    assert "None has been sent in yet." in page.html()
    shutil.copytree(reference_folder(ROOT, STUDY), reference_folder(tmp_path, "paper"))
    write_receipt(tmp_path / FOLDER / "paper" / ONE, receipt)
    html = page.html()
    cells = re.findall(r"<td>(.*?)</td>", html.split('id="reproductions"')[1])
    assert cells[: len(COLUMNS)][-3:] == ["3 of 3 agree", "15 bit for bit", BY]
    assert "None has been sent in yet." not in html


def test_receipts_of_other_settings_are_not_summed_up(root):
    other = told().model_copy(update={"settings": "0" * 16})
    write_receipt(root / FOLDER / STUDY / "2026-02-01-other.json", other)
    found = reproductions(root, STUDY)
    assert len(found) == 2
    assert [row[3] for row in summary_rows(found)] == ["1"]


def test_verdicts_of_others_are_counted_by_machine_and_version(root):
    receipts = reproductions(root, STUDY)
    (receipt,) = (item.receipt for item in receipts)
    claim, judged = next(iter(receipt.verdicts.items()))
    here = {"verdict": judged.verdict, "torch": receipt.packages["torch"]}
    alone = verifications(STUDY, receipts, None)
    assert alone.keys() == receipt.verdicts.keys()
    assert [{key: item[key] for key in here} for item in alone[claim]] == [here]

    history = root / "verdicts.csv"
    run = {"commit": "a", "study": STUDY, "level": "plain", "processor": "abacus", "python": "3.11"}
    for date, torch_version in (
        ("2026-01-01", "2.13.0"),
        ("2026-01-02", "2.13.0"),
        ("2026-01-03", "2.14.0"),
    ):
        told = run | {"date": f"{date}T00:00:00Z", "packages": f"numpy==2.0 torch=={torch_version}"}
        append_rows(history, verdict_rows(REFERENCE), told)
    append_rows(history, verdict_rows(REFERENCE), told | {"study": "another"})
    counted = [
        (item["processor"], item["torch"], item["times"], item["latest"])
        for item in verifications(STUDY, [], read_history(history))[claim]
    ]
    assert counted == [("abacus", "2.13.0", 2, "2026-01-02"), ("abacus", "2.14.0", 1, "2026-01-03")]
    assert len(verifications(STUDY, receipts, read_history(history))[claim]) == 3

    other = receipt.model_copy(update={"settings": "0" * 64})
    assert verifications(STUDY, [Reproduction(other, True)], None) == {}


HISTORY = {
    "date": "2026-01-01T00:00:00Z", "commit": "a", "study": STUDY, "level": "full",
    "processor": "abacus", "python": "3.11", "packages": "torch==2.13.0", "claim": "C1",
    "verdict": "reproduced", "seeds": "0", "comparisons": "16", "lowest": "-1", "highest": "1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"lowest": ""}, "one end of its estimates alone"),
        ({"highest": "inf"}, "an infinite one"),
        ({"highest": "1.7976931348623157e308"}, "an infinite one"),
        ({"highest": "-2"}, "a lowest estimate is above the highest"),
        ({"highest": "abc"}, "could not convert"),
        ({"verdict": ""}, "there is no verdict nan"),
        ({"claim": ""}, "a cell of the column claim is empty"),
        ({"processor": ""}, "a cell of the column processor is empty"),
        ({"processor": "\u202eabacus"}, r"the processor \u202eabacus is none"),
        ({"date": "9999-12-31T00:00:00Z"}, "the date 9999-12-31T00:00:00Z is none"),
        ({"date": "1"}, "the date 1 is none"),
    ],
)
def test_a_history_that_no_page_could_show_is_refused(tmp_path, cells, message):
    path = tmp_path / "verdicts.csv"
    path.write_text(f"{','.join(HISTORY)}\n{','.join((HISTORY | cells).values())}\n", "utf-8")
    with pytest.raises(InputError, match=re.escape(message)) as error:
        read_history(path)
    assert "take verdicts.csv of the branch verification-history again" in error.value.message


def test_claims_that_could_not_be_measured_stand_in_the_history(tmp_path):
    path = tmp_path / "verdicts.csv"
    row = HISTORY | {"verdict": "not tested", "lowest": "", "highest": ""}
    path.write_text(f"{','.join(HISTORY)}\n{','.join(row.values())}\n")
    (item,) = verifications(STUDY, [], read_history(path))["C1"]
    assert math.isnan(item["lowest"])


# Receipts of strangers

LIVE = [
    "https://a.b", "www.a.b", "@name", "*bold*", "_a_", "$x$", "#1", "a@b.c", "<b>", "[a](b)", "`",
    "|", "&lt;", "\\", ":smile:", "e" + "\u0301" * 99, "\u202eabc", "\x00", "\ud800", "\u2066",
    "\n::error::", "C:/Users/name", "9" * 400, "9999-12-31T23:59:59-14:00", "1-999999", " ", "",
]  # fmt: skip


def places(data, above=""):
    """Every place of a receipt, as `rewritten` takes them."""
    for key, value in data.items():
        yield above + key
        if isinstance(value, dict):
            yield from places(value, f"{above}{key}__")


TEXTS = st.sampled_from(LIVE) | st.text()
ANYTHING = TEXTS | st.none() | st.booleans() | st.integers() | st.floats()
NESTED = ANYTHING | st.lists(ANYTHING, max_size=3) | st.dictionaries(TEXTS, ANYTHING, max_size=3)
WORDS = st.text("aZ09()+.,:;@'=!_-", min_size=1, max_size=9)
LIKELY = st.fixed_dictionaries({}, optional={
    "by": WORDS,
    "date": st.integers(1, 31).map("2026-01-{:02}T00:00:00Z".format),
    "machine__processor": WORDS,
    "machine__emulated": st.dictionaries(st.text("aZ_", min_size=1), WORDS, max_size=3),
    "machine__gpu": WORDS,
    "packages__torch": st.text("aZ09.!+_-", min_size=1).map("2".__add__),
    "verdicts__C2__lowest": st.floats(-1e300, 1.9),
    "verdicts__C2__highest": st.floats(2.1, 1e300),
})  # fmt: skip
"""What may well stand in a receipt."""
UNLIKELY = st.dictionaries(
    st.sampled_from([*places(TOLD)])
    | st.builds("machine__emulated__{}".format, TEXTS.filter(lambda text: "__" not in text)),
    NESTED,
    max_size=1,
)
PLAIN_CELL = re.compile(r"`[^`|<>&]+`|[A-Za-z0-9_ ,-]*", re.ASCII)
"""Of a table in Markdown: code, or letters that are no markup."""
SECTION = _environment().get_template("reproductions.html")
EMPTY_SECTION = SECTION.render(reproductions=[[""]], columns=COLUMNS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(told=st.sampled_from([TOLD, TOLD_ELSEWHERE]), likely=LIKELY, other=UNLIKELY)
def test_a_receipt_that_passes_neither_stops_nor_decorates_what_shows_it(root, told, likely, other):
    path = root / FOLDER / STUDY / ONE
    path.write_text(rewritten(**(likely | other))(json.dumps(told | {"checksum": ""})))
    said = ""
    try:
        sent_in = all_reproductions(root)
    except InputError as error:
        said = error.message
    if said:
        assert said.startswith(str(root / FOLDER))
        assert said.isprintable()
        return
    lines = insert_reproductions(
        "<!-- reproductions: generated -->\n<!-- end of reproductions -->", sent_in
    ).splitlines()
    event("passed")
    assert len(lines) == 5
    cells = lines[3].removeprefix("| ").removesuffix(" |").split(" | ")
    assert len(cells) == len(SUMMARY_COLUMNS)
    assert all(map(PLAIN_CELL.fullmatch, cells)), cells
    rows = [item.row for item in sent_in]
    section = SECTION.render(reproductions=rows, columns=COLUMNS)
    assert {*re.findall(r"<(\w+)", section)} == {*re.findall(r"<(\w+)", EMPTY_SECTION)}
    assert all(is_plain(cell) for row in rows for cell in row)
    for items in verifications(STUDY, sent_in, None).values():
        for item in items:
            assert item["lowest"] <= item["highest"] or math.isnan(item["lowest"])
            assert math.isnan(item["lowest"]) or {*map(number, (item["lowest"], item["highest"]))}
