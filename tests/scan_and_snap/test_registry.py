"""The registry is typed, complete, and names checks that exist."""

import ast
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import JOBS as ALL_JOBS
from pydantic import ValidationError
from settings_of_the_paper import REGISTRY, STUDY

from replication.base.errors import InputError
from replication.base.strict import read_yaml
from replication.documents.pages import StudyResults, claims_page
from replication.judge.verdicts import Comparison, Verdict
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.steps import StepsFile
from replication.run.program import main
from replication.study.claims import BEYOND, SHOWN, THEORY, Quote
from replication.study.registry import Registry, read_registry
from replication.study.studies import find_studies
from transformer_dynamics.scan_and_snap.claims.coupling import ALLOWED, similar_correlations
from transformer_dynamics.scan_and_snap.claims.errata import SMALLEST
from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
from transformer_dynamics.scan_and_snap.theory.updates import equal_correlations

ROOT = Path(__file__).parents[2]
AT_SCALE = "Verdicts on training are verdicts at this scale:"
REGISTRIES = {
    name: read_registry(study.folder / "registry.yaml") for name, study in find_studies().items()
}
PAPER = [REGISTRIES[name] for name in ("scan_and_snap", "scan_and_snap_text")]
COMPUTED = [
    claim
    for claim in REGISTRY.claims
    if claim.test and claim.test.kind == "bounds" and not claim.data
]
NOT_HOLDING = ["T19n", "A", "F", "R2", "R3", *(f"E{i}" for i in range(1, 8)), "E9"]


def jobs_of(**changes: object) -> Jobs:
    """Those of the study alone, under an overlay of it."""
    studies = {STUDY.name: STUDY}
    return Jobs.of(configure({STUDY.name: changes}, studies), studies)


JOBS = jobs_of()
WITH_A_QUERY_MORE = jobs_of(mixtures={"syn_small": {"num_last": 3}})


def evidence(claim: str, folder: Path, jobs: Jobs = JOBS) -> pd.DataFrame:
    """What the engine makes of a claim that takes no data."""
    output = folder / "evidence.parquet"
    order = jobs.ready(jobs.studies[STUDY.name].files.evidence[claim], [str(output)])
    told = StepsFile([order], folder)
    main([str(told)], standalone_mode=False)
    return pq.read_table(output).to_pandas()


# Quick tests judge each of these claims in `test_studies`, against the reference.
@pytest.mark.thorough
@pytest.mark.parametrize("claim", COMPUTED, ids=lambda claim: claim.id)
def test_deterministic_claims_are_measured_and_judged(claim, tmp_path):
    table = evidence(claim.id, tmp_path)
    assert list(table) == ["cell", "value"]
    assert 1 <= len(table) <= 12
    assert table["cell"].is_unique
    assert np.isfinite(table["value"]).all()
    lower, upper = (
        default if bound is None else bound
        for bound, default in ((claim.test.lower, -np.inf), (claim.test.upper, np.inf))
    )
    assert table["value"].between(lower, upper).all() == (claim.id not in NOT_HOLDING)


@pytest.mark.parametrize("claim", ["T3a", "T8e", "R1", "B"])
def test_evidence_is_that_of_the_configured_mixtures(claim, tmp_path):
    """One claim of every module that measures mixtures, with a query more in one of them."""
    paper = evidence(claim, tmp_path).set_index("cell")["value"]
    ours = evidence(claim, tmp_path, WITH_A_QUERY_MORE)
    ours = ours.set_index("cell")["value"]
    assert list(ours.index) == list(paper.index)
    changed = [cell for cell in paper.index if ours[cell] != paper[cell]]
    assert changed == [cell for cell in paper.index if cell.startswith(("Syn-Small", "syn_small"))]


def test_claims_that_do_not_hold_are_computed():
    assert {*NOT_HOLDING} <= {claim.id for claim in COMPUTED}


def test_cases_of_assumption_2_satisfy_it():
    for num_classes, size, rho in ALLOWED:
        assert assumption_2(similar_correlations(num_classes, rho), size).holds
    for num_classes, size, rho in SMALLEST:
        assert assumption_2(equal_correlations(num_classes, rho), size).holds
        assert not assumption_2(equal_correlations(num_classes, 0.95 * rho), size).holds


def test_claims_of_the_paper_stand_in_one_registry_only():
    claims = [claim.id for registry in PAPER for claim in registry.claims]
    assert len({*claims}) == len(claims)


class Judged(NamedTuple):
    """Kept results that have verdicts alone."""

    verdicts: dict[str, Verdict]


@pytest.mark.parametrize("name", REGISTRIES)
def test_table_has_every_claim(name):
    registry = REGISTRIES[name]
    judged = {
        claim.id: Verdict(
            claim=claim.id,
            verdict="does not hold",
            summary="0 of 1 hold",
            seeds=0,
            comparisons=[Comparison(cell="all", estimate=1, decision="fails")],
        )
        for claim in registry.claims
        if claim.test
    }
    told = StudyResults(replace(ALL_JOBS.studies[name], registry=registry), Judged(judged))
    lines = claims_page(told).splitlines()
    assert any(line.startswith(AT_SCALE) for line in lines) == bool(registry.scale)
    for claim in registry.claims:
        (line,) = (line for line in lines if f"</a>{claim.id} |" in line)
        late = ", declared late" * claim.declared_late
        said = f"does not hold{late}, 0 of 1 | 1 |" if claim.test else f"not tested{late} |"
        assert f"| {said}" in line


@pytest.mark.parametrize("registry", PAPER, ids=["synthetic", "text"])
def test_what_the_paper_claims_stands_there_in_its_words(registry):
    for claim in registry.claims:
        assert claim.group == BEYOND or claim.kind == "erratum" or claim.quote
    quote = {"words": "word " * 26, "place": "Abstract"}
    with pytest.raises(ValidationError, match="String should match pattern"):
        Quote.model_validate(quote)


def test_a_lemma_that_a_figure_shows_is_theory_and_what_needs_data_is_not():
    groups = {claim.id: claim.group for claim in REGISTRY.claims}
    assert {groups[name] for name in ("T1", "T6a", "T19g")} == {THEORY}
    assert {groups[name] for name in ("T7g", "T21a", "T22d")} == {SHOWN}
    assert groups["P2"] == BEYOND
    (untested, *_) = (claim for claim in REGISTRY.claims if claim.not_tested and claim.quote)
    shown = untested.model_copy(update={"kind": "claim", "figure": "fig6"})
    assert (shown.group, shown.model_copy(update={"figure": None}).group) == (SHOWN, THEORY)


def test_every_check_exists():
    claims = [claim for registry in REGISTRIES.values() for claim in registry.claims]
    named = {check for claim in claims for check in claim.checked_by}
    found = {
        f"{path.stem}.{node.name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    assert named <= found, sorted(named - found)


def claim(name: str, **changes: object) -> dict[str, object]:
    """A registry's one claim, with changes."""
    (found,) = (claim.model_dump() for claim in REGISTRY.claims if claim.id == name)
    return {"claims": [found | changes]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claimz": []}, "did you mean 'claims'?"),
        ({"title": ""}, "title: "),
        ({"claims": 2 * [REGISTRY.claims[0].model_dump()]}, "T1 is repeated"),
        (claim("T1", evidence=None), "a claim has quantity, expected, evidence, test and why, or"),
        (
            claim("T1", not_tested="No."),
            "a claim has quantity, expected, evidence, test and why, or",
        ),
        (claim("T1", test={"kind": "bounds"}), "lower or upper is needed"),
        (
            claim("T1", test={"kind": "bounds", "lower": 2, "upper": 1}),
            "lower must not be above upper",
        ),
        (claim("T1", figure="fig77"), "T1: unknown key 'fig77'; did you mean"),
    ],
)
def test_wrong_registry_is_refused(change, message):
    data = read_yaml(STUDY.folder / "registry.yaml") | {"compared_as_counts": []} | change
    with pytest.raises(InputError) as error:
        Registry.parse(data, "registry")
    assert message in error.value.message
