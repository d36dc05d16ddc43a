"""EfficientNet-lite0, a convolutional network, as a module with its published weights.

    stem       3 x 3, stride 2, to 32 channels
    16 blocks  1 x 1 to six times as many channels (not the first); each channel alone, 3 x 3 or
               5 x 5; 1 x 1 to the block's width. Where width and size stay, the input is added.
    top        1 x 1 to 1,280 channels, then the mean over places

Every convolution is normalised by its channels' statistics and then, but for the last of a block,
cut off at 0 and 6. Padding is TensorFlow's: of an odd number of pixels the larger part comes last.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from replication.base.errors import InputError
from transformer_dynamics.encoders.model import TYPES
from transformer_dynamics.gradient_heterogeneity.data.weights import load_weights

MEAN = (127 / 255,) * 3
"""Mean of each channel from 0 to 1, as the network was trained."""
DEVIATION = (128 / 255,) * 3
"""Divisor of the pixels of each channel."""
EPSILON = 1e-3
"""Number that is added to a variance."""
STEM = 32
"""Number of channels after the stem; all widths are in proportion to it."""
TOP = 1280
"""Number of features."""
BLOCKS = 16
"""Number of blocks, as published."""
BY_STAGE = (
    "in_channels", "out_channels", "kernel_sizes", "strides", "expand_ratios", "num_block_repeats",
)  # fmt: skip
"""Defaults of transformers for each of seven stages of blocks of one width."""
PARTS = {
    "_conv_stem": "stem.convolution", "_bn0": "stem.normalisation",
    "_conv_head": "top.convolution", "_bn1": "top.normalisation",
}  # fmt: skip
"""Published names of the parts outside of blocks, and those here."""
INSIDE = {
    "_expand_conv": "expand.convolution", "_bn0": "expand.normalisation",
    "_depthwise_conv": "depthwise.convolution", "_bn1": "depthwise.normalisation",
    "_project_conv": "project.convolution", "_bn2": "project.normalisation",
}  # fmt: skip
"""Published names of the parts of a block, and those here."""


class EfficientNet(nn.Module):
    """EfficientNet without the linear layer on top: that of transformers under the names used here.

    In float64 its values, gradients and Hessian-vector products at the published weights are, to
    the last bit, those of a module written for these weights alone; in float32 one gradient
    differs, by 2e-7 of its largest entry. transformers always weighs channels by their means
    ("squeeze and excitation"), which lite networks do not: an identity takes that place. timm has
    the network as it is, but imports torchvision, and of this PyPI has only a build that fails with
    the build of torch for processors alone.
    """

    def __init__(self, renewed: float, stem: int = STEM, blocks: int = BLOCKS) -> None:
        """Build the network with random weights; an `ImportError` if the package is missing.

        A batch of training replaces the share `renewed` of running statistics. The stem has `stem`
        channels, and all others are in proportion. There are `blocks` blocks, and further ones to
        the end of a stage.
        """
        from transformers import EfficientNetConfig, EfficientNetModel

        super().__init__()
        published = EfficientNetConfig()
        stages = int(np.searchsorted(np.cumsum(published.num_block_repeats), blocks)) + 1
        config = EfficientNetConfig(
            width_coefficient=stem / STEM,
            depth_coefficient=1.0,
            depth_divisor=1,
            hidden_dim=TOP * stem // STEM,
            hidden_act="relu6",
            batch_norm_eps=EPSILON,
            batch_norm_momentum=renewed,
            drop_connect_rate=0.0,
            **{name: getattr(published, name)[:stages] for name in BY_STAGE},
        )
        network = EfficientNetModel(config).eval()
        encoder = network.encoder
        for block in encoder.blocks:
            block.squeeze_excite = nn.Identity()
        # The network itself is no part of this module, as its tensors would have two names.
        self.run = network.__call__
        self.stem = _normalised_convolution(
            network.embeddings.convolution, network.embeddings.batchnorm
        )
        self.blocks = nn.ModuleList(map(_block_convolutions, encoder.blocks))
        self.top = _normalised_convolution(encoder.top_conv, encoder.top_bn)

    def forward(self, pixels: Tensor) -> Tensor:
        """Return the features [n, 1280] of normalised pixels [n, 3, H, W]."""
        found: Tensor = self.run(pixels).last_hidden_state
        return found.mean(dim=(2, 3))


def _block_convolutions(block: Any) -> nn.ModuleDict:
    """Return the convolutions of one of transformers' blocks."""
    found = {}
    if block.expand:
        found["expand"] = _normalised_convolution(
            block.expansion.expand_conv, block.expansion.expand_bn
        )
    depthwise, project = block.depthwise_conv, block.projection
    found["depthwise"] = _normalised_convolution(depthwise.depthwise_conv, depthwise.depthwise_norm)
    found["project"] = _normalised_convolution(project.project_conv, project.project_bn)
    return nn.ModuleDict(found)


def _normalised_convolution(convolution: nn.Module, normalisation: nn.Module) -> nn.ModuleDict:
    return nn.ModuleDict({"convolution": convolution, "normalisation": normalisation})


def convert_weights(published: Mapping[str, Tensor]) -> dict[str, NDArray[np.float32]]:
    """Rename published weights and running statistics to the names that they have here.

    Raises an `InputError` for a name that is not known, or a value that is no tensor.
    """
    if not isinstance(published, Mapping):
        raise InputError("holds no tensors by name")
    found = {}
    for name, tensor in published.items():
        part, _, last = str(name).rpartition(".")
        if last == "num_batches_tracked" or part == "_fc":
            continue
        try:
            if part.startswith("_blocks."):
                _, number, inner = part.split(".")
                new = f"blocks.{number}.{INSIDE[inner]}"
            else:
                new = PARTS[part]
        except (KeyError, ValueError) as error:
            raise InputError(f"EfficientNet-lite0 has no {name}") from error
        if not isinstance(tensor, Tensor) or not _is_whole(tensor):
            raise InputError(f"{name} is no dense tensor of real numbers")
        found[f"{new}.{last}"] = tensor.detach().float().numpy()
    return found


def _is_whole(tensor: Tensor) -> bool:
    """Say whether a tensor has a real number of its own in memory for each entry."""
    plain = tensor.layout is torch.strided and tensor.device.type == "cpu"
    if not (plain and tensor.dtype in TYPES):
        return False
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()


def build_network(given: Mapping[str, NDArray[np.float32]], renewed: float) -> EfficientNet:
    """Build the network in eval mode, from the weights of `convert_weights`.

    They may be of a narrower network with fewer stages. A batch of training replaces the share
    `renewed` of running statistics. Raises an `InputError` if the package is missing, or weights do
    not fit.
    """
    blocks = {name.split(".")[1] for name in given if name.startswith("blocks.")}
    try:
        module = EfficientNet(renewed, len(given["stem.normalisation.weight"]), len(blocks))
    except ImportError as error:
        raise InputError(
            f"the package {error.name} is needed; install what encoders need with `make encoders`"
        ) from error
    except (KeyError, TypeError, RuntimeError, ValueError) as error:
        raise InputError(f"these are no weights of EfficientNet-lite0: {error}") from error
    # How many batches were averaged was published, too, but is of no use with a fixed share.
    load_weights(module, given, kept="_tracked")
    return module.eval()
