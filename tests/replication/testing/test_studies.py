"""Every study that is found goes through the same checks, at its smallest scale."""

import pytest

from replication.study.studies import find_studies
from replication.testing.conformance import CHECKS
from replication.testing.small import Processes, Small

STUDIES = find_studies()
EXTENTS = [
    pytest.param(True, id="quick"),
    pytest.param(False, marks=pytest.mark.thorough, id="all"),
]


@pytest.fixture(scope="module", params=EXTENTS)
def is_quick(request):
    return request.param


@pytest.fixture(scope="module")
def processes(is_quick):
    with Processes.start() as processes:
        yield processes


@pytest.fixture(scope="module", params=STUDIES)
def small(request, is_quick, processes, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return Small.compute(STUDIES[request.param], folder, is_quick=is_quick, processes=processes)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_study(small, check):
    check(small)
