"""Keep an encoder as one file, as runs read what programs made."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray
from torch import nn

from replication.errors import InputError
from transformer_dynamics.encoders.model import build
from transformer_dynamics.encoders.pretrained import Pretrained, read
from transformer_dynamics.encoders.settings import EncoderJob, EncoderName
from transformer_dynamics.encoders.tokens import tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Encoder(NamedTuple):
    """An encoder, and what can be made of its files."""

    files: Pretrained
    """Its files."""
    tokeniser: "Tokenizer"
    """Its words."""
    model: nn.Module
    """Its network, as `build` gives it."""


def sample(job: EncoderJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Read the encoder.

    Args:
        job: which one.
        seeds: not used: all runs have the same.
        sources: its files, see `EncoderChoice.sources`.

    Returns:
        What `Pretrained.of` takes: `config`, `tokenizer` and `weights`, bytes.

    Raises:
        InputError: if the files hold no encoder.
    """
    return read_encoder(job.encoder, sources).files.arrays()


def read_encoder(name: EncoderName, sources: Sequence[str | Path]) -> Encoder:
    """The encoder of some files, all of which are checked.

    Raises:
        InputError: if they hold no encoder; it names their folder.
    """
    files = read(name, sources)
    try:
        return Encoder(files, tokenizer(files.tokenizer), build(files))
    except InputError as error:
        raise InputError(f"{Path(sources[0]).parent}: {error.message}") from error
