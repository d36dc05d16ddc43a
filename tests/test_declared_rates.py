"""What the registry declares of its tests is so: power, and that honest seeds do not alarm."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from transformer_dynamics.registry import Statistical, read_registry
from transformer_dynamics.scan_and_snap.parts import PARTS
from transformer_dynamics.stats import (
    pooled_std,
    prediction_test,
    t_test_above,
    trend_test,
    welch_equivalence,
)
from transformer_dynamics.verification.judgement import Judged, Verdict, judge
from transformer_dynamics.verification.lock import read_lock
from transformer_dynamics.verify import read_configuration

ROOT = Path(__file__).parents[1]

PLANS = [
    part.plan(
        read_configuration(ROOT / "config/config.yaml", part.overlay and ROOT / part.overlay),
        read_registry(ROOT / part.registry),
    )
    for part in PARTS.values()
]
LOCKS = [read_lock(ROOT / part.lock)[0] for part in PARTS.values()]
CLAIMS = {name: claim for plan in PLANS for name, claim in plan.claims.items()}
STATISTICAL = {name: claim for name, claim in CLAIMS.items() if isinstance(claim.test, Statistical)}
FAMILIES = [
    [member.claim for member in family.members] for plan in PLANS for family in plan.families
]
FAMILY = {name: family for family in FAMILIES for name in family}
LOCKED = {name: verdict for lock in LOCKS for name, verdict in lock.verdicts.items()}
EVIDENCE = {
    str(claim): table.dropna(axis="columns", how="all")
    for lock in LOCKS
    for claim, table in lock.tables["evidence.csv"].groupby("claim")
}
REPLICATIONS = 200


@pytest.mark.parametrize("name", STATISTICAL)
def test_number_of_comparisons_and_seeds_is_as_declared(name):
    number = sum(EVIDENCE[claim]["cell"].nunique() for claim in FAMILY[name])
    assert STATISTICAL[name].test.power.comparisons == number
    assert STATISTICAL[name].test.power.seeds == EVIDENCE[name]["seed"].nunique()


@pytest.mark.parametrize("name", STATISTICAL)
def test_power_is_as_declared(name):
    """At the strictest level of the correction, within the error of the simulation."""
    test = STATISTICAL[name].test
    level = test.level / test.power.comparisons
    levels = EVIDENCE[name]["level"].nunique() if test.kind == "trend" else 1
    margin = getattr(test, "margin", 0)
    simulated = power(test.kind, test.power.effect, test.power.seeds, levels, level, margin)
    declared = test.power.probability
    assert simulated == pytest.approx(declared, abs=0.05)


@cache
def power(kind: str, effect: float, seeds: int, levels: int, level: float, margin: float) -> float:
    rng = np.random.default_rng(1)
    passed = []
    for _ in range(800):
        own, other = rng.normal(size=(2, seeds))
        if kind == "interval":
            passed.append(t_test_above(own + effect, 0) <= level)
        elif kind == "trend":
            values = rng.normal(size=(seeds, levels)) + np.linspace(0, effect, levels)
            passed.append(trend_test(values, "rises") <= level)
        elif kind == "equivalence":
            distance = margin * pooled_std(own, other)
            passed.append(welch_equivalence(own + effect, other, distance) <= level)
        else:
            passed.append(prediction_test(own + effect, float(other.mean()), seeds) <= level)
    return float(np.mean(passed))


@cache
def by_cell(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The locked evidence, seed by seed within each cell, and its values as [cells, seeds]."""
    keys = [column for column in ("sample", "cell", "level") if column in EVIDENCE[name]]
    table = EVIDENCE[name].sort_values([*keys, "seed"], ignore_index=True)
    return table, table["value"].to_numpy().reshape(-1, table["seed"].nunique())


def honest(name: str, rng: np.random.Generator) -> pd.DataFrame:
    """The evidence of other seeds: normal, with the means and covariances of the locked ones."""
    table, values = by_cell(name)
    mean, seeds = values.mean(axis=1, keepdims=True), values.shape[1]
    weights = rng.normal(size=(seeds, seeds)) / np.sqrt(seeds - 1)
    return table.assign(value=(mean + (values - mean) @ weights).ravel())


@cache
def replications() -> dict[str, list[Verdict]]:
    rng = np.random.default_rng(2)
    verdicts: dict[str, list[Verdict]] = {name: [] for name in STATISTICAL}
    families = {tuple(FAMILY[name]) for name in STATISTICAL}
    for _ in range(REPLICATIONS):
        for family in sorted(families):
            drawn = [Judged(name, CLAIMS[name].test, honest(name, rng)) for name in family]
            for name, verdict in judge(drawn).items():
                verdicts[name].append(verdict)
    return verdicts


@pytest.mark.parametrize("name", STATISTICAL)
def test_honest_replications_do_not_alarm(name):
    """A verdict on the paper turns into its opposite no more often than the level says."""
    opposite = {"replicated": "contradicted", "contradicted": "replicated"}
    locked = LOCKED[name].verdict
    found = [verdict.verdict for verdict in replications()[name]]
    alarms = sum(verdict == opposite.get(locked) for verdict in found)
    assert alarms <= STATISTICAL[name].test.level * REPLICATIONS
