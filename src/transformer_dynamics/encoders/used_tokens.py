"""An encoder without the words that never occur."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from transformer_dynamics.encoders.tokens import Tokens


def words_of(parts: list[Tokens], padding: int) -> NDArray[np.int64]:
    """Return the ascending numbers [W] of tokens that occur, and all up to that of padding."""
    occurring = np.concatenate([part.tokens.ravel() for part in parts])
    return np.union1d(np.arange(padding + 1), occurring).astype(np.int64)


def keep_words(encoder: nn.Module, words: NDArray[np.int64]) -> None:
    """Keep the embeddings of tokens `words` [W] alone, in place; token `words[i]` is then i.

    Tokens that never occur have no gradient: without weight decay SGD and Adam do not change them.
    So nothing else changes, but a step has less to do: in MiniLM half of the parameters are words.
    """
    table: nn.Embedding = encoder.get_input_embeddings()  # type: ignore[operator]
    chosen = torch.from_numpy(words).to(table.weight.device)
    table.weight = nn.Parameter(table.weight.detach()[chosen].clone())
    table.num_embeddings = len(words)


def renumbered(tokens: Tokens, words: NDArray[np.int64]) -> Tokens:
    """Return tokens as `keep_words` has numbered them."""
    return tokens._replace(tokens=np.searchsorted(words, tokens.tokens).astype(np.int32))
