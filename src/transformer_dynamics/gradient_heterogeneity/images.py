"""Pretrained networks for images on Fashion-MNIST."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from transformer_dynamics.encoders.head import drawn_head
from transformer_dynamics.gradient_heterogeneity import efficientnet, vit
from transformer_dynamics.gradient_heterogeneity.image_files import CLASSES, Images, samples
from transformer_dynamics.gradient_heterogeneity.net_settings import Enlarging, ImageNet
from transformer_dynamics.gradient_heterogeneity.nets import (
    Headed,
    Inputs,
    Net,
    described,
    of_module,
    started,
)


def enlarged(
    size: int, how: Enlarging, mean: Sequence[float], deviation: Sequence[float]
) -> Inputs:
    """From images to normalised pixels [n, 3, size, size] with equal channels.

    Args:
        size: pixels along an edge.
        how: what stands between the pixels of an image.
        mean: [3] of channels from 0 to 1.
        deviation: [3] what they are divided by.
    """

    def inputs(batch: Images, like: Tensor) -> tuple[Tensor]:
        grey = torch.from_numpy(np.array(batch.pixels)).to(like)[:, None] / 255
        large = nn.functional.interpolate(grey, size=(size, size), mode=how)
        centre, scale = (like.new_tensor(values)[:, None, None] for values in (mean, deviation))
        # Channels last in memory, as convolutions are a third faster so.
        return (((large - centre) / scale).contiguous(memory_format=torch.channels_last),)

    return inputs


class Network(NamedTuple):
    """A pretrained network, and what it must know of images."""

    body: nn.Module
    """What has features."""
    features: Callable[..., Tensor]
    """phi [n, h] of the body and pixels."""
    width: int
    """h."""
    mean: Sequence[float]
    """[3] as `enlarged` takes it."""
    deviation: Sequence[float]
    """[3] as `enlarged` takes it."""


def _efficientnet(weights: Mapping[str, NDArray[np.float32]], renewed: float) -> Network:
    return Network(
        efficientnet.build(weights, renewed),
        nn.Module.__call__,
        len(weights["top.normalisation.weight"]),
        efficientnet.MEAN,
        efficientnet.DEVIATION,
    )


def _vit(weights: Mapping[str, NDArray[np.float32]]) -> Network:
    width = len(weights["layernorm.weight"])
    return Network(vit.build(weights), vit.features, width, vit.MEAN, vit.DEVIATION)


def net(
    choice: ImageNet, seed: int, data: Sequence[Mapping[str, NDArray[Any]]], device: str = "cpu"
) -> Net:
    """A pretrained network with the random head of a seed.

    Args:
        choice: which, and how many samples.
        seed: of head and samples.
        data: images, then weights, as the programs of `data` return them.
        device: where parameters are.

    Raises:
        InputError: if weights do not fit.
    """
    images, weights = data
    renewed = choice.renewed
    network = _vit(weights) if renewed is None else _efficientnet(weights, renewed)
    head = drawn_head(CLASSES, network.width, seed, choice.head_deviation)
    module = Headed(network.body, network.features, head, choice.dropout).to(device)
    start = started(module)
    return Net(
        of_module(module, enlarged(choice.size, choice.enlarged, network.mean, network.deviation)),
        start,
        described(start),
        *samples(choice, seed, images),
        statistics={name: value for name, value in module.named_buffers() if "running_" in name},
    )
