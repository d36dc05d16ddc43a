"""ViT-S/14, a vision transformer of 12 layers of width 384, as a module with its published weights.

It is a DINOv2, Pre-LN with a scale on every branch, and was fine-tuned to find what is important in
an image.
"""

import re
from collections.abc import Mapping
from math import isqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from replication.base.errors import InputError

PATCH = 14
"""Pixels along an edge of a patch."""
MEAN = (0.485, 0.456, 0.406)
"""Of red, green and blue, from 0 to 1, in the images that it was trained on."""
DEVIATION = (0.229, 0.224, 0.225)
"""Standard deviation of the same."""
HEAD = 64
"""Channels of a head of attention; a narrower network has one head."""
LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
"""Of a name, the number of a layer from 0."""


def sizes(given: Mapping[str, NDArray[np.float32]]) -> dict[str, int]:
    """What the shapes of weights say of a network, as DINOv2 calls it.

    Args:
        given: weights as `vit_file` gives them.

    Raises:
        InputError: if they are others.
    """
    layers = [int(found[1]) for name in given if (found := LAYER.match(name))]
    try:
        width = len(given["layernorm.weight"])
        inner = len(given["encoder.layer.0.mlp.fc1.bias"])
        patches = given["embeddings.position_embeddings"].shape[1] - 1
        return {
            "hidden_size": width,
            "num_hidden_layers": max(layers) + 1,
            "num_attention_heads": max(width // HEAD, 1),
            "mlp_ratio": inner // width,
            "image_size": PATCH * isqrt(patches),
        }
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"these are no weights of a vision transformer: {error}") from error


def build(given: Mapping[str, NDArray[np.float32]]) -> nn.Module:
    """The encoder in eval mode, in float32, with attention that has second derivatives.

    Args:
        given: weights as `vit_file` gives them.

    Raises:
        InputError: if the package is missing, or the weights do not fit.
    """
    try:
        from transformers import Dinov2Config, Dinov2Model
    except ImportError as error:
        raise InputError(
            f"the package {error.name} is needed; install what encoders need with `make encoders`"
        ) from error
    config = Dinov2Config(
        **sizes(given),
        patch_size=PATCH,
        layer_norm_eps=1e-6,
        use_mask_token=False,
        attn_implementation="eager",
    )
    try:
        module: nn.Module = Dinov2Model(config)
        module.load_state_dict({name: torch.from_numpy(value) for name, value in given.items()})
    except (RuntimeError, ValueError) as error:
        raise InputError(f"these are no weights of a vision transformer: {error}") from error
    return module.eval()


def features(module: nn.Module, pixels: Tensor) -> Tensor:
    """The last hidden state of the class token: pixels [n, 3, H, W] to [n, 384].

    Args:
        module: as `build` gives it.
        pixels: normalised; H and W are multiples of `PATCH`.
    """
    state: Tensor = module(pixels).last_hidden_state
    return state[:, 0]
