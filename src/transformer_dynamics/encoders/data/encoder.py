"""Keep an encoder as one file, as runs read what programs made."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from transformer_dynamics.encoders.pretrained import read
from transformer_dynamics.encoders.settings import EncoderJob


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
    return read(job.encoder, sources).arrays()
