"""Published weights of networks for images as arrays, by the names of the modules built of them."""

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.errors import InputError
from transformer_dynamics.gradient_heterogeneity.data import efficientnet, vit
from transformer_dynamics.gradient_heterogeneity.settings.data import WEIGHTS, PretrainedJob

PICTURE = torch.linspace(-1.0, 1.0, 3 * 56 * 56).reshape(1, 3, 56, 56)
"""Pixels [1, 3, 56, 56] of a picture that every network for images takes."""


def sample(
    job: PretrainedJob, seeds: list[int], sources: Sequence[Path]
) -> dict[str, NDArray[Any]]:
    """Read the weights of a network and, of the convolutional one, running statistics, float32.

    All seeds have the same. Raises an `InputError` if the file is missing or holds other things.
    """
    (path,) = sources
    if not path.is_file():
        raise InputError(
            f"{path}: is not there; fetch it with `snakemake"
            f" results/datasets/{WEIGHTS[job.network]}/{path.name}`, or name a folder with it"
        )
    try:
        found = (
            _read_vit(path.read_bytes())
            if job.network == "vit_s"
            else _read_efficientnet(path.read_bytes())
        )
    except InputError as error:
        if isinstance(error.__cause__, ImportError):
            raise
        raise InputError(f"{path}: {error.message}; fetch it again") from error
    return found


def _read_vit(content: bytes) -> dict[str, NDArray[Any]]:
    found = vit.convert_weights(content)
    _check_finite(found)
    # Where weights do not fit, an error can name their file only here.
    network = vit.build_network(found)
    _check_features(lambda: vit.class_features(network, PICTURE))
    return dict(found)


def _read_efficientnet(content: bytes) -> dict[str, NDArray[Any]]:
    try:
        # Nothing but tensors is read, whatever else a pickle may hold.
        published = torch.load(io.BytesIO(content), weights_only=True)
    except Exception as error:
        # A damaged byte, or another format, can make PyTorch's reading fail in any way.
        raise InputError(f"holds no weights ({type(error).__name__})") from error
    found = efficientnet.convert_weights(published)
    _check_finite(found)
    # Nothing is trained here, so that no statistics are renewed.
    network = efficientnet.build_network(found, renewed=0.0)
    _check_features(lambda: network(PICTURE))
    return dict(found)


def _check_finite(weights: Mapping[str, NDArray[Any]]) -> None:
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise InputError(f"{name} has a number that is not finite")


def _check_features(features: Callable[[], Tensor]) -> None:
    """Refuse weights with which features of a picture fail or are not finite."""
    try:
        with torch.no_grad():
            found = features()
    except RuntimeError as error:
        raise InputError(f"the network fails on a picture ({error})") from error
    if not torch.isfinite(found).all():
        raise InputError("features of a picture are not finite")
