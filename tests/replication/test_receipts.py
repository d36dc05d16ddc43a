"""Receipts: what stands in one, which ones are refused, and where they are shown."""

import getpass
import json
import re
import shutil
import socket
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from conftest import DEFAULTS, FIGURE, JOBS, ROOT
from report_folder import Folder

from replication.continuous.history import append, verdict_rows
from replication.errors import InputError
from replication.generate import with_reproductions
from replication.jobs import Jobs
from replication.provenance import digest
from replication.report.verifications import read_history, verifications
from replication.reproductions import (
    COLUMNS,
    EARLIER,
    FOLDER,
    SUMMARY,
    Reproduction,
    all_reproductions,
    record_earlier,
    reproductions,
)
from replication.study import find_studies
from replication.verification.differences import Difference
from replication.verification.issue import Verified, _code, issue
from replication.verification.machine import gpu
from replication.verification.receipt import (
    LISTED,
    Code,
    Receipt,
    Signature,
    read_receipt,
    reference_digest,
    write_receipt,
)
from replication.verification.reference import FINGERPRINTS, read_reference, reference_folder
from replication.verify import main

STUDY = Path(FIGURE).parent.name
ONE = "2026-01-31-epyc.json"
BY = "J. Roe, https://orcid.org/0000-0002-1825-0097"
REFERENCE = read_reference(reference_folder(ROOT, STUDY))[0]
RUNS = REFERENCE.tables[FINGERPRINTS]
OTHER_BITS = RUNS.assign(digest=RUNS["digest"].str[::-1])


def told(current=REFERENCE, differences=()) -> Receipt:
    """The receipt of a verification that found some results."""
    verified = Verified(STUDY, current, REFERENCE, list(differences))
    return issue(verified, "full", BY, ROOT, JOBS, JOBS)


def found(**parts):
    return type(REFERENCE)(**vars(REFERENCE) | parts)


def with_runs(runs):
    return found(tables=REFERENCE.tables | {FINGERPRINTS: runs})


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
    many = [Difference("place", f"value in row {row}", "1", "2", 1.0) for row in range(LISTED + 9)]
    receipt = told(differences=many)
    assert (receipt.differences, len(receipt.listed)) == (LISTED + 9, LISTED)
    with pytest.raises(InputError, match="does not list the differences"):
        Receipt.parse(receipt.model_dump(mode="json") | {"listed": []}, "receipt")


@pytest.mark.parametrize(
    "text",
    [
        "/home/jroe/thesis/results/a.parquet: truncated",
        "cannot read '/tmp/tmpx1/results/a'",
        "~/work/a",
        "~jroe/a",
        "../../home/jroe/a",
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
    assert _code(tmp_path) is None
    file = tmp_path / "file"
    file.write_text("1")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    for command in (["init", "-q"], ["add", "file"], ["commit", "-qm", "1"], ["tag", "v1"]):
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)
    clean = _code(tmp_path)
    assert clean is not None
    assert not clean.dirty
    file.write_text("2")
    assert _code(tmp_path) == Code(commit=clean.commit, dirty=True)


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
    receipt = issue(verified, "hash", None, ROOT, jobs, JOBS)
    assert re.fullmatch("[0-9a-f]{16}", receipt.settings)
    assert told().settings == "default"


@pytest.mark.parametrize("by", ["<script>", "[a](b)", "a | b", "x" * 400, "/home/jroe/a"])
def test_what_could_spoil_a_table_is_no_name(by):
    with pytest.raises(InputError, match="--by: by"):
        Signature.parse({"by": by}, "--by")


# Which ones are refused


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
        (lambda text: text.replace("checksum", "sum"), "is no whole receipt"),
        (lambda text: text.replace('"reproduced"', '"verified"'), "changed after it was written"),
        (lambda text: text.replace('"level": "full"', '"level": "hash"'), "was changed after"),
        (rewritten(format=2), "format: Input should be 1"),
        (rewritten(level="half"), "level: Input should be"),
        (rewritten(date="today"), "date: Input should be a valid datetime"),
        (rewritten(host="vm"), "unknown key 'host'"),
        (rewritten(machine__processor="<b>"), "machine > processor: String should match"),
        (rewritten(study="scan_and_snap"), "is of the study scan_and_snap; move it"),
        (rewritten(reference="0" * 16), "was compared with a reference that example never had"),
        (rewritten(verdicts={}, runs={}), "it has neither a verdict nor a run"),
        (rewritten(runs__printed__agreement="differ"), "does not list the differences that it"),
        (rewritten(verdicts__C1__agrees=False), "C1 does not agree with the reference, but it"),
        (rewritten(verdicts__C1__holding=15), "verdict on C1 agrees with the reference, but it"),
        (rewritten(verdicts__C3__verdict="replicated"), "verdict on C3 agrees with the reference"),
        (rewritten(verdicts__C3__decisions="0" * 16), "verdict on C3 agrees with the reference"),
        (rewritten(verdicts__C2__seeds=99), "verdict on C2 agrees with the reference, but it does"),
        (rewritten(runs__printed__digest="0" * 16), "runs of printed are the reference's bit for"),
        (rewritten(runs__printed__seeds="1-4"), "runs of printed are the reference's bit for bit"),
        (rewritten(runs__printed__seeds="all"), "seeds 'all': write them like"),
        (rewritten(runs__printed__seeds="1-1000000002"), "more than 1000000 seeds"),
        (rewritten(runs__printed__seeds="1-10,999"), "runs of printed are the reference's bit for"),
        (rewritten(runs__printed__number=1000), "runs of printed are the reference's bit for bit"),
        (rewritten(verdicts={}), "tells no verdict on C1"),
        (rewritten(verdicts__C1__agrees="yes"), "agrees: Input should be a valid boolean"),
        (rewritten(by="Eve\r# Hacked"), "by: must be one line of printable letters"),
        (rewritten(by="\u202eeve"), "by: must be one line of printable letters"),
        (rewritten(by=" "), "by: must be one line of printable letters"),
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
    with pytest.raises(InputError, match="is there twice; delete one"):
        reproductions(root, STUDY)
    again.rename(own.with_name("copy of one.json"))
    with pytest.raises(InputError, match="name the file <date>-<processor>"):
        reproductions(root, STUDY)


def test_a_verdict_that_agrees_cannot_be_called_different(root):
    difference = Difference("results", "a", "1", "2")
    receipt = told(differences=[difference]).model_dump(mode="json")
    receipt["verdicts"]["C1"]["agrees"] = False
    write_receipt(root / FOLDER / STUDY / ONE, Receipt.parse(receipt, "receipt"))
    with pytest.raises(InputError, match="C1 does not agree with the reference, but it does;"):
        reproductions(root, STUDY)


def test_receipts_of_an_earlier_reference_stay(root):
    (before,) = reproductions(root, STUDY)
    assert before.is_current
    manifest = reference_folder(root, STUDY) / "manifest.json"
    files = json.loads(manifest.read_text())["files"]
    old = reference_digest(manifest.parent)
    manifest.write_text(manifest.read_text().replace(files["evidence.csv"], "0" * 64))
    with pytest.raises(InputError, match="a reference that example never had"):
        reproductions(root, STUDY)
    for _ in range(2):
        record_earlier(root, STUDY, old)
    assert (root / FOLDER / STUDY / EARLIER).read_text() == f"{old}\n"
    (after,) = reproductions(root, STUDY)
    assert not after.is_current
    assert "3 of 3 agree, with an earlier reference" in after.row


def test_new_code_alone_leaves_the_reference_the_same(root):
    manifest = reference_folder(root, STUDY) / "manifest.json"
    text = manifest.read_text()
    code = json.loads(text)["code"]
    manifest.write_text(text.replace(code["replication.digest"], "0" * 12))
    assert manifest.read_text() != text
    assert [item.is_current for item in reproductions(root, STUDY)] == [True]


# The command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--study", STUDY], "there is nothing to tell, as nothing is computed here"),
        (["--study", STUDY, "--study", "scan_and_snap"], "tells the verification of one study"),
        (["--study", STUDY, "--write"], "tells the verification of one study"),
        (["--study", STUDY, "--by", "<b>"], "--by: by: String should match"),
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
    later = told().model_copy(update={"date": datetime(2126, 1, 31, tzinfo=UTC)})
    write_receipt(root / FOLDER / STUDY / "2126-01-31-epyc.json", later)
    readme = (
        "before\n<!-- reproductions: generated -->\nold\n<!-- end of reproductions -->\nafter\n"
    )
    text = with_reproductions(readme, all_reproductions(root))
    head, _, row = text.splitlines()[2:-2]
    assert head == f"| {' | '.join(SUMMARY)} |"
    assert row.startswith(f"| {STUDY} | {told().machine.processor} |")
    assert row.endswith("| 2 | 2126-01-31 | 3 of 3 agree | 15 bit for bit |")
    assert with_reproductions(text, []).splitlines()[2] == "None has been sent in yet."
    with pytest.raises(InputError, match="needs the lines <!-- reproductions: generated"):
        with_reproductions("# A title", [])


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
        append(history, verdict_rows(REFERENCE), told)
    append(history, verdict_rows(REFERENCE), told | {"study": "another"})
    counted = [
        (item["processor"], item["torch"], item["times"], item["latest"])
        for item in verifications(STUDY, [], read_history(history))[claim]
    ]
    assert counted == [("abacus", "2.13.0", 2, "2026-01-02"), ("abacus", "2.14.0", 1, "2026-01-03")]
    assert len(verifications(STUDY, receipts, read_history(history))[claim]) == 3

    other = receipt.model_copy(update={"settings": "0" * 64})
    assert verifications(STUDY, [Reproduction(other, True)], None) == {}
