"""The pseudo-energy of a drive, and how far the Jacobian of attention explains it.

    E_pseudo = -Tr(X^T Y),   Y = C + MSA(X)

Along the tokens themselves the Jacobian J of MSA needs no matrix: the scores are quadratic in X, so
that X -> (1 + e) X changes the values by e and beta by 2 e,

    J vec X = vec MSA + 2 d vec MSA/d log beta

and with attention P_h held still, as (93) has it, only the values are left:

    (sum_h P_h (x) (W^V_h W^O_h)^T) vec X = vec MSA

Tokens X are [..., S, D], vec X is row-major, matrices are [..., S D, S D]. P_h are [..., H, S, S],
W^V_h W^O_h are [..., H, D, D]. Arguments of attention are those of `attention.py`.
Leading axes are those of tokens alone: weights are those of one model.
"""

from math import floor

import torch
from scipy.linalg import eigh
from torch import Tensor

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.theory.attention import Weights, attention
from transformer_dynamics.recurrent_attention.theory.jacobian import head_columns, head_rows


def pseudo_energy(tokens: Tensor, drive: Tensor) -> Tensor:
    """Return E_pseudo = -Tr(X^T Y) [...] of tokens X and their drive Y [..., S, D]."""
    return -(tokens * drive).sum(dim=(-2, -1))


def jacobian_along_tokens(
    tokens: Tensor, weights: Weights, heads: int, beta: float
) -> tuple[Tensor, Tensor]:
    """Return MSA(X), and its Jacobian times vec X, which is vec MSA + 2 d vec MSA/d log beta."""
    attended = attention(tokens, weights, heads, beta)
    return attended, attended + 2 * log_beta_derivative(tokens, weights, heads, beta)


def log_beta_derivative(tokens: Tensor, weights: Weights, heads: int, beta: float) -> Tensor:
    """Return the derivative d MSA/d log beta [..., S, D].

    With scores s_ij = beta x_i W^Q_h W^K_h^T x_j^T, that of P_ij is P_ij (s_ij - sum_k P_ik s_ik).
    """
    query, key, value = (
        tokens.unsqueeze(-3) @ head_columns(weight, heads)
        for weight in (weights.query, weights.key, weights.value)
    )
    scores = beta * query @ key.mT
    shares = torch.softmax(scores, dim=-1)
    change = shares * (scores - (shares * scores).sum(dim=-1, keepdim=True))
    return (change @ value @ head_rows(weights.output, heads)).sum(dim=-3)


def cosine_similarity(first: Tensor, second: Tensor) -> Tensor:
    """Return the cosine of the angle between vec of two matrices [..., S, D]; [...]."""
    return torch.cosine_similarity(first.flatten(-2), second.flatten(-2), dim=-1)


def frozen_attention(tokens: Tensor, shares: Tensor, mixed: Tensor) -> Tensor:
    """Return sum_h P_h X W^V_h W^O_h with given P_h [..., S, D]: MSA(X) if they are those of X."""
    return (shares @ tokens.unsqueeze(-3) @ mixed).sum(dim=-3)


def frozen_jacobian(shares: Tensor, mixed: Tensor) -> Tensor:
    """Return sum_h P_h (x) (W^V_h W^O_h)^T: (93) with P_h of the moment, (94) with those at t = 0.

    The matrix [..., S D, S D] does to vec X what `frozen_attention` does.
    """
    return torch.einsum("...hij,...hed->...idje", shares, mixed).flatten(-2).flatten(-3, -2)


def leading_directions(jacobian: Tensor, share: float) -> Tensor:
    """Return orthonormal eigenvectors of the largest eigenvalues of S = J + J^T [S D, K].

    K is a share of all S D directions, rounded down. Raise InputError if it is 0.
    """
    size = len(jacobian)
    count = count_directions(share, size)
    symmetric = (jacobian + jacobian.mT).cpu().numpy()
    # Only the eigenvectors that count: a third of the time of all.
    _, basis = eigh(symmetric, subset_by_index=(size - count, size - 1))
    return torch.from_numpy(basis).to(jacobian)


def count_directions(share: float, size: int) -> int:
    """Return a share of directions as their number, rounded down; raise InputError if it is 0."""
    # Rounding of a share such as .29 of 100 must not lose a direction.
    count = floor(share * size + 1e-9)
    if count < 1:
        raise InputError(f"a share of {share:g} of {size} directions is less than one")
    return count


def contribution(tokens: Tensor, basis: Tensor) -> float:
    """Return the share of |vec X|^2 in the span of some directions, an orthonormal basis [S D, K].

    Of a vector that may point anywhere it is K/(S D) on average.
    """
    vector = tokens.flatten()
    return float((vector @ basis).square().sum() / vector.square().sum())
