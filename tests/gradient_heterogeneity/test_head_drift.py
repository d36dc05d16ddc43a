"""Laws of the drift of mean b, against each other, draws of batches and heads that are trained."""

import configured
import numpy as np
import pytest
import torch

from replication.base.errors import InputError
from replication.base.random_streams import generator
from transformer_dynamics.gradient_heterogeneity.theory import drift
from transformer_dynamics.gradient_heterogeneity.theory.head import head_gradient, head_norms
from transformer_dynamics.gradient_heterogeneity.training import optimisers


def uniform(classes):
    return np.full(classes, 1 / classes)


def test_both_laws_agree_below_the_number_of_classes():
    for classes in (6, 77, 150):
        for batch in (1, classes // 2, classes - 1):
            bound = drift.absence_bound(uniform(classes), batch)
            assert drift.uniform_drift(classes, batch) == pytest.approx(bound, rel=1e-10)


def test_the_sawtooth_stays_below_the_bound_and_turns_over():
    for batch in range(1, 700, 3):
        bound = drift.absence_bound(uniform(150), batch)
        assert drift.uniform_drift(150, batch) <= bound + 1e-12
    assert drift.uniform_drift(150, 149) == pytest.approx(0.262, abs=5e-4)
    assert drift.uniform_drift(150, 160) == pytest.approx(-0.422, abs=5e-4)
    assert drift.uniform_drift(2, 6) == pytest.approx(0, abs=1e-15)


def test_the_sawtooth_is_the_sum_over_counts():
    """Ties, n = m/C, count for nothing."""
    from scipy.stats import binom

    for classes, batch in ((5, 15), (5, 14), (5, 16), (3, 1)):
        counts = np.arange(batch + 1)
        odds = binom.pmf(counts, batch, 1 / classes)
        expected = float(odds @ np.sign(classes * counts - batch))
        assert drift.uniform_drift(classes, batch) == pytest.approx(expected, abs=1e-12)


def test_the_balanced_batch():
    for classes in (20, 77, 150):
        batch = drift.balanced_batch(classes)
        assert batch == pytest.approx(classes * np.log(2), abs=0.5)
        assert drift.absence_bound(uniform(classes), batch) == pytest.approx(0, abs=1e-12)


def test_unequal_classes_lower_the_bound():
    shares = generator(1, "shares").dirichlet(np.ones(77))
    for batch in (4, 32, 128):
        unequal = drift.absence_bound(shares, batch)
        assert unequal < drift.absence_bound(uniform(77), batch)


def test_batches_from_a_permutation_miss_fewer_classes():
    from scipy.stats import hypergeom

    counts = generator(6, "counts").integers(1, 40, 20)
    for batch in (1, 4, 13, 64):
        absent = hypergeom.pmf(0, counts.sum(), counts, batch)
        bound = drift.permuted_absence_bound(counts, batch)
        assert bound == pytest.approx(1 - 2 * absent.mean(), rel=1e-9)
        replaced = drift.absence_bound(counts / counts.sum(), batch)
        assert bound >= replaced - 1e-12
    # A whole epoch has all classes that there are, and so has more than one.
    for batch in (counts.sum(), 2 * counts.sum()):
        assert drift.permuted_absence_bound(counts, int(batch)) == 1
    assert drift.permuted_absence_bound([3, 0], 2) == 0


def test_a_batch_over_the_end_of_an_epoch_keeps_the_bound():
    from scipy.stats import hypergeom

    for part in range(1, 8):
        two = hypergeom.pmf(0, 50, 5, part) * hypergeom.pmf(0, 50, 5, 8 - part)
        assert two >= hypergeom.pmf(0, 50, 5, 8)


@pytest.mark.parametrize(("classes", "batch"), [(150, 32), (150, 160), (6, 8)])
def test_without_average_draws_give_the_sawtooth(classes, batch):
    found = drift.simulated_drift(classes, batch, 0.0, generator(2, "draws"), 20, 100)
    assert abs(found.drift - drift.uniform_drift(classes, batch)) < 4 * found.error
    assert found.error < 0.01


@pytest.mark.parametrize(("classes", "batch"), [(150, 32), (77, 64), (20, 32), (6, 32)])
def test_with_average_draws_give_the_expansion(classes, batch):
    found = drift.simulated_drift(classes, batch, 0.9, generator(3, "draws"), 20, 200)
    expected = drift.averaged_drift(classes, batch, 0.9)
    assert abs(found.drift - expected) < 4 * found.error + 0.1 * abs(expected)
    assert found.drift < 0


def test_a_short_average_needs_a_batch_as_large_as_the_classes_are_many():
    """With beta = .5 the values of an average of few samples are still a lattice."""
    for batch, holds in ((75, False), (150, True), (300, True)):
        found = drift.simulated_drift(150, batch, 0.5, generator(5, "draws"), 40, 30)
        expected = drift.averaged_drift(150, batch, 0.5)
        assert (abs(found.drift - expected) < 4 * found.error + 0.05 * abs(expected)) == holds


def test_two_equal_classes_do_not_drift():
    assert drift.skewness(2, 8) == 0
    assert drift.averaged_drift(2, 8, 0.9) == 0
    found = drift.simulated_drift(2, 8, 0.9, generator(4, "draws"), 20, 100)
    # The gradients of two classes are each other's negative.
    assert found.drift == pytest.approx(0, abs=1e-15)


def test_the_skewness_is_that_of_an_average():
    from scipy.stats import binom

    assert drift.skewness(77, 32) == pytest.approx(binom.stats(32, 1 / 77, moments="s"), rel=1e-12)
    beta, gamma = 0.9, drift.skewness(77, 32)
    weights = (1 - beta) * beta ** np.arange(2000)
    of_average = gamma * (weights**3).sum() / (weights**2).sum() ** 1.5
    expected = -of_average / (3 * np.sqrt(2 * np.pi))
    assert drift.averaged_drift(77, 32, beta) == pytest.approx(expected, rel=1e-10)
    with pytest.raises(InputError, match="0 <= beta < 1"):
        drift.averaged_drift(77, 32, 1.0)


def heads(seeds, classes, width):
    random = torch.Generator().manual_seed(0)
    shape = (seeds, classes, width)
    weight = 0.3 * torch.randn(shape, generator=random, dtype=torch.float64)
    features = torch.randn((seeds, 9, width), generator=random, dtype=torch.float64)
    labels = torch.randint(0, classes, (seeds, 9), generator=random)
    bias = torch.randn((seeds, classes), generator=random, dtype=torch.float64)
    return {"weight": weight, "bias": bias}, features, labels


def test_head_gradient_is_that_of_autograd():
    head, features, labels = heads(2, 5, 4)
    leaves = {name: tensor.clone().requires_grad_() for name, tensor in head.items()}
    logits = features @ leaves["weight"].mT + leaves["bias"].unsqueeze(-2)
    for one, y in zip(logits, labels, strict=True):
        torch.nn.functional.cross_entropy(one, y).backward(retain_graph=True)
    found = head_gradient(head["weight"], head["bias"], features, labels)
    for name, leaf in leaves.items():
        assert (found[name] - leaf.grad).abs().max() < 1e-14


@pytest.mark.parametrize("name", ["sgd", "sgd_momentum", "signsgd"])
def test_only_sgd_conserves_the_common_mode(name):
    head, features, labels = heads(3, 7, 4)
    optimizer = configured.optimizer(name)
    state, now = optimisers.initial_moments(optimizer, head), head
    for _ in range(30):
        gradient = head_gradient(now["weight"], now["bias"], features, labels)
        now, state = optimisers.update_copies(optimizer, now, gradient, state, 0.1)
    moved = (now["bias"] - head["bias"]).mean(-1).abs()
    rows = (now["weight"] - head["weight"]).mean(-2).abs()
    assert bool((now["weight"] - head["weight"]).abs().max() > 0.05)
    if name == "signsgd":
        assert bool((moved > 1e-3).any())
        assert bool((rows > 1e-3).any())
    else:
        assert moved.max() < 1e-14
        assert rows.max() < 1e-14


def test_head_norms_are_those_of_orthogonal_parts():
    head, _, _ = heads(3, 7, 4)
    norms = head_norms(head["weight"])
    assert norms.total.shape == (3,)
    together = norms.common.square() + norms.centred.square()
    assert (norms.total.square() - together).abs().max() < 1e-12
    replaced = head["weight"].mean(-2, keepdim=True).expand_as(head["weight"])
    assert (norms.common - torch.linalg.matrix_norm(replaced)).abs().max() < 1e-12
