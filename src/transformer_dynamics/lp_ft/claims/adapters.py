"""Kernels of low-rank adapters: in expectation, and Prop. 4.4 as printed and as proved."""

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.lp_ft.claims.tangent_kernel import Case, draw_case
from transformer_dynamics.lp_ft.theory import kernel, lora
from transformer_dynamics.lp_ft.theory.lora import Bound

ADAPTED = {
    "linear map": ("B",),
    "perceptron": ("W_1", "W_2"),
    "transformer": ("query", "value"),
}
"""Names of the adapted matrices of each network."""
HYPERPARAMETERS = ((1, 2.0), (2, 2.0), (4, 2.0), (4, 8.0))
"""Pairs of r and alpha."""
DEVIATION = 0.3
"""Standard deviation sigma of entries of A."""
RANKS = (2, 4, 8, 16, 32, 64, 128, 256)
"""Ranks r with which Prop. 4.4 is tried."""
GAPS = (0.3, 2 / 3)
"""Values of e of Prop. 4.4."""
DRAWS = 500
"""Number of draws of A, for the share of them that is beyond a bound."""
WIDTH, LENGTH = 16, 10.0
"""Number d and length c of the inputs with which Prop. 4.4 is tried."""
PAPERS_RANK = 8
"""Rank r of the paper's runs."""
HEAVY = 2.1
"""Degrees of freedom of Student's t whose variance is finite and whose fourth moment is not."""


def expected_kernel(
    jacobian: Mapping[str, Tensor], deviation: float, rank: int, alpha: float
) -> Tensor:
    """Compute E_A Theta^phi of the adapters at B = 0, exactly; J is as in `lora.adapted_kernel`.

    Rows of A are rows of sigma sqrt(d) Id, r neighbours at a time and all places equally likely, so
    that every row has mean square sigma^2 Id. The kernel is a sum over rows of A.
    """
    total = torch.zeros(())
    for name, own in jacobian.items():
        width = own.shape[-1]
        rows = deviation * width**0.5 * torch.eye(width, dtype=own.dtype)
        for start in range(width):
            a = rows[(torch.arange(rank) + start) % width]
            only = {name: own}
            total = total + lora.adapted_kernel(only, only, {name: a}, alpha) / width
    return total


def adapted_jacobian(name: str, found: Case) -> dict[str, Tensor]:
    """Compute the Jacobian J of a network's adapted matrices at its training inputs."""
    network = found.network
    whole = kernel.feature_jacobian(network.map, network.body, found.train)
    return {matrix: whole[matrix] for matrix in ADAPTED[name]}


@evidence
def expectation_in_the_linear_model() -> Cases:
    """Yield the deviation of E_A F^LoRA from sigma^2 r (alpha/r)^2 F^FT, for a linear map.

    It is the largest deviation of an entry, over the largest entry.
    """
    yield from _expectations(["linear map"])


@evidence
def expectation_in_any_network() -> Cases:
    """Yield the deviation of E_A F^LoRA from sigma^2 r (alpha/r)^2 F^FT, for other networks.

    These are not linear, and F^FT is that of the adapted matrices. The deviation is the largest of
    an entry, over the largest entry.
    """
    yield from _expectations([name for name in ADAPTED if name != "linear map"])


def _expectations(names: list[str]) -> Cases:
    for name in names:
        found = draw_case(name)
        jacobian = adapted_jacobian(name, found)
        flat = kernel.flatten_jacobian(jacobian)
        inner = kernel.feature_kernel(flat, flat)
        full = kernel.ft_effective_kernel(inner, found.network.head.weight)
        for rank, alpha in HYPERPARAMETERS:
            mean = expected_kernel(jacobian, DEVIATION, rank, alpha)
            adapted = kernel.ft_effective_kernel(mean, found.network.head.weight)
            expected = lora.expected_scalar(DEVIATION, rank, alpha) * full
            error = (adapted - expected).abs().max() / expected.abs().max()
            yield f"{name}, r = {rank}, alpha = {alpha:g}", error


@evidence
def scalar_by_hyperparameters() -> Cases:
    """Yield the factor by which E_A F^LoRA changes with a hyperparameter, over the expected one."""
    found = draw_case("linear map")
    jacobian = adapted_jacobian("linear map", found)
    changes = (
        ("twice alpha", (DEVIATION, 2, 4.0), 4),
        ("twice r", (DEVIATION, 4, 2.0), 1 / 2),
        ("twice r and alpha", (DEVIATION, 4, 4.0), 2),
        ("twice sigma", (2 * DEVIATION, 2, 2.0), 4),
    )
    before = expected_kernel(jacobian, DEVIATION, 2, 2.0)
    for name, changed, factor in changes:
        yield name, lora.scalar_factor(expected_kernel(jacobian, *changed), before) / factor


@evidence
def corrected_bound() -> Cases:
    """Yield the share of A beyond the corrected bound over what Prop. 4.4 allows.

    Prop. 4.4 allows a probability of larger deviations, `Bound.failure`.
    """
    for uniform in (False, True):
        entries = "uniform" if uniform else "normal"
        for rank in RANKS:
            for gap in GAPS:
                bound = Bound(rank, gap, LENGTH, DEVIATION)
                share = np.mean(_deviations(bound, uniform) > bound.corrected_bound)
                yield f"{entries}, r = {rank}, e = {gap:.2g}", share / bound.failure


@evidence
def printed_bound() -> Cases:
    """Yield the share of A beyond the printed bound over what Prop. 4.4 allows.

    Prop. 4.4 allows a probability of larger deviations, `Bound.failure`. Entries of A are normal
    with sigma = 1.
    """
    for rank in RANKS:
        bound = Bound(rank, 2 / 3, LENGTH)
        share = np.mean(_deviations(bound, uniform=False) > bound.printed_bound)
        yield f"r = {rank}, c = {LENGTH:g}", share / bound.failure


@evidence
def heavy_tails() -> Cases:
    """Yield the share of A beyond the corrected bound over the allowed one, by law of entries.

    Entries of A have variance 1, r = 256 and e = .25. The bound is on ||A x||^2 of one unit vector
    x.
    """
    bound = Bound(256, 0.25)
    x = _inputs(1.0)[0]
    random = generator(0, "entries with heavy tails")
    shape = (DRAWS, bound.rank, WIDTH)
    laws = {
        "normal": random.normal(size=shape),
        f"Student's t, {HEAVY:g} degrees of freedom": random.standard_t(HEAVY, shape)
        / np.sqrt(HEAVY / (HEAVY - 2)),
    }
    for name, drawn in laws.items():
        lengths = np.sum((drawn @ x) ** 2, axis=1)
        share = np.mean(np.abs(lengths - bound.rank) > bound.corrected_bound)
        yield name, share / bound.failure


@evidence
def stated_probability() -> Cases:
    """Yield the highest probability that Prop. 4.4 grants at the rank of the paper, whatever e."""
    gaps = np.linspace(0.001, 0.999, 999)
    granted = max(1 - Bound(PAPERS_RANK, float(gap)).failure for gap in gaps)
    yield f"r = {PAPERS_RANK}", granted


@evidence
def head_applied_twice() -> Cases:
    """Yield the deviation of V (V K V^T) V^T from V K V^T, over the norm of the latter.

    C = h, so that the product exists. K is the kernel of adapters; A.2.3 has V in the derivatives
    already, and F applies it again.
    """
    found = draw_case("linear map")
    width = found.network.features(found.train).shape[-1]
    random = generator(0, "a square head")
    weight = torch.from_numpy(random.normal(size=(width, width)) / np.sqrt(width))
    inner = expected_kernel(adapted_jacobian("linear map", found), DEVIATION, 2, 2.0)
    once = kernel.ft_effective_kernel(inner, weight)
    twice = kernel.ft_effective_kernel(once, weight)
    yield f"C = h = {width}", (twice - once).norm() / once.norm()


def _inputs(length: float) -> NDArray[np.float64]:
    """Draw two inputs [2, d] of the given length."""
    x = generator(0, "inputs of Prop. 4.4").normal(size=(2, WIDTH))
    return np.asarray(length * x / np.linalg.norm(x, axis=1, keepdims=True))


def _deviations(bound: Bound, uniform: bool) -> NDArray[np.float64]:
    """Draw A; return deviations of <A x, A x> and <A x, A x'> from their means."""
    first, second = _inputs(bound.length)
    random = generator(bound.rank, "projections")
    shape = (DRAWS, bound.rank, WIDTH)
    found = []
    for other in (first, second):
        a = lora.draw_projections(random, shape, bound.deviation, uniform)
        found.append(lora.deviations(bound, first, other, a))
    return np.concatenate(found)
