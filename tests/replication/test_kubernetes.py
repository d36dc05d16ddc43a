"""The profile for Kubernetes, as far as it can be tried without a cluster."""

import shutil
from pathlib import Path

import pytest
from conftest import FIGURE, Project

from replication.study import find_studies

PROFILE = ("--workflow-profile", "profiles/kubernetes")


def storage(folder: Path) -> list[str]:
    """Options that let a storage provider keep all files in a folder."""
    return ["--default-storage-provider", "fs", "--default-storage-prefix", str(folder)]


@pytest.mark.parametrize("targets", [[FIGURE], [*find_studies(), "report"]])
def test_dry_run_plans_the_jobs_of_a_local_run(project: Project, targets: list[str]) -> None:
    assert project.planned(*targets, *PROFILE) == project.planned(*targets)


@pytest.mark.skipif(not shutil.which("rsync"), reason="the storage provider copies with rsync")
def test_storage_keeps_the_same_bytes(finished_project: Project, tmp_path: Path) -> None:
    kept = tmp_path / "kept in storage"
    project = Project(tmp_path / "project")
    project.make_two_jobs()
    project.run(FIGURE, *storage(kept), "--shared-fs-usage", "none")
    expected = finished_project.files("figures", "results/example", "results/checksums")
    assert {name for name in expected if not (kept / name).is_file()} == set()
    for name, content in expected.items():
        assert content == (kept / name).read_bytes(), name
    assert not (project.folder / "figures").exists()
