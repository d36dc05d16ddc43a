"""Of the tests as they are used: wrong verdicts are rare, and honest seeds do not alarm."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import JOBS
from judged_at_once import Asked, Found, Samples, judge_at_once

from replication.bundle.bundle import EVIDENCE, find_references, read_bundle, reference_folder
from replication.judge import judgement
from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.study.claims import Equivalence, Statistical, Test

Key = tuple[str, str]
Draw = Callable[[int], np.ndarray]

ROOT = Path(__file__).parents[2]

STUDIES = JOBS.studies
REFERENCES = {
    study: read_bundle(reference_folder(ROOT, study))[0] for study in find_references(ROOT)
}
# Claims by study and number, as two studies may number theirs alike.
CLAIMS = {
    (study, name): claim for study in REFERENCES for name, claim in STUDIES[study].claims.items()
}
EVIDENCE_OF = {
    (study, str(claim)): table.dropna(axis="columns", how="all")
    for study, reference in REFERENCES.items()
    for claim, table in reference.tables[EVIDENCE].groupby("claim")
}
ROBUSTNESS = {
    study: [each.cells for each in STUDIES[study].registry.robustness] for study in REFERENCES
}


def is_counted(key: Key) -> np.ndarray:
    """[cells], in the order of their names."""
    names = sorted(EVIDENCE_OF[key]["cell"].unique())
    return np.array([not any(text in name for text in ROBUSTNESS[key[0]]) for name in names])


# Claims that the runs of the reference are not in the regime of have no evidence.
STATISTICAL = [
    key
    for key in EVIDENCE_OF
    if key in CLAIMS and isinstance(CLAIMS[key].test, Statistical) and is_counted(key).any()
]
FAMILIES = [
    [key for key in STATISTICAL if key[0] == study and key[1] in family]
    for study, family in sorted(
        {(key[0], tuple(STUDIES[key[0]].family(key[1]))) for key in STATISTICAL}
    )
]
REPLICATIONS = 100
FEWEST_RESAMPLED = 10
"""Seeds."""
SKEWED = {
    ("scan_and_snap", "T13c"): 3,
    ("scan_and_snap", "T20d"): 16,
    ("gradient_heterogeneity", "H9f"): 4,
}
"""How many times the level a test errs at most, where seeds are skewed; twice elsewhere."""

of_claims = pytest.mark.parametrize("key", STATISTICAL, ids=" ".join)


@cache
def samples_of(key: Key) -> list[tuple[str, pd.DataFrame, np.ndarray]]:
    """Name, sorted evidence and values [cells, seeds] of every sample."""
    evidence = EVIDENCE_OF[key]
    parts = evidence.groupby("sample") if "sample" in evidence else [("", evidence)]
    tables = [(name, part.sort_values(["cell", "seed"], ignore_index=True)) for name, part in parts]
    return [
        (name, table, table["value"].to_numpy().reshape(-1, table["seed"].nunique()))
        for name, table in tables
    ]


def drawn(family: list[Key], draw: Draw, replications: int, null: bool) -> dict[Key, Samples]:
    """The seeds of replications: of every comparison its mean, and its deviations mixed by weights.

    Args:
        family: studies and claims; what they measure of the same seeds stays correlated.
        draw: weights from a number of seeds, [seeds, other seeds].
        replications: how many.
        null: whether every mean is moved to where the claim just does not hold.
    """
    sizes = dict.fromkeys(values.shape[1] for key in family for *_, values in samples_of(key))
    weights = [{seeds: draw(seeds) for seeds in sizes} for _ in range(replications)]
    mixed = {seeds: np.array([each[seeds] for each in weights]) for seeds in sizes}
    found: dict[Key, Samples] = {}
    for key in family:
        found[key] = {}
        for name, _, values in samples_of(key):
            mean = values.mean(axis=1, keepdims=True)
            centre = edge(CLAIMS[key].test, values, name) if null else mean
            found[key][name] = centre + (values - mean) @ mixed[values.shape[1]]
    return found


def table_of(key: Key, samples: Samples, replication: int) -> pd.DataFrame:
    """The evidence of one of the replications."""
    tables = [
        table.assign(value=samples[name][replication].ravel()) for name, table, _ in samples_of(key)
    ]
    return pd.concat(tables, ignore_index=True)


def edge(test: Test, values: np.ndarray, sample: str) -> np.ndarray:
    """[cells, 1] where the range of a test ends."""
    if isinstance(test, Equivalence):
        spread = values.std(axis=1, ddof=1, keepdims=True)
        return test.margin * spread if sample == "ours" else 0 * spread
    matters = test.smallest_effect or 0
    bound = test.lower + matters if test.lower is not None else test.upper - matters
    return np.full((len(values), 1), bound)


def honest(rng: np.random.Generator) -> Draw:
    """Normal seeds with the covariances of the reference."""
    return lambda seeds: rng.normal(size=(seeds, seeds)) / np.sqrt(seeds - 1)


def resampled(rng: np.random.Generator) -> Draw:
    """Seeds drawn from those of the reference, with their spreads, skewness and correlations."""
    return lambda seeds: np.eye(seeds)[:, rng.integers(seeds, size=seeds)]


def judged(samples: dict[Key, Samples]) -> dict[Key, Found]:
    """What is found of a family."""
    family = [Asked(CLAIMS[key].test, each, is_counted(key)) for key, each in samples.items()]
    found = judge_at_once(family)
    return dict(zip(samples, found, strict=True))


@pytest.mark.parametrize(
    ("draw", "null"),
    [
        pytest.param(honest, False, id="honest seeds"),
        pytest.param(resampled, True, id="wrong claims"),
    ],
)
def test_judgements_at_once_are_those_of_judge(draw, null, monkeypatch):
    # It decides nothing, and would take most of the time.
    monkeypatch.setattr(judgement, "resolution", lambda *_: None)
    rng = np.random.default_rng(4)
    for family in FAMILIES:
        samples = drawn(family, draw(rng), 1, null)
        one_by_one = judge(
            [
                Judged(key[1], CLAIMS[key].test, table_of(key, samples[key], 0), ROBUSTNESS[key[0]])
                for key in family
            ]
        )
        for key, at_once in judged(samples).items():
            expected = one_by_one[key[1]]
            assert at_once.verdicts == [expected.verdict], key
            comparisons = sorted(expected.comparisons, key=lambda item: item.cell)
            decisions = [item.decision for item in comparisons]
            assert at_once.decisions[0].tolist() == decisions, key
            for name, p in at_once.p.items():
                expected_p = [getattr(item, name) for item in comparisons]
                np.testing.assert_allclose(p[0], expected_p, rtol=1e-6, atol=1e-300)


@cache
def replications() -> dict[Key, list[str]]:
    """Verdicts."""
    rng = np.random.default_rng(2)
    verdicts: dict[Key, list[str]] = {}
    for family in FAMILIES:
        samples = drawn(family, honest(rng), REPLICATIONS, False)
        verdicts |= {key: found.verdicts for key, found in judged(samples).items()}
    return verdicts


@of_claims
def test_honest_replications_do_not_alarm(key):
    """A verdict on the paper turns into its opposite no more often than the level says."""
    opposite = {"replicated": "does not hold", "does not hold": "replicated"}
    before = REFERENCES[key[0]].verdicts[key[1]].verdict
    alarms = sum(verdict == opposite.get(before) for verdict in replications()[key])
    assert alarms <= CLAIMS[key].test.level * REPLICATIONS


TESTED = [key for key in STATISTICAL if REFERENCES[key[0]].verdicts[key[1]].resolution]


@pytest.mark.parametrize("key", TESTED, ids=" ".join)
def test_a_wrong_claim_is_seldom_said_to_hold(key):
    """At the edge of its range, with the spreads and the skewness of the seeds as they are.

    The level is that of normal seeds. Of ten skewed ones a t test errs several times as often, as
    in T20d and H9f, where one of 48 or of eleven comparisons is enough to err; in T20d every single
    seed is within the bound. Fewer seeds do not show how skewed they are, so normal ones stand in
    for them: of five, drawn again from themselves, one normal sample in ten would seem to err in a
    quarter of all cases.
    """
    rng = np.random.default_rng(3)
    test = CLAIMS[key].test
    draw = resampled if REFERENCES[key[0]].verdicts[key[1]].seeds >= FEWEST_RESAMPLED else honest
    (found,) = judged(drawn([key], draw(rng), REPLICATIONS, True)).values()
    wrong = (found.decisions[:, is_counted(key)] == "holds").any(axis=1).sum()
    most = SKEWED.get(key, 2) * test.level
    assert wrong <= most * REPLICATIONS + 3 * np.sqrt(test.level * REPLICATIONS), wrong


@of_claims
def test_what_a_claim_resolves_is_said(key):
    """By every verdict on means over seeds; too few make none."""
    verdict = REFERENCES[key[0]].verdicts[key[1]]
    is_median = getattr(CLAIMS[key].test, "center", "mean") == "median"
    assert (verdict.resolution is None) == (verdict.verdict == "not tested" or is_median)
