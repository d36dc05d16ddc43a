"""Energies of self-attention and the flows that are said to lower them (Section 4).

With A_h = W^Q_h W^K_h^T, head h gives token x_i, a row of X,

    Delta_hi = sum_j P_hij W^V_h^T x_j,  P_hij = w_hij / Z_hi,
    w_hij = exp(beta x_i^T A_h x_j),     Z_hi = sum_j w_hij,

and the energies (10) and (12) are E = -sum_hij w_hij, of one head or of all. Their gradient is

    dE/dx_i = -beta sum_hj [w_hij A_h x_j + w_hji A_h^T x_j].

Proposition 4.1 is about one head on the sphere, dx_i/dt = (I - x_i x_i^T) Delta_i (3), Proposition
4.2 about all heads without projection, dx_i/dt = sum_h Delta_hi. All in float64. Leading axes of
tokens and of weights are free: they are broadcast against each other.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replication.base.random_streams import generator

Floats = NDArray[np.float64]

STEP = 1e-3
"""Time of a Runge-Kutta step."""
TOKENS, WIDTH = 8, 16
"""Number S of tokens, and number D of channels, of states that are drawn."""


class Attention(NamedTuple):
    """Weights of the heads, and the space of the tokens."""

    scores: Floats
    """Matrices A_h = W^Q_h W^K_h^T [..., H, D, D]."""
    values: Floats
    """Matrices W^V_h [..., H, D, D], in Section 4 as large as A_h."""
    beta: float
    """Inverse temperature, 1/sqrt(D_H)."""
    on_sphere: bool
    """True if the flow is (3), of unit tokens; false if it is that of Proposition 4.2."""


class State(NamedTuple):
    """Start of a flow."""

    tokens: Floats
    """Rows x_i of X [..., S, D]."""
    attention: Attention


class Path(NamedTuple):
    """A solution of a flow: T times t, tokens [T, ..., S, D], energy E and rate dE/dt [T, ...]."""

    t: Floats
    tokens: Floats
    energy: Floats
    rate: Floats


def symmetric_part(matrix: Floats) -> Floats:
    """Return (M + M^T)/2 [..., D, D], which the propositions ask of W^V_h."""
    return np.asarray((matrix + matrix.swapaxes(-1, -2)) / 2)


def attention_weights(tokens: Floats, attention: Attention) -> Floats:
    """Return the unnormalised attention w_hij = exp(beta x_i^T A_h x_j) [..., H, S, S]."""
    x = tokens[..., None, :, :]
    return np.exp(attention.beta * (x @ attention.scores @ x.swapaxes(-1, -2)))


def head_outputs(tokens: Floats, attention: Attention) -> Floats:
    """Return Delta_hi, the output of every head at every token [..., H, S, D]."""
    w = attention_weights(tokens, attention)
    mixed = w @ (tokens[..., None, :, :] @ attention.values)
    return np.asarray(mixed / w.sum(axis=-1, keepdims=True))


def energy(tokens: Floats, attention: Attention) -> Floats:
    """Return E = -sum_hij w_hij [...]: (10) of one head, (12) of several."""
    return np.asarray(-attention_weights(tokens, attention).sum(axis=(-3, -2, -1)))


def energy_gradient(tokens: Floats, attention: Attention, *, printed: bool = False) -> Floats:
    """Return dE/dx_i in closed form [..., S, D].

    If `printed`, the second sum has the weight w_hij, too, as in the proofs, instead of w_hji. The
    proofs also drop beta, which is kept here.
    """
    w = attention_weights(tokens, attention)
    x = tokens[..., None, :, :]
    transposed = attention.scores.swapaxes(-1, -2)
    # Rows: sum_j w_ij (A x_j)^T = (w X A^T)_i.
    forth = w @ (x @ transposed)
    back = (w if printed else w.swapaxes(-1, -2)) @ (x @ attention.scores)
    return np.asarray(-attention.beta * (forth + back).sum(axis=-3))


def project_to_sphere(vectors: Floats, tokens: Floats) -> Floats:
    """Return (I - x_i x_i^T) y_i [..., S, D], along the sphere if |x_i| = 1."""
    return np.asarray(vectors - tokens * (tokens * vectors).sum(axis=-1, keepdims=True))


def velocity(tokens: Floats, attention: Attention) -> Floats:
    """Return dx_i/dt [..., S, D]: (3) on the sphere, otherwise that of Proposition 4.2."""
    moved = head_outputs(tokens, attention).sum(axis=-3)
    return project_to_sphere(moved, tokens) if attention.on_sphere else moved


def energy_rate(tokens: Floats, attention: Attention) -> Floats:
    """Return dE/dt along the flow [...], the gradient times the velocity."""
    product = energy_gradient(tokens, attention) * velocity(tokens, attention)
    return np.asarray(product.sum(axis=(-2, -1)))


def corrected_energy_rate(tokens: Floats, attention: Attention) -> Floats:
    """Return dE/dt where a proposition holds [...], -2 beta sum_hi Z_hi |v_hi|^2.

    Here v_hi is Delta_hi, projected if the flow is. The form holds on the sphere for one head with
    A = A^T = W^V, and without projection for A_h = A_h^T = W^V_h with A_h A_h' = 0.
    """
    moved = head_outputs(tokens, attention)
    if attention.on_sphere:
        moved = project_to_sphere(moved, tokens[..., None, :, :])
    totals = attention_weights(tokens, attention).sum(axis=-1)
    squares = totals * (moved**2).sum(axis=-1)
    return np.asarray(-2 * attention.beta * squares.sum(axis=(-2, -1)))


def integrate_flow(start: State, until: float, step: float = STEP) -> Path:
    """Integrate a flow with the classical Runge-Kutta method of order 4, by steps dt = `step`.

    The last time is the multiple of dt nearest to `until`. On the sphere tokens are normalised
    after every step.
    """
    states = [start.tokens]
    for _ in range(round(until / step)):
        states.append(_runge_kutta_step(states[-1], start.attention, step))
    tokens = np.stack(states)
    times = step * np.arange(len(states), dtype=np.float64)
    return Path(
        times, tokens, energy(tokens, start.attention), energy_rate(tokens, start.attention)
    )


def _runge_kutta_step(x: Floats, attention: Attention, step: float) -> Floats:
    first = velocity(x, attention)
    second = velocity(x + step / 2 * first, attention)
    third = velocity(x + step / 2 * second, attention)
    fourth = velocity(x + step * third, attention)
    moved = x + step / 6 * (first + 2 * second + 2 * third + fourth)
    return _unit_vectors(moved) if attention.on_sphere else moved


def _unit_vectors(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def symmetrise_scores(start: State) -> State:
    """Replace A_h by its symmetric part, for which the propositions hold; return the new state."""
    attention = start.attention
    return start._replace(attention=attention._replace(scores=symmetric_part(attention.scores)))


def attention_of_scores(scores: Floats, beta: float, *, on_sphere: bool) -> Attention:
    """Return weights as both propositions have them, W^V_h = (A_h + A_h^T)/2."""
    return Attention(scores, symmetric_part(scores), beta, on_sphere)


def counterexample_k1(scale: float = 1) -> State:
    """Return K1, a counterexample to Proposition 4.1: two unit tokens in the plane, D = 2, H = 1.

    `scale` multiplies A, and so W^V.
    """
    scores = scale * np.array([[[0.0, 2.0], [-1.0, 0.0]]])
    tokens = np.array([[-1.0, 0.0], [0.8, 0.6]])
    return State(tokens, attention_of_scores(scores, 2**-0.5, on_sphere=True))


def counterexample_k2(heads: int = 1) -> State:
    """Return K2, a counterexample to Proposition 4.2: two tokens, D = 2 H, A_h = e_{2h-1} e_{2h}^T.

    Tokens are padded by zeros, so that heads after the first do nothing.
    """
    scores = np.zeros((heads, 2 * heads, 2 * heads))
    head = np.arange(heads)
    scores[head, 2 * head, 2 * head + 1] = 1
    tokens = np.zeros((2, 2 * heads))
    tokens[:, :2] = [[-5.0, 0.3], [4.0, 0.3]]
    return State(tokens, attention_of_scores(scores, 2**-0.5, on_sphere=False))


def random_single_head(seeds: range, scale: float, share: float) -> State:
    """Draw unit tokens and A = s (K + e S) of one head, s = `scale`, e = `share`, for every seed.

    K is the antisymmetric part of a matrix of independent N(0, 1), S the symmetric part of another;
    `symmetrise_scores` leaves s e S of A. Of N seeds, tokens are [N, S, D] and weights
    [N, 1, D, D], beta = 1/sqrt(D).
    """
    draws = [generator(seed, "energy of one head") for seed in seeds]
    tokens = _unit_vectors(np.stack([draw.standard_normal((TOKENS, WIDTH)) for draw in draws]))
    first, second = np.stack([draw.standard_normal((2, WIDTH, WIDTH)) for draw in draws], axis=1)
    scores = scale * (first - symmetric_part(first) + share * symmetric_part(second))
    return State(tokens, attention_of_scores(scores[:, None], WIDTH**-0.5, on_sphere=True))


def random_heads(seeds: range, heads: int) -> State:
    """Draw Gaussian tokens and A_h = U_1h U_2h^T as in Proposition 4.2, independent for every seed.

    All U_kh in R^{D x D/(2H)} together are the columns of one orthogonal matrix; 2 H must divide D.
    Of N seeds, tokens are [N, S, D] and weights [N, H, D, D], beta = 1/sqrt(D/H).
    """
    tokens, factors = _draw_orthogonal(seeds, 2 * heads)
    first, second = factors[:, :heads], factors[:, heads:]
    beta = (WIDTH / heads) ** -0.5
    scores = first @ second.swapaxes(-1, -2)
    return State(tokens, attention_of_scores(scores, beta, on_sphere=False))


def random_symmetric_heads(seeds: range, heads: int) -> State:
    """Draw Gaussian tokens and symmetric A_h = U_h diag(d_h) U_h^T, d_h of N(0, 1), for every seed.

    A_h A_h' = 0 for different heads; H must divide D. Of N seeds, tokens are [N, S, D] and weights
    [N, H, D, D], beta = 1/sqrt(D/H).
    """
    tokens, factors = _draw_orthogonal(seeds, heads)
    shape = heads, 1, WIDTH // heads
    draws = (generator(seed, "eigenvalues of the heads") for seed in seeds)
    eigenvalues = np.stack([draw.standard_normal(shape) for draw in draws])
    beta = (WIDTH / heads) ** -0.5
    scores = factors * eigenvalues @ factors.swapaxes(-1, -2)
    return State(tokens, attention_of_scores(scores, beta, on_sphere=False))


def _draw_orthogonal(seeds: range, parts: int) -> tuple[Floats, Floats]:
    """Draw tokens [N, S, D] and columns [N, parts, D, D/parts] of orthogonal matrices."""
    draws = [generator(seed, "energy of several heads") for seed in seeds]
    tokens = np.stack([draw.standard_normal((TOKENS, WIDTH)) for draw in draws])
    gaussian = np.stack([draw.standard_normal((WIDTH, WIDTH)) for draw in draws])
    columns = np.linalg.qr(gaussian).Q.reshape(len(draws), WIDTH, parts, WIDTH // parts)
    return tokens, columns.swapaxes(1, 2)


def asymmetry(matrix: Floats) -> float:
    """Return |M - M^T|_F / |M|_F, 0 if M is symmetric; R_E-multi is the square of its numerator."""
    return float(np.linalg.norm(matrix - matrix.swapaxes(-1, -2)) / np.linalg.norm(matrix))
