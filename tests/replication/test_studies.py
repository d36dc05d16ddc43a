"""Every study that is found goes through the same checks, at its smallest scale."""

import pytest

from replication.study import find_studies
from replication.testing import CHECKS, Small

STUDIES = find_studies()


@pytest.fixture(scope="module", params=STUDIES)
def small(request, tmp_path_factory):
    return Small.computed(STUDIES[request.param], tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_study(small, check):
    check(small)
