"""Tokenise all texts of a set, split by split."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from replication.base.errors import InputError
from transformer_dynamics.encoders import texts
from transformer_dynamics.encoders.data.encoder import Encoder, read_encoder
from transformer_dynamics.encoders.model import positions
from transformer_dynamics.encoders.settings import TEXT_FILES, TextJob
from transformer_dynamics.encoders.tokens import Tokens, digests, tokenise


def sample(job: TextJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Tokenise the published splits of a set, from files of the encoder and then of the set.

    Each split (`train`, `test` and, if there is one, `validation`) has the arrays of `Tokens`, for
    instance `train_tokens`, and digests of its texts, for instance `train_digests`. `classes` [C]
    has the names of the classes. No seed is used: each run draws its samples from all texts. Raises
    an `InputError` if a file cannot be read, or tokens do not suit the encoder.
    """
    encoder, splits = read_sources(job, sources)
    found: dict[str, NDArray[Any]] = {"classes": np.array(splits.train.classes)}
    for name, part in of_splits(splits).items():
        found |= tokenised(job, encoder, part).arrays(f"{name}_")
        found[f"{name}_digests"] = digests(part)
    return found


def tokenised(job: TextJob, encoder: Encoder, part: texts.Texts) -> Tokens:
    """Return the tokens of a split, and refuse those that the encoder cannot take.

    Raises an `InputError` if the length leaves no token of a text, or the encoder has no positions
    or no words for the tokens.
    """
    is_pair = part.second is not None
    # Of a pair either text keeps a token.
    least = encoder.tokeniser.num_special_tokens_to_add(is_pair) + (2 if is_pair else 1)
    if job.length < least:
        raise InputError(
            f"{job.texts}: a length of {job.length} tokens leaves no text but special tokens;"
            f" set the length of {job.texts} to {least} or more"
        )
    found = tokenise(encoder.tokeniser, part, job.length)
    table: nn.Embedding = encoder.model.get_input_embeddings()  # type: ignore[operator]
    most, words = positions(encoder.model), table.num_embeddings
    if found.lengths.max() > most:
        raise InputError(
            f"{job.texts}: a text has {found.lengths.max()} tokens, but the encoder {job.encoder}"
            f" takes {most}; set the length of {job.texts} to {most} or less"
        )
    if found.tokens.max() >= words:
        raise InputError(
            f"{job.texts}: tokenizer.json gives a word the number {found.tokens.max()}, but the"
            f" encoder {job.encoder} has {words} words; take all its files from one encoder"
        )
    return found


def read_sources(job: TextJob, sources: Sequence[Path]) -> tuple[Encoder, texts.Splits]:
    """Read the encoder and the texts, whose files follow; an `InputError` if one cannot be read."""
    first = len(sources) - len(TEXT_FILES[job.texts])
    encoder = read_encoder(job.encoder, sources[:first])
    return encoder, texts.read(job.texts, sources[first:])


def of_splits(splits: texts.SplitsOf[texts.T]) -> dict[str, texts.T]:
    """Return the splits that there are, by name."""
    return {name: part for name, part in splits._asdict().items() if part is not None}
