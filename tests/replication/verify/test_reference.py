"""The reference: written, read, and refused if it was changed by hand."""

import numpy as np
import pytest
from small_reference import (
    EVIDENCE,
    RUNS,
    TEST,
    absent,
    changed,
    rows,
    small_reference,
    with_table,
)

from replication.base.errors import InputError
from replication.bundle.bundle import RARE_COLUMNS, read_bundle, write_bundle
from replication.bundle.computed import collect_evidence
from replication.bundle.judged import judge_again
from replication.judge.comparisons import Judged
from replication.judge.judgement import judge


@pytest.fixture
def reference():
    return small_reference()


def test_a_reference_is_read_as_it_was_written(reference, tmp_path):
    write_bundle(tmp_path, reference)
    read, edited = read_bundle(tmp_path)
    assert edited == []
    assert read.verdicts == reference.verdicts
    assert rows(reference, read) == []


def test_what_is_rare_in_evidence_is_kept_where_it_is(reference, tmp_path):
    """And the verdict that follows from the reference is the same."""
    diverged = EVIDENCE.assign(value=[np.nan] * 5, diverged=["fast"] * 4 + [""])
    judged = Judged("T1", TEST, diverged)
    assert "diverged" not in reference.tables["evidence.csv"]
    told = collect_evidence({"T1": judged.evidence, "T2": EVIDENCE})
    assert [name for name in told if name in RARE_COLUMNS] == [*RARE_COLUMNS]
    write_bundle(tmp_path, with_table(reference, "evidence.csv", told))
    (read, edited) = read_bundle(tmp_path)
    assert edited == []
    again = judge_again(read.tables["evidence.csv"], [{"T1": TEST}])
    assert again == judge([judged])
    assert again["T1"].verdict == "not tested"


def test_a_new_reference_leaves_nothing_of_the_old_one(reference, tmp_path):
    write_bundle(tmp_path, reference)
    write_bundle(
        tmp_path, changed(reference, tables={"evidence.csv": reference.tables["evidence.csv"]})
    )
    assert not (tmp_path / "figures/fig6.csv").exists()


def test_verdict_edited_by_hand_is_named_even_if_the_manifest_was_edited_too(reference, tmp_path):
    write_bundle(tmp_path, reference)
    file = tmp_path / "verdicts.json"
    file.write_text(file.read_text().replace('"replicated"', '"does not hold"'))
    read, edited = read_bundle(tmp_path)
    assert edited == ["verdicts.json"]
    (row,) = rows(changed(reference, verdicts={}), read)
    assert row["quantity"] == "verdict on T1"
    assert row["reference"].startswith("does not hold by 5 seeds")
    assert row["found"].startswith("replicated by 5 seeds (1 of 1 holds; the value is")


def test_sentence_and_numbers_of_a_verdict_are_kept_too(reference):
    verdict = reference.verdicts["T1"]
    told = verdict.model_copy(update={"summary": "All is well."})
    (row,) = rows(reference, changed(reference, verdicts={"T1": told}))[:1]
    assert "(All is well.)" in row["reference"]
    moved = verdict.comparisons[0].model_copy(update={"estimate": -9.0})
    numbers = verdict.model_copy(update={"comparisons": [moved]})
    listed = rows(changed(reference, verdicts={"T1": numbers}), reference)
    assert [row["quantity"] for row in listed] == ["estimate in row 1 (a, holds)"]


def test_dropped_runs_and_evidence_are_named(reference):
    fewer = reference.tables | {
        "fingerprints.csv": RUNS.head(1),
        "evidence.csv": RUNS.assign(claim=""),
    }
    assert absent(changed(reference, tables=fewer)) == ["claim T1", "1 runs of e"]


def test_a_foreign_file_in_the_reference_is_named(reference, tmp_path):
    write_bundle(tmp_path, reference)
    (tmp_path / "figures/fig7.csv").write_text("x\n1\n")
    assert read_bundle(tmp_path)[1] == ["figures/fig7.csv"]


def test_digests_that_look_like_numbers_stay_texts(reference, tmp_path):
    runs = RUNS.assign(digest=["0123456789012345", "123e456789012345"])
    write_bundle(tmp_path, with_table(reference, "fingerprints.csv", runs))
    assert read_bundle(tmp_path)[0].tables["fingerprints.csv"]["digest"].equals(runs["digest"])


def test_evidence_edited_by_hand_is_named(reference, tmp_path):
    write_bundle(tmp_path, reference)
    file = tmp_path / "evidence.csv"
    file.write_text(file.read_text().replace("-1.1", "9.1"))
    read, edited = read_bundle(tmp_path)
    assert edited == ["evidence.csv"]
    quantities = {row["quantity"] for row in rows(reference, read)}
    assert "verdict on T1" in quantities


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text("{"),
        lambda folder: (folder / "manifest.json").write_text("[]"),
        lambda folder: (folder / "evidence.csv").unlink(),
        lambda folder: (folder / "verdicts.json").write_text("3"),
        lambda folder: (folder / "verdicts.json").write_text('{"verdicts": [{"claim": "T1"}]}'),
        lambda folder: (folder / "evidence.csv").write_text("claim,cell\nT1,a\n"),
        lambda folder: edit(folder / "evidence.csv", "-1.1", "much"),
        lambda folder: edit(folder / "manifest.json", '"machine"', '"machinery"'),
        lambda folder: edit(folder / "manifest.json", '"evidence.csv"', '"evidenz.csv"'),
        lambda folder: edit(folder / "manifest.json", '"settings": {', '"settings": [], "x": {'),
    ],
)
def test_a_damaged_reference_is_refused(reference, tmp_path, damage):
    write_bundle(tmp_path, reference)
    damage(tmp_path)
    with pytest.raises(InputError) as error:
        read_bundle(tmp_path)
    assert str(tmp_path) in error.value.message
