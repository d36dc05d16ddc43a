"""A verifier that cannot fail proves nothing: each mistake flips a verdict, which says so.

The mistakes are made in the runs of one panel of Figure 6, ten seeds, compared with the published
numbers (T22d) and with the claim that the entropy falls with eta_Z (T22a).
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from settings_of_the_paper import PAPER, REGISTRY, STUDY

from replication.base.storage import read_csv
from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.judge.verdicts import Verdict
from transformer_dynamics.scan_and_snap.claims import figures_6_11_12
from transformer_dynamics.scan_and_snap.claims.tables import Measured
from transformer_dynamics.scan_and_snap.data.sequences import Sequences, draw_sequences
from transformer_dynamics.scan_and_snap.metrics.attention import entropy_on_distinct
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob
from transformer_dynamics.scan_and_snap.theory.sequence_classes import (
    SequenceClasses,
    sequence_classes,
)
from transformer_dynamics.scan_and_snap.training.loop import train_sweep

pytestmark = pytest.mark.numerical

SEEDS = range(1, 11)
MIXTURE = PAPER.mixtures["syn_medium_1"]
JOB = PAPER.metric_job("syn_medium", "entropy", "cpu")
CELLS = JOB.training.cells
PUBLISHED = read_csv(STUDY.folder / "published/fig6.csv", ()).query("num_last == 1")
TESTS = {claim.id: claim.test for claim in REGISTRY.claims}


@cache
def sequences(seed: int) -> Sequences:
    return draw_sequences(MIXTURE, JOB.sampling, seed)


def trained(job: MetricJob) -> list[np.ndarray]:
    """Z after training, of every seed."""
    return [train_sweep(MIXTURE, job, seed, sequences(seed)).attention_logits[-1] for seed in SEEDS]


def entropies(
    runs: list[np.ndarray],
    measure: Callable[[SequenceClasses, np.ndarray], np.ndarray] = entropy_on_distinct,
) -> Measured:
    """Entropies of one panel, under the labels of the paper's cells whatever they trained with."""
    rows = []
    for seed, attention_logits in zip(SEEDS, runs, strict=True):
        values = measure(sequence_classes(MIXTURE), attention_logits)
        for (eta_z, ratio), value in zip(CELLS, values, strict=True):
            rows.append((1, eta_z, ratio, seed, 100, float(value)))
    columns = ["num_last", "eta_z", "ratio", "seed", "iteration", "entropy"]
    return Measured(pd.DataFrame(rows, columns=columns), JOB)


def changed(**training: object) -> MetricJob:
    return JOB.model_copy(update={"training": JOB.training.model_copy(update=training)})


def against_print(measured: Measured) -> Verdict:
    evidence = figures_6_11_12.printed_entropy(measured, PUBLISHED)
    return judge([Judged("T22d", TESTS["T22d"], evidence)])["T22d"]


def against_eta_z(measured: Measured) -> Verdict:
    evidence = figures_6_11_12.entropy_against_eta_z(measured)
    return judge([Judged("T22a", TESTS["T22a"], evidence)])["T22a"]


@pytest.fixture(scope="module")
def runs() -> list[np.ndarray]:
    return trained(JOB)


@pytest.fixture(scope="module")
def honest(runs) -> Measured:
    return entropies(runs)


def test_honest_runs_are_reproduced(honest):
    verdict = against_print(honest)
    assert verdict.verdict == "reproduced"
    assert len(verdict.comparisons) == 32
    assert against_eta_z(honest).verdict == "replicated"


def test_learning_rate_off_by_ten_per_cent():
    off = changed(eta_z=[1.1 * eta_z for eta_z in JOB.training.eta_z])
    verdict = against_print(entropies(trained(off)))
    assert verdict.verdict == "does not hold"
    assert "expected at least -0.001 and at most 0.001" in verdict.summary


def test_dropped_seed(honest):
    nine = Measured(honest.table[honest.table["seed"] != 7], JOB)
    assert against_print(nine).verdict == "does not hold"


def test_shifted_class(runs):
    """The tokens of every class are off by one."""

    def shifted(classes: SequenceClasses, z: np.ndarray) -> np.ndarray:
        wrong = SequenceClasses(**vars(classes) | {"support": classes.support + 1})
        return entropy_on_distinct(wrong, z)

    assert against_print(entropies(runs, shifted)).verdict == "does not hold"


def test_entropy_in_bits(honest):
    bits = honest.table.assign(entropy=honest.table["entropy"] / np.log(2))
    verdict = against_print(Measured(bits, JOB))
    assert verdict.verdict == "does not hold"
    assert "the least favourable value, in 'mean, num_last 1" in verdict.summary


def test_standard_error_in_place_of_standard_deviation(honest):
    evidence = figures_6_11_12.printed_entropy(honest, PUBLISHED)
    spread = evidence["cell"].str.startswith("std")
    evidence.loc[spread, "value"] /= np.sqrt(len(SEEDS))
    verdict = judge([Judged("T22d", TESTS["T22d"], evidence)])["T22d"]
    assert verdict.verdict == "does not hold"
    assert "'std, num_last 1" in verdict.summary
    assert all(item.decision == "holds" for item in verdict.comparisons if "mean" in item.cell)


@pytest.mark.thorough
def test_swapped_learning_rates(monkeypatch):
    """Z is trained with Y's rate and the other way about."""
    swapped = [(eta_z * ratio, 1 / ratio) for eta_z, ratio in CELLS]
    monkeypatch.setattr(type(JOB.training), "cells", swapped)
    assert against_print(entropies(trained(JOB))).verdict == "does not hold"
