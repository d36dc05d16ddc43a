"""The pseudo-energy of a drive, and how far the Jacobian of attention explains it.

    E_pseudo = -Tr(X^T Y),   Y = C + MSA(X)

Along the tokens themselves the Jacobian J of MSA needs no matrix: the scores are quadratic in X, so
that X -> (1 + e) X changes the values by e and beta by 2 e,

    J vec X = vec MSA + 2 d vec MSA/d log beta

and with attention P_h held still, as (93) has it, only the values are left:

    (sum_h P_h (x) (W^V_h W^O_h)^T) vec X = vec MSA

Tokens X are [..., S, D], vec X is row-major, matrices are [..., S D, S D].
Leading axes are those of tokens alone: weights are those of one model.
"""

from math import floor

import torch
from scipy.linalg import eigh
from torch import Tensor

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.attention import Weights, attention
from transformer_dynamics.recurrent_attention.theory.jacobian import columns, rows


def pseudo_energy(tokens: Tensor, drive: Tensor) -> Tensor:
    """E_pseudo = -Tr(X^T Y).

    Args:
        tokens: X [..., S, D].
        drive: Y [..., S, D].

    Returns:
        [...].
    """
    return -(tokens * drive).sum(dim=(-2, -1))


def along_tokens(
    tokens: Tensor, weights: Weights, heads: int, beta: float
) -> tuple[Tensor, Tensor]:
    """MSA(X), and its Jacobian times vec X, which is vec MSA + 2 d vec MSA/d log beta.

    Args:
        tokens: X [..., S, D].
        weights: of attention.
        heads: H.
        beta: inverse temperature.

    Returns:
        [..., S, D] both.
    """
    attended = attention(tokens, weights, heads, beta)
    return attended, attended + 2 * by_log_beta(tokens, weights, heads, beta)


def by_log_beta(tokens: Tensor, weights: Weights, heads: int, beta: float) -> Tensor:
    """The derivative d MSA/d log beta.

    With scores s_ij = beta x_i W^Q_h W^K_h^T x_j^T, that of P_ij is P_ij (s_ij - sum_k P_ik s_ik).

    Args:
        tokens: X [..., S, D].
        weights: of attention.
        heads: H.
        beta: inverse temperature.

    Returns:
        [..., S, D].
    """
    query, key, value = (
        tokens.unsqueeze(-3) @ columns(weight, heads)
        for weight in (weights.query, weights.key, weights.value)
    )
    scores = beta * query @ key.mT
    shares = torch.softmax(scores, dim=-1)
    change = shares * (scores - (shares * scores).sum(dim=-1, keepdim=True))
    return (change @ value @ rows(weights.output, heads)).sum(dim=-3)


def cosine(first: Tensor, second: Tensor) -> Tensor:
    """Cosine of the angle between vec of two matrices [..., S, D]; [...]."""
    return torch.cosine_similarity(first.flatten(-2), second.flatten(-2), dim=-1)


def frozen(tokens: Tensor, shares: Tensor, mixed: Tensor) -> Tensor:
    """sum_h P_h X W^V_h W^O_h with given P_h: MSA(X) if they are those of X.

    Args:
        tokens: X [..., S, D].
        shares: P_h [..., H, S, S].
        mixed: W^V_h W^O_h [..., H, D, D].

    Returns:
        [..., S, D].
    """
    return (shares @ tokens.unsqueeze(-3) @ mixed).sum(dim=-3)


def frozen_jacobian(shares: Tensor, mixed: Tensor) -> Tensor:
    """sum_h P_h (x) (W^V_h W^O_h)^T: (93) with the P_h of the moment, (94) with those at t = 0.

    Args:
        shares: P_h [..., H, S, S].
        mixed: W^V_h W^O_h [..., H, D, D].

    Returns:
        [..., S D, S D], what `frozen` does to vec X.
    """
    return torch.einsum("...hij,...hed->...idje", shares, mixed).flatten(-2).flatten(-3, -2)


def leading(jacobian: Tensor, share: float) -> Tensor:
    """The leading directions of S = J + J^T: orthonormal eigenvectors of the largest eigenvalues.

    Args:
        jacobian: J [S D, S D].
        share: of all S D directions those that lead, rounded down.

    Returns:
        [S D, K].

    Raises:
        InputError: if so small a share of so few directions is none.
    """
    size = len(jacobian)
    # Rounding of a share such as .29 of 100 must not lose a direction.
    count = floor(share * size + 1e-9)
    if count < 1:
        raise InputError(f"a share of {share:g} of {size} directions is less than one")
    symmetric = (jacobian + jacobian.mT).numpy()
    # Only the eigenvectors that count: a third of the time of all.
    _, basis = eigh(symmetric, subset_by_index=(size - count, size - 1))
    return torch.from_numpy(basis)


def contribution(tokens: Tensor, basis: Tensor) -> float:
    """Share of |vec X|^2 in the span of some directions.

    Args:
        tokens: X [S, D].
        basis: [S D, K], orthonormal.

    Returns:
        In [0, 1]. Of a vector that may point anywhere it is K/(S D) on average.
    """
    vector = tokens.flatten()
    return float((vector @ basis).square().sum() / vector.square().sum())
