"""The project in which faults are injected: of many jobs."""

import pytest
from conftest import Project


@pytest.fixture
def project(project: Project) -> Project:
    return project.one_seed_per_job()
