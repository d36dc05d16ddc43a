"""A pretrained encoder of texts with a random head."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from transformer_dynamics.encoders.head import drawn_head
from transformer_dynamics.encoders.model import build, features, tensors
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.samples import samples
from transformer_dynamics.encoders.settings import TextChoice
from transformer_dynamics.encoders.texts import SplitsOf
from transformer_dynamics.encoders.tokens import Places, Tokens
from transformer_dynamics.encoders.words import keep_words, renumbered, words_of
from transformer_dynamics.gradient_heterogeneity.net_settings import TextNet
from transformer_dynamics.gradient_heterogeneity.nets import (
    Headed,
    Net,
    described,
    of_module,
    started,
)

WORDS = "body.embeddings.word_embeddings.weight"
"""The table of which rows that never occur are left out."""


def parts(
    choice: TextChoice, seed: int, tokens: Mapping[str, NDArray[Any]]
) -> tuple[Tokens, Tokens, Tokens]:
    """Training, validation and test samples of a seed.

    Args:
        choice: how many.
        seed: of the draw.
        tokens: arrays of all splits, as programs that tokenise return them.

    Raises:
        InputError: if more are asked for than there are.
    """

    def places(split: str) -> Places:
        digests = tokens[f"{split}_digests"]
        return Places(np.arange(len(digests)), digests)

    has_validation = "validation_tokens" in tokens
    splits = SplitsOf(
        places("train"), places("validation") if has_validation else None, places("test")
    )
    found = samples(splits, choice, seed)
    held_out = "validation" if has_validation and choice.train is not None else "train"
    train, validation, test = (
        Tokens.of(tokens, f"{split}_").take(chosen.indices)
        for split, chosen in zip(("train", held_out, "test"), found, strict=True)
    )
    return train, validation, test


def inputs(batch: Tokens, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What the encoder takes, where a parameter is."""
    return tensors(batch, str(like.device))


def net(
    choice: TextNet, seed: int, data: Sequence[Mapping[str, NDArray[Any]]], device: str = "cpu"
) -> Net:
    """The encoder with the random head of a seed, without words that never occur.

    No gradient reaches these, so that norms and curvatures are those of the whole table, of which
    the block keeps the size.

    Args:
        choice: which encoder, and its samples.
        seed: of head and samples.
        data: tokens of the set, then the encoder, as the programs of `encoders.data` return them.
        device: where parameters are.

    Raises:
        InputError: if there are too few samples.
    """
    tokens, encoder = data
    found = parts(choice.texts, seed, tokens)
    body = build(Pretrained.of(encoder), choice.dropout)
    sizes = body.config
    words = words_of(list(found), int(sizes.pad_token_id))  # type: ignore[union-attr, arg-type]
    whole = body.get_input_embeddings().weight.numel()  # type: ignore[operator]
    keep_words(body, words)
    width = int(sizes.hidden_size)  # type: ignore[union-attr, arg-type]
    head = drawn_head(len(tokens["classes"]), width, seed, choice.head_deviation)
    module = Headed(body, features, head, float(sizes.hidden_dropout_prob))  # type: ignore[union-attr, arg-type]
    start = started(module.to(device))
    blocks = described(start)
    blocks[WORDS] = blocks[WORDS]._replace(size=whole)
    train, validation, test = (renumbered(part, words) for part in found)
    return Net(of_module(module, inputs), start, blocks, train, validation, test)
