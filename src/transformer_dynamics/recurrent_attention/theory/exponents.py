"""Lyapunov exponents of a finite time, and of a long one.

Of T steps with Jacobians J_1, ..., J_T the exponents are lambda_i = (1/T) log s_i, s_i the singular
values of J_T ... J_1 (B.3 before its limit). Every normalised block takes one of them to zero
exactly; such null directions are left out by their count, as their round-off is no exponent.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import lapack, qr
from torch import Tensor
from torch.func import vjp, vmap

from replication.base.errors import InputError
from transformer_dynamics.recurrent_attention.theory.jacobian import Matrix, Step

Floats = NDArray[np.float64]
Map = Callable[[Tensor], Tensor]
"""Map of tokens [..., S, D] to tokens; leading axes do not see each other."""


def trajectory_steps(
    step: Callable[[Tensor], Step[Matrix]], start: Tensor, loops: int
) -> list[Step[Matrix]]:
    """Return the steps of a trajectory from X(0) [..., S, D]; the first not finite is the last.

    X(0) is normalised if the model's tokens are. Raise InputError if there is no step.
    """
    if loops < 1:
        raise InputError(f"exponents need at least one step, got {loops}")
    steps = [step(start)]
    while len(steps) < loops and steps[-1].is_finite:
        steps.append(step(steps[-1].tokens))
    return steps


def mean_exponent(steps: Sequence[Step[Tensor]]) -> Tensor:
    """Return the mean of the exponents that are not null [...].

    Their sum is that of the log-volumes by which each step maps the tangent space that the step
    before leads to; for the first that is the complement of its null space. If L [n, B] spans the
    normals to the image of J [n, n], and B the normals to the space it starts from, then log |det|
    of J between the two is log |det(J + L B^T)|, whose blocks are triangular in these bases. The
    mean is -inf if a step loses more than its null directions.
    """
    total = steps[0].jacobian.new_zeros(steps[0].jacobian.shape[:-2])
    outside = null_space(steps[0])
    for step in steps:
        total = total + torch.linalg.slogdet(step.jacobian + step.normals @ outside.mT).logabsdet
        outside = step.normals
    return total / (len(steps) * (outside.shape[-2] - outside.shape[-1]))


def leading_exponents(steps: Sequence[Step[Any]], count: int, *, tolerance: float = 1e-6) -> Tensor:
    """Return the largest exponents [..., count], descending, by block Lanczos iteration.

    The steps are multiplied as thin products. From below, the singular values of M V approach those
    of M = J_T ... J_1, V an orthonormal basis of the blocks V_1, M^T M V_1, and so on, until a
    block raises none by more than `tolerance`. In float64 an exponent that is less than the largest
    by 36/T is lost in round-off, see `exponent_spectrum`. Raise InputError if there are fewer
    exponents than asked for.
    """
    matrices = [step.jacobian for step in steps]
    size = steps[0].tokens.shape[-2:].numel()
    if not 1 <= count <= size:
        raise InputError(f"{count} exponents were asked for, and there are {size}")
    back = [matrix.mT for matrix in reversed(matrices)]
    block = basis = _initial_frame(steps[0].tokens, min(size, max(8, count)))
    image, log_scale = _push_frame(matrices, basis)
    found = _image_exponents(image, log_scale, count, len(steps))
    while basis.shape[-1] < size:
        # Householder's reflections: new columns are normal to the basis, even if none are needed.
        here, _ = _push_frame(back, torch.linalg.qr(image[..., -block.shape[-1] :]).Q)
        wider = torch.linalg.qr(torch.cat([basis, here], dim=-1)).Q
        block = wider[..., basis.shape[-1] :]
        basis = torch.cat([basis, block], dim=-1)
        there, log_there = _push_frame(matrices, block)
        relative = (log_there - log_scale).exp()[..., None, None]
        image = torch.cat([image, relative * there], dim=-1)
        before, found = found, _image_exponents(image, log_scale, count, len(steps))
        if bool(((found - before).abs() <= tolerance).all()):
            break
    return found


def exponent_spectrum(steps: Sequence[Step[Tensor]]) -> Floats:
    """Return all exponents that are not null, descending, each to full precision [n - B].

    A product of matrices loses the part 16 digits below its largest singular value. So it is kept
    as Q D R, Q orthonormal, D diagonal and R well-conditioned, by QR with pivots after every step,
    and the singular values of D R are found by Jacobi's method, which is accurate to each. Steps
    have no leading axes, and are in float64. Raise InputError if the last decomposition fails, as
    it does for numbers that are not finite.
    """
    nulls = steps[0].normals.shape[-1]
    size = steps[0].jacobian.shape[-1]
    left: NDArray[np.floating] = np.eye(size)
    right: NDArray[np.floating] = np.eye(size)
    scale: NDArray[np.floating] = np.ones(size)
    for step in steps:
        graded = (step.jacobian.cpu().numpy() @ left) * scale
        left, triangle, order = qr(graded, mode="economic", pivoting=True, check_finite=False)
        kept = size - nulls
        left, triangle = left[:, :kept], triangle[:kept]
        scale = np.abs(np.diagonal(triangle))
        right = (triangle / scale[:, None]) @ right[order]
    # A factor that all have in common is none of LAPACK's business.
    common = scale.max()
    singular, *_, work, _, info = lapack.dgejsv(
        (scale / common)[:, None].T * right.T, joba=0, jobu=3, jobv=3
    )
    if info:
        raise InputError(f"the singular values of the product were not found: dgejsv says {info}")
    logs = np.log(np.sort(singular * work[0] / work[1])[::-1]) + np.log(common)
    return np.asarray(logs / len(steps))


def long_time_exponents(
    step: Map, start: Tensor, loops: int, count: int, *, skipped: int
) -> Tensor:
    """Return exponents [..., count] by the growth of a frame that every step makes orthonormal.

    They tend to the leading exponents for T -> infinity and differ from them at small T. The first
    `skipped` steps from X(0) [..., S, D] turn the frame and are not counted.
    """
    shape = start.shape[-2:]
    frame = _initial_frame(start, count)
    total = start.new_zeros((*start.shape[:-2], count))
    tokens = start
    for index in range(loops):
        push = vmap(linear_maps(step, tokens)[0], in_dims=-1, out_dims=-1)
        frame, triangle = torch.linalg.qr(push(torch.unflatten(frame, -2, shape)).flatten(-3, -2))
        tokens = step(tokens)
        if index >= skipped:
            total = total + triangle.diagonal(dim1=-2, dim2=-1).abs().log()
    return total / (loops - skipped)


def _image_exponents(image: Tensor, log_scale: Tensor, count: int, loops: int) -> Tensor:
    """Return exponents [..., count] of an image [..., n, K] that is over its scale [...]."""
    values = torch.linalg.svdvals(torch.linalg.qr(image).R)[..., :count]
    short = count - values.shape[-1]
    logs = torch.nn.functional.pad(values, (0, short)).log() + log_scale[..., None]
    return logs / loops


def linear_maps(function: Map, at: Tensor) -> tuple[Map, Map]:
    """Return v -> J v and u -> J^T u, J the Jacobian of a function of tokens at [..., S, D].

    The first is the transpose of the second, so that backward derivatives are enough: PyTorch's
    forward ones warn of their own parts, and know fewer operations.
    """
    value, pull = vjp(function, at)[:2]
    push = vjp(lambda direction: pull(direction)[0], torch.zeros_like(value))[1]
    return lambda direction: push(direction)[0], lambda direction: pull(direction)[0]


def null_space(step: Step[Tensor]) -> Tensor:
    """Return an orthonormal basis [..., n, B] of the null space of a step's Jacobian.

    (J + L L^T) v = L c has J v = 0, as J leads nowhere along L.
    """
    normals = step.normals
    if not normals.shape[-1]:
        return normals
    found = torch.linalg.solve(step.jacobian + normals @ normals.mT, normals)
    basis: Tensor = torch.linalg.qr(found).Q
    return basis


def _initial_frame(like: Tensor, width: int) -> Tensor:
    """Return the same orthonormal vectors every time, [..., n, width] for tokens [..., S, D]."""
    random = torch.Generator().manual_seed(0)
    size = like.shape[-2:].numel()
    drawn = torch.randn(size, width, generator=random, dtype=torch.float64).to(like)
    basis: Tensor = torch.linalg.qr(drawn).Q
    return basis.expand(*like.shape[:-2], size, width)


def _push_frame(matrices: Sequence[Any], frame: Tensor) -> tuple[Tensor, Tensor]:
    """Return the image of a frame over a scale [...], and the logarithm of that scale."""
    log_scale = frame.new_zeros(frame.shape[:-2])
    for matrix in matrices:
        frame = matrix @ frame
        size = frame.abs().amax(dim=(-2, -1))
        frame, log_scale = frame / size[..., None, None], log_scale + size.log()
    return frame, log_scale
