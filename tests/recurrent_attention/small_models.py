"""Small models with weights as they are drawn, and boards to run them on."""

from types import SimpleNamespace

import numpy as np
from tables import whole

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.theory.recurrence import (
    effective_weights,
    next_tokens,
)
from transformer_dynamics.recurrent_attention.training.initialization import initial_parameters

DIGITS = 2
MODELS = {
    "itrsa": whole(kind="itrsa", width=8, heads=2),
    "itrsa by blocks": whole(kind="itrsa", width=8, heads=2, oscillator=4),
    "unnormalised": whole(kind="itrsa", width=8, heads=2, normalised=False),
    "orthogonal": whole(kind="itrsa", width=8, heads=2, projections="orthogonal"),
    "hard": whole(kind="itrsa", width=8, heads=2, projections="hard"),
    "akorn": whole(kind="akorn", width=8, heads=2, oscillator=4),
    "symmetric": whole(kind="symmetric", width=8, heads=1),
}


def job(model, how):
    """What `measure` takes, without what only training reads."""
    return SimpleNamespace(train=SimpleNamespace(model=model), settings=how, device="cpu")


def run(model, seeds=(1, 2)):
    """Weights before training, some of them larger: attention is not flat, and digits differ."""
    drawn = [initial_parameters(model, DIGITS, seed) for seed in seeds]
    arrays = {name: np.stack([each[name] for each in drawn]) for name in drawn[0]}
    random = np.random.default_rng(0)
    for name, value in arrays.items():
        if name in ("query", "key", "symmetric") or name.endswith("_angles"):
            arrays[name] = (2 * value + 0.3 * random.normal(size=value.shape)).astype(np.float32)
        if name == "readout" or name.startswith("layer_"):
            arrays[name] = 4 * value
    if "gamma" in arrays:
        arrays["gamma"] = random.uniform(0.5, 2, arrays["gamma"].shape).astype(np.float32)
    return Run("all", list(seeds), arrays)


def boards(count=3):
    """Of `DIGITS`^2 cells; nothing asks whether they can be solved."""
    random = np.random.default_rng(1)
    shape = count, DIGITS**2
    return {
        "test_out_solutions": random.integers(1, DIGITS + 1, shape).astype(np.uint8),
        "test_out_given": random.random(shape) < 0.5,
    }


def step(model, parameters, tokens, inputs):
    """X' of one iteration from the parameters as they are trained."""
    return next_tokens(model, parameters, effective_weights(model, parameters), tokens, inputs)
