"""ViT-S/14, a vision transformer of 12 layers of width 384: its published weights, and a module.

It is a DINOv2, Pre-LN with a scale on every branch, and was fine-tuned to find what is important in
an image. The weights were published as an ONNX file: its linear maps are second inputs of nodes
`MatMul`, transposed, and its positions are constants; all else has its name.
"""

import re
from collections.abc import Mapping
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from replication.base.errors import InputError
from transformer_dynamics.gradient_heterogeneity.data.weights import load_weights

if TYPE_CHECKING:
    from onnx import GraphProto

PATCH = 14
"""Number of pixels along an edge of a patch."""
MEAN = (0.485, 0.456, 0.406)
"""Mean of red, green and blue, from 0 to 1, in the images that it was trained on."""
DEVIATION = (0.229, 0.224, 0.225)
"""Standard deviation of red, green and blue in these images."""
HEAD = 64
"""Number of channels of a head of attention; a narrower network has one head."""
LAYER = re.compile(r"encoder\.layer\.(\d+)\.")
"""Number of a layer from 0, in the name of a tensor."""
POSITIONS = ("onnx::Concat_1957", "onnx::Reshape_1962")
"""Embeddings of the class token's place, and of 37 times 37 patches."""
LINEAR = {
    "attention.attention.query": "attention.q_proj",
    "attention.attention.key": "attention.k_proj",
    "attention.attention.value": "attention.v_proj",
    "attention.output.dense": "attention.o_proj",
}
"""Names of linear maps in the file that are others in the module."""


def convert_weights(content: bytes) -> dict[str, NDArray[np.float32]]:
    """Read the weights of the encoder from an ONNX file, by the names that they have in the module.

    Raises an `InputError` if the package is missing, the content is no ONNX file that has all its
    tensors, or a constant is missing or has another shape.
    """
    graph, tensors = _read_onnx(content)
    found = {}
    for name, values in tensors.items():
        if name.startswith("backbone."):
            found[_module_name(name.removeprefix("backbone."))] = values
    for node in graph.node:
        given = re.fullmatch(r"/backbone/(encoder/layer\.\d+/.+)/MatMul", node.name)
        constants = [tensors[each] for each in node.input[1:] if each in tensors]
        if given and node.op_type == "MatMul" and constants:
            found[_module_name(given[1].replace("/", ".") + ".weight")] = np.ascontiguousarray(
                constants[0].T
            )
    missing = [name for name in POSITIONS if name not in tensors]
    if missing:
        raise InputError(f"the file has no constant {missing[0]}")
    parts = [tensors[name] for name in POSITIONS]
    if any(part.ndim != 3 or part.shape[::2] != parts[0].shape[::2] for part in parts):
        raise InputError(f"the constants {' and '.join(POSITIONS)} are no positions")
    found["embeddings.position_embeddings"] = np.concatenate(parts, axis=1)
    return found


def _read_onnx(content: bytes) -> "tuple[GraphProto, dict[str, NDArray[np.float32]]]":
    """Read the graph of a file and its tensors of float32 by name."""
    try:
        import onnx
        from onnx.external_data_helper import uses_external_data
        from onnx.numpy_helper import to_array
    except ImportError as error:
        raise InputError(
            f"the package {error.name} is needed; install what encoders need with `make encoders`"
        ) from error
    try:
        graph = onnx.load_model_from_string(content).graph
        kept = [each for each in graph.initializer if each.data_type == onnx.TensorProto.FLOAT]
        # The library would read any file that a tensor names.
        if any(map(uses_external_data, kept)):
            raise ValueError("a tensor is in another file")
        return graph, {each.name: to_array(each).astype(np.float32) for each in kept}
    except Exception as error:
        # Damaged bytes fail in any way.
        raise InputError(f"this is no ONNX file that can be read ({error})") from error


def _module_name(name: str) -> str:
    for old, new in LINEAR.items():
        name = name.replace(f".{old}.", f".{new}.")
    return name


def _sizes(given: Mapping[str, NDArray[np.float32]]) -> dict[str, int]:
    """Read the sizes of a network from the shapes of its weights, as DINOv2 calls them."""
    layers = [int(found[1]) for name in given if (found := LAYER.match(name))]
    # Building each layer takes time.
    if max(layers, default=0) >= len(given):
        raise InputError(f"a tensor is of layer {max(layers)}, and there are {len(given)} tensors")
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
    except KeyError as error:
        raise InputError(f"{error.args[0]} is missing") from error
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise InputError(f"these are no weights of a vision transformer: {error}") from error


def build_network(given: Mapping[str, NDArray[np.float32]]) -> nn.Module:
    """Build the encoder in eval mode, in float32, with attention that has second derivatives.

    Raises an `InputError` if the package is missing, or weights of `convert_weights` do not fit.
    """
    try:
        from transformers import Dinov2Config, Dinov2Model
    except ImportError as error:
        raise InputError(
            f"the package {error.name} is needed; install what encoders need with `make encoders`"
        ) from error
    config = Dinov2Config(
        **_sizes(given),
        patch_size=PATCH,
        layer_norm_eps=1e-6,
        use_mask_token=False,
        attn_implementation="eager",
    )
    try:
        module: nn.Module = Dinov2Model(config)
    except (RuntimeError, ValueError) as error:
        raise InputError(f"these are no weights of a vision transformer: {error}") from error
    load_weights(module, given)
    return module.eval()


def class_features(module: nn.Module, pixels: Tensor) -> Tensor:
    """Return the last hidden state of the class token: pixels [n, 3, H, W] to [n, 384].

    Pixels are normalised; H and W are multiples of `PATCH`.
    """
    state: Tensor = module(pixels).last_hidden_state
    return state[:, 0]
