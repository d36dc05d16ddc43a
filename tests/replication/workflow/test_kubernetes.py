"""The profile for Kubernetes, as far as it can be tried without a cluster."""

import shutil
from pathlib import Path

import pytest
from conftest import FIGURE, STUDIES, Project, Template

PROFILE = ("--workflow-profile", "profiles/kubernetes")
MADE = ("figures", "results/example", "results/checksums")
OTHERS = ("fingerprint.parquet", ".svg")
"""Of the same runs and figure, which the figure does not need."""


def storage(folder: Path) -> list[str]:
    """Options that let a storage provider keep all files in a folder."""
    return ["--default-storage-provider", "fs", "--default-storage-prefix", str(folder)]


def test_dry_run_plans_the_jobs_of_a_local_run(template: Template) -> None:
    targets = ["example", "report"]
    assert template.planned(*targets, *PROFILE) == template.planned(*targets)


@pytest.mark.thorough
def test_dry_run_plans_the_jobs_of_a_local_run_of_all_studies(project: Project) -> None:
    targets = [*STUDIES, "report"]
    assert project.planned(*targets, *PROFILE) == project.planned(*targets)


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("rsync"), reason="the storage provider copies with rsync")
def test_storage_keeps_the_same_bytes(finished: Template, tmp_path: Path) -> None:
    kept = tmp_path / "kept in storage"
    project = Template(tmp_path / "project")
    project.run(FIGURE, *storage(kept), "--shared-fs-usage", "none")
    printed = {
        path: content
        for path, content in finished.files(*MADE).items()
        if "printed" in path or "fig1" in path
    }
    expected = {path: content for path, content in printed.items() if not path.endswith(OTHERS)}
    assert len(expected) == 6
    assert {name for name in expected if not (kept / name).is_file()} == set()
    for name, content in expected.items():
        assert content == (kept / name).read_bytes(), name
    assert not (project.folder / "figures").exists()
