"""Samples of labelled texts that are kept as tokens."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.encoders.samples import samples
from transformer_dynamics.encoders.settings import TextChoice
from transformer_dynamics.encoders.texts import SplitsOf
from transformer_dynamics.encoders.tokens import Places, Tokens


def text_samples(
    choice: TextChoice, seed: int, tokens: Mapping[str, NDArray[Any]]
) -> tuple[Tokens, Tokens, Tokens]:
    """Draw the training, validation and test samples of a seed, from the tokens of all splits.

    Raises an `InputError` if more are asked for than there are.
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
