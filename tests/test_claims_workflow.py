"""Claims in the workflow: from metrics to verdicts, against the lock, and what goes wrong."""

import json
import shutil

import pytest
import yaml
from conftest import ROOT, Project

VERDICT = "results/verdicts/T21c.json"
EVIDENCE = "results/scan_and_snap/evidence/T21c.parquet"


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("judged"))
    project.run(VERDICT)
    return project


def test_verdict_says_what_it_comes_from(judged):
    record = json.loads((judged.folder / VERDICT).read_text())
    assert record["claim"] == "T21c"
    assert record["seeds"] == 3
    assert record["comparisons"][0]["cell"] == "eta_Z 1"
    assert "scan_and_snap.claims.fig4" in record["provenance"]["code"]
    assert record["provenance"]["packages"].keys() >= {"numpy", "pandas"}


def test_only_what_a_claim_depends_on_is_judged_again(judged):
    assert judged.planned(VERDICT) == {}
    registry = judged.folder / "papers/scan_and_snap.yaml"
    before = registry.read_text()
    data = yaml.safe_load(before)
    claim = next(claim for claim in data["claims"] if claim["id"] == "T21c")
    claim["note"] = "Another note."
    registry.write_text(yaml.safe_dump(data))
    assert judged.planned(VERDICT) == {}
    claim["test"]["upper"] = -1
    registry.write_text(yaml.safe_dump(data))
    assert judged.planned(VERDICT) == {"verdict": 1}
    claim["statement"] = ""
    registry.write_text(yaml.safe_dump(data))
    assert "statement: String should have at least 1 character" in judged.run(
        VERDICT, succeed=False
    )
    registry.write_text(before)


def test_damaged_evidence_is_refused(judged):
    evidence, verdict = judged.folder / EVIDENCE, judged.folder / VERDICT
    whole, before = evidence.read_bytes(), verdict.read_bytes()
    evidence.write_bytes(whole[:500])
    output = judged.run(VERDICT, "--forcerun", "verdict", succeed=False)
    assert f"Error: {EVIDENCE}: truncated, damaged or not made by this project" in output
    evidence.write_bytes(whole)
    judged.run(VERDICT)
    assert verdict.read_bytes() == before


def test_claim_on_an_unknown_experiment_is_refused(project):
    project.edit(
        "papers/scan_and_snap.yaml",
        "data: [{experiment: random_start, metric: attention}]",
        "data: [{experiment: random_stort, metric: attention}]",
    )
    output = project.run(VERDICT, succeed=False)
    assert "unknown key 'random_stort'; did you mean 'random_start'?" in output


@pytest.fixture
def locked(project):
    """A project with the lock of the results."""
    shutil.copytree(ROOT / "results/reference", project.folder / "results/reference")
    return project


def test_the_lock_belongs_to_this_code_and_its_verdicts_follow_from_its_evidence(locked):
    output = locked.verify("--level", "hash")
    assert "Equal to the lock: 0 figures, 0 verdicts, 0 runs." in output
    assert "T22d  reproduced    64 of 64 hold" in output


def test_what_is_cached_is_held_against_the_lock(locked):
    reference = locked.folder / "results/reference/figures/fig6.csv"
    figure = locked.folder / "figures/fig6.csv"
    figure.parent.mkdir()
    figure.write_bytes(reference.read_bytes())
    assert "Equal to the lock: 1 figures" in locked.verify()
    figure.write_text(reference.read_text().replace("authors", "other", 1))
    output = locked.verify(succeed=False)
    assert "figures/fig6.csv: stream in row 1 is other, locked authors (tolerance: exact)" in output
    assert "1 differences from the lock; all of them are in results/differences.csv" in output


def test_verdict_edited_by_hand_fails_and_is_named(locked):
    file = locked.folder / "results/reference/verdicts.json"
    verdicts = json.loads(file.read_text())
    edited = next(verdict for verdict in verdicts["verdicts"] if verdict["claim"] == "T22c")
    edited["verdict"] = "replicated"
    file.write_text(json.dumps(verdicts))
    output = locked.verify(succeed=False)
    assert "verdicts.json: content is changed by hand, locked as locked" in output
    assert "verdict on T22c is contradicted by 10 seeds (12 of 16 hold" in output


@pytest.mark.parametrize(
    ("path", "old", "new", "named"),
    [
        ("papers/scan_and_snap/fig6_published.csv", "1.971", "1.571", "settings: claim T22d is"),
        (
            "config/config.yaml",
            "last: 0.038",
            "last: 0.06",
            "settings: figure fig11 is",
        ),
        (
            "src/transformer_dynamics/scan_and_snap/stages/sample.py",
            "job.sampling, seed)",
            "job.sampling, seed + 1)",
            "code: scan_and_snap.stages.sample is",
        ),
        (
            "src/transformer_dynamics/verification/differences.py",
            '"same processor", 0, 0',
            '"same processor", 9, 9',
            "code: verification.differences is",
        ),
    ],
)
def test_whatever_a_number_depends_on_is_locked(locked, path, old, new, named):
    file = locked.folder / path
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    assert named in locked.verify(succeed=False)


def test_what_an_overlay_adds_is_not_an_error_but_cannot_be_locked(locked):
    merged = yaml.safe_load((locked.folder / "config/config.yaml").read_text())
    merged["scan_and_snap"]["figures"]["mine"] = {"drawing": "fig1", "mixture": "syn_small"}
    (locked.folder / "mine.yaml").write_text(yaml.safe_dump(merged, sort_keys=False))
    assert "Not locked: figure mine" in locked.verify("--configuration", "mine.yaml")
    output = locked.verify("--configuration", "mine.yaml", "--lock", succeed=False)
    assert "only results of the default configuration are locked" in output


def test_changed_code_fails_until_it_is_locked_anew(locked):
    locked.edit(
        "src/transformer_dynamics/scan_and_snap/claims/fig6.py", "THRESHOLD = 2", "THRESHOLD = 5"
    )
    assert "code: scan_and_snap.claims.fig6 is " in locked.verify(succeed=False)


def test_entropy_in_bits_fails_verification_from_end_to_end(locked):
    locked.edit(
        "src/transformer_dynamics/scan_and_snap/metrics.py",
        "c * np.log(np.where(c > 0, c, 1))",
        "c * np.log2(np.where(c > 0, c, 1))",
    )
    locked.run("results/verdicts/T22d.json", quick=False)
    output = locked.verify(succeed=False)
    assert "results: verdict on T22d is contradicted (" in output
    assert "code: scan_and_snap.metrics is " in output


def test_missing_lock_is_one_sentence(locked):
    (locked.folder / "results/reference/manifest.json").unlink()
    output = locked.verify(succeed=False)
    assert output.startswith("Error: results/reference/manifest.json: cannot be read")
