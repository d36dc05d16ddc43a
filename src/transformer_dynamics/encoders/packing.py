"""Several texts in a row, so that little is padded: a batch costs what its tokens cost.

A token attends to those of its own text alone and has its place within it, so that features are
those of the text by itself.
"""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from transformer_dynamics.encoders.tokens import Tokens

NOBODY = -1
"""Owner of padding."""


class Packed(NamedTuple):
    """n texts in r rows of W tokens."""

    tokens: Tensor
    """[r, W] numbers of tokens."""
    owners: Tensor
    """[r, W] number of the text that a token is of; `NOBODY` of padding."""
    places: Tensor
    """[r, W] where in its text it is."""
    seconds: Tensor
    """[r, W] 1 in the second text of a pair, otherwise 0."""
    starts: Tensor
    """[n] where in all rows, one after another, each text begins."""


def rows_of(lengths: NDArray[np.integer]) -> list[list[int]]:
    """Which texts share a row as long as the longest: the long ones first, each where it fits.

    Args:
        lengths: [n] of the texts.
    """
    longest = int(lengths.max())
    rows: list[list[int]] = []
    left: list[int] = []
    for text in np.argsort(-lengths, kind="stable").tolist():
        length = int(lengths[text])
        row = next((row for row, room in enumerate(left) if room >= length), len(rows))
        if row == len(rows):
            rows.append([])
            left.append(longest)
        rows[row].append(text)
        left[row] -= length
    return rows


def packed(texts: Tokens, device: str = "cpu") -> Packed:
    """Pack texts.

    Args:
        texts: [n] tokenised texts, n >= 1.
        device: where tensors are.
    """
    rows = rows_of(texts.lengths)
    shape = (len(rows), int(texts.lengths.max()))
    tokens, places, seconds = (np.zeros(shape, np.int64) for _ in range(3))
    owners = np.full(shape, NOBODY)
    starts = np.zeros(len(texts.labels), np.int64)
    for row, members in enumerate(rows):
        first = 0
        for text in members:
            length = int(texts.lengths[text])
            own = slice(first, first + length)
            tokens[row, own] = texts.tokens[text, :length]
            owners[row, own] = text
            places[row, own] = np.arange(length)
            seconds[row, own] = np.arange(length) >= texts.seconds[text]
            starts[text] = row * shape[1] + first
            first += length
    arrays = (tokens, owners, places, seconds, starts)
    return Packed(*(torch.from_numpy(values).to(device) for values in arrays))


def features(
    model: nn.Module,
    tokens: Tensor,
    owners: Tensor,
    places: Tensor,
    seconds: Tensor,
    starts: Tensor,
) -> Tensor:
    """phi(x) as `encoders.model.features` has it, of packed texts.

    Args:
        model: as `encoders.model.build` gives it.
        tokens: see `Packed`, as all others.
        owners: see there.
        places: see there.
        seconds: see there.
        starts: see there.

    Returns:
        [n, h].
    """
    dtype = next(model.parameters()).dtype
    is_others = owners[:, None, :, None] != owners[:, None, None, :]
    mask = torch.zeros(is_others.shape, dtype=dtype, device=tokens.device)
    # RoBERTa and MPNet count places from after the one of padding.
    padding = model.embeddings.position_embeddings.padding_idx  # type: ignore[union-attr]
    given = {
        "input_ids": tokens,
        "attention_mask": mask.masked_fill(is_others, torch.finfo(dtype).min),
        "position_ids": places + (0 if padding is None else int(padding) + 1),  # type: ignore[arg-type]
    }
    if getattr(model.config, "type_vocab_size", 1) > 1:
        given["token_type_ids"] = seconds
    state: Tensor = model(**given).last_hidden_state
    return state.flatten(0, 1)[starts]
