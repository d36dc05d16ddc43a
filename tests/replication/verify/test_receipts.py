"""Receipts: what stands in one, and the command that writes it."""

import platform
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from conftest import DEFAULTS, JOBS, ROOT
from made_receipts import (
    ONE,
    OTHER_BITS,
    REFERENCE,
    RUNS,
    STUDY,
    found,
    project_with_receipt,
    told,
    with_runs,
)

from replication.base.errors import InputError
from replication.bundle.bundle import FINGERPRINTS, reference_digest, reference_folder
from replication.bundle.machine import gpu
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies
from replication.verify import issue as issuing
from replication.verify.differences import Difference
from replication.verify.issue import MOST_LISTED, Verified, _code_state, issue_receipt
from replication.verify.levels import main
from replication.verify.receipt import Code, Signature, read_receipt, write_receipt
from replication.verify.reproductions import COLUMNS, FOLDER, all_reproductions


@pytest.fixture
def root(tmp_path):
    return project_with_receipt(tmp_path)


def test_every_receipt_that_was_sent_in_is_what_it_says():
    assert all(len(item.row) == len(COLUMNS) for item in all_reproductions(ROOT))


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
def test_folders_of_the_machine_are_left_out(text):
    receipt = told(differences=[Difference("results", "results/a.parquet", "readable", text)])
    (item,) = receipt.listed
    assert item.quantity == "results/a.parquet"
    assert item.found == issuing.LEFT_OUT


def test_a_text_of_several_lines_is_told_in_one():
    receipt = told(differences=[Difference("results", "a\n\u202eb", "1", "e" + "\u0301" * 250)])
    (item,) = receipt.listed
    assert (item.quantity, item.found) == ("a  b", issuing.LEFT_OUT)


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
        "MKL_CBWR": "", "BLIS_ARCH_TYPE": "0:4", "GLIBC_TUNABLES": issuing.LEFT_OUT
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


def test_a_receipt_names_neither_folder_nor_computer_nor_user(tmp_path, monkeypatch):
    user, computer = "jroe-of-the-lab", "node-of-the-lab"
    monkeypatch.setenv("LOGNAME", user)
    monkeypatch.setattr(socket, "gethostname", lambda: computer)
    monkeypatch.setattr(platform, "node", lambda: computer)
    root = project_with_receipt(tmp_path)
    text = (root / FOLDER / STUDY / ONE).read_text()
    assert user not in text
    assert computer not in text
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
        ("x" * 400, "at most 300 characters"),
        ("", "must not be empty"),
        ("a\nb", "must be one line of printable letters"),
    ],
)
def test_a_name_that_no_receipt_may_have_is_refused_before_anything_is_computed(by, message):
    with pytest.raises(InputError, match=f"--by: by: .*{message}"):
        Signature.parse({"by": by}, "--by")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--study", STUDY], "there is nothing to tell, as nothing is computed here"),
        (["--study", STUDY, "--study", "scan_and_snap"], "a receipt is about one study"),
        (["--study", STUDY, "--write"], "a receipt is about one study"),
        (["--study", STUDY, "--by", "a\nb"], "--by: by: must be one line of printable letters"),
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
