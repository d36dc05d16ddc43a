"""Keep an encoder as one file, as runs read what programs made."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import nn

from replication.base.errors import InputError
from transformer_dynamics.encoders.model import build, frozen_features
from transformer_dynamics.encoders.pretrained import Pretrained, read
from transformer_dynamics.encoders.settings import MEND, EncoderJob, EncoderName
from transformer_dynamics.encoders.tokens import Tokens, tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Encoder(NamedTuple):
    """An encoder as its files, its tokeniser and its network."""

    files: Pretrained
    tokeniser: "Tokenizer"
    model: nn.Module
    """Network, as `build` gives it."""


def sample(job: EncoderJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Read and check an encoder's files, `EncoderChoice.sources`, for `Pretrained.of`.

    The arrays are `config`, `tokenizer` and `weights`, bytes. All seeds have the same. Raises an
    `InputError` if the files hold no encoder.
    """
    return read_encoder(job.encoder, sources).files.arrays()


def read_encoder(name: EncoderName, sources: Sequence[str | Path]) -> Encoder:
    """Read an encoder from its files, all checked; an `InputError` names their folder."""
    files = read(name, sources)
    try:
        found = Encoder(files, tokenizer(files.tokenizer), build(files))
        _check_features(found.model)
    except InputError as error:
        raise InputError(f"{Path(sources[0]).parent}: {error.message}") from error
    return found


def _check_features(model: nn.Module) -> None:
    """Refuse, with an `InputError`, weights by which features of a word are not finite."""
    one, zero = np.ones(1, np.int32), np.zeros((1, 1), np.int32)
    word = Tokens(tokens=zero, lengths=one, seconds=one, labels=np.zeros(1, np.int64))
    if not frozen_features(model, word).isfinite().all():
        raise InputError(f"model.safetensors gives features that are not finite; {MEND}")
