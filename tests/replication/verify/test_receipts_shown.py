"""Where receipts and the history of verifications are shown."""

import math
import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from conftest import ROOT
from made_receipts import BY, ONE, REFERENCE, STUDY, found, project_with_receipt, told
from report_folder import Folder

from replication.base.errors import InputError
from replication.bundle.bundle import reference_folder, write_bundle
from replication.documents.scorecards import reproduction_lines
from replication.report.verifications import read_history, verifications
from replication.verify.differences import Difference
from replication.verify.history import append_rows, verdict_rows
from replication.verify.receipt import write_receipt
from replication.verify.reference_summary import read_in_short, reference_digest
from replication.verify.reproductions import (
    COLUMNS,
    FOLDER,
    SUMMARY_COLUMNS,
    Reproduction,
    all_reproductions,
    record_earlier,
    reproductions,
    summary_rows,
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


def test_a_document_has_a_row_per_processor(root):
    earlier = told().model_copy(update={"date": datetime(2026, 1, 31, tzinfo=UTC)})
    write_receipt(root / FOLDER / STUDY / "2026-01-30-epyc.json", earlier)
    head, _, row = reproduction_lines(all_reproductions(root))
    assert head == f"| {' | '.join(SUMMARY_COLUMNS)} |"
    assert row.startswith(f"| {STUDY} | `{told().machine.processor}` | `")
    (latest,) = {item.receipt.date for item in all_reproductions(root)} - {earlier.date}
    assert row.endswith(f"| 2 | {latest:%Y-%m-%d} | 3 of 3 agree | 15 bit for bit |")
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

    record_earlier(tmp_path, "paper", *read_in_short(folder))
    restated = verdict.model_copy(update={"verdict": "in part"})
    write_bundle(folder, replace(REFERENCE, verdicts={"T2a": restated}))
    (item,) = reproductions(tmp_path, "paper")
    assert (item.is_current, item.restated) == (False, {"T2a"})
    html = page.html()
    assert "Judged again: an earlier statement 1 time<" in html
    assert "with other verdicts" not in html


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
