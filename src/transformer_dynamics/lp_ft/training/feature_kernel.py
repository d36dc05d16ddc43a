"""Theta^phi along some directions, u Theta^phi(x, x') u', of an encoder and of its adapters.

F(x, x') = V Theta^phi(x, x') V^T, so that directions which span the rows of some heads give F of
all of them. Memory is bounded: modules are taken together as long as their factors fit.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.lp_ft.training import grams
from transformer_dynamics.lp_ft.training.gradients import (
    Factors,
    gradient_factors,
    module_widths,
    parametric_modules,
)

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

SMALLEST = 1e-10
"""Share of the largest singular value below which a direction does not count."""
FORMED_PART = 8
"""Inverse of the part of the room that gradients take which are formed at a time."""


class FeatureKernels(NamedTuple):
    """Sums over parameters; rows are of all samples and columns of those of training."""

    whole: Tensor
    """[n, m, Q, Q] Kernel of all parameters."""
    adapted: Tensor
    """[n, m, Q, Q] Kernel of the adapted matrices only."""
    adapters: Tensor
    """[D, n, m, Q, Q] Kernel of the adapters at B = 0 by drawn A, with the scale alpha/r."""


class KernelPlan(NamedTuple):
    """Directions and adapters of a kernel, and the memory to compute it."""

    directions: Tensor
    """[Q, h] Directions u; their type and place are those of the kernels."""
    train: int
    """Number m of training samples, the first ones."""
    projections: Sequence[Mapping[str, Tensor]] = ()
    """Draws of A, D mappings of names of linear layers to [r, d_in]."""
    adapted: Sequence[str] = ()
    alpha: float = 1.0
    room: int = 10**9
    """Bytes of factors of all samples at a time; one module's may be more."""


def orthonormal_directions(weights: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """Return an orthonormal basis [Q, h] of the rows of heads, and W [C, Q] of each head.

    V = W directions, where V [C, h] is the head's weight, not zero.
    """
    scaled = torch.cat([weight / weight.norm() for weight in weights])
    values, rows = torch.linalg.svd(scaled, full_matrices=False)[1:]
    directions = rows[values > SMALLEST * values[0]]
    return directions, [weight @ directions.T for weight in weights]


def feature_kernels(
    model: nn.Module, texts: Tokens, plan: KernelPlan, checkpoint: "Checkpoint | None" = None
) -> FeatureKernels:
    """Compute Theta^phi along some directions, of an encoder and of its adapters.

    The encoder is in eval mode, of the directions' type. Of the texts [n], those of training come
    first. The checkpoint keeps the sums between groups of modules, which do not depend on it.
    """
    samples, size = len(texts.labels), len(plan.directions)
    shape = (2 + len(plan.projections), samples * size, plan.train * size)
    sums = plan.directions.new_zeros(shape)
    groups = list(_module_groups(model, int(texts.lengths.sum()), plan))
    done = 0
    kept = checkpoint.read() if checkpoint else None
    if kept is not None:
        sums, done = torch.from_numpy(kept["sums"]).to(sums), int(kept["groups"])
    with tqdm(
        total=len(groups) * samples, initial=done * samples, unit="sample", mininterval=10
    ) as bar:
        for number, names in enumerate(groups[done:], start=done + 1):
            found: dict[str, list[Factors]] = {name: [] for name in names}
            for of_sample in gradient_factors(model, texts, plan.directions, names):
                for name, one in of_sample.items():
                    found[name].append(one)
                bar.update()
            for name in names:
                _add_module(sums, model.get_submodule(name), name, found.pop(name), plan)
            if checkpoint and checkpoint.is_due():
                checkpoint.write({"sums": sums.cpu().numpy(), "groups": np.array(number)})
    whole, adapted, *adapters = (
        grams.complete_gram(gram).view(samples, size, plan.train, size).transpose(1, 2)
        for gram in sums
    )
    drawn = torch.stack(adapters) if adapters else whole.new_zeros(0, *whole.shape)
    return FeatureKernels(whole, adapted, drawn)


def _module_groups(model: nn.Module, positions: int, plan: KernelPlan) -> Iterator[list[str]]:
    """Yield modules whose factors fit into the room together, those next to the features first."""
    group: list[str] = []
    taken = 0
    for name, module in reversed(parametric_modules(model).items()):
        inputs, outputs = module_widths(module)
        size = positions * (inputs + len(plan.directions) * outputs)
        size *= plan.directions.element_size()
        if group and taken + size > plan.room:
            yield group
            group, taken = [], 0
        group.append(name)
        taken += size
    yield group


def _add_module(
    sums: Tensor, module: nn.Module, name: str, found: list[Factors], plan: KernelPlan
) -> None:
    """Add the part of one module to all sums."""
    whole, adapted, *adapters = sums
    if isinstance(module, nn.Embedding):
        grams.add_table(whole, found)
        return
    if module.bias is not None:
        grams.add_vector(whole, [one.outputs.sum(dim=1) for one in found])
    if isinstance(module, nn.LayerNorm):
        grams.add_vector(whole, [(one.outputs * one.inputs).sum(dim=1) for one in found])
        return
    room = plan.room // FORMED_PART
    if name not in plan.adapted:
        grams.add_matrix(whole, found, room)
        return
    own = torch.zeros_like(whole)
    grams.add_matrix(own, found, room)
    whole += own
    adapted += own
    for gram, projections in zip(adapters, plan.projections, strict=True):
        a = projections[name]
        scaled = a.T * (plan.alpha / len(a))
        grams.add_vector(gram, [one.outputs.mT @ (one.inputs @ scaled) for one in found])


def ft_effective_kernel(kernel: Tensor, coefficients: Tensor) -> Tensor:
    """Return F = W K W^T [n, m, C, C] of a head from K [n, m, Q, Q] and coefficients W [C, Q]."""
    return torch.einsum("cq,nmqp,dp->nmcd", coefficients, kernel, coefficients)
