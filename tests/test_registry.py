"""The registry is typed, complete, and names measures and checks that exist."""

import ast
import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from transformer_dynamics.errors import InputError
from transformer_dynamics.generate import DEFAULTS, REGISTRY
from transformer_dynamics.registry import Registry, read_registry, to_markdown
from transformer_dynamics.scan_and_snap.claims.coupling import ALLOWED, similar_correlations
from transformer_dynamics.scan_and_snap.claims.errata import SMALLEST
from transformer_dynamics.scan_and_snap.parts import PARTS
from transformer_dynamics.scan_and_snap.theory.assumptions import assumption_2
from transformer_dynamics.scan_and_snap.theory.updates import equal_correlations
from transformer_dynamics.scan_and_snap.wikitext.claims import MEASURES

ROOT = Path(__file__).parents[1]
REGISTRIES = {name: read_registry(ROOT / part.registry) for name, part in PARTS.items()}
PAPER = REGISTRIES["synthetic"]
CLAIMS = [claim for registry in REGISTRIES.values() for claim in registry.claims]
COMPUTED = [
    claim for claim in PAPER.claims if claim.test and claim.test.kind == "bounds" and not claim.data
]
CONTRADICTED = ["T4c", "T14b", "T15d", "T19l", "T27b", *(f"E{i}" for i in range(1, 8)), "A", "B"]


def program(claim):
    return import_module(f"transformer_dynamics.scan_and_snap.claims.{claim.measure.split('.')[0]}")


def test_every_measure_exists():
    for claim in PAPER.claims:
        if claim.measure:
            assert callable(getattr(program(claim), claim.measure.split(".")[1]))


@pytest.mark.parametrize("claim", COMPUTED, ids=lambda claim: claim.id)
def test_deterministic_claims_are_measured_and_judged(claim, tmp_path):
    output = tmp_path / "evidence.parquet"
    settings = json.dumps({"measure": claim.measure.split(".")[1], "data": []})
    options = ["--settings", settings, "--output", str(output)]
    program(claim).main(options, standalone_mode=False)
    evidence = pq.read_table(output).to_pandas()
    assert list(evidence) == ["cell", "value"]
    assert 1 <= len(evidence) <= 12
    assert evidence["cell"].is_unique
    assert np.isfinite(evidence["value"]).all()
    lower, upper = (
        default if bound is None else bound
        for bound, default in ((claim.test.lower, -np.inf), (claim.test.upper, np.inf))
    )
    assert evidence["value"].between(lower, upper).all() == (claim.id not in CONTRADICTED)


def test_contradicted_claims_are_computed():
    assert {*CONTRADICTED} <= {claim.id for claim in COMPUTED}


def test_cases_of_assumption_2_satisfy_it():
    for num_classes, size, rho in ALLOWED:
        assert assumption_2(similar_correlations(num_classes, rho), size).holds
    for num_classes, size, rho in SMALLEST:
        assert assumption_2(equal_correlations(num_classes, rho), size).holds
        assert not assumption_2(equal_correlations(num_classes, 0.95 * rho), size).holds


def test_every_measure_on_text_exists():
    named = [claim.measure for claim in REGISTRIES["wikitext"].claims if claim.measure]
    assert {name.removeprefix("claims.") for name in named} == set(MEASURES)


def test_claims_stand_in_one_registry_only():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)


@pytest.mark.parametrize("registry", REGISTRIES.values(), ids=REGISTRIES)
def test_table_has_every_claim(registry):
    lines = to_markdown(registry).splitlines()
    for claim in registry.claims:
        (line,) = (line for line in lines if line.startswith(f"| {claim.id} |"))
        assert (claim.measure is None) == ("not tested: " in line)


def test_every_check_exists():
    named = {check for claim in CLAIMS for check in claim.checked_by}
    found = {
        f"{path.stem}.{node.name}"
        for path in (ROOT / "tests").glob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    assert named <= found, sorted(named - found)


def test_figures_exist():
    drawn = {
        "synthetic": DEFAULTS.scan_and_snap.figures.keys(),
        "wikitext": DEFAULTS.wikitext.figures.keys(),
    }
    for name, registry in REGISTRIES.items():
        named = {figure for assumption in registry.assumptions for figure in assumption.figures}
        named |= {claim.figure for claim in registry.claims if claim.figure}
        assert named <= drawn[name] == registry.figures.keys() & drawn[name]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claimz": []}, "did you mean 'claims'?"),
        ({"title": ""}, "title: "),
        ({"claims": 2 * [PAPER.claims[0].model_dump()]}, "T1 is repeated"),
        (
            {"claims": [PAPER.claims[0].model_dump() | {"measure": None}]},
            "T1: a claim has quantity, expected, measure and test, or says why",
        ),
        (
            {"claims": [PAPER.claims[0].model_dump() | {"not_tested": "No."}]},
            "T1: a claim has quantity, expected, measure and test, or says why",
        ),
        (
            {"claims": [PAPER.claims[0].model_dump() | {"test": {"kind": "bounds"}}]},
            "lower or upper is needed",
        ),
        (
            {
                "claims": [
                    PAPER.claims[0].model_dump()
                    | {"test": {"kind": "bounds", "lower": 2, "upper": 1}}
                ]
            },
            "lower (2) must not be above upper (1)",
        ),
        (
            {"claims": [PAPER.claims[0].model_dump() | {"figure": "fig77"}]},
            "T1: unknown key 'fig77'; did you mean",
        ),
        (
            {
                "claims": [
                    next(claim for claim in PAPER.claims if claim.id == "T22a").model_dump()
                    | {"data": []}
                ]
            },
            "T22a: a test over seeds needs data",
        ),
    ],
)
def test_wrong_registry_is_refused(change, message):
    data = yaml.safe_load((ROOT / REGISTRY).read_text()) | change
    with pytest.raises(InputError) as error:
        Registry.parse(data, "registry")
    assert message in error.value.message
