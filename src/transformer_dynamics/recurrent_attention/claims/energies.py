"""Energies along the flows of Section 4 (J1, J2), and what is printed about them (E1, E3, E4)."""

import numpy as np

from replication.base.random_streams import generator
from replication.study.evidence import Cases, evidence
from transformer_dynamics.recurrent_attention.theory.energy import (
    Floats,
    State,
    asymmetry,
    corrected_rate,
    flow,
    gradient,
    k1,
    k2,
    random_multi,
    random_single,
    random_symmetric_multi,
    rate,
    with_symmetric_scores,
)

FAMILIES = ((4, 0.1), (16, 0.1), (16, 0.3), (16, 1))
"""s and e of random A = s (K + e S), K antisymmetric and S symmetric."""
DRAWS = range(200)
"""Seeds of each family."""
CONTROLS = range(500)
"""Seeds of each family of symmetric A."""
SCALES = (1, 4, 16)
"""s of symmetric A = s S."""
HEADS = (1, 2, 4, 8)
"""H, in R^16."""
GAUSSIAN = range(1000)
"""Seeds of Gaussian tokens, for each H."""


def family(scale: float, share: float) -> State:
    """States of one head with A = s (K + e S), a seed each."""
    return random_single(DRAWS, scale, share)


def symmetric_family(scale: float) -> State:
    """States of one head with A = s S = W^V, a seed each."""
    return with_symmetric_scores(random_single(CONTROLS, scale, 1))


@evidence
def single_head() -> Cases:
    """Largest dE/dt of (10) under (3) with W^V = (A + A^T)/2 (Proposition 4.1)."""
    yield "K1", rate(*k1())
    yield "K1 with 2A", rate(*k1(2))
    for scale, share in FAMILIES:
        yield f"random, s = {scale}, e = {share:g}", rate(*family(scale, share)).max()
    for scale in SCALES:
        yield f"symmetric, s = {scale}", rate(*symmetric_family(scale)).max()


@evidence
def single_head_formula() -> Cases:
    """Largest relative deviation of dE/dt from its form for A = A^T = W^V."""
    for scale in SCALES:
        yield f"s = {scale}", _deviation(symmetric_family(scale))


@evidence
def single_head_symmetric() -> Cases:
    """Largest dE/dt for A = A^T = W^V, at random and all along a flow."""
    for scale in SCALES:
        yield f"s = {scale}", rate(*symmetric_family(scale)).max()
    yield "flow from K1, A symmetrised", flow(with_symmetric_scores(k1()), 6).rate.max()


@evidence
def single_head_share() -> Cases:
    """Share of random states with W^V = (A + A^T)/2 in which the energy rises."""
    for scale, share in FAMILIES[:3]:
        yield f"s = {scale}, e = {share:g}", (rate(*family(scale, share)) > 0).mean()


@evidence
def several_heads() -> Cases:
    """Largest dE/dt of (12) without projection under the conditions of Proposition 4.2."""
    for heads in (1, 2):
        yield f"K2, H = {heads}", rate(*k2(heads))
    for heads in HEADS:
        yield f"Gaussian, H = {heads}", rate(*random_multi(GAUSSIAN, heads)).max()


@evidence
def several_heads_formula() -> Cases:
    """Largest relative deviation of dE/dt from its form for A_h = A_h^T = W^V_h, A_h A_h' = 0."""
    for heads in HEADS:
        yield f"H = {heads}", _deviation(random_symmetric_multi(CONTROLS, heads))


@evidence
def several_heads_symmetric() -> Cases:
    """Largest dE/dt for A_h = A_h^T = W^V_h and A_h A_h' = 0, at random and all along a flow."""
    for heads in HEADS:
        yield f"H = {heads}", rate(*random_symmetric_multi(CONTROLS, heads)).max()
    yield "flow from K2, A symmetrised", flow(with_symmetric_scores(k2()), 1).rate.max()


@evidence
def several_heads_share() -> Cases:
    """Share of Gaussian states under Proposition 4.2's conditions in which the energy rises."""
    for heads in HEADS:
        yield f"H = {heads}", (rate(*random_multi(GAUSSIAN, heads)) > 0).mean()


def _deviation(states: State) -> float:
    exact = rate(*states)
    return float(np.abs(corrected_rate(*states) / exact - 1).max())


@evidence
def printed_gradient() -> Cases:
    """Largest error of the gradient in the proofs, with beta, over its largest entry (E1)."""
    for name, state in {"K1": k1(), "K2, H = 1": k2(), "K2, H = 2": k2(2)}.items():
        exact = gradient(*state)
        yield name, np.abs(gradient(*state, printed=True) - exact).max() / np.abs(exact).max()


def orthogonal(seed: int, scope: str, width: int) -> Floats:
    """[D, D] a random orthogonal matrix."""
    return np.asarray(np.linalg.qr(generator(seed, scope).standard_normal((width, width))).Q)


def value_and_output(seed: int, width: int = 16) -> tuple[Floats, Floats]:
    """[D, D] orthogonal W^V and W^O with R_E-multi = 0: W^V W^O is a random reflection.

    An orthogonal matrix is symmetric if it is Q diag(+-1) Q^T.
    """
    axes = orthogonal(seed, "axes of reflection", width)
    signs = np.where(np.arange(width) % 2, -1.0, 1.0)
    value = orthogonal(seed, "values", width)
    return value, value.T @ (axes * signs) @ axes.T


EXCHANGE = np.array([[0.0, 1.0], [1.0, 0.0]])
"""W^O of the smallest example with R_E-multi = 0, where W^V = Id and D = H = 2."""


def of_heads(value: Floats, output: Floats, heads: int) -> Floats:
    """[H, D, D] products W^V_h W^O_h of blocks of columns and of rows."""
    columns, rows = np.split(value, heads, axis=1), np.split(output, heads, axis=0)
    return np.stack([v @ o for v, o in zip(columns, rows, strict=True)])


def _unregularised() -> list[tuple[str, Floats]]:
    """Products of the heads where R_E-multi is 0, by name."""
    smallest = of_heads(np.eye(2), EXCHANGE, 2)
    drawn = [(f"D = 16, H = {h}", of_heads(*value_and_output(h), h)) for h in HEADS[1:]]
    return [("D = H = 2", smallest), *drawn]


@evidence
def heads_without_penalty() -> Cases:
    """Largest asymmetry of W^V_h W^O_h of a head where R_E-multi = 0, relative to its norm (E3)."""
    for name, products in _unregularised():
        yield name, max(map(asymmetry, products))


@evidence
def sum_without_penalty() -> Cases:
    """Asymmetry of the sum over heads where R_E-multi = 0, relative to its norm."""
    for name, products in _unregularised():
        yield name, asymmetry(products.sum(axis=0))


@evidence
def printed_transpose() -> Cases:
    """Distance of W^Q^T W^K from A^T = W^K W^Q^T, one head, relative to the norm of A (E4)."""
    for width in (2, 16):
        query, key = generator(width, "query and key").standard_normal((2, width, width))
        distance = np.linalg.norm(query.T @ key - key @ query.T)
        yield f"D = D_H = {width}", distance / np.linalg.norm(query @ key.T)
