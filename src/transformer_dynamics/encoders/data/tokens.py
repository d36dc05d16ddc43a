"""Tokenise all texts of a set, split by split."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transformer_dynamics.encoders import pretrained, texts
from transformer_dynamics.encoders.settings import TEXT_FILES, TextJob
from transformer_dynamics.encoders.tokens import digests, tokenise, tokenizer


def sample(job: TextJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Tokenise the splits as they were published.

    Args:
        job: which set, in the words of which encoder, and how long texts may be.
        seeds: not used: each run draws its samples from all of them.
        sources: files of the encoder, then those of the texts.

    Returns:
        By split (`train`, `test` and, if there is one, `validation`) the arrays of `Tokens`, such
        as `train_tokens`, and `train_digests`, see `digests`; `classes` [C], what they are called.

    Raises:
        InputError: if a file cannot be read.
    """
    encoder, splits = read_sources(job, sources)
    tokeniser = tokenizer(encoder.tokenizer)
    found: dict[str, NDArray[Any]] = {"classes": np.array(splits.train.classes)}
    for name, part in of_splits(splits).items():
        found |= tokenise(tokeniser, part, job.length).arrays(f"{name}_")
        found[f"{name}_digests"] = digests(part)
    return found


def read_sources(
    job: TextJob, sources: Sequence[Path]
) -> tuple[pretrained.Pretrained, texts.Splits]:
    """The encoder and the texts, from the files of both in this order.

    Raises:
        InputError: if a file cannot be read.
    """
    first = len(sources) - len(TEXT_FILES[job.texts])
    encoder = pretrained.read(job.encoder, sources[:first])
    return encoder, texts.read(job.texts, sources[first:])


def of_splits(splits: texts.SplitsOf[texts.T]) -> dict[str, texts.T]:
    """The splits that there are, by name."""
    return {name: part for name, part in splits._asdict().items() if part is not None}
