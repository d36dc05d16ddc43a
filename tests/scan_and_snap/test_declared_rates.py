"""What the registry declares of its tests is so: power, and that honest seeds do not alarm."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from replication.configuration import configure
from replication.jobs import Jobs
from replication.registry import Statistical
from replication.statistics import (
    pooled_std,
    prediction_test,
    t_test_above,
    trend_test,
    welch_equivalence,
)
from replication.study import find_studies
from replication.verification.judgement import Judged, Verdict, judge
from replication.verification.reference import (
    EVIDENCE,
    find_references,
    read_reference,
    reference_folder,
)

Key = tuple[str, str]

ROOT = Path(__file__).parents[2]

STUDIES = Jobs.of(configure({}, find_studies()), find_studies()).studies
REFERENCES = {
    study: read_reference(reference_folder(ROOT, study))[0] for study in find_references(ROOT)
}
# Claims by study and number, as two studies may number theirs alike.
CLAIMS = {
    (study, name): claim for study in REFERENCES for name, claim in STUDIES[study].claims.items()
}
STATISTICAL = [key for key, claim in CLAIMS.items() if isinstance(claim.test, Statistical)]
FAMILY = {key: [(key[0], name) for name in STUDIES[key[0]].family(key[1])] for key in CLAIMS}
EVIDENCE_OF = {
    (study, str(claim)): table.dropna(axis="columns", how="all")
    for study, reference in REFERENCES.items()
    for claim, table in reference.tables[EVIDENCE].groupby("claim")
}
REPLICATIONS = 100

of_claims = pytest.mark.parametrize("key", STATISTICAL, ids=" ".join)


@of_claims
def test_number_of_comparisons_and_seeds_is_as_declared(key):
    number = sum(EVIDENCE_OF[claim]["cell"].nunique() for claim in FAMILY[key])
    assert CLAIMS[key].test.power.comparisons == number
    assert CLAIMS[key].test.power.seeds == EVIDENCE_OF[key]["seed"].nunique()


@of_claims
def test_power_is_as_declared(key):
    """At the strictest level of the correction, within the error of the simulation."""
    test = CLAIMS[key].test
    level = test.level / test.power.comparisons
    levels = EVIDENCE_OF[key]["level"].nunique() if test.kind == "trend" else 1
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
def by_cell(key: Key) -> tuple[pd.DataFrame, np.ndarray]:
    """Evidence, seed by seed within each cell, and its values as [cells, seeds]."""
    keys = [column for column in ("sample", "cell", "level") if column in EVIDENCE_OF[key]]
    table = EVIDENCE_OF[key].sort_values([*keys, "seed"], ignore_index=True)
    return table, table["value"].to_numpy().reshape(-1, table["seed"].nunique())


def honest(key: Key, rng: np.random.Generator) -> pd.DataFrame:
    """The evidence of other seeds: normal, with the means and covariances of the reference."""
    table, values = by_cell(key)
    mean, seeds = values.mean(axis=1, keepdims=True), values.shape[1]
    weights = rng.normal(size=(seeds, seeds)) / np.sqrt(seeds - 1)
    return table.assign(value=(mean + (values - mean) @ weights).ravel())


@cache
def replications() -> dict[Key, list[Verdict]]:
    rng = np.random.default_rng(2)
    verdicts: dict[Key, list[Verdict]] = {key: [] for key in STATISTICAL}
    families = {tuple(FAMILY[key]) for key in STATISTICAL}
    for _ in range(REPLICATIONS):
        for family in sorted(families):
            drawn = [Judged(key[1], CLAIMS[key].test, honest(key, rng)) for key in family]
            found = judge(drawn)
            for key in family:
                verdicts[key].append(found[key[1]])
    return verdicts


@of_claims
def test_honest_replications_do_not_alarm(key):
    """A verdict on the paper turns into its opposite no more often than the level says."""
    opposite = {"replicated": "contradicted", "contradicted": "replicated"}
    before = REFERENCES[key[0]].verdicts[key[1]].verdict
    found = [verdict.verdict for verdict in replications()[key]]
    alarms = sum(verdict == opposite.get(before) for verdict in found)
    assert alarms <= CLAIMS[key].test.level * REPLICATIONS
