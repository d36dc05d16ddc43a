"""Heads of all optimisers and batches at once against loops over one of them."""

from itertools import product

import numpy as np
import pytest
import torch
from configured import DEVIATION, TRAINING
from test_training_of_networks import LITERAL, Signs

from transformer_dynamics.encoders.head import drawn_head
from transformer_dynamics.gradient_heterogeneity.data.batches import batch_indices, slice_indices
from transformer_dynamics.gradient_heterogeneity.settings.heads import (
    HeadOptimiser,
    HeadOptimiserSetting,
    HeadsJob,
)
from transformer_dynamics.gradient_heterogeneity.training import heads
from transformer_dynamics.gradient_heterogeneity.training.record import HEAD_COLUMNS

OPTIMISERS = (
    {"name": "sgd"}, {"name": "sgd_momentum"}, {"name": "signsgd"}, {"name": "signum"},
    {"name": "signum", "momentum": 0.5}, {"name": "rmsprop"}, {"name": "adam"},
)  # fmt: skip
SIZES = (1, 4, 30)


def chosen(**given):
    return HeadOptimiserSetting(**given).with_averages(TRAINING.averages)


def job(**changes):
    given = {
        "encoder": "minilm", "texts": "trec6", "classes": None, "batch_sizes": list(SIZES),
        "optimisers": [chosen(**each) for each in OPTIMISERS], "rate": 1e-2, "steps": 12,
        "points": 3, "slice": 10, "head_deviation": DEVIATION, "device": "cpu",
    }  # fmt: skip
    return HeadsJob(**(given | changes))


def data(classes=4, number=24, width=6):
    random = np.random.default_rng(0)
    labels = random.integers(0, classes, number)
    phi = random.normal(size=(number, width)) + np.eye(width)[labels]
    tokens = {"train_labels": labels, "classes": np.array([f"class {k}" for k in range(classes)])}
    return [tokens, {"train_features": phi.astype(np.float32)}]


@pytest.fixture(scope="module")
def together():
    return heads.train(job(), [1, 2], data(), None)


def literal(optimiser, leaves):
    if optimiser["name"] == "signum":
        return Signs(leaves, 1e-2, optimiser.get("momentum", 0.9))
    return LITERAL[optimiser["name"]](leaves, lr=1e-2)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("i", range(len(OPTIMISERS)))
@pytest.mark.parametrize("j", range(len(SIZES)))
def test_every_head_is_that_of_a_loop_of_pytorch(together, seed, i, j):
    tokens, features = data()
    phi = torch.from_numpy(features["train_features"]).double()
    labels = torch.from_numpy(tokens["train_labels"])
    start, judged = drawn_head(4, 6, seed, DEVIATION), slice_indices(10, 24)
    linear = torch.nn.Linear(6, 4).double()
    linear.load_state_dict({name: tensor.double() for name, tensor in start._asdict().items()})
    steps = literal(OPTIMISERS[i], linear.parameters())
    found = together["heads"][seed - 1, i, j]
    assert together["points"][seed - 1].tolist() == [0, 4, 8, 12]
    for step in range(13):
        if step % 4 == 0:
            weight, rows = linear.weight.detach(), linear.weight.detach().mean(dim=0)
            loss = torch.nn.functional.cross_entropy(linear(phi[judged]), labels[judged])
            expected = [
                float(linear.bias.detach().mean()), 2 * float(rows.norm()),
                float((weight - rows).norm()), float(weight.norm()), float(loss.detach()),
            ]  # fmt: skip
            assert found[step // 4] == pytest.approx(expected, rel=1e-9, abs=1e-14)
        batch = batch_indices(seed, step, SIZES[j], 24)
        loss = torch.nn.functional.cross_entropy(linear(phi[batch]), labels[batch])
        steps.zero_grad()
        loss.backward()
        steps.step()


def test_gradients_conserve_means_and_signs_do_not(together):
    drift = together["heads"][:, :, :, -1, 0]
    assert np.abs(drift[:, :2]).max() < 1e-16
    assert np.abs(drift[:, 2, 0]).min() > 1e-3


def test_a_seed_is_that_alone(together):
    alone = heads.train(job(), [2], data(), None)
    for name, values in alone.items():
        assert values[0].tobytes() == together[name][1].tobytes()


def test_the_first_classes_alone():
    tokens, features = data()
    known = heads.head_samples(tokens, features, 2, torch.device("cpu"))
    chosen = tokens["train_labels"] < 2
    assert known.classes == 2
    assert known.labels.tolist() == tokens["train_labels"][chosen].tolist()
    assert torch.equal(
        known.features, torch.from_numpy(features["train_features"][chosen]).double()
    )
    found = heads.train(job(classes=2), [1], data(), None)
    assert found["shares"][0] == pytest.approx([np.mean(known.labels.numpy() == k) for k in (0, 1)])


def test_what_an_optimiser_averages():
    betas = {
        name: HeadOptimiser(name=name, momentum=0.7, second=0.9).beta
        for name in ("sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam")
    }
    assert betas == {
        "sgd": 0, "sgd_momentum": 0.7, "signsgd": 0, "signum": 0.7, "rmsprop": 0, "adam": 0.7,
    }  # fmt: skip
    own = chosen(name="adam", momentum=0.7)
    assert (own.update_rule.momentum, own.update_rule.second) == (
        0.7,
        TRAINING.averages.adam.second,
    )
    assert chosen(name="signum").momentum == TRAINING.averages.signum


def test_heads_start_with_the_deviation_that_is_asked_for(together):
    total = HEAD_COLUMNS.index("total")
    wide = heads.train(job(head_deviation=3 * DEVIATION), [1], data(), None)["heads"]
    start = together["heads"][:1, :, :, 0, total]
    assert wide[..., 0, total] == pytest.approx(3 * start, rel=1e-6)


def test_all_of_a_grid_have_the_same_start(together):
    starts = together["heads"][:, :, :, 0]
    for i, j in product(range(len(OPTIMISERS)), range(len(SIZES))):
        assert (starts[:, i, j] == starts[:, 0, 0]).all()
    assert (starts[0] != starts[1]).any()
