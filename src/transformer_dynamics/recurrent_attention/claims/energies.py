"""Energies along the flows of Section 4 (J1, J2), and what is printed about them (E1, E3, E4)."""

import numpy as np

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.recurrent_attention.theory.energy import (
    WIDTH,
    Floats,
    State,
    asymmetry,
    corrected_energy_rate,
    counterexample_k1,
    counterexample_k2,
    energy_gradient,
    energy_rate,
    integrate_flow,
    random_heads,
    random_single_head,
    random_symmetric_heads,
    symmetrise_scores,
)

FAMILIES = ((4, 0.1), (16, 0.1), (16, 0.3), (16, 1))
"""Scales s and shares e of random A = s (K + e S), K antisymmetric and S symmetric."""
DRAWS = range(200)
"""Seeds of each family."""
CONTROLS = range(500)
"""Seeds of each family of symmetric A."""
SCALES = (1, 4, 16)
"""Scales s of symmetric A = s S."""
HEADS = (1, 2, 4, 8)
"""Numbers H of heads, in R^16."""
GAUSSIAN = range(1000)
"""Seeds of Gaussian tokens, for each H."""


def random_family(scale: float, share: float) -> State:
    """Return states of one head with A = s (K + e S), a seed each."""
    return random_single_head(DRAWS, scale, share)


def symmetric_family(scale: float) -> State:
    """Return states of one head with A = s S = W^V, a seed each."""
    return symmetrise_scores(random_single_head(CONTROLS, scale, 1))


@evidence
def single_head() -> Cases:
    """Return the largest dE/dt of (10) under (3) with W^V = (A + A^T)/2 (Proposition 4.1)."""
    yield "K1", energy_rate(*counterexample_k1())
    yield "K1 with 2A", energy_rate(*counterexample_k1(2))
    for scale, share in FAMILIES:
        yield f"random, s = {scale}, e = {share:g}", energy_rate(*random_family(scale, share)).max()
    for scale in SCALES:
        yield f"symmetric, s = {scale}", energy_rate(*symmetric_family(scale)).max()


@evidence
def single_head_formula() -> Cases:
    """Return the largest relative deviation of dE/dt from its form for A = A^T = W^V."""
    for scale in SCALES:
        yield f"s = {scale}", _deviation(symmetric_family(scale))


@evidence
def single_head_symmetric() -> Cases:
    """Return the largest dE/dt for A = A^T = W^V, at random and all along a flow."""
    for scale in SCALES:
        yield f"s = {scale}", energy_rate(*symmetric_family(scale)).max()
    yield (
        "flow from K1, A symmetrised",
        integrate_flow(symmetrise_scores(counterexample_k1()), 6).rate.max(),
    )


@evidence
def single_head_share() -> Cases:
    """Return the share of random states with W^V = (A + A^T)/2 in which the energy rises."""
    for scale, share in FAMILIES[:3]:
        yield f"s = {scale}, e = {share:g}", (energy_rate(*random_family(scale, share)) > 0).mean()


@evidence
def several_heads() -> Cases:
    """Return the largest dE/dt of (12) without projection (Proposition 4.2)."""
    for heads in (1, 2):
        yield f"K2, H = {heads}", energy_rate(*counterexample_k2(heads))
    for heads in HEADS:
        yield f"Gaussian, H = {heads}", energy_rate(*random_heads(GAUSSIAN, heads)).max()


@evidence
def several_heads_formula() -> Cases:
    """Return the largest relative deviation of dE/dt from its form for A_h = A_h^T = W^V_h."""
    for heads in HEADS:
        yield f"H = {heads}", _deviation(random_symmetric_heads(CONTROLS, heads))


@evidence
def several_heads_symmetric() -> Cases:
    """Return the largest dE/dt for A_h = A_h^T = W^V_h, at random and all along a flow."""
    for heads in HEADS:
        yield f"H = {heads}", energy_rate(*random_symmetric_heads(CONTROLS, heads)).max()
    yield (
        "flow from K2, A symmetrised",
        integrate_flow(symmetrise_scores(counterexample_k2()), 1).rate.max(),
    )


@evidence
def several_heads_share() -> Cases:
    """Return the share of Gaussian states in which the energy rises (Proposition 4.2)."""
    for heads in HEADS:
        yield f"H = {heads}", (energy_rate(*random_heads(GAUSSIAN, heads)) > 0).mean()


def _deviation(states: State) -> float:
    exact = energy_rate(*states)
    return float(np.abs(corrected_energy_rate(*states) / exact - 1).max())


@evidence
def printed_gradient() -> Cases:
    """Return the largest error of the proofs' gradient, with beta, over its largest entry (E1)."""
    for name, state in {
        "K1": counterexample_k1(),
        "K2, H = 1": counterexample_k2(),
        "K2, H = 2": counterexample_k2(2),
    }.items():
        exact = energy_gradient(*state)
        yield (
            name,
            np.abs(energy_gradient(*state, printed=True) - exact).max() / np.abs(exact).max(),
        )


def draw_orthogonal(seed: int, scope: str, width: int) -> Floats:
    """Draw a random orthogonal matrix [D, D]."""
    return np.asarray(np.linalg.qr(generator(seed, scope).standard_normal((width, width))).Q)


def value_and_output(seed: int) -> tuple[Floats, Floats]:
    """Draw orthogonal W^V and W^O [D, D] with R_E-multi = 0: W^V W^O is a random reflection.

    An orthogonal matrix is symmetric if it is Q diag(+-1) Q^T.
    """
    axes = draw_orthogonal(seed, "axes of reflection", WIDTH)
    signs = np.where(np.arange(WIDTH) % 2, -1.0, 1.0)
    value = draw_orthogonal(seed, "values", WIDTH)
    return value, value.T @ (axes * signs) @ axes.T


EXCHANGE = np.array([[0.0, 1.0], [1.0, 0.0]])
"""Matrix W^O of the smallest example with R_E-multi = 0, where W^V = Id and D = H = 2."""


def head_products(value: Floats, output: Floats, heads: int) -> Floats:
    """Return products W^V_h W^O_h [H, D, D] of blocks of columns and of rows."""
    columns, rows = np.split(value, heads, axis=1), np.split(output, heads, axis=0)
    return np.stack([v @ o for v, o in zip(columns, rows, strict=True)])


def _products_without_penalty() -> list[tuple[str, Floats]]:
    """Return products of the heads where R_E-multi is 0, by name."""
    smallest = head_products(np.eye(2), EXCHANGE, 2)
    drawn = [(f"D = 16, H = {h}", head_products(*value_and_output(h), h)) for h in HEADS[1:]]
    return [("D = H = 2", smallest), *drawn]


@evidence
def heads_without_penalty() -> Cases:
    """Return the largest asymmetry of W^V_h W^O_h where R_E-multi = 0, over its norm (E3)."""
    for name, products in _products_without_penalty():
        yield name, max(map(asymmetry, products))


@evidence
def sum_without_penalty() -> Cases:
    """Return the asymmetry of the sum over heads where R_E-multi = 0, over its norm."""
    for name, products in _products_without_penalty():
        yield name, asymmetry(products.sum(axis=0))


@evidence
def printed_transpose() -> Cases:
    """Return the distance of W^Q^T W^K from A^T = W^K W^Q^T over the norm of A, one head (E4)."""
    for width in (2, 16):
        query, key = generator(width, "query and key").standard_normal((2, width, width))
        distance = np.linalg.norm(query.T @ key - key @ query.T)
        yield f"D = D_H = {width}", distance / np.linalg.norm(query @ key.T)
