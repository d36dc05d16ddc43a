"""The linear probe against a dense Newton method on the literal objective, and its conditions."""

import numpy as np
import pytest
import torch

from replication.base.errors import InputError
from transformer_dynamics.encoders import probe as probing
from transformer_dynamics.encoders.probe import probe

TOLERANCE = 1e-6


def drawn(n=60, width=5, classes=3, spread=1.0, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    features = shift + spread * (
        rng.normal(size=(n, width)) + rng.normal(size=(classes, width))[labels]
    )
    return features, labels


def objective(weight, bias, features, labels, strength):
    loss = torch.nn.functional.cross_entropy(
        torch.from_numpy(features) @ weight.T + bias, torch.from_numpy(labels), reduction="sum"
    )
    return weight.square().sum() / 2 + strength * loss


def dense(features, labels, strength, classes=3):
    """The optimum by Newton's method with autograd's dense Hessian."""
    width = features.shape[1]
    point = torch.zeros(classes * (width + 1), dtype=torch.float64)

    def flat(x):
        weight, bias = x[: classes * width].view(classes, width), x[classes * width :]
        return objective(weight, bias, features, labels, strength) + bias.sum() ** 2

    for _ in range(40):
        gradient = torch.autograd.functional.jacobian(flat, point)
        hessian = torch.autograd.functional.hessian(flat, point)
        point = point - torch.linalg.solve(hessian, gradient)
    assert gradient.abs().max() < 1e-9
    return point[: classes * width].view(classes, width).numpy(), point[classes * width :].numpy()


@pytest.mark.parametrize("strength", [0.01, 1.0, 30.0])
def test_the_probe_is_the_optimum(strength):
    features, labels = drawn()
    found = probe(features, labels, 3, strength, tolerance=1e-9)
    weight, bias = dense(features, labels, strength)
    assert found.weight == pytest.approx(weight, abs=1e-7)
    assert found.bias == pytest.approx(bias, abs=1e-7)
    assert found.gradient <= 1e-9


@pytest.mark.parametrize("strength", [1e-8, 1e-4])
def test_with_a_small_strength_the_bias_is_the_optimum(strength):
    """V is almost 0 then, and b that of the classes alone."""
    features = np.random.default_rng(0).normal(size=(40, 5))
    labels = np.repeat([0, 1], [30, 10])
    found = probe(features, labels, 2, strength, TOLERANCE)
    predicted = np.exp(found.logits(features))
    error = predicted / predicted.sum(axis=1, keepdims=True) - np.eye(2)[labels]
    assert np.abs(error.sum(axis=0)).max() <= 1.01 * TOLERANCE / probing.SMALL
    assert found.bias[1] - found.bias[0] == pytest.approx(np.log(1 / 3), abs=20 * strength + 1e-4)


@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0])
def test_the_stored_gradient_is_that_of_autograd(strength):
    """Also where features have a large common part, as collapsed ones have, and n < h."""
    features, labels = drawn(n=40, width=60, spread=0.3, shift=2.0)
    found = probe(features, labels, 3, strength, TOLERANCE)
    weight, bias = (torch.from_numpy(x.copy()).requires_grad_() for x in found[:2])
    objective(weight, bias, features, labels, strength).backward()
    largest = max(float(weight.grad.abs().max()), float(bias.grad.abs().max()))
    assert largest <= 1.01 * TOLERANCE
    assert abs(largest - found.gradient) < 1e-9
    assert abs(found.bias.sum()) < 1e-10


def test_conditions_of_the_optimum():
    """sum_i delta_i = 0 and sum_i delta_i phi_i^T = V/C_reg."""
    features, labels = drawn()
    found = probe(features, labels, 3, 2.0, tolerance=1e-10)
    logits = found.logits(features)
    given = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    delta = np.eye(3)[labels] - given
    assert np.abs(delta.sum(0)).max() < 1e-9
    assert delta.T @ features == pytest.approx(found.weight / 2.0, abs=1e-9)
    assert np.linalg.matrix_rank(found.weight) == 2


def test_separable_classes():
    features, labels = np.diag([5.0, 5.0, 5.0]), np.array([0, 1, 2])
    found = probe(features, labels, 3, 100.0, TOLERANCE)
    assert found.gradient <= TOLERANCE
    assert (found.logits(features).argmax(1) == labels).all()


def test_selection_prefers_the_stronger_of_equal_penalties():
    train, validation = drawn(n=60), drawn(n=30, seed=1)
    strengths = [100.0, 0.01, 1.0]
    probes = {s: probe(*train, 3, s, TOLERANCE) for s in strengths}
    scores = {
        s: np.mean(p.logits(validation[0]).argmax(1) == validation[1]) for s, p in probes.items()
    }
    best = min(s for s in strengths if scores[s] == max(scores.values()))
    assert probing.select(train, validation, 3, strengths, TOLERANCE).strength == best
    easy = (np.diag([9.0, 9.0, 9.0]), np.array([0, 1, 2]))
    assert probing.select(easy, easy, 3, strengths, TOLERANCE).strength == 0.01


def test_what_no_probe_can_use_is_refused():
    features, labels = drawn()
    for wrong, number in (
        (features * np.nan, "60 samples only 0"),
        (features[:0], "0 samples only 0"),
    ):
        with pytest.raises(InputError, match=f"needs finite features, but of {number} have"):
            probe(wrong, labels[: len(wrong)], 3, 1.0, TOLERANCE)
    for strength in (0.0, -1.0, np.nan):
        with pytest.raises(InputError, match=f"needs C_reg > 0, but it is {strength:g};"):
            probe(features, labels, 3, strength, TOLERANCE)
    with pytest.raises(InputError, match="class 3 has none"):
        probe(features, labels, 4, 1.0, TOLERANCE)
    with pytest.raises(InputError, match="has a gradient of"):
        probe(features, labels, 3, 1.0, tolerance=1e-30)


CS = np.logspace(-4, 4, 10)
"""The strengths that scikit-learn tries by default."""


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_folds_choose_as_scikit_learn_does(classes, seed):
    """As the released code of the paper calls it, on features of which few tell the class."""
    from sklearn.linear_model import LogisticRegressionCV

    features, labels = drawn(n=90, width=12, classes=classes, spread=0.5, seed=seed)
    labels = np.random.default_rng(seed).permutation(labels)
    found = probing.select_by_folds(features, labels, classes, CS, 1e-8, folds=5)
    known = LogisticRegressionCV(
        Cs=10,
        cv=5,
        max_iter=5000,
        tol=1e-10,
        scoring="accuracy",
        use_legacy_attributes=True,
        l1_ratios=(0,),
    ).fit(features, labels)
    assert known.C_[0] == pytest.approx(found.strength * (2 if classes == 2 else 1))
    weight = known.coef_ if classes > 2 else np.concatenate([-known.coef_, known.coef_]) / 2
    assert found.weight == pytest.approx(weight, rel=1e-4, abs=1e-5)


def test_folds_choose_the_strongest_of_equal_penalties():
    features, labels = np.repeat(np.diag([9.0, 9.0, 9.0]), 5, axis=0), np.repeat([0, 1, 2], 5)
    assert probing.select_by_folds(features, labels, 3, [1.0, 0.1], TOLERANCE, 5).strength == 0.1


def test_fewer_samples_of_a_class_than_folds_are_refused():
    features, labels = drawn(n=13)
    with pytest.raises(InputError, match="5 folds need 5 samples of each class, but one has 4;"):
        probing.select_by_folds(features, labels, 3, CS, TOLERANCE, folds=5)
