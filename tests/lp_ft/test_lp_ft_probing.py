"""Gradient descent of a head against autograd, in float64."""

import numpy as np
import pytest
import torch

from transformer_dynamics.encoders.calibration import negative_log_likelihood
from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.probe import probe
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.lp_ft.data.samples import Samples
from transformer_dynamics.lp_ft.settings.runs import ProbeChoice
from transformer_dynamics.lp_ft.theory.head_norm import norm_gradient
from transformer_dynamics.lp_ft.training.probing import descent_path, recorded_steps

N, WIDTH, C = 40, 5, 3


@pytest.fixture(scope="module")
def train():
    random = np.random.default_rng(0)
    labels = np.arange(N) % C
    features = (random.normal(size=(N, WIDTH)) + np.eye(C, WIDTH)[labels] + 1).astype(np.float32)
    nothing = np.zeros(N, np.int32)
    return Samples(
        np.arange(N), Tokens(np.zeros((N, 1), np.int32), nothing, nothing, labels), features
    )


@pytest.fixture(scope="module")
def start():
    weight = torch.randn(C, WIDTH, generator=torch.Generator().manual_seed(0))
    return Head(weight, torch.tensor([0.1, 0.0, -0.1]))


def test_the_path_is_gradient_descent_on_the_cross_entropy(train, start):
    found = descent_path(
        start, train, ProbeChoice(strengths=[1.0], steps=12, points=5, tolerance=1e-6)
    )
    phi, labels = torch.from_numpy(train.features).double(), torch.from_numpy(train.labels)
    widened = torch.cat([phi, torch.ones(N, 1)], dim=1)
    curvature = torch.linalg.matrix_norm(widened.T @ widened, 2) / (2 * N)
    weight, bias = (each.double().requires_grad_() for each in start)
    for step in range(13):
        logits = phi @ weight.T + bias
        loss = torch.nn.functional.cross_entropy(logits, labels)
        if step in found.steps:
            index = found.steps.tolist().index(step)
            assert found.norms[index] == pytest.approx(weight.norm().item(), rel=1e-12)
            assert found.losses[index] == pytest.approx(loss.item(), rel=1e-12)
            right = (logits.argmax(1) == labels).double().mean()
            assert found.accuracies[index] == right
        gradients = torch.autograd.grad(loss, [weight, bias])
        with torch.no_grad():
            weight -= gradients[0] / curvature
            bias -= gradients[1] / curvature
    assert found.steps[0] == 0
    assert found.steps[-1] == 12


def test_rows_whose_loss_falls_are_those_of_equation_3(train):
    """Without a bias, where (3) holds."""
    weight = torch.randn(C, WIDTH, generator=torch.Generator().manual_seed(3))
    start = Head(weight, torch.zeros(C))
    found = descent_path(
        start, train, ProbeChoice(strengths=[1.0], steps=1, points=3, tolerance=1e-6)
    )
    phi, labels = torch.from_numpy(train.features).double(), torch.from_numpy(train.labels)
    gradient = norm_gradient(weight.double(), phi, labels)
    assert found.falling[0] == (gradient < 0).double().mean().item()
    assert 0 < found.falling[0] < 1


def test_the_path_leads_to_the_probe_without_penalty_and_never_up(train, start):
    found = descent_path(
        start, train, ProbeChoice(strengths=[1.0], steps=5000, points=40, tolerance=1e-6)
    )
    best = probe(train.features, train.labels, C, 1e6, 1e-6)
    assert found.losses[-1] == pytest.approx(
        negative_log_likelihood(best.logits(train.features), train.labels), abs=1e-6
    )
    assert (np.diff(found.losses) <= 1e-12).all()


def test_points_are_spread_on_a_logarithmic_axis():
    found = recorded_steps(ProbeChoice(strengths=[1.0], steps=1000, points=4, tolerance=1e-6))
    assert found.tolist() == [0, 1, 32, 1000]
