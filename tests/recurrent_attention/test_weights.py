"""Norms, asymmetries and singular values of weights, against their definitions."""

import numpy as np
import pytest
import torch
from tables import trained, whole

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.metrics.weights import (
    asymmetry,
    measure,
    weight_norms,
)
from transformer_dynamics.recurrent_attention.settings.metrics import WeightsJob
from transformer_dynamics.recurrent_attention.theory.attention import Weights
from transformer_dynamics.recurrent_attention.training.initialization import initial_parameters

SEEDS, WIDTH = [4, 9], 8


def drawn(model):
    runs = [initial_parameters(model, 4, seed) for seed in SEEDS]
    return {name: np.stack([run[name] for run in runs]).astype(np.float64) for name in runs[0]}


def test_all_numbers_are_those_of_their_definitions():
    arrays = drawn(whole(kind="itrsa", width=WIDTH, heads=2))
    arrays["gamma"] = np.random.default_rng(0).normal(size=(2, WIDTH))
    model = whole(kind="itrsa", width=WIDTH, heads=2)
    found = weight_norms(model, {k: torch.from_numpy(v) for k, v in arrays.items()})
    for index in range(len(SEEDS)):
        own = {name: value[index] for name, value in arrays.items()}
        heads = [own["value"][:, c] @ own["output"][c] for c in (slice(0, 4), slice(4, 8))]
        gaps = sum(((m - m.T) ** 2).sum() for m in heads)
        expected = {
            "gamma_norm": sum(own["gamma"] ** 2) ** 0.5,
            "gamma_max": max(abs(own["gamma"])),
            "eta": own["eta"],
            "asymmetry": np.linalg.norm(sum(heads) - sum(heads).T) / np.linalg.norm(sum(heads)),
            "asymmetry_of_heads": (gaps / sum((m**2).sum() for m in heads)) ** 0.5,
            **{
                f"sigma_{name}": np.linalg.svd(own[name])[1][0]
                for name in ("query", "key", "value", "output")
            },
        }
        assert found.keys() == expected.keys()
        for name, value in expected.items():
            assert found[name][index].item() == pytest.approx(float(value), rel=1e-12), name


def test_asymmetry_is_0_of_symmetric_and_2_of_anti_symmetric_matrices():
    identity = torch.eye(4, dtype=torch.float64)[None]
    random = torch.from_numpy(np.random.default_rng(1).normal(size=(1, 4, 4)))
    for output, expected in ((random + random.mT, 0.0), (random - random.mT, 2.0)):
        weights = Weights(identity, identity, identity, output)
        assert asymmetry(weights, 1).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("model", "has_gamma"),
    [
        (whole(kind="itrsa", width=WIDTH, heads=2), True),
        (whole(kind="akorn", width=WIDTH, heads=2, oscillator=4), False),
        (whole(kind="symmetric", width=WIDTH, heads=1), False),
        (whole(kind="itrsa", width=WIDTH, heads=2, projections="hard", normalised=False), False),
    ],
)
def test_the_metric_has_a_row_per_seed(model, has_gamma):
    job = WeightsJob(train=trained("itrsa").model_copy(update={"model": model}))
    table = measure(job, [Run("4,9", SEEDS, {**drawn(model), "losses": np.zeros((2, 1))})], [])
    assert table["seed"].tolist() == SEEDS
    assert table["gamma_max"].notna().all() == has_gamma
    is_symmetric = model.projections == "hard" or model.kind == "symmetric"
    assert (table["asymmetry_of_heads"] < 1e-6).all() == is_symmetric
