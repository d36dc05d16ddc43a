"""The one-layer transformer and its gradient in closed form (Lemma 1), for all cells at once.

There are no positions and the query m of class n is not among the keys, so a sequence enters only
through the count of each token l of the class's support:

    b_l  = count_l exp(z_ml) / sum_l' count_l' exp(z_ml')          attention, X^T b_T
    f    = LN(b) = b / |b|_2                                       normalised attention output
    alpha = softmax(Y^T f)                                         predicted next token
    J    = x_{T+1}^T Y^T f - log 1^T exp(Y^T f)                    objective (15), the loss is -J

and, with g = Y (x_{T+1} - alpha) (Lemma 1, Eq. 3-4; P is the projection orthogonal to f),

    dJ/dY   = f (x_{T+1} - alpha)^T
    dJ/dz_m = diag(b) P g / |b|_2.

Two switches give the query x_T an entry in b beside the support's:

    query_among_keys   it is a key that occurs once (otherwise its count is 0, so that b_m = 0)
    residual           v = b + x_T, as in the released code (otherwise v = b)

With f = v / |v|_2 and u = P g / |v|_2, all four cases have dJ/dz_m = diag(b) (u - (b.u) 1). Where
v = b this is the form above, as b.u = 0.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from transformer_dynamics.scan_and_snap.data.sequences import Sequences
from transformer_dynamics.scan_and_snap.theory.sequence_classes import SequenceClasses


class Parameters(NamedTuple):
    """Parameters, or their gradient, of G cells."""

    decoder: Tensor
    """[R, G, M] Rows of Y for the R tokens that can be attended to."""
    attention_logits: Tensor
    """[G, L, M] Rows z_m of Z for the L queries."""


class Batch(NamedTuple):
    """One batch, its B sequences sorted by class."""

    classes: Tensor
    """[B] Class of each sequence."""
    log_counts: Tensor
    """[B, S] Logarithm of each support token's count, -inf for none; [B, S + 1] with the query
    last."""
    blocks: list[tuple[int, int, int]]
    """Class, first sequence and end of each class that occurs."""


class Model:
    """The forward pass and gradient for one mixture."""

    def __init__(
        self,
        classes: SequenceClasses,
        *,
        residual: bool,
        query_among_keys: bool,
        device: torch.device,
    ) -> None:
        """Prepare index tables; see `batches` and `gradient`."""
        self.residual = residual
        self.query_among_keys = query_among_keys
        self.has_query_column = residual or query_among_keys
        self.device = device
        tokens = classes.support
        self.num_rows = classes.num_contextual
        if self.has_query_column:
            queries = classes.query_tokens[classes.query]
            tokens = np.concatenate([tokens, queries[:, None]], axis=1)
            self.num_rows += len(classes.query_tokens)
        keys = classes.query[:, None] * classes.vocabulary_size + tokens
        self.decoder_rows = torch.from_numpy(tokens).to(device)
        """[K, S or S + 1] rows of Y that a sequence of the class uses."""
        self.runs = [_runs(row) for row in tokens]
        self.keys = torch.from_numpy(keys).to(device)
        """[K, S or S + 1] position of z_ml in the flattened [L, M]."""
        self.next_tokens = classes.next_tokens.tolist()

    def batches(self, sequences: Sequences, dtype: torch.dtype) -> list[Batch]:
        """Sort every batch by class and move it to the device."""
        order = np.argsort(sequences.classes, axis=1, kind="stable")
        classes = np.take_along_axis(sequences.classes, order, axis=1).astype(np.int64)
        counts = np.take_along_axis(sequences.counts, order[:, :, None], axis=1)
        if self.has_query_column:
            of_query = np.full_like(counts[:, :, :1], self.query_among_keys)
            counts = np.concatenate([counts, of_query], axis=2)
        log_counts = torch.from_numpy(counts.astype(np.float64)).log().to(self.device, dtype)
        on_device = torch.from_numpy(classes).to(self.device)
        return [
            Batch(on_device[step], log_counts[step], _blocks(classes[step]))
            for step in range(len(classes))
        ]

    def gradient(self, parameters: Parameters, batch: Batch, out: Parameters) -> Tensor:
        """Write the gradient of the mean loss -J into `out`; return [G] mean loss of each cell."""
        decoder, logits = parameters
        cells, size = logits.shape[0], len(batch.classes)
        keys = self.keys[batch.classes]
        b = torch.softmax(logits.flatten(1)[:, keys] + batch.log_counts, dim=-1)
        v = b
        if self.residual:
            v = b.clone()
            v[..., -1] += 1
        norm = v.norm(dim=-1, keepdim=True)
        f = v / norm
        f_mean = (f / size).transpose(1, 2)

        back, probability = torch.empty_like(f), f.new_empty(cells, size)
        y = decoder.new_empty(self.decoder_rows.shape[1], *decoder.shape[1:])
        out.decoder.zero_()
        for n, start, end in batch.blocks:
            torch.index_select(decoder, 0, self.decoder_rows[n], out=y)
            error = torch.softmax(torch.bmm(f[:, start:end], y.transpose(0, 1)), dim=-1)
            predicted = error[:, :, self.next_tokens[n]]
            probability[:, start:end] = predicted
            predicted -= 1  # error is now alpha - x_{T+1}
            back[:, start:end] = torch.bmm(error, y.permute(1, 2, 0))
            update = torch.bmm(f_mean[:, :, start:end], error).transpose(0, 1)
            for rows, part in self.runs[n]:
                out.decoder[rows].add_(update[part])

        u = (back - f * (f * back).sum(-1, keepdim=True)) / norm
        gradient_z = b * (u - (b * u).sum(-1, keepdim=True)) / size
        flat = out.attention_logits.zero_().flatten(1)
        flat.scatter_add_(1, keys.flatten().expand(cells, -1), gradient_z.flatten(1))
        return self._loss(probability, f, decoder, batch)

    def _loss(self, probability: Tensor, f: Tensor, decoder: Tensor, batch: Batch) -> Tensor:
        """Return mean -log alpha_{x_{T+1}}, from the scores where a probability underflows."""
        if probability.min() > torch.finfo(probability.dtype).tiny:
            return -probability.log().mean(dim=1)
        loss = torch.empty_like(probability)
        for n, start, end in batch.blocks:
            scores = torch.bmm(f[:, start:end], decoder[self.decoder_rows[n]].transpose(0, 1))
            target = scores[:, :, self.next_tokens[n]]
            loss[:, start:end] = torch.logsumexp(scores, dim=-1) - target
        return loss.mean(dim=1)


def _blocks(classes: np.ndarray) -> list[tuple[int, int, int]]:
    present, starts, sizes = np.unique(classes, return_index=True, return_counts=True)
    return list(zip(present.tolist(), starts.tolist(), (starts + sizes).tolist(), strict=True))


def _runs(rows: np.ndarray) -> list[tuple[slice, slice]]:
    """Return consecutive rows as (slice of all rows, slice of the given rows).

    Adding slice by slice is several times faster than `index_add_`.
    """
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    bounds = [0, *breaks.tolist(), len(rows)]
    return [
        (slice(int(rows[start]), int(rows[end - 1]) + 1), slice(start, end))
        for start, end in pairwise(bounds)
    ]
