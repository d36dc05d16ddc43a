"""Low-rank adaptation: its kernel at the start, where B = 0 (Sec. 4.5).

W + (alpha/r) B A, where the entries of A [r, d_in] are independent, of variance sigma^2. There the
gradient of A vanishes and that of B is (alpha/r) G A^T, where G = dphi/dW, so that

    F^LoRA(x, x') = (alpha/r)^2 sum_W V <G(x) A^T, G(x') A^T> V^T
    E_A F^LoRA    = sigma^2 r (alpha/r)^2 F^FT of the adapted matrices                (any network)

and P is that of full fine-tuning. Prop. 4.4 is phi = B_0 x + B A x with alpha = r and ||x|| <= c.
With a probability of at least 1 - 4 exp(-(e^2 - e^3) r/4), ||F^LoRA - sigma^2 r F^FT|| is at most

    printed:     c e ||V V^T||
    corrected:   c^2 sigma^2 r e ||V V^T||, for entries of A that are Gaussian or bounded
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Bound(NamedTuple):
    """Numbers of Prop. 4.4, and its bounds."""

    rank: int
    """Rank r."""
    epsilon: float
    """Number e, between 0 and 1."""
    length: float = 1.0
    """Largest length c of an input, ||x|| <= c."""
    deviation: float = 1.0
    """Standard deviation sigma of an entry of A."""

    @property
    def printed_bound(self) -> float:
        """Printed bound c e, in units of ||V V^T||."""
        return self.length * self.epsilon

    @property
    def corrected_bound(self) -> float:
        """Bound c^2 sigma^2 r e that the proof gives, in units of ||V V^T||."""
        return self.length**2 * self.deviation**2 * self.rank * self.epsilon

    @property
    def failure(self) -> float:
        """Largest probability of a larger deviation, 4 exp(-(e^2 - e^3) r/4)."""
        return float(4 * np.exp(-(self.epsilon**2 - self.epsilon**3) * self.rank / 4))


def draw_projections(
    random: np.random.Generator, shape: tuple[int, int, int], deviation: float, uniform: bool
) -> NDArray[np.float64]:
    """Draw matrices A [draws, r, d_in], of uniform entries, as PyTorch's, or of Gaussian ones."""
    if uniform:
        half = np.sqrt(3) * deviation
        return random.uniform(-half, half, shape)
    return random.normal(0.0, deviation, shape)


def deviations(
    bound: Bound, first: NDArray[np.float64], second: NDArray[np.float64], a: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ||F^LoRA - sigma^2 r F^FT||/||V V^T|| = |<A x, A x'> - sigma^2 r <x, x'>|, [draws].

    `first` is x [d], `second` x' [d], and `a` has draws of A [draws, r, d].
    """
    mean = bound.deviation**2 * bound.rank * float(first @ second)
    inner = np.einsum("srd,d,sre,e->s", a, first, a, second, optimize=True)
    return np.asarray(np.abs(inner - mean))


def kaiming_deviation(width: int) -> float:
    """Return sigma of the released code's A: kaiming_uniform, a = sqrt 5, variance 1/(3 d_in)."""
    return float(np.sqrt(1 / (3 * width)))


def expected_scalar(deviation: float, rank: int, alpha: float) -> float:
    """Return sigma^2 r (alpha/r)^2, the factor of E_A F^LoRA over F^FT of the adapted matrices."""
    return deviation**2 * rank * (alpha / rank) ** 2


def adapted_kernel(
    jacobian: Mapping[str, Tensor],
    other: Mapping[str, Tensor],
    projections: Mapping[str, Tensor],
    alpha: float,
) -> Tensor:
    """Compute Theta^phi [n, m, h, h] of the adapters at B = 0; V on both sides makes it F^LoRA.

    By name of an adapted matrix, `jacobian` has dphi(x)/dW [n, h, d_out, d_in], `other` that of x'
    [m, h, d_out, d_in], and `projections` A [r, d_in]. `alpha` is the scale of the adapters.
    """
    kernel = torch.zeros(())
    for name, a in projections.items():
        scaled = a * (alpha / len(a))
        seen, facing = (torch.einsum("nhoi,ri->nhor", j[name], scaled) for j in (jacobian, other))
        kernel = kernel + torch.einsum("nhor,mkor->nmhk", seen, facing)
    return kernel


def scalar_factor(adapted: Tensor, full: Tensor) -> float:
    """Return <F^LoRA, F>/<F, F>, the least-squares factor; it is unbiased over A."""
    return float((adapted * full).sum() / (full * full).sum())
