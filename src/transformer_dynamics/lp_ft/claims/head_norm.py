"""Eq. (3), which says that rows of a head want to become longer (Sec. 4.4)."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.lp_ft.theory.head_norm import (
    norm_gradient,
    probing_path,
    squared_errors,
)
from transformer_dynamics.lp_ft.theory.updates import prediction_errors

SIZES = ((2, 8, 40), (3, 8, 60), (6, 32, 240))
"""Sizes C, h and N of made-up features."""
SEPARATIONS = (0.5, 1.0, 2.0)
"""Standard deviation of the means of classes, over that of a sample around them."""
DRAWS = range(2)
"""Numbers of the draws of features and heads."""
FRESH_DRAWS = range(22, 32)
"""Numbers of the draws on which losses are compared."""
DEVIATION = 0.02
"""Standard deviation of the entries of a random head."""
ETA, STEPS = 1e-3, 300
"""Rate and number of steps of gradient descent on the summed loss."""


class Probing(NamedTuple):
    """Features to be probed, and a random head."""

    weight: Tensor
    """[C, h] Head V."""
    features: Tensor
    """[N, h] Features phi_i."""
    labels: Tensor
    """[N] Classes y_i."""


def draw_probing(size: tuple[int, int, int], separation: float, draw: int) -> Probing:
    """Draw Gaussian features around Gaussian means of classes, of one of `SIZES`."""
    classes, width, number = size
    random = generator(draw, f"features of {classes} classes at {separation:g}")

    def normal(*shape: int) -> Tensor:
        return torch.from_numpy(random.normal(size=shape))

    labels = torch.arange(number) % classes
    means = separation * normal(classes, width)
    features = means[labels] + normal(number, width)
    return Probing(DEVIATION * normal(classes, width), features, labels)


def literal_gradient(given: Probing) -> Tensor:
    """Return [C] dL/d||v_k|| by autograd, rows being length times direction."""
    lengths = given.weight.norm(dim=1)
    directions = given.weight / lengths[:, None]

    def loss(lengths: Tensor) -> Tensor:
        logits = given.features @ (lengths[:, None] * directions).T
        return torch.nn.functional.cross_entropy(logits, given.labels, reduction="sum")

    gradient: Tensor = torch.func.grad(loss)(lengths)
    return gradient


@evidence
def error_by_class() -> Cases:
    """Yield the error of (3) for one class beside autograd's derivative.

    It is the largest deviation over the largest derivative.
    """
    for size in SIZES:
        given = draw_probing(size, 1.0, 0)
        exact = literal_gradient(given)
        error = (norm_gradient(*given) - exact).abs().max() / exact.abs().max()
        yield f"C = {size[0]}", error


@evidence
def error_as_printed() -> Cases:
    """Yield the error of (3) as it is printed, with a sum over classes, beside autograd.

    It is the largest deviation of that sum from the derivative for one class, over the largest
    derivative.
    """
    for size in SIZES:
        given = draw_probing(size, 1.0, 0)
        exact = literal_gradient(given)
        error = (norm_gradient(*given).sum() - exact).abs().max() / exact.abs().max()
        yield f"C = {size[0]}", error


@evidence
def growing_share() -> Cases:
    """Yield the share of negative dL/d||v_k|| over classes and steps of linear probing.

    It is the mean over draws.
    """
    for cell, drawn in _draw_cells(DRAWS):
        shares = []
        for given in drawn:
            along = [norm_gradient(v, *given[1:]) for v in probing_path(*given, ETA, STEPS)]
            shares.append(float((torch.stack(along) < 0).double().mean()))
        yield cell, sum(shares) / len(shares)


@evidence
def growth_by_cross_entropy() -> Cases:
    """Yield ln of the growth of ||V|| by the cross-entropy over that by the squared loss.

    Features, start, rate and number of steps are the same. The rate is 1/lambda_max(Phi^T Phi), by
    which no step increases either loss. It is the mean over draws.
    """
    for cell, drawn in _draw_cells(FRESH_DRAWS):
        found = []
        for given in drawn:
            eta = float(torch.linalg.matrix_norm(given.features, 2)) ** -2
            longer, shorter = (
                probing_path(*given, eta, STEPS, errors)[-1].norm()
                for errors in (prediction_errors, squared_errors)
            )
            found.append(float((longer / shorter).log()))
        yield cell, sum(found) / len(found)


def _draw_cells(draws: Iterable[int]) -> Iterable[tuple[str, list[Probing]]]:
    """Yield the name of each size and separation, and what is drawn of it."""
    for size in SIZES:
        for separation in SEPARATIONS:
            drawn = [draw_probing(size, separation, draw) for draw in draws]
            yield f"C = {size[0]}, means {separation:g} apart", drawn
