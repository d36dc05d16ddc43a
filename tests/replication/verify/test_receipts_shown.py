"""Where receipts are shown."""

import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from conftest import ROOT
from made_receipts import BY, ONE, REFERENCE, STUDY, found, project_with_receipt, told
from report_folder import Folder

from replication.base.errors import InputError
from replication.bundle.bundle import reference_digest, reference_folder, write_bundle
from replication.documents.scorecards import reproduction_lines
from replication.verify.differences import Difference
from replication.verify.receipt import write_receipt
from replication.verify.reproductions import (
    COLUMNS,
    FOLDER,
    all_reproductions,
    reproductions,
    verdicts_of_others,
)


@pytest.fixture
def root(tmp_path):
    return project_with_receipt(tmp_path)


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


def test_a_document_has_a_row_per_receipt(root):
    earlier = told().model_copy(update={"date": datetime(2026, 1, 31, tzinfo=UTC), "by": "`a`|\\b"})
    write_receipt(root / FOLDER / STUDY / "2026-01-30-epyc.json", earlier)
    head, _, first, second = reproduction_lines(all_reproductions(root))
    assert head == f"| study | {' | '.join(COLUMNS)} |"
    assert first.startswith(f"| {STUDY} | 2026-01-31 | `{told().machine.processor}` | `")
    assert first.endswith("| full | 3 of 3 agree | 15 bit for bit | ` a \\b` |")
    assert second.endswith(f"| full | 3 of 3 agree | 15 bit for bit | `{BY}` |")
    assert reproduction_lines([]) == ["None has been sent in yet."]


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


def test_a_receipt_of_an_earlier_statement_is_no_other_verdict(tmp_path, monkeypatch):
    """The page says so, instead of showing a verdict that the receipt does not contradict."""
    receipt, verdict = told(), REFERENCE.verdicts["C1"].model_copy(update={"claim": "T2a"})
    monkeypatch.chdir(tmp_path)
    folder = reference_folder(tmp_path, "paper")
    write_bundle(folder, replace(REFERENCE, verdicts={"T2a": verdict}))
    judged = {"T2a": receipt.verdicts["C1"]}
    update = {"study": "paper", "verdicts": judged, "reference": reference_digest(folder)}
    write_receipt(tmp_path / FOLDER / "paper" / ONE, receipt.model_copy(update=update))
    page = Folder(tmp_path)
    assert "Judged again: this statement 1 time, with the same verdict<" in page.html()

    restated = verdict.model_copy(update={"verdict": "in part"})
    write_bundle(folder, replace(REFERENCE, verdicts={"T2a": restated}))
    (item,) = reproductions(tmp_path, "paper")
    assert (item.is_current, item.restated) == (False, {"T2a"})
    html = page.html()
    assert "Judged again: an earlier statement 1 time<" in html
    assert "with other verdicts" not in html


def test_verdicts_of_others_are_counted_by_machine_and_version(root):
    receipt = told()
    later, earlier = (datetime(2026, 1, day, tzinfo=UTC) for day in (9, 8))
    newer = {"date": later, "packages": receipt.packages | {"torch": "2.99"}}
    for number, other in enumerate(
        [{"date": earlier}, {"date": later}, newer, {"settings": "0" * 16}]
    ):
        path = root / FOLDER / STUDY / f"2026-02-0{number + 1}-other.json"
        write_receipt(path, receipt.model_copy(update=other))
    (root / FOLDER / STUDY / ONE).unlink()
    counted = verdicts_of_others(reproductions(root, STUDY))
    assert counted.keys() == receipt.verdicts.keys()
    judged = receipt.verdicts["C2"]
    shown = ("verdict", "torch", "lowest", "highest", "times", "latest", "is_earlier")
    assert [tuple(item[key] for key in shown) for item in counted["C2"]] == [
        (judged.verdict, torch, judged.lowest, judged.highest, times, "2026-01-09", False)
        for torch, times in ((receipt.packages["torch"], 2), ("2.99", 1))
    ]


def test_claims_that_could_not_be_measured_are_counted(root):
    judged = told().verdicts["C1"].model_copy(update={"lowest": None, "highest": None})
    receipt = told().model_copy(update={"verdicts": {"C1": judged}})
    write_receipt(root / FOLDER / STUDY / ONE, receipt)
    (item,) = verdicts_of_others(reproductions(root, STUDY))["C1"]
    assert (item["lowest"], item["highest"]) == (None, None)
