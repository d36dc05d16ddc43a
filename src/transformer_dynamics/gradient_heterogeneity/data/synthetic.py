"""Synthetic files with which the study takes seconds: images, weights and running text.

Every function that writes returns the folder to which it has written.
"""

import gzip
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replication.base.random_streams import generator
from transformer_dynamics.encoders.settings import TEXT_FILES
from transformer_dynamics.gradient_heterogeneity.data.images import CLASSES, EDGE
from transformer_dynamics.gradient_heterogeneity.settings.data import SOURCES

IMAGES = (40, 12)
"""Numbers of training and of test images."""
WORDS = 3000
"""Number of words of the running text."""
INTENTS, PER_INTENT = 24, 3
"""Number of classes of texts with many, and number of training texts of each; there is one test
text of each."""
VIT = {
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 1, "mlp_ratio": 2,
    "image_size": 42, "patch_size": 14, "use_mask_token": False,
}  # fmt: skip
"""Sizes of a small vision transformer, as DINOv2 calls them."""
OLD_NAMES = {
    "attention.q_proj": "attention.attention.query",
    "attention.k_proj": "attention.attention.key",
    "attention.v_proj": "attention.attention.value",
    "attention.o_proj": "attention.output.dense",
}
"""Names of linear maps in the published file, by those in the module."""
Tensor = tuple[str, NDArray[np.floating[Any]], str]
"""Name and values of a tensor, and the way in which they stand in a file."""


def write_images(folder: Path) -> str:
    """Write Fashion-MNIST's files: noise, on a square whose place tells the class."""
    folder.mkdir(parents=True, exist_ok=True)
    random = generator(0, "made-up images")
    files = iter(SOURCES["fashion_mnist"])
    for number in IMAGES:
        labels = np.arange(number) % CLASSES
        pixels = random.integers(0, 100, (number, EDGE, EDGE))
        for image, label in zip(pixels, labels, strict=True):
            image[2 * label : 2 * label + 8] += 150
        for values in (pixels, labels):
            (folder / next(files)).write_bytes(gzip.compress(_idx(values), mtime=0))
    return str(folder)


def _idx(values: np.ndarray) -> bytes:
    head = bytes((0, 0, 8, values.ndim)) + np.array(values.shape, ">u4").tobytes()
    return head + values.astype(np.uint8).tobytes()


def write_efficientnet(folder: Path) -> str:
    """Write random weights of a small EfficientNet, under their published names."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    torch.save(efficientnet_tensors(), folder / SOURCES["efficientnet_lite0"][0])
    return str(folder)


def efficientnet_tensors(stem: int = 8, blocks: int = 3) -> dict[str, Any]:
    """Draw random weights of a small EfficientNet by their published names; see `EfficientNet`."""
    import torch

    from transformer_dynamics.gradient_heterogeneity.data import efficientnet

    outside = {new: old for old, new in efficientnet.PARTS.items()}
    inside = {new: old for old, new in efficientnet.INSIDE.items()}
    random = generator(0, "made-up EfficientNet")
    published = {"_fc.weight": torch.zeros(3, 40 * stem), "_fc.bias": torch.zeros(3)}
    for name, tensor in efficientnet.EfficientNet(0.0, stem, blocks).state_dict().items():
        part, _, last = name.rpartition(".")
        if part.startswith("blocks."):
            _, number, inner = part.split(".", 2)
            part = f"_blocks.{number}.{inside[inner]}"
        else:
            part = outside[part]
        value = random.normal(0, np.prod(tensor.shape[1:]) ** -0.5, tensor.shape)
        if tensor.dim() == 1 and last in {"weight", "running_var"}:
            value = abs(value) + 0.5
        published[f"{part}.{last}"] = torch.from_numpy(np.array(value)).to(tensor.dtype)
    return published


def write_running(folder: Path) -> str:
    """Write a running text of the words of synthetic labelled texts."""
    from transformer_dynamics.encoders import artificial

    folder.mkdir(parents=True, exist_ok=True)
    chosen = generator(0, "made-up running text").choice(artificial.WORDS, WORDS)
    (folder / SOURCES["wikitext2"][0]).write_text(" ".join(chosen) + "\n", encoding="utf-8")
    return str(folder)


def write_banking77(folder: Path) -> str:
    """Write short texts of many classes in the form of banking77."""
    from transformer_dynamics.encoders import artificial

    folder.mkdir(parents=True, exist_ok=True)
    random = generator(0, "made-up banking77")
    for file, number in zip(TEXT_FILES["banking77"], (PER_INTENT, 1), strict=True):
        lines = ["text,category"]
        for index in range(number * INTENTS):
            words = random.choice(artificial.WORDS, random.integers(4, 8))
            lines.append(f"{' '.join(words)},intent {index % INTENTS:02}")
        (folder / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(folder)


def write_vit(folder: Path) -> str:
    """Write a small vision transformer with random weights, in the published form."""
    from transformers import Dinov2Config, Dinov2Model

    folder.mkdir(parents=True, exist_ok=True)
    random = generator(0, "made-up vision transformer")
    weights = {
        name: random.normal(0, 0.3, tuple(tensor.shape))
        for name, tensor in Dinov2Model(Dinov2Config(**VIT)).state_dict().items()
    }
    (folder / SOURCES["vit_s"][0]).write_bytes(encode_vit(weights))
    return str(folder)


def encode_vit(weights: Mapping[str, NDArray[np.floating[Any]]]) -> bytes:
    """Encode published weights of a vision transformer, named as in transformers' DINOv2."""
    counted: Tensor = ("onnx::Count", np.zeros(2), "integers")
    tensors, nodes = [counted], []
    for number, (name, values) in enumerate(weights.items()):
        published = name
        for new, old in OLD_NAMES.items():
            published = published.replace(new, old)
        how = "packed" if number % 2 else "raw"
        if name == "embeddings.position_embeddings":
            tensors.append(("onnx::Concat_1957", values[:, :1], how))
            tensors.append(("onnx::Reshape_1962", values[:, 1:], how))
        elif name.startswith("encoder.") and name.endswith("weight") and values.ndim == 2:
            constant = f"onnx::MatMul_{number}"
            place = published.removesuffix(".weight").replace(".", "/").replace("layer/", "layer.")
            nodes.append((f"/backbone/{place}/MatMul", "MatMul", ["some input", constant]))
            tensors.append((constant, values.T, how))
        else:
            tensors.append((f"backbone.{published}", values, how))
    nodes.append(("/backbone/encoder/layer.0/attention/attention/MatMul", "MatMul", ["a", "b"]))
    return encode_onnx(tensors, nodes)


def encode_onnx(
    tensors: Iterable[Tensor],
    nodes: Iterable[tuple[str, str, Sequence[str]]],
) -> bytes:
    """Encode tensors and nodes (name, operation and inputs) as an ONNX file.

    A tensor is its name, its values, and the way it stands in the file: `raw`, `packed` or, if its
    entries are no numbers of four bytes, `integers`.
    """
    from onnx import TensorProto, helper

    initializers = [
        helper.make_tensor(
            name,
            TensorProto.INT64 if how == "integers" else TensorProto.FLOAT,
            values.shape,
            values.astype("<f4").tobytes() if how == "raw" else values.flatten(),
            raw=how == "raw",
        )
        for name, values, how in tensors
    ]
    made = [
        helper.make_node(operation, inputs, [f"{name}_output"], name=name)
        for name, operation, inputs in nodes
    ]
    graph = helper.make_graph(made, "main_graph", [], [], initializers)
    content: bytes = helper.make_model(graph, producer_name="pytorch").SerializeToString()
    return content
