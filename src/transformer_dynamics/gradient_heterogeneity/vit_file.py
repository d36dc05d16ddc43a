"""Weights of the vision transformer from the ONNX file that they were published as.

Its linear maps are second inputs of nodes `MatMul`, transposed, and its positions are constants;
all else has its name.
"""

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from replication.base.errors import InputError

if TYPE_CHECKING:
    from onnx import GraphProto

POSITIONS = ("onnx::Concat_1957", "onnx::Reshape_1962")
"""Embeddings of the class token's place, and of 37 times 37 patches."""
LINEAR = {
    "attention.attention.query": "attention.q_proj",
    "attention.attention.key": "attention.k_proj",
    "attention.attention.value": "attention.v_proj",
    "attention.output.dense": "attention.o_proj",
}
"""Names of linear maps in the file that are others in the module."""


def weights(content: bytes) -> dict[str, NDArray[np.float32]]:
    """All weights of the encoder by the names that they have in the module.

    Args:
        content: of the file.

    Raises:
        InputError: if the package is missing, it is no ONNX file that has all its tensors, or a
            constant is missing or has another shape.
    """
    graph, tensors = _read(content)
    found = {}
    for name, values in tensors.items():
        if name.startswith("backbone."):
            found[_named(name.removeprefix("backbone."))] = values
    for node in graph.node:
        given = re.fullmatch(r"/backbone/(encoder/layer\.\d+/.+)/MatMul", node.name)
        constants = [tensors[each] for each in node.input[1:] if each in tensors]
        if given and node.op_type == "MatMul" and constants:
            found[_named(given[1].replace("/", ".") + ".weight")] = np.ascontiguousarray(
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


def _read(content: bytes) -> "tuple[GraphProto, dict[str, NDArray[np.float32]]]":
    """The graph of a file and its tensors by name; those that are no float32 are left out."""
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


def _named(name: str) -> str:
    for old, new in LINEAR.items():
        name = name.replace(f".{old}.", f".{new}.")
    return name
