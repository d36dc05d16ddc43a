"""No claim about training is replicated by a model that was not trained."""

import numpy as np
import pandas as pd
import pytest
from conftest import STUDIES
from evidence_of_claims import evidence_of
from settings_of_the_paper import PAPER, REGISTRY

from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.judge.verdicts import Verdict
from transformer_dynamics.scan_and_snap.claims.tables import Measured
from transformer_dynamics.scan_and_snap.metrics.attention import (
    entropy_on_distinct,
    recall_of_distinct,
)
from transformer_dynamics.scan_and_snap.metrics.growth import GROWTH, growth
from transformer_dynamics.scan_and_snap.theory.attention import (
    attention_weights,
    unnormalised_attention,
)
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.training.initialization import initial_matrices

# No claim without training

CLAIMS = {claim.id: claim for claim in REGISTRY.claims}
SEEDS = list(range(1, 11))
NOT_REPLICATED = {"does not hold", "open"}
RECORDED = [0, 20, 40, 160, 320, 500]

# Left out, because a model that does not move satisfies or cannot show them: T20b (attention does
# not collapse), C, T7i and T27e (it stays the same); T14c, T19q, T20a, T20f and T20g are 0/0. T15f
# has its own test.
BY_TOKEN = [
    "T16b", "T16c", "T17b", "T17c", "T18b", "T21a", "T21b", "T21d", "T23a", "T23b", "T13c", "P1",
]  # fmt: skip
BY_CELL = ["T7g", "T7h", "P3", "T22a", "T22b", "T22c", "T26a", "T26b"]


def judged(claim: str, *measured: Measured) -> Verdict:
    """By the registry's measure and test, alone, so that no correction hides a wrong verdict."""
    used = {key: getattr(PAPER, key) for key in CLAIMS[claim].uses}
    table = evidence_of(STUDIES["scan_and_snap"], CLAIMS[claim], *measured, **used)
    return judge([Judged(claim, CLAIMS[claim].test, table)])[claim]


def untrained(claim: str, noise: float = 0, drift: float = 0) -> Measured:
    """The metric of a claim on attention that stays where the experiment starts it.

    Args:
        claim: number of the claim.
        noise: standard deviation of each z_ml recorded after the start; it does not accumulate.
        drift: how far training moves the logits by its end, at the lowest rates: tokens go up
            with their initial attention, common ones down.
    """
    (source,) = CLAIMS[claim].data
    job = PAPER.metric_job(source.experiment, source.metric, "cpu")
    iterations = RECORDED if job.sampling.steps > 100 else [0, 100]
    rng = np.random.default_rng(5)
    tables = [
        _untrained(job, name, mixture, iterations, noise, drift, rng)
        for name, mixture in job.mixtures.items()
    ]
    table = pd.concat(tables, ignore_index=True)
    return Measured(table.sample(frac=1, random_state=1, ignore_index=True), job)


def _untrained(job, name, mixture, iterations, noise, drift, rng) -> pd.DataFrame:
    classes = sequence_classes(mixture)
    cells = job.training.cells
    shape = (len(SEEDS), len(iterations), len(cells), mixture.num_last, mixture.vocabulary_size)
    if job.training.initialization == "zero":
        starts = [initial_matrices(mixture, "zero", job.sampling.stream, 1) for _ in SEEDS]
    else:
        starts = [initial_matrices(mixture, "uniform", job.sampling.stream, seed) for seed in SEEDS]
    z = np.array([initial.attention_logits[classes.query_tokens] for initial in starts])
    z = np.broadcast_to(z[:, None, None], shape)
    later = (np.array(iterations) > 0)[:, None, None, None]
    z = z + noise * later * rng.normal(size=shape)
    if drift:
        pace = drift / np.arange(1, len(cells) + 1)[:, None, None]
        done = (np.array(iterations) / iterations[-1])[:, None, None, None]
        common = np.arange(mixture.vocabulary_size) < len(mixture.common_weights)
        weights = np.zeros(classes.vocabulary_size)
        weights[classes.support] = classes.probabilities
        start = weights * np.exp(z[:, :1])
        top = np.where(common, 0, start).max(axis=-1, keepdims=True)
        z = z + pace * done * np.where(common, -1, start / top)
    values, axes = _metric(job, name, classes, z)
    index = pd.MultiIndex.from_product(
        [SEEDS, iterations, cells, *axes.values()], names=["seed", "iteration", "cell", *axes]
    )
    table = pd.DataFrame({job.metric: values.ravel()}, index=index).reset_index()
    rates = pd.DataFrame(table.pop("cell").tolist(), columns=["eta_z", "ratio"])
    return table.join(rates).assign(mixture=name, num_last=mixture.num_last)


def _metric(job, name, classes, z) -> tuple[np.ndarray, dict]:
    if job.metric == "entropy":
        return entropy_on_distinct(classes, z), {}
    if job.metric == "growth":
        return np.moveaxis(growth(classes, np.moveaxis(z, 1, 0)), 0, 1), {"quantity": GROWTH}
    if job.metric == "recall":
        spacing = job.recall_thresholds[name]
        thresholds = np.linspace(spacing.first, spacing.last, spacing.count)
        return recall_of_distinct(classes, z, thresholds), {"threshold": thresholds}
    weights = attention_weights if job.metric == "attention" else unnormalised_attention
    on_support = weights(classes, z)
    values = np.zeros((*on_support.shape[:-1], classes.num_contextual))
    np.put_along_axis(values, np.broadcast_to(classes.support, on_support.shape), on_support, -1)
    numbers = range(1, len(classes.support) + 1)
    return values, {"sequence_class": numbers, "token": range(classes.num_contextual)}


def replicates_nothing(verdict: Verdict) -> bool:
    """Seeds that do not differ at all are not tested, but what they have must not hold either."""
    if verdict.verdict == "not tested":
        is_constant = "do not differ; " in verdict.summary
        return is_constant and any(item.decision != "holds" for item in verdict.comparisons)
    return verdict.verdict in NOT_REPLICATED


@pytest.mark.parametrize("noise", [0, 0.02])
@pytest.mark.parametrize("claim", [*BY_TOKEN, *BY_CELL, "T11c"])
def test_untrained_attention_replicates_nothing(claim, noise):
    assert replicates_nothing(judged(claim, untrained(claim, noise)))


@pytest.mark.parametrize("claim", BY_TOKEN)
def test_attention_that_moves_as_claimed_is_replicated(claim):
    """Otherwise the test above would hold for a verifier that rejects everything."""
    assert judged(claim, untrained(claim, noise=0.005, drift=3)).verdict == "replicated"


def test_distinct_tokens_rise_by_less_than_one_percent():
    """Not so much, and not the other way."""
    verdicts = [judged("T11c", untrained("T11c", noise=1e-5, drift=d)) for d in (0.01, 3, -0.01)]
    assert [each.verdict for each in verdicts] == ["replicated", *["does not hold"] * 2]


@pytest.mark.parametrize(("claim", "loss"), [("T10b", np.log(33)), ("T21c", np.log(34))])
def test_untrained_loss_replicates_nothing(claim, loss):
    (source,) = CLAIMS[claim].data
    job = PAPER.metric_job(source.experiment, source.metric, "cpu")
    index = pd.MultiIndex.from_product(
        [SEEDS, job.training.cells, range(job.sampling.steps)], names=["seed", "cell", "iteration"]
    )
    table = pd.DataFrame({"loss": loss}, index=index).reset_index()
    rates = pd.DataFrame(table.pop("cell").tolist(), columns=["eta_z", "ratio"])
    assert replicates_nothing(judged(claim, Measured(table.join(rates), job)))


def test_a_dominant_share_that_stays_the_same_does_not_grow():
    assert judged("T15f", untrained("T15f", noise=0.02)).verdict != "replicated"
