"""Published weights of a network for images as arrays, by the names that the modules here have."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from replication.base.errors import InputError
from transformer_dynamics.gradient_heterogeneity import efficientnet, vit, vit_file
from transformer_dynamics.gradient_heterogeneity.net_settings import NETWORKS, NetworkJob


def sample(job: NetworkJob, seeds: list[int], sources: Sequence[Path]) -> dict[str, NDArray[Any]]:
    """Read the weights.

    Args:
        job: of which network.
        seeds: not used: all runs have the same.
        sources: its file, see `sources`.

    Returns:
        Weights and, of the convolutional network, running statistics, float32.

    Raises:
        InputError: if the file is not there or holds something else.
    """
    (path,) = sources
    if not path.is_file():
        raise InputError(
            f"{path}: is not there; fetch it with `snakemake"
            f" results/datasets/{NETWORKS[job.network]}/{path.name}`, or name a folder with it"
        )
    try:
        found = _vit(path.read_bytes()) if job.network == "vit_s" else _cnn(path.read_bytes())
        for name, values in found.items():
            if not np.isfinite(values).all():
                raise InputError(f"{name} has a number that is not finite")
    except InputError as error:
        if isinstance(error.__cause__, ImportError):
            raise
        raise InputError(f"{path}: {error.message}; fetch it again") from error
    return found


def _vit(content: bytes) -> dict[str, NDArray[Any]]:
    found = vit_file.weights(content)
    # Where weights do not fit, an error can name their file only here.
    vit.build(found)
    return dict(found)


def _cnn(content: bytes) -> dict[str, NDArray[Any]]:
    try:
        # Nothing but tensors is read, whatever else a pickle may hold.
        published = torch.load(io.BytesIO(content), weights_only=True)
    except Exception as error:
        # A damaged byte, or another format, can make PyTorch's reading fail in any way.
        raise InputError(f"holds no weights ({type(error).__name__})") from error
    found = efficientnet.weights(published)
    # Nothing is trained here, so that no statistics are renewed.
    efficientnet.build(found, renewed=0.0)
    return dict(found)
