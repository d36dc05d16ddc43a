"""Results against the reference, from end to end: equal or not, or refused."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import FIGURE, ROOT, Project, Template

from replication.base.storage import PROVENANCE, checksum, checksum_file, write_json
from replication.bundle.bundle import (
    collect_fingerprints,
    find_references,
    read_bundle,
    reference_folder,
    write_bundle,
)
from replication.judge.scorecard import read_verdict
from replication.verify.receipts import Receipt, reproductions

STUDY = Path(FIGURE).parent.name
SOURCE = f"src/transformer_dynamics/{STUDY}"
WHOLE = "nothing is computed here; the reference itself is whole."
EQUAL = "Equal to the reference: 2 figures, 3 verdicts, 15 fingerprints of runs"


@pytest.fixture
def computed(finished_project) -> Template:
    """A project with all results of the template and their reference."""
    return finished_project


@pytest.fixture
def clone(finished, template) -> Template:
    """A project with the reference in which nothing is computed."""
    shutil.copytree(finished.folder / "results/reference", template.folder / "results/reference")
    return template


@contextmanager
def content(path: Path, change: bytes) -> Iterator[None]:
    before = path.read_bytes()
    path.write_bytes(change)
    yield
    path.write_bytes(before)


@contextmanager
def table(path: Path, change: bytes) -> Iterator[None]:
    """The table of a figure with a change, and with the checksum of it."""
    folder = path.parents[2]
    kept = folder / checksum_file(path.relative_to(folder))
    _, *rest = kept.read_text().splitlines(keepends=True)
    with content(path, change), content(kept, "".join([checksum(path), *rest]).encode()):
        yield


def verify(project: Project, *arguments: str, succeed: bool = True) -> str:
    return project.verify("--study", STUDY, *arguments, succeed=succeed)


def test_every_reference_is_whole_and_of_this_code(project):
    shutil.copytree(ROOT / "results/reference", project.folder / "results/reference")
    names = find_references(ROOT)
    output = project.verify(*(f"--study={name}" for name in names))
    assert output.count(WHOLE) == len(names)


def test_in_a_fresh_clone_the_verdicts_follow_from_the_reference(clone):
    output = verify(clone)
    assert WHOLE in output
    assert "C1    reproduced    16 of 16 hold" in output
    refused = verify(clone, "--write", succeed=False)
    assert f"run `snakemake reference --config study={STUDY}`" in refused
    assert f"did you mean '{STUDY}'?" in clone.verify("--study", f"{STUDY}s", succeed=False)


def test_a_reference_is_renewed_in_part(clone):
    folder = reference_folder(clone.folder, STUDY)
    before = (folder / "verdicts.json").read_bytes()
    output = verify(clone, "--write", "--partly")
    assert "Computed here: nothing. All claims were judged anew; changed verdicts: none" in output
    assert (folder / "verdicts.json").read_bytes() == before
    assert WHOLE in verify(clone)


def test_a_reference_is_restamped_where_no_number_changes(clone):
    folder = reference_folder(clone.folder, STUDY)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    clone.edit(f"{SOURCE}/claims/learning.py", "iloc[:, 1:]", "iloc[:, 1 + 0 :]")
    assert f"{STUDY}.claims.learning is not as it was" in verify(clone, succeed=False)
    output = verify(clone, "--write", "--restamp")
    assert "Computed here: nothing. All claims were judged anew; changed verdicts: none" in output
    changed = [path.name for path, content in before.items() if path.read_bytes() != content]
    assert changed == ["manifest.json"]
    assert WHOLE in verify(clone)


def test_what_is_computed_is_compared(computed):
    assert EQUAL in verify(computed)
    figure = computed.folder / FIGURE.replace(".pdf", ".csv")
    folder = reference_folder(computed.folder, STUDY)
    assert figure.read_bytes() == (folder / f"figures/{figure.name}").read_bytes()
    with table(figure, figure.read_bytes().replace(b"variance,", b"variances,", 1)):
        output = verify(computed, succeed=False)
    assert "figures/fig1.csv: columns is variances, update, " in output
    assert ", expected variance, update, " in output
    assert "1 difference from the reference; all are in results/differences.csv" in output
    assert pd.read_csv(computed.folder / "results/differences.csv")["study"].tolist() == [STUDY]


@pytest.mark.parametrize("is_found", [True, False])
def test_a_text_among_numbers_is_the_only_difference(computed, is_found):
    """It makes texts of all numbers of its column, and none of them equals a number."""
    here = computed.folder / FIGURE.replace(".pdf", ".csv")
    there = reference_folder(computed.folder, STUDY) / f"figures/{here.name}"
    edited = here if is_found else there
    columns, row, *_ = edited.read_text().splitlines()
    number = dict(zip(columns.split(","), row.split(","), strict=True))["error_mean"]
    change = table if is_found else content
    with change(edited, edited.read_bytes().replace(f",{number},".encode(), b",abc,", 1)):
        output = verify(computed, succeed=False)
    said = f"abc, expected {number}" if is_found else f"{number}, expected abc"
    assert f"\nfigures/fig1.csv: error_mean in row 1 is {said}\n" in output
    number = "1 difference " if is_found else "2 differences "
    assert f"Error: {number}" in output, "the other is the edit"


def test_a_file_that_cannot_be_used_is_a_difference(computed):
    name = f"results/{STUDY}/metrics/printed/fingerprint.parquet"
    file = computed.folder / name
    with content(file, file.read_bytes()[:100]):
        output = verify(computed, succeed=False)
        assert f"\n{name}: truncated, damaged" in output
        assert "1 difference " in output
        assert output.rstrip().endswith("are in results/differences.csv")
        assert "truncated, damaged" in verify(computed, "--write", succeed=False)


def test_verdict_edited_by_hand_fails_and_is_named(clone):
    file = reference_folder(clone.folder, STUDY) / "verdicts.json"
    verdicts = json.loads(file.read_text())
    edited = next(verdict for verdict in verdicts["verdicts"] if verdict["claim"] == "C3")
    edited["verdict"] = "replicated"
    file.write_text(json.dumps(verdicts))
    output = verify(clone, succeed=False)
    assert "reference: verdicts.json is changed by hand, expected as it was made" in output
    assert "verdict on C3: does not hold by 10 seeds (0 of 1 holds" in output


EDITS = [
    (
        f"{SOURCE}/published/fig1.csv",
        "0.368",
        "0.468",
        "claim C1 is not as it was when the reference was made",
    ),
    (f"{SOURCE}/config.yaml", "updates: 200", "updates: 300", "figure fig2 is not as it was"),
    (
        f"{SOURCE}/config.yaml",
        "count: 10",
        "count: 9",
        "experiment replication is not as it was when the reference was made",
    ),
    (f"{SOURCE}/registry.yaml", "tolerance: 0.0006", "tolerance: 0.6", "test C1 is not as it was"),
    (
        f"{SOURCE}/data.py",
        '"noise").normal(0,',
        '"noise").normal(1,',
        f"the code of transformer_dynamics.{STUDY}.data is not as it was when the reference",
    ),
    (
        f"{SOURCE}/claims/learning.py",
        "iloc[:, 1:]",
        "iloc[:, 2:]",
        f"{STUDY}.claims.learning is not",
    ),
]


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param(EDITS, id="all"),
        *(pytest.param([edit], id=edit[-1], marks=pytest.mark.thorough) for edit in EDITS),
    ],
)
def test_whatever_a_number_depends_on_is_kept(clone, edits):
    for path, old, new, _ in edits:
        clone.edit(path, old, new)
    output = verify(clone, succeed=False)
    assert [named for *_, named in edits if named not in output] == []


def test_what_an_overlay_adds_is_not_an_error_but_cannot_become_the_reference(computed):
    whole = yaml.safe_load((computed.folder / "results/config.yaml").read_text())
    figures = whole[STUDY]["figures"]
    figures["mine"] = figures["fig2"]
    (computed.folder / "mine.yaml").write_text(yaml.safe_dump(whole, sort_keys=False))
    output = verify(computed, "--configuration", "mine.yaml")
    assert "Not in the reference: figure mine" in output
    assert EQUAL in output
    output = verify(computed, "--configuration", "mine.yaml", "--write", succeed=False)
    assert "only results of the default configuration become the reference" in output


def test_what_fails_a_verification_is_printed_once(computed):
    computed.edit(f"{SOURCE}/registry.yaml", "tolerance: 0.0006", "tolerance: 0.6")
    output = computed.run("verify", "--config", f"study={STUDY}", succeed=False)
    for said in ("test C1 is not as it was", "results: verdict on C1:", "Error: 4 differences"):
        assert output.count(said) == 1, output


def test_wrong_evidence_fails_from_end_to_end(computed):
    computed.edit(f"{SOURCE}/metrics.py", "1 - weights.ravel()", "1 - weights.ravel() ** 2")
    computed.run(f"results/{STUDY}/verdicts/C1.json")
    output = verify(computed, succeed=False)
    assert "results: verdict on C1: does not hold (" in output
    assert f"the code of transformer_dynamics.{STUDY}.metrics is not as it was " in output


def test_only_differences_are_written(clone):
    """So a clone that nobody may write into can be verified."""
    output = clone.folder / "results/differences.csv"
    told = verify(clone)
    assert not output.exists()
    assert "are not here, and not compared; `python -m replication verify --level full" in told


def test_a_missing_reference_is_one_sentence(clone):
    (reference_folder(clone.folder, STUDY) / "manifest.json").unlink()
    output = verify(clone, succeed=False)
    assert f"Error: results/reference/{STUDY}: is damaged, or no whole reference" in output


def test_one_seed_of_every_experiment_is_computed_from_nothing(clone):
    output = verify(clone, "--level", "seed", "--draw", "3", "--found", "found")
    assert "Equal to the reference: 0 figures, 0 verdicts, 2 fingerprints of runs" in output
    assert not re.search(r"^[A-Z]\d+ +(replicated|open)", output, re.MULTILINE)
    assert re.search(r"^[A-Z]\d+ +(replicated|open)", verify(clone), re.MULTILINE)
    runs = read_bundle(clone.folder / "found" / STUDY)[0].tables["fingerprints.csv"]
    assert sorted(runs["experiment"]) == ["printed", "replication"]
    assert not (clone.folder / f"results/{STUDY}").exists()


def receipt_of(project: Project, *arguments: str, succeed: bool = True) -> Receipt:
    """What a verification writes, removed again."""
    path = project.folder / "receipt.json"
    output = verify(project, "--receipt", path.name, *arguments, succeed=succeed)
    assert f"The receipt is {path.name}" in output
    receipt = Receipt.model_validate_json(path.read_text())
    path.unlink()
    return receipt


def test_a_receipt_tells_what_was_found(computed, tmp_path, monkeypatch):
    monkeypatch.setitem(computed.environment, "USER", "jroe-of-the-lab")
    monkeypatch.setitem(computed.environment, "HOME", str(tmp_path))
    receipt = receipt_of(computed, "--by", "J. Roe")
    assert (receipt.by, receipt.level, receipt.settings) == ("J. Roe", "hash", "default")
    assert receipt.differences == 0
    assert {claim: found.verdict for claim, found in receipt.verdicts.items()} == {
        "C1": "reproduced", "C2": "replicated", "C3": "does not hold",
    }  # fmt: skip
    assert {runs.agreement for runs in receipt.runs.values()} == {"bit for bit"}
    assert receipt.code == "unknown", "the copy is no repository of git"
    for private in ("jroe-of-the-lab", str(tmp_path), str(computed.folder)):
        assert private not in receipt.model_dump_json()


def test_a_receipt_of_an_emulated_processor_says_so(computed, monkeypatch):
    monkeypatch.setitem(computed.environment, "ATEN_CPU_CAPABILITY", "default")
    receipt = receipt_of(computed, "--level", "seed")
    assert receipt.machine.emulated == {"ATEN_CPU_CAPABILITY": "default"}
    assert "ATEN" not in receipt.machine.processor


def test_a_failed_verification_has_a_receipt_too(computed):
    file = computed.folder / f"results/{STUDY}/verdicts/C3.json"
    another = read_verdict(file).model_copy(update={"verdict": "replicated"})
    with content(file, file.read_bytes()):
        write_json(file, another.model_dump(mode="json"), json.loads(file.read_bytes())[PROVENANCE])
        receipt = receipt_of(computed, succeed=False)
    assert [claim for claim, found in receipt.verdicts.items() if not found.agrees] == ["C3"]
    assert receipt.differences == 1


def test_what_was_changed_is_refused_and_what_is_missing_is_named(computed):
    """And the advice helps."""
    file = f"results/{STUDY}/verdicts/C3.json"
    path = computed.folder / file
    before = path.read_bytes()
    path.write_bytes(before.replace(b'"does not hold"', b'"replicated"'))
    (computed.folder / FIGURE.replace(".pdf", ".csv")).unlink()
    output = verify(computed, succeed=False)
    assert f"changed after it was made; `snakemake --force {file}` makes it anew\n" in output
    assert "1 of 10 files are not here, and not compared" in output
    computed.run("--force", file)
    assert path.read_bytes() == before
    assert "Equal to the reference: 1 figures, 3 verdicts" in verify(computed)


def test_a_receipt_of_a_reference_that_is_replaced_is_of_an_earlier_one(computed):
    manifest = reference_folder(computed.folder, STUDY) / "manifest.json"
    receipt = computed.folder / f"reproductions/{STUDY}/2026-01-31-here.json"
    digest = json.loads(manifest.read_text())["files"]["evidence.csv"]
    with content(manifest, manifest.read_bytes().replace(digest.encode(), b"0" * 64)):
        verify(computed, "--receipt", str(receipt.relative_to(computed.folder)), succeed=False)
        verify(computed, "--write")
        ((*_, verdicts, _, _),) = reproductions(computed.folder, STUDY)
        assert verdicts.endswith("with an earlier reference")
    receipt.unlink()


def test_a_study_without_experiments_has_no_fingerprints():
    assert collect_fingerprints({}).empty


def test_fingerprints_of_32_bits_are_read_as_they_were_found(computed, tmp_path):
    reference, _ = read_bundle(reference_folder(computed.folder, STUDY))
    runs = pd.DataFrame({"seed": [1], "digest": ["0"], "loss": np.array([0.1], np.float32)})
    found = collect_fingerprints({"e": runs})
    write_bundle(
        tmp_path,
        type(reference)({**reference.tables, "fingerprints.csv": found}, {}, reference.depends),
    )
    assert read_bundle(tmp_path)[0].tables["fingerprints.csv"].equals(found)
