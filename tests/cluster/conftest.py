"""The Slurm that tests share."""

from collections.abc import Iterator

import pytest
from conftest import Project

from cluster.daemons import Slurm, running_slurm, why_not
from cluster.runs import ClusterProject


@pytest.fixture(scope="session")
def installed() -> None:
    if reason := why_not():
        pytest.skip(f"because Slurm cannot be brought up here: {reason}")


@pytest.fixture(scope="session")
def slurm(installed: None) -> Iterator[Slurm]:
    with running_slurm() as slurm:
        yield slurm


@pytest.fixture
def project(project: Project) -> Project:
    return project.one_seed_per_job()


@pytest.fixture
def cluster_project(project: Project, slurm: Slurm) -> ClusterProject:
    return ClusterProject(project, slurm)
