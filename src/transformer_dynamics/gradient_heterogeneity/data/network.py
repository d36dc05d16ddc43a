"""Published weights of a network for images as arrays, by the names that the modules here have."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from replication.errors import InputError
from transformer_dynamics.gradient_heterogeneity import efficientnet, onnx_file, vit
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
    content = path.read_bytes()
    if job.network == "vit_s":
        return dict(vit.weights(onnx_file.read(content)))
    try:
        # Nothing but tensors is read, whatever else a pickle may hold.
        published = torch.load(io.BytesIO(content), weights_only=True)
    except Exception as error:
        # A damaged byte can make PyTorch's reading fail in any way.
        raise InputError(f"{path}: holds no weights ({error}); fetch it again") from error
    return dict(efficientnet.weights(published))
