"""The paper's statements along real training: zero start, no momentum, one query, two classes.

The same statements hold exactly along the theory's flow and the population flow (other tests);
here they are compared with it within the noise of sampling.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from settings_of_the_paper import PAPER
from tiers import quick_first

from transformer_dynamics.scan_and_snap.claims.tables import Measured
from transformer_dynamics.scan_and_snap.data.sequences import draw_sequences
from transformer_dynamics.scan_and_snap.figures import phase_transition, theory_vs_training
from transformer_dynamics.scan_and_snap.metrics.growth import GROWTH, growth
from transformer_dynamics.scan_and_snap.settings.metrics import MetricJob
from transformer_dynamics.scan_and_snap.settings.training import (
    Sampling,
    Training,
    TrainJob,
)
from transformer_dynamics.scan_and_snap.theory.attention import attention_weights
from transformer_dynamics.scan_and_snap.theory.decoder import (
    gamma_peak,
    h_continuous,
    prediction_error,
    scanning_end,
    snapping_start,
)
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.training.loop import train_sweep

pytestmark = pytest.mark.numerical

NAME = "syn_medium_1"
MIXTURE = PAPER.mixtures[NAME]
CLASSES = sequence_classes(MIXTURE)
RECORDED = (0, 5, 10, 15, 20, 30, 40, 60, 80, 120, 160, 220, 300)
ETA_Y, ETA_Z, SEEDS = 0.5, 0.5, range(1, 9)
COMMON, DISTINCT = slice(0, 10), slice(10, 20)


@cache
def runs(
    name: str,
    eta_y: float,
    eta_z: float,
    recorded: tuple[int, ...],
    seeds: range,
    length: int = 128,
) -> tuple:
    """[seed, recorded, L, M] trajectories of Z and [seed, steps] losses."""
    mixture = PAPER.mixtures[name]
    sampling = Sampling(
        stream="independent", steps=recorded[-1], batch_size=128, sequence_length=length
    )
    training = Training(
        optimizer="sgd",
        momentum=0,
        eta_z=[eta_z],
        ratio=[eta_y / eta_z],
        initialization="zero",
        recorded=list(recorded[:-1]),
    )
    job = TrainJob(mixtures={"m": mixture}, sampling=sampling, training=training, device="cpu")
    done = [
        train_sweep(mixture, job, seed, draw_sequences(mixture, sampling, seed)) for seed in seeds
    ]
    return (
        np.array([run.attention_logits[:, 0] for run in done]),
        np.array([run.loss[:, 0] for run in done]),
    )


@pytest.fixture(scope="module")
def trained() -> tuple:
    return runs(NAME, ETA_Y, ETA_Z, RECORDED, SEEDS, 128)


@pytest.fixture(scope="module")
def c(trained) -> np.ndarray:
    """[seed, recorded, K, S] attention c_n."""
    return attention_weights(CLASSES, trained[0])


def test_distinct_tokens_rise_and_common_tokens_fall(trained):
    """T11-T13: Theorem 2 and Corollary 2; sampling noise is averaged over seeds."""
    z = trained[0].mean(axis=0)[:, 0]
    strong = [*range(14, 20), *range(24, 30)]
    assert (np.diff(z[:, strong].mean(axis=1)) > 0).all()
    assert (np.diff(z[:, COMMON].mean(axis=1)) < 0).all()
    assert (trained[0][:, -1, 0, COMMON] < 0).all()
    assert (z[-1, [*range(12, 20), *range(22, 30)]] > 0).all()


@pytest.mark.parametrize(("length", "sign"), quick_first([(128, -1), (1024, 1)]))
def test_rarest_distinct_tokens_need_long_sequences_to_rise(length, sign):
    """Theorem 2(a) is a limit: with the paper's T = 128 the rarest distinct tokens fall.

    P(l|n) = 0.0065 is less than one expected occurrence in 127 tokens.
    """
    z, _ = runs(NAME, ETA_Y, ETA_Z, RECORDED, SEEDS, length)
    final = z[:, -1, 0, [10, 20]].mean(axis=1)
    assert stats.ttest_1samp(sign * final, 0, alternative="greater").pvalue < 1e-4


def test_common_mass_falls_in_every_run(c):
    """T17, discriminative bias."""
    mass = c[..., COMMON].sum(axis=-1)
    assert mass[:, 0] == pytest.approx(10 / 15.5)
    assert (np.diff(mass.mean(axis=-1)[:, ::2], axis=1) < 0).all()


@pytest.mark.parametrize(("eta_z", "deviation"), quick_first([(0.5, 0.25), (0.05, 0.05)]))
def test_relative_gain_is_its_start_times_the_growth_factor(eta_z, deviation):
    """T14, Theorem 3: r(t) = r(0) chi(t), the better the faster Y is (Assumption 1c)."""
    z, _ = runs(NAME, ETA_Y, eta_z, RECORDED, SEEDS, 128)
    measured = growth(CLASSES, np.moveaxis(z, 1, 0)).mean(axis=1)
    gain, factor = (measured[:, GROWTH.index(name)] for name in ("relative_gain", "growth_factor"))
    ratio = gain / (gain[0] * factor)
    assert factor[-1] > 1.3
    np.testing.assert_allclose(ratio, 1, atol=deviation)


def test_dominant_token_grows_monotonically_within_the_bounds(c, trained):
    """T15 and (12): exp(2 f^2(0) B) <= chi <= exp(2 B) for the most frequent distinct token."""
    top = c[..., -1].mean(axis=(0, 2))
    assert (np.diff(top) > 0).all()
    measured = growth(CLASSES, np.moveaxis(trained[0], 1, 0)).mean(axis=1)
    exponent, factor = measured[1:, 0], measured[1:, 2]
    f = CLASSES.probabilities[0] / np.linalg.norm(CLASSES.probabilities[0])
    assert (factor >= np.exp(2 * f[-1] ** 2 * exponent) * 0.98).all()
    assert (factor <= np.exp(2 * exponent)).all()


def test_tokens_are_overtaken_in_order_of_their_probability(c):
    """T16, scanning: the rarer a distinct token, the further the winner leaves it behind."""
    start, end = (c[:, step][..., DISTINCT].mean(axis=(0, 1)) for step in (0, -1))
    remaining = (end / end[-1]) / (start / start[-1])
    assert (remaining[:-1] < 0.95).all()
    assert stats.spearmanr(np.arange(10), remaining).statistic > 0.95


def test_error_falls_like_one_over_time(trained):
    """T10, Corollary 1: |x - alpha| ~ K/(eta_Y t), so that the loss does, too.

    The slope is compared with that of the closed form over the same updates.
    """
    loss = trained[1].mean(axis=0)
    late = np.arange(100, 300)
    slope = np.polyfit(np.log(late), np.log(loss[late]), 1)[0]
    h = h_continuous(ETA_Y, MIXTURE.vocabulary_size, late / MIXTURE.num_classes)
    closed = np.log(prediction_error(h, MIXTURE.vocabulary_size))
    assert slope == pytest.approx(np.polyfit(np.log(late), closed, 1)[0], abs=0.15)
    level = loss[late] * ETA_Y * late / MIXTURE.num_classes
    assert ((level > 0.5) & (level < 3)).all()


def test_attention_slows_down_without_collapsing(c):
    """T20: past t_0 the rate of change falls, and several tokens keep their attention."""
    change = np.abs(np.diff(c.mean(axis=0), axis=0)).sum(axis=-1).mean(axis=-1) / np.diff(RECORDED)
    start = snapping_start(ETA_Y, MIXTURE.vocabulary_size, MIXTURE.num_classes)
    before = change[: np.searchsorted(RECORDED, start)].max()
    assert change[-1] < before / 10
    assert c[:, -1].max() < 0.5
    assert (c[:, -1, :, DISTINCT] > 0.005).sum(axis=-1).min() >= 9


@pytest.mark.parametrize(("name", "eta_y"), [("syn_medium_1", 0.5), ("syn_medium_3", 2.0)])
def test_growth_turns_at_the_scale_of_the_theory(name, eta_y):
    """T7, T19: dB_n/dt peaks after gamma does, and within a factor 2.5 of it and of t_0'."""
    mixture = PAPER.mixtures[name]
    sizes = mixture.vocabulary_size, mixture.num_classes
    peak, end = gamma_peak(eta_y, *sizes), scanning_end(eta_y, *sizes)
    recorded = tuple(sorted({round(peak * x) for x in np.linspace(0, 5, 21)}))
    z, _ = runs(name, eta_y, 0.5, recorded, range(1, 6))
    exponent = growth(sequence_classes(mixture), np.moveaxis(z, 1, 0))[..., 0].mean(axis=1)
    rate = np.diff(exponent) / np.diff(recorded)
    turn = np.mean([recorded[rate.argmax()], recorded[rate.argmax() + 1]])
    assert peak < turn < 2.5 * peak
    assert end / 2 < turn < 2.5 * end


def test_random_start_is_a_prior():
    """T18: the dominant distinct token is the one with the largest P(l|n) exp(z_ml(0))."""
    sampling = Sampling(stream="independent", steps=150, batch_size=128, sequence_length=128)
    training = Training(
        optimizer="sgd", momentum=0.9, eta_z=[1], ratio=[2], initialization="uniform", recorded=[0]
    )
    job = TrainJob(mixtures={"m": MIXTURE}, sampling=sampling, training=training, device="cpu")
    hits = []
    for seed in range(1, 13):
        z = train_sweep(
            MIXTURE, job, seed, draw_sequences(MIXTURE, sampling, seed)
        ).attention_logits[:, 0]
        start, end = attention_weights(CLASSES, z)[..., DISTINCT]
        hits.extend(start.argmax(axis=-1) == end.argmax(axis=-1))
    by_frequency_alone = 1 / 10
    assert stats.binomtest(sum(hits), len(hits), by_frequency_alone).pvalue < 1e-6
    assert np.mean(hits) > 0.6


def measure_job(recorded: tuple[int, ...]) -> MetricJob:
    experiment = PAPER.metric_job("theory_comparison", "growth", "cpu")
    return experiment.model_copy(
        update={
            "sampling": experiment.sampling.model_copy(update={"steps": recorded[-1]}),
            "training": experiment.training.model_copy(
                update={"eta_z": [ETA_Z], "ratio": [1.0], "recorded": list(recorded[:-1])}
            ),
        }
    )


def growth_metrics(z: np.ndarray) -> pd.DataFrame:
    values = np.moveaxis(growth(CLASSES, np.moveaxis(z, 1, 0)), 0, 1)
    index = pd.MultiIndex.from_product(
        [list(SEEDS), RECORDED, GROWTH], names=["seed", "iteration", "quantity"]
    )
    table = pd.DataFrame({"growth": values.ravel()}, index=index).reset_index()
    return table.assign(mixture="syn_medium_1", num_last=1, eta_z=ETA_Z, ratio=1.0)


def test_training_follows_the_population_flow_and_not_the_modified_one(trained):
    """Where theory and training part: finding A."""
    measured = Measured(growth_metrics(trained[0]), measure_job(RECORDED))
    table = theory_vs_training.table(PAPER.figures["theory_vs_training"], measured)
    final = table[(table["t"] == RECORDED[-1]) & (table["quantity"] == "exponent")]
    exponent = final.set_index("source")["value_mean"]
    assert exponent["population flow"] == pytest.approx(exponent["training"], rel=0.1)
    assert exponent["Eq. 10"] > 1.3 * exponent["training"]
    early = table[(table["t"] == 20) & (table["quantity"] == "relative_gain")]
    gain = early.set_index("source")["value_mean"]
    assert gain["population flow"] == pytest.approx(gain["training"], rel=0.03)
    assert gain["population flow, modified"] > 1.1 * gain["training"]
    assert set(exponent.index) == {
        "training", "population flow", "population flow, modified", "Eq. 10", "Eq. 10, sampled",
        "Theorem 4",
    }  # fmt: skip


def test_turning_table_compares_training_with_the_theory(trained):
    measured = Measured(growth_metrics(trained[0]), measure_job(RECORDED))
    table = phase_transition.table(PAPER.figures["phase_transition"], measured, PAPER.metrics)
    (row,) = table.to_dict("records")
    assert row["scanning_end"] == pytest.approx(2 * np.log(33) / ETA_Y)
    assert row["n_seeds"] == len(SEEDS)
    assert row["gamma_peak"] < row["turn_mean"] < 2.5 * row["gamma_peak"]
    assert row["as_power_1"] == row["as_power_075"] == row["turn_mean"]
