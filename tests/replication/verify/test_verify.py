"""Results against the reference, from end to end: equal or not, or refused."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from conftest import DEFAULTS, FIGURE, JOBS, ROOT, STUDIES, Project, Template

from replication.base.storage import PROVENANCE
from replication.bundle.bundle import find_references, read_bundle, reference_folder, write_bundle
from replication.bundle.computed import collect_fingerprints
from replication.judge.scorecard import read_verdict, write_verdict
from replication.plan.configuration import configure, merge, read_overlay
from replication.plan.keys_in_files import checksum, checksum_file
from replication.verify import levels
from replication.verify.project import _overlay_with_removals
from replication.verify.receipt import Receipt, read_receipt
from replication.verify.reproductions import reproductions

STUDY = Path(FIGURE).parent.name
SOURCE = f"src/transformer_dynamics/{STUDY}"
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
    assert output.count("Nothing is computed here; the reference itself is whole.") == len(names)


def test_in_a_fresh_clone_the_verdicts_follow_from_the_reference(clone):
    output = verify(clone)
    assert "Nothing is computed here; the reference itself is whole." in output
    assert "C1    reproduced    16 of 16 hold" in output
    assert "is not computed yet; run `snakemake reference --config study=" in verify(
        clone, "--write", succeed=False
    )
    assert f"did you mean '{STUDY}'?" in clone.verify("--study", f"{STUDY}s", succeed=False)


def test_a_reference_is_renewed_in_part(clone):
    assert "--partly: says how a reference is written" in verify(clone, "--partly", succeed=False)
    folder = reference_folder(clone.folder, STUDY)
    before = (folder / "verdicts.json").read_bytes()
    output = verify(clone, "--write", "--partly")
    assert "Computed here: nothing. All claims were judged anew" in output
    assert (folder / "verdicts.json").read_bytes() == before
    assert "Nothing is computed here; the reference itself is whole." in verify(clone)


def test_a_reference_is_restamped_where_no_number_changes(clone):
    assert "--restamp: says how a reference" in verify(clone, "--restamp", succeed=False)
    both = ("--write", "--restamp", "--partly")
    assert "leave out --partly" in verify(clone, *both, succeed=False)
    folder = reference_folder(clone.folder, STUDY)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    clone.edit(f"{SOURCE}/claims/learning.py", "iloc[:, 1:]", "iloc[:, 1 + 0 :]")
    assert f"{STUDY}.claims.learning is not as it was" in verify(clone, succeed=False)
    output = verify(clone, "--write", "--restamp")
    assert "nothing was computed. Changed digests: 0 of settings, 1 of mod" in output
    assert "changed verdicts: none" in output
    changed = [path.name for path, content in before.items() if path.read_bytes() != content]
    assert changed == ["manifest.json"]
    assert "Nothing is computed here; the reference itself is whole." in verify(clone)


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
    said = "abc, expected a number" if is_found else "a number, expected abc"
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
    assert "verdicts.json of the reference was changed or added by hand; restore it" in output
    assert "verdict on C3: does not hold by 10 seeds (0 of 1 holds" in output


EDITS = [
    (
        f"{SOURCE}/published/fig1.csv",
        "0.368",
        "0.468",
        "claim C1 is not as it was when the reference was made: its evidence, its published values",
    ),
    (f"{SOURCE}/config.yaml", "updates: 200", "updates: 300", "figure fig2 is not as it was"),
    (
        f"{SOURCE}/config.yaml",
        "count: 10",
        "count: 9",
        "experiment replication is not as it was when the reference was made: its settings or its",
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
    (
        "src/replication/verify/differences.py",
        '"same processor", 0, 0',
        '"same processor", 9, 9',
        "the code of replication.verify.differences is not as it was",
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


def test_settings_of_an_overlay_are_named_by_their_keys(computed):
    (computed.folder / "mine.yaml").write_text(
        f"{STUDY}: {{experiments: {{printed: {{training: {{updates: 3}}}}}}}}"
    )
    whole = configure(read_overlay(computed.folder / "mine.yaml"), {STUDY: STUDIES[STUDY]})
    whole.write(computed.folder / "mine.yaml")
    output = verify(computed, "--configuration", "mine.yaml", succeed=False)
    named = f"{STUDY} > experiments > printed > training > updates"
    assert f"Settings that differ from the defaults: {named}\n" in output


def test_what_fails_a_verification_is_printed_once(computed):
    computed.edit(f"{SOURCE}/registry.yaml", "tolerance: 0.0006", "tolerance: 0.6")
    output = computed.run("verify", "--config", f"study={STUDY}", succeed=False)
    for said in ("test C1 is not as it was", "verdict on C1:", "Error: 4 differences"):
        assert output.count(said) == 1, output
    assert "reference, judged again; results: verdict on C1:" in output


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
    judge = f"`snakemake verify --config study={STUDY}` makes them"
    assert f"Not compared, as they are not here: 3 of 3 verdicts; {judge}\n" in told
    output.mkdir()
    refused = verify(clone, "--level", "full", succeed=False)
    assert refused.rstrip().endswith(
        "differences.csv: cannot be written; name another place with --output"
    )
    (clone.folder / "file").touch()
    with (reference_folder(clone.folder, STUDY) / "evidence.csv").open("a") as stream:
        stream.write("\n")
    told = verify(clone, "--output", "file/differences.csv", succeed=False)
    assert "Error: 1 difference from the reference; file/differences.csv: cannot be" in told


def test_files_that_are_not_here_are_named_with_a_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = JOBS.studies[STUDY]
    for path in (*study.files.verdicts.values(), *study.files.evidence.values()):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()
    Path(study.files.evidence["C2"]).unlink()
    monkeypatch.setattr(levels, "MOST_PATHS", 1)
    evidence, runs = levels._sentences_on_absent(study)
    made = f"1 of 3 tables of evidence; `snakemake {study.files.evidence['C2']}` makes them"
    assert evidence == f"Not compared, as they are not here: {made}"
    assert f"--level full --study {STUDY}` makes them" in runs


def test_a_changed_reference_is_not_called_new(tmp_path):
    def git(*words):
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True)

    folder = reference_folder(tmp_path, STUDY)
    folder.mkdir(parents=True)
    (folder / "evidence.csv").write_text("a")
    git("init", "--quiet")
    assert levels._compared_with(tmp_path, folder).endswith("git has no commit of it yet")
    git("add", ".")
    git("commit", "--quiet", "--message", "kept")
    assert levels._compared_with(tmp_path, folder) == f"Compared with {folder}"
    (folder / "evidence.csv").write_text("b")
    assert levels._compared_with(tmp_path, folder).endswith("changed after its last commit")


def test_a_missing_reference_is_one_sentence(clone):
    (reference_folder(clone.folder, STUDY) / "manifest.json").unlink()
    output = verify(clone, succeed=False)
    assert output.startswith(f"Error: results/reference/{STUDY}: is no whole reference")


def test_one_seed_of_every_experiment_is_computed_from_nothing(clone):
    output = verify(clone, "--level", "seed", "--draw", "3", "--found", "found")
    assert "Equal to the reference: 2 fingerprints of runs" in output
    assert not re.search(r"^[A-Z]\d+ +(replicated|open)", output, re.MULTILINE)
    assert re.search(r"^[A-Z]\d+ +(replicated|open)", verify(clone), re.MULTILINE)
    runs = read_bundle(clone.folder / "found" / STUDY)[0].tables["fingerprints.csv"]
    assert sorted(runs["experiment"]) == ["printed", "replication"]
    assert not (clone.folder / f"results/{STUDY}").exists()


def test_experiments_are_drawn_that_fit_into_the_minutes(clone):
    rows = f"job,seconds,mib\nlogs/{STUDY}/runs/replication/1-5,3000,\n"
    (clone.folder / SOURCE / "seconds.csv").write_text(rows)
    limit = ("--level", "seed", "--draw", "3", "--minutes")
    output = verify(clone, *limit, "9", "--found", "found")
    assert "One seed of experiments, drawn with --draw 3" in output
    assert f"1 of 2 experiments of {STUDY} will take about 0 minutes of one processor" in output
    assert "Left out, as they do not fit: replication\n" in output
    runs = read_bundle(clone.folder / "found" / STUDY)[0].tables["fingerprints.csv"]
    assert [*runs["experiment"]] == ["printed"]
    output = verify(clone, *limit, "10")
    told = "will take about 10 minutes of one processor, and at least 10 on any number"
    assert f"2 of 2 experiments of {STUDY} {told}" in output
    assert "Left out" not in output
    assert "2 fingerprints of runs" in output
    (clone.folder / SOURCE / "seconds.csv").write_text(
        f"{rows}logs/{STUDY}/runs/printed/1-5,3000,\n"
    )
    output = verify(clone, *limit, "9", succeed=False)
    assert f"Error: --minutes 9: no experiment of {STUDY} fits; name more minutes" in output


def test_no_other_level_has_a_limit(clone):
    output = verify(clone, "--minutes", "1", succeed=False)
    assert output == (
        "Error: --minutes: only --level seed takes it; other levels take all experiments\n"
    )


def receipt_of(project: Project, *arguments: str, succeed: bool = True) -> Receipt:
    """What a verification writes, removed again."""
    path = project.folder / "receipt.json"
    output = verify(project, "--receipt", path.name, *arguments, succeed=succeed)
    assert f"The receipt is {path.name}" in output
    receipt = read_receipt(path)
    path.unlink()
    return receipt


def test_a_receipt_tells_what_was_found(computed, tmp_path, monkeypatch):
    monkeypatch.setitem(computed.environment, "USER", "jroe-of-the-lab")
    monkeypatch.setitem(computed.environment, "HOME", str(tmp_path))
    path = computed.folder / f"reproductions/{STUDY}/2026-01-31-here.json"
    verify(computed, "--receipt", str(path.relative_to(computed.folder)), "--by", "J. Roe")
    ((receipt, is_current, *_),) = reproductions(computed.folder, STUDY)
    assert is_current
    assert (receipt.by, receipt.level, receipt.settings) == ("J. Roe", "hash", "default")
    assert receipt.differences == 0
    assert {claim: found.verdict for claim, found in receipt.verdicts.items()} == {
        "C1": "reproduced", "C2": "replicated", "C3": "does not hold",
    }  # fmt: skip
    assert {runs.agreement for runs in receipt.runs.values()} == {"bit for bit"}
    assert receipt.code is None, "the copy is no repository of git"
    text = path.read_text()
    for private in ("jroe-of-the-lab", str(tmp_path), str(computed.folder)):
        assert private not in text
    assert "is there already" in verify(
        computed, "--receipt", str(path.relative_to(computed.folder)), succeed=False
    )
    path.unlink()


def test_a_receipt_of_an_emulated_processor_says_so(computed, monkeypatch):
    monkeypatch.setitem(computed.environment, "ATEN_CPU_CAPABILITY", "default")
    receipt = receipt_of(computed, "--level", "seed")
    assert receipt.machine.emulated == {"ATEN_CPU_CAPABILITY": "default"}
    assert "ATEN" not in receipt.machine.processor


def test_a_failed_verification_has_a_receipt_too(computed):
    file = computed.folder / f"results/{STUDY}/verdicts/C3.json"
    another = read_verdict(file).model_copy(update={"verdict": "replicated"})
    with content(file, file.read_bytes()):
        write_verdict(file, another, json.loads(file.read_bytes())[PROVENANCE])
        receipt = receipt_of(computed, succeed=False)
    assert [claim for claim, found in receipt.verdicts.items() if not found.agrees] == ["C3"]
    assert receipt.differences == 1
    assert receipt.listed[0].quantity == "verdict on C3"
    assert receipt.listed[0].found.startswith("replicated by 10 seeds (0 of 1 hold")


def test_what_was_changed_is_refused_and_what_is_missing_is_named(computed):
    """And the advice helps."""
    file = f"results/{STUDY}/verdicts/C3.json"
    path = computed.folder / file
    before = path.read_bytes()
    path.write_bytes(before.replace(b'"does not hold"', b'"replicated"'))
    (computed.folder / FIGURE.replace(".pdf", ".csv")).unlink()
    output = verify(computed, succeed=False)
    assert "Not compared, as not here: figure fig1\n" in output
    assert f"changed after it was made; `snakemake --force {file}` makes it anew\n" in output
    computed.run("--force", file)
    assert path.read_bytes() == before
    assert "Equal to the reference: 1 figure, 3 verdicts" in verify(computed)


def test_a_receipt_of_a_reference_that_is_replaced_is_of_an_earlier_one(computed):
    manifest = reference_folder(computed.folder, STUDY) / "manifest.json"
    receipt = computed.folder / f"reproductions/{STUDY}/2026-01-31-here.json"
    digest = json.loads(manifest.read_text())["files"]["evidence.csv"]
    with content(manifest, manifest.read_bytes().replace(digest.encode(), b"0" * 64)):
        verify(computed, "--receipt", str(receipt.relative_to(computed.folder)), succeed=False)
        verify(computed, "--write")
        ((_, is_current, *_),) = reproductions(computed.folder, STUDY)
        assert not is_current
    receipt.unlink()


def test_figures_and_verdicts_are_computed_again(computed):
    figure = computed.folder / FIGURE.replace(".pdf", ".csv")
    verdict = computed.folder / f"results/{STUDY}/verdicts/C1.json"
    figure.write_text("variance\n")
    verdict.write_text(verdict.read_text().replace('"reproduced"', '"verified"'))
    assert EQUAL in verify(computed, "--level", "figure")


def test_what_an_overlay_removes_stays_removed():
    """As the whole configuration is passed on, and merged into the defaults again."""
    default = DEFAULTS.model_dump(mode="json")
    study, section = next((name, part) for name, part in default.items() if "sensitivity" in part)
    name = next(iter(section["sensitivity"]["variants"]))
    fewer = merge(default, {})
    fewer = json.loads(json.dumps(fewer))
    del fewer[study]["sensitivity"]["variants"][name]
    again = merge(default, _overlay_with_removals(fewer, default))
    assert again[study]["sensitivity"]["variants"].pop(name) is None
    assert again == fewer


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
