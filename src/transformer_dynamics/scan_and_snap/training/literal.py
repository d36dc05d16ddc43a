"""The model and its training written out literally: oracle of tests, baseline of benchmarks.

One-hot sequences of length T, Z as an M x M matrix, autograd, PyTorch's optimisers, one run at a
time, one draw per sequence.
"""

import random
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer_dynamics.scan_and_snap.settings.training import Mixture, Sampling, Training
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes


class LiteralRun(NamedTuple):
    """One run of one cell."""

    loss: list[float]
    """Mean loss of each batch before its update."""
    attention_logits: Tensor
    """[M, M] Attention logits Z in the end."""


def literal_loss(
    y: Tensor,
    z: Tensor,
    tokens: Tensor,
    next_tokens: Tensor,
    *,
    residual: bool,
    query_among_keys: bool,
) -> Tensor:
    """Return the mean cross-entropy of the one-layer transformer (the negative of Eq. 15).

    y is [M, M] Y, z [M, M] Z, whose rows are queries, tokens are [B, T], the query last, and next
    tokens [B]. If `residual`, the query's one-hot vector is added to the attention's output; if
    `query_among_keys`, the query's own position is attended to, too.
    """
    x = torch.nn.functional.one_hot(tokens, len(y)).to(y.dtype)
    query = x[:, -1]
    keys = x if query_among_keys else x[:, :-1]
    scores = torch.bmm(keys @ z.T, query.unsqueeze(2)).squeeze(2)
    b = torch.softmax(scores, dim=1)
    output = torch.bmm(b.unsqueeze(1), keys).squeeze(1)
    if residual:
        output = output + query
    f = output / output.norm(dim=1, keepdim=True)
    return torch.nn.functional.cross_entropy(f @ y, next_tokens)


def literal_train(
    mixture: Mixture, sampling: Sampling, training: Training, cell: int, seed: int
) -> LiteralRun:
    """Train one cell of the sweep, by its index, on the authors' stream, whatever `sampling` says.

    Each sequence is drawn by its own calls.
    """
    random.seed(seed)
    torch.manual_seed(seed + 2)
    size = mixture.vocabulary_size
    k1, k2 = (torch.nn.Linear(size, size, bias=False) for _ in range(2))
    if training.initialization == "zero":
        torch.nn.init.zeros_(k1.weight)
        torch.nn.init.zeros_(k2.weight)
    eta_z, ratio = training.cells[cell]
    groups = [{"params": k1.weight, "lr": eta_z * ratio}, {"params": k2.weight, "lr": eta_z}]
    optimizer = _optimizer(training, groups)
    losses = []
    for _ in range(sampling.steps):
        tokens, next_tokens = _draw_batch(mixture, sampling)
        optimizer.zero_grad()
        loss = literal_loss(
            k1.weight.T,
            k2.weight,
            tokens,
            next_tokens,
            residual=training.residual,
            query_among_keys=training.query_among_keys,
        )
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return LiteralRun(losses, k2.weight.detach())


def _optimizer(training: Training, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
    if training.optimizer == "sgd":
        return torch.optim.SGD(groups, momentum=training.momentum)
    adam = training.adam
    assert adam is not None
    return torch.optim.Adam(groups, betas=(adam.beta_1, adam.beta_2), eps=adam.epsilon)


def _draw_batch(mixture: Mixture, sampling: Sampling) -> tuple[Tensor, Tensor]:
    classes = sequence_classes(mixture)
    weights = torch.cat([torch.ones(10), torch.linspace(0.1, 1, 10)])
    tokens = torch.empty(sampling.batch_size, sampling.sequence_length, dtype=torch.long)
    next_tokens = torch.empty(sampling.batch_size, dtype=torch.long)
    support = torch.from_numpy(classes.support)
    for i in range(sampling.batch_size):
        n = random.choice(range(mixture.num_classes))
        drawn = torch.multinomial(
            weights / weights.sum(), sampling.sequence_length - 1, replacement=True
        )
        tokens[i, :-1] = support[n][drawn]
        tokens[i, -1] = int(classes.query_tokens[classes.query[n]])
        next_tokens[i] = int(classes.next_tokens[n])
    return tokens, next_tokens
