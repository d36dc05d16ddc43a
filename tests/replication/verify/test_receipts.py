"""Receipts: what stands in one, which are refused, and where they are shown."""

import platform
import re
import shutil
import socket
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from conftest import DEFAULTS, JOBS, ROOT, STUDIES
from made_receipts import (
    BY,
    ONE,
    OTHER_BITS,
    REFERENCE,
    RUNS,
    STUDY,
    found,
    project_with_receipt,
    rewritten,
    send_in,
    told,
    with_runs,
)
from report_folder import Folder

from replication.base.errors import InputError
from replication.bundle.bundle import (
    FINGERPRINTS,
    reference_digest,
    reference_folder,
    write_bundle,
)
from replication.bundle.computed import gpu
from replication.documents.cited import Citable
from replication.plan.jobs import Jobs
from replication.verify.command import main
from replication.verify.differences import Difference
from replication.verify.receipts import COLUMNS, FOLDER, receipt_files, reproductions
from replication.verify.reference import Project


@pytest.fixture
def root(tmp_path):
    return project_with_receipt(tmp_path)


def cells(root: Path) -> list[dict[str, str]]:
    """What a table shows of every receipt."""
    return [dict(zip(COLUMNS, row, strict=True)) for _, *row in reproductions(root)]


def test_receipts_that_git_has_are_shown():
    """Those of earlier versions of the engine, too, which wrote more into them."""
    number = len([*(ROOT / FOLDER).glob("*/*.json")])
    assert len(reproductions(ROOT)) == number > 0


def test_a_receipt_says_what_was_found(root):
    receipt = told()
    assert {verdict.agrees for verdict in receipt.verdicts.values()} == {True}
    assert {runs.agreement for runs in receipt.runs.values()} == {"bit for bit"}
    assert receipt.reference == reference_digest(reference_folder(ROOT, STUDY))
    assert {"python", "numpy", "scipy", "torch"} <= receipt.packages.keys()
    (row,) = cells(root)
    assert (row["verdicts"], row["runs"], row["by"]) == ("3 of 3 agree", "15 bit for bit", BY)


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
    receipt = told(found(verdicts=REFERENCE.verdicts | {verdict.claim: changed}))
    assert [name for name, item in receipt.verdicts.items() if not item.agrees] == [verdict.claim]


def test_differences_are_counted_and_those_of_numbers_listed():
    """Others may name folders of the machine."""
    text = Difference("results", "a.parquet", "readable", "/home/jroe/a.parquet: truncated")
    numbers = [Difference("place", f"value in row {row}", "1", "2", 1.0) for row in range(99)]
    receipt = told(differences=[text, *numbers])
    assert receipt.differences == 100
    assert [row["quantity"] for row in receipt.listed[:2]] == ["value in row 0", "value in row 1"]
    assert len(receipt.listed) == 50


def test_a_receipt_of_nothing_is_refused():
    with pytest.raises(InputError, match="nothing is computed here"):
        told(found(verdicts={}, tables={FINGERPRINTS: RUNS.assign(arm="a")}))


def test_a_receipt_names_neither_folder_nor_computer_nor_user(tmp_path, monkeypatch):
    user, computer = "jroe-of-the-lab", "node-of-the-lab"
    monkeypatch.setenv("LOGNAME", user)
    monkeypatch.setattr(socket, "gethostname", lambda: computer)
    monkeypatch.setattr(platform, "node", lambda: computer)
    text = send_in(tmp_path, told()).read_text()
    assert user not in text
    assert computer not in text
    assert not any(str(folder) in text for folder in (ROOT, Path.cwd(), Path.home(), tmp_path))


def test_only_a_gpu_that_trained_is_named(monkeypatch):
    assert told().machine.gpu is None
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H100")
    assert gpu() == f"NVIDIA H100, CUDA {torch.version.cuda}"


def test_other_settings_are_told():
    own = DEFAULTS.model_dump(mode="json")
    for experiment in own[STUDY]["experiments"].values():
        experiment["seeds"] = {"first": 1, "count": 3}
    jobs = Jobs.of(type(DEFAULTS).parse(own, "other"), STUDIES)
    project = Project(ROOT, jobs, JOBS)
    assert told(project=project).settings == "others"
    assert told().settings == "default"


def test_a_receipt_of_two_studies_is_refused(root, monkeypatch):
    monkeypatch.chdir(root)
    names = ["--study", STUDY, "--study", "scan_and_snap"]
    done = CliRunner().invoke(main, [*names, "--receipt", "receipt.json"])
    assert "--receipt: a receipt is about one study" in done.output
    assert not Path("receipt.json").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text[:99], "Invalid JSON"),
        (lambda text: "[]", "Input should be an object"),
        (rewritten(date="today"), "date: Input should be a valid datetime"),
        (rewritten(study="scan_and_snap"), "is of the study scan_and_snap; move it"),
        (rewritten(differences=-1), "differences: Input should be greater than"),
        (rewritten(machine__processor="9" * 999), "processor: String should have at most 300"),
        (rewritten(by="Eve\r# Hacked"), "by: must be one line of printable letters"),
        (rewritten(by="\u202eeve"), "by: must be one line of printable letters"),
    ],
)
def test_a_damaged_receipt_is_refused_in_one_sentence(root, change, message):
    path = root / FOLDER / STUDY / ONE
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError, match=re.escape(message)) as error:
        reproductions(root)
    assert error.value.message.startswith(str(path))
    assert "\n" not in error.value.message


def test_an_agreement_that_is_none_and_a_claim_that_is_none_are_not_counted(root):
    """Whatever the receipt says of itself."""
    path = root / FOLDER / STUDY / ONE
    invented = told().verdicts["C1"].model_dump(mode="json")
    other = rewritten(verdicts__C3__verdict="replicated", verdicts__X1=invented)
    path.write_text(other(path.read_text()))
    assert cells(root)[0]["verdicts"] == "2 of 4 agree"


def test_receipts_of_an_earlier_reference_stay(root):
    verdicts = {
        claim: verdict.model_copy(update={"seeds": verdict.seeds + 1 * (claim == "C3")})
        for claim, verdict in REFERENCE.verdicts.items()
    }
    write_bundle(reference_folder(root, STUDY), found(verdicts=verdicts))
    assert cells(root)[0]["verdicts"] == "3 of 3 agree, with an earlier reference"


def test_new_code_alone_leaves_the_reference_the_same(root):
    write_bundle(
        reference_folder(root, STUDY), replace(REFERENCE, depends=REFERENCE.depends | {"code": {}})
    )
    assert cells(root)[0]["verdicts"] == "3 of 3 agree"


def test_a_page_depends_on_receipts_and_the_reference(root):
    names = [path.name for path in receipt_files(root, STUDY)]
    assert names == [ONE, "manifest.json", "verdicts.json"]
    (root / FOLDER / STUDY / ONE).unlink()
    assert receipt_files(root, STUDY) == []


def test_emulation_and_disagreement_are_marked(root, monkeypatch):
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    verdicts = dict(REFERENCE.verdicts)
    verdicts["C3"] = verdicts["C3"].model_copy(update={"verdict": "replicated"})
    receipt = told(found(verdicts=verdicts), [Difference("results", "verdict on C3", "a", "b")])
    send_in(root, receipt, "2026-02-01-other.json")
    own, emulated = sorted(cells(root), key=lambda row: len(row["processor"]))
    assert emulated["processor"] == f"{own['processor']}, emulating ATEN_CPU_CAPABILITY=avx2"
    assert own["verdicts"] == "3 of 3 agree"
    assert emulated["verdicts"] == "2 of 3 agree, 1 differences"


def test_a_document_has_a_row_per_receipt_and_no_markup_of_strangers(root):
    by = "`a`|\\b <b> @name https://a.b"
    earlier = told().model_copy(update={"date": datetime(2026, 1, 31, tzinfo=UTC), "by": by})
    send_in(root, earlier, "2026-01-30-epyc.json")

    def reproduced(sent_in):
        return Citable("README.md", [], sent_in, JOBS).reproductions()

    head, _, first, second = reproduced(reproductions(root)).splitlines()
    assert head == f"| study | {' | '.join(COLUMNS)} |"
    assert first.startswith(f"| {STUDY} | 2026-01-31 | `{told().machine.processor}` | `")
    assert first.endswith("| 15 bit for bit | ` a \\b <b> @name https://a.b` |")
    assert second.endswith(f"| full | 3 of 3 agree | 15 bit for bit | `{BY}` |")
    assert reproduced([]) == "None has been sent in yet."


def test_the_page_shows_those_of_its_study_and_escapes_them(tmp_path, monkeypatch):
    receipt = told().model_copy(update={"study": "paper", "by": "<b>Eve</b>"})
    monkeypatch.chdir(tmp_path)
    page = Folder(tmp_path)
    assert "None has been sent in yet." in page.html()
    shutil.copytree(reference_folder(ROOT, STUDY), reference_folder(tmp_path, "paper"))
    send_in(tmp_path, receipt)
    html = page.html()
    shown = re.findall(r"<td>(.*?)</td>", html.split('id="reproductions"')[1])
    assert shown[: len(COLUMNS)][-3:] == [
        "3 of 3 agree", "15 bit for bit", "&lt;b&gt;Eve&lt;/b&gt;",
    ]  # fmt: skip
