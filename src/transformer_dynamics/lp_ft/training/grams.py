"""Gram matrices of gradients, without ever holding all of them.

Rows belong to samples and directions: row i Q + q is the gradient of u_q . phi(x_i). The first n of
them are of the training samples, which the columns are, too. Of the part of training samples, only
the lower triangle is kept up; `complete_gram` mirrors it.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from transformer_dynamics.lp_ft.training.gradients import Factors

BLOCK = 128
"""Number of columns of a product at a time, so that little above the diagonal is computed."""


def add_product(gram: Tensor, rows: Tensor) -> None:
    """Add the inner products of gradients [n Q, p] to a Gram matrix [n Q, m Q], in place."""
    for start in range(0, gram.shape[1], BLOCK):
        stop = min(start + BLOCK, gram.shape[1])
        gram[start:, start:stop].addmm_(rows[start:], rows[start:stop].T)


def complete_gram(gram: Tensor) -> Tensor:
    """Return the symmetric whole [n Q, m Q], from the entries on and below the diagonal."""
    train = gram.shape[1]
    lower = gram[:train].tril()
    return torch.cat([lower + lower.tril(-1).T, gram[train:]])


def add_matrix(gram: Tensor, factors: Sequence[Factors], room: int) -> None:
    """Add the part of a linear layer's matrix to the Gram matrix [n Q, m Q], in the cheaper way.

    With the gradients themselves, some rows of the matrix at a time; or by positions,

        <sum_t b_t a_t^T, sum_s b'_s a'_s^T> = sum_ts <b_t, b'_s> <a_t, a'_s>

    `factors` are those of each sample, `room` the bytes of gradients at a time.
    """
    directions, _, outputs = factors[0].outputs.shape
    inputs = factors[0].inputs.shape[1]
    lengths = [len(one.inputs) for one in factors]
    pairs = gram.shape[0] * gram.shape[1]
    longest = max(lengths)
    formed = (directions * sum(lengths) + pairs / 2) * inputs * outputs
    by_positions = pairs * longest**2 * (inputs / directions**2 + outputs)
    if by_positions < formed:
        _add_by_positions(gram, factors, longest)
        return
    width = max(1, room // (gram.shape[0] * inputs * gram.element_size()))
    for start in range(0, outputs, width):
        part = slice(start, start + width)
        rows = [one.outputs[:, :, part].mT @ one.inputs for one in factors]
        add_product(gram, torch.stack(rows).flatten(0, 1).flatten(1))


def _add_by_positions(gram: Tensor, factors: Sequence[Factors], longest: int) -> None:
    directions, _, width = factors[0].outputs.shape
    inputs = gram.new_zeros(len(factors), longest, factors[0].inputs.shape[1])
    outputs = gram.new_zeros(len(factors), directions, longest, width)
    for index, one in enumerate(factors):
        inputs[index, : len(one.inputs)] = one.inputs
        outputs[index, :, : len(one.inputs)] = one.outputs
    train = gram.shape[1] // directions
    facing_inputs = inputs[:train].flatten(0, 1).T
    facing_outputs = outputs[:train].flatten(0, 2).T
    for index in range(len(factors)):
        a = (inputs[index] @ facing_inputs).view(1, longest, train, 1, longest)
        b = outputs[index].flatten(0, 1) @ facing_outputs
        b = b.view(directions, longest, train, directions, longest)
        rows = slice(index * directions, (index + 1) * directions)
        gram[rows] += (a * b).sum(dim=(1, 4)).flatten(1)


def add_vector(gram: Tensor, rows: Sequence[Tensor]) -> None:
    """Add the part of parameters of which there are few; gradients of a sample are [Q, ...]."""
    add_product(gram, torch.stack(list(rows)).flatten(0, 1).flatten(1))


def add_table(gram: Tensor, factors: Sequence[Factors]) -> None:
    """Add the part of a table, row by row of it: samples that look up a row have a gradient."""
    directions = factors[0].outputs.shape[0]
    keys, owners, sums = [], [], []
    for index, one in enumerate(factors):
        known, place = one.inputs.unique(return_inverse=True)  # type: ignore[no-untyped-call]
        summed = one.outputs.new_zeros(directions, len(known), one.outputs.shape[2])
        keys.append(known)
        owners.append(torch.full_like(known, index))
        sums.append(summed.index_add(1, place, one.outputs).transpose(0, 1))
    order = torch.cat(keys).argsort(stable=True)
    key, owner, rows = (torch.cat(parts)[order] for parts in (keys, owners, sums))
    counts = [count for count in torch.bincount(key).tolist() if count]
    step = torch.arange(directions, device=gram.device)
    for own, part in zip(torch.split(owner, counts), torch.split(rows, counts), strict=True):
        flat = part.flatten(0, 1)
        places = (own[:, None] * directions + step).flatten()
        # Samples stand in their order, so that those of training are the first.
        facing = places[places < gram.shape[1]]
        gram[places[:, None], facing] += flat @ flat[: len(facing)].T
