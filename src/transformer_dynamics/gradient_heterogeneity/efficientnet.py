"""EfficientNet-lite0, a convolutional network, as a module with its published weights.

    stem       3 x 3, stride 2, to 32 channels
    16 blocks  1 x 1 to six times as many channels (not the first); each channel alone, 3 x 3 or
               5 x 5; 1 x 1 to the block's width. Where width and size stay, the input is added.
    top        1 x 1 to 1,280 channels, then the mean over places

Every convolution is normalised by its channels' statistics and then, but for the last of a block,
cut off at 0 and 6. Padding is TensorFlow's: of an odd number of pixels the larger part comes last.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from replication.errors import InputError

MEAN = (127 / 255,) * 3
"""Of a channel from 0 to 1, as the network was trained."""
DEVIATION = (128 / 255,) * 3
"""What pixels are divided by then."""
DROPOUT = 0.2
"""Of features, as the network was trained."""
EPSILON = 1e-3
"""What is added to a variance."""
FORGOTTEN = 0.1
"""Share of a running statistic that a batch replaces: PyTorch's, as in the paper's ResNet18. By the
0.01 that this network was trained with, statistics lag far behind in some hundred steps."""


class Stage(NamedTuple):
    """Some blocks in a row."""

    blocks: int
    """How many; all but the first keep width and size."""
    kernel: int
    """Edge of the kernel."""
    stride: int
    """Of the first."""
    expansion: int
    """Channels within, over those that come in."""
    width: int
    """Channels that go out."""


STEM = 32
"""Channels after the stem."""
STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)
"""As published."""
STRIDES = tuple(
    stage.stride if place == 0 else 1 for stage in STAGES for place in range(stage.blocks)
)
"""Of all blocks."""
TOP = 1280
"""Features."""
PARTS = {
    "_conv_stem": "stem.convolution", "_bn0": "stem.normalisation",
    "_conv_head": "top.convolution", "_bn1": "top.normalisation",
}  # fmt: skip
"""Published names of what stands outside of blocks, and those here."""
INSIDE = {
    "_expand_conv": "expand.convolution", "_bn0": "expand.normalisation",
    "_depthwise_conv": "depthwise.convolution", "_bn1": "depthwise.normalisation",
    "_project_conv": "project.convolution", "_bn2": "project.normalisation",
}  # fmt: skip
"""The same within a block."""


class Convolution(nn.Module):
    """A convolution, its normalisation and perhaps a cut-off."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, stride: int, groups: int, *, cut: bool
    ) -> None:
        """With weights that are to be loaded.

        Args:
            inputs: channels.
            outputs: channels.
            kernel: its edge.
            stride: pixels from one place to the next.
            groups: 1, or as many as channels, so that each is on its own.
            cut: whether values are cut off at 0 and 6.
        """
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, kernel, stride, groups=groups, bias=False)
        self.normalisation = nn.BatchNorm2d(outputs, EPSILON, FORGOTTEN)
        before, after = (kernel - stride) // 2, (kernel - stride + 1) // 2
        self.padding = (before, after, before, after)
        self.cut = cut

    def forward(self, state: Tensor) -> Tensor:
        """[n, inputs, H, W] to [n, outputs, H/stride, W/stride]."""
        padded = nn.functional.pad(state, self.padding)
        found: Tensor = self.normalisation(self.convolution(padded))
        return nn.functional.relu6(found) if self.cut else found


class Block(nn.Module):
    """One of the blocks."""

    def __init__(self, inputs: int, stage: Stage, stride: int) -> None:
        """Channels that come in, what the stage says, and a stride of its own."""
        super().__init__()
        inner = inputs * stage.expansion
        if stage.expansion > 1:
            self.expand = Convolution(inputs, inner, 1, 1, 1, cut=True)
        self.depthwise = Convolution(inner, inner, stage.kernel, stride, inner, cut=True)
        self.project = Convolution(inner, stage.width, 1, 1, 1, cut=False)
        self.is_residual = stride == 1 and inputs == stage.width

    def forward(self, state: Tensor) -> Tensor:
        """[n, inputs, H, W] to [n, width, H/stride, W/stride]."""
        inner: Tensor = self.expand(state) if hasattr(self, "expand") else state
        found: Tensor = self.project(self.depthwise(inner))
        return found + state if self.is_residual else found


class EfficientNet(nn.Module):
    """All of it but the linear layer on top."""

    def __init__(
        self, stem: int = STEM, stages: tuple[Stage, ...] = STAGES, top: int = TOP
    ) -> None:
        """Of the published widths, or of others for a small model."""
        super().__init__()
        self.stem = Convolution(3, stem, 3, 2, 1, cut=True)
        blocks, width = [], stem
        for stage in stages:
            for place in range(stage.blocks):
                blocks.append(Block(width, stage, stage.stride if place == 0 else 1))
                width = stage.width
        self.blocks = nn.Sequential(*blocks)
        self.top = Convolution(width, top, 1, 1, 1, cut=True)

    def forward(self, pixels: Tensor) -> Tensor:
        """Features [n, 1280] of normalised pixels [n, 3, H, W]."""
        found: Tensor = self.top(self.blocks(self.stem(pixels)))
        return found.mean(dim=(2, 3))


def weights(published: Mapping[str, Tensor]) -> dict[str, NDArray[np.float32]]:
    """Weights and running statistics by the names that they have here.

    Args:
        published: by their own names.

    Raises:
        InputError: for a name that is not known, or what is no tensor.
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
        if not isinstance(tensor, Tensor):
            raise InputError(f"{name} is no tensor")
        found[f"{new}.{last}"] = tensor.detach().float().numpy()
    return found


def sizes(given: Mapping[str, NDArray[np.float32]]) -> tuple[int, tuple[Stage, ...], int]:
    """What `EfficientNet` takes, from the shapes of weights; strides are the published ones.

    Args:
        given: as `weights` gives them, perhaps of a smaller network with fewer blocks.

    Raises:
        InputError: if a tensor is missing.
    """
    try:
        stem = width = len(given["stem.normalisation.weight"])
        stages: list[Stage] = []
        while f"blocks.{len(stages)}.depthwise.convolution.weight" in given:
            block = f"blocks.{len(stages)}"
            inner, _, kernel, _ = given[f"{block}.depthwise.convolution.weight"].shape
            expansion = inner // width
            width = len(given[f"{block}.project.convolution.weight"])
            stages.append(Stage(1, kernel, STRIDES[len(stages)], expansion, width))
        return stem, tuple(stages), len(given["top.normalisation.weight"])
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"these are no weights of EfficientNet-lite0: {error}") from error


def build(given: Mapping[str, NDArray[np.float32]]) -> EfficientNet:
    """The network in eval mode.

    Args:
        given: as `weights` gives them.

    Raises:
        InputError: if the weights do not fit.
    """
    stem, stages, top = sizes(given)
    try:
        return _loaded(EfficientNet(stem, stages, top), given)
    except (RuntimeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"these are no weights of EfficientNet-lite0: {error}") from error


def _loaded(module: EfficientNet, given: Mapping[str, NDArray[np.float32]]) -> EfficientNet:
    # How many batches were averaged was published, too, but is of no use with a fixed share.
    counted = {
        name: value for name, value in module.state_dict().items() if name.endswith("_tracked")
    }
    tensors = {name: torch.from_numpy(np.array(value)) for name, value in given.items()}
    module.load_state_dict(counted | tensors)
    return module.eval()
