"""Every study that is found goes through the same checks, at its smallest scale."""

from pathlib import Path

import pytest
from conftest import JOBS, ROOT

from replication.bundle.bundle import read_verdicts, reference_folder
from replication.judge.scorecard import read_verdict
from replication.study.studies import find_studies
from replication.testing.conformance import CHECKS
from replication.testing.small import Small

STUDIES = find_studies()
WITHOUT_FORMULAS = {"scan_and_snap_text"}
"""Studies all of whose claims take runs."""
EXTENTS = [
    pytest.param(True, id="quick"),
    pytest.param(False, marks=pytest.mark.thorough, id="all"),
]


@pytest.fixture(scope="module", params=EXTENTS)
def is_quick(request):
    return request.param


@pytest.fixture(scope="module", params=STUDIES)
def small(request, is_quick, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return Small.compute(STUDIES[request.param], folder, is_quick=is_quick)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_study(small, check):
    check(small)


def test_claims_whose_evidence_is_of_any_scale_are_judged_as_in_the_reference(small):
    """As that of claims about formulas: they take no runs, and no setting that is small here."""
    known = read_verdicts(reference_folder(ROOT, small.study.name))
    evidence = small.parts.files.evidence
    same = [
        claim
        for claim in evidence.keys() & known.keys()
        if small.jobs.recipe(evidence[claim]) == JOBS.recipe(evidence[claim])
    ]
    verdicts = small.parts.files.verdicts
    found = {claim: read_verdict(small.folder / Path(verdicts[claim])).verdict for claim in same}
    assert found == {claim: known[claim].verdict for claim in same}
    assert bool(same) == (small.study.name not in WITHOUT_FORMULAS)
