"""The registry is typed, complete, and names checks that exist."""

import ast
from pathlib import Path

import pytest
import yaml

from transformer_dynamics.errors import InputError
from transformer_dynamics.generate import DEFAULTS, REGISTRY
from transformer_dynamics.registry import Registry, read_registry

ROOT = Path(__file__).parents[1]
PAPER = read_registry(ROOT / REGISTRY)


def test_every_claim_is_there():
    assert [claim.id for claim in PAPER.claims] == [f"T{number}" for number in range(1, 30)]


def test_every_check_exists():
    named = {check for claim in PAPER.claims for check in claim.checked_by}
    found = {
        f"{path.stem}.{node.name}"
        for path in (ROOT / "tests").glob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    assert named <= found, sorted(named - found)


def test_assumptions_name_figures_that_exist():
    named = {figure for assumption in PAPER.assumptions for figure in assumption.figures}
    assert named <= DEFAULTS.scan_and_snap.figures.keys()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"claimz": []}, "did you mean 'claims'?"),
        ({"title": ""}, "title: "),
        ({"claims": 2 * [PAPER.claims[0].model_dump()]}, "T1 is repeated"),
        ({"claims": [PAPER.claims[0].model_dump() | {"checked_by": []}]}, "T1: a claim is 'not"),
    ],
)
def test_wrong_registry_is_refused(change, message):
    data = yaml.safe_load((ROOT / REGISTRY).read_text()) | change
    with pytest.raises(InputError) as error:
        Registry.parse(data, "registry")
    assert message in error.value.message
