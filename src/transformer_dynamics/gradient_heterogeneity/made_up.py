"""Made-up files with which the study takes seconds: images, weights and running text."""

import gzip
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replication.generators import generator
from transformer_dynamics.encoders.settings import TEXT_FILES
from transformer_dynamics.gradient_heterogeneity.net_settings import SOURCES

IMAGES = (40, 12)
"""Numbers of training and of test images."""
CLASSES = 10
"""C."""
WORDS = 3000
"""Of running text."""
INTENTS, PER_INTENT = 24, 3
"""Classes of texts with many, and training texts of each; there is one test text of each."""
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
"""What linear maps are called in the published file."""
Tensor = tuple[str, NDArray[np.floating[Any]], str]
"""Name, values, and how they stand in a file."""


def write_images(folder: Path) -> str:
    """Write Fashion-MNIST's files, with noise on a square whose place tells the class.

    Args:
        folder: where.

    Returns:
        The folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    random = generator(0, "made-up images")
    files = iter(SOURCES["fashion_mnist"])
    for number in IMAGES:
        labels = np.arange(number) % CLASSES
        pixels = random.integers(0, 100, (number, 28, 28))
        for image, label in zip(pixels, labels, strict=True):
            image[2 * label : 2 * label + 8] += 150
        for values in (pixels, labels):
            (folder / next(files)).write_bytes(gzip.compress(_idx(values), mtime=0))
    return str(folder)


def _idx(values: np.ndarray) -> bytes:
    head = bytes((0, 0, 8, values.ndim)) + np.array(values.shape, ">u4").tobytes()
    return head + values.astype(np.uint8).tobytes()


def write_efficientnet(folder: Path) -> str:
    """Write random weights of a small EfficientNet, under their published names.

    Args:
        folder: where.

    Returns:
        The folder.
    """
    import torch

    from transformer_dynamics.gradient_heterogeneity import efficientnet

    folder.mkdir(parents=True, exist_ok=True)
    outside = {new: old for old, new in efficientnet.PARTS.items()}
    inside = {new: old for old, new in efficientnet.INSIDE.items()}
    random = generator(0, "made-up EfficientNet")
    published = {}
    stages = (efficientnet.Stage(1, 3, 1, 1, 4), efficientnet.Stage(2, 5, 2, 6, 6))
    for name, tensor in efficientnet.EfficientNet(8, stages, 16).state_dict().items():
        part, _, last = name.rpartition(".")
        if part.startswith("blocks."):
            _, number, inner = part.split(".", 2)
            part = f"_blocks.{number}.{inside[inner]}"
        else:
            part = outside[part]
        value = np.full(tensor.shape, float(last in {"weight", "running_var"}))
        if tensor.dim() > 1:
            value = random.normal(0, np.prod(tensor.shape[1:]) ** -0.5, tensor.shape)
        published[f"{part}.{last}"] = torch.from_numpy(value).to(tensor.dtype)
    torch.save(published, folder / SOURCES["efficientnet_lite0"][0])
    return str(folder)


def write_running(folder: Path) -> str:
    """Write a running text of the words of made-up labelled texts.

    Args:
        folder: where.

    Returns:
        The folder.
    """
    from transformer_dynamics.encoders import made_up

    folder.mkdir(parents=True, exist_ok=True)
    chosen = generator(0, "made-up running text").choice(made_up.WORDS, WORDS)
    (folder / SOURCES["wikitext2"][0]).write_text(" ".join(chosen) + "\n", encoding="utf-8")
    return str(folder)


def write_banking77(folder: Path) -> str:
    """Write short texts of many classes in the form of banking77.

    Args:
        folder: where.

    Returns:
        The folder.
    """
    from transformer_dynamics.encoders import made_up

    folder.mkdir(parents=True, exist_ok=True)
    random = generator(0, "made-up banking77")
    for file, number in zip(TEXT_FILES["banking77"], (PER_INTENT, 1), strict=True):
        lines = ["text,category"]
        for index in range(number * INTENTS):
            words = random.choice(made_up.WORDS, random.integers(4, 8))
            lines.append(f"{' '.join(words)},intent {index % INTENTS:02}")
        (folder / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(folder)


def write_vit(folder: Path) -> str:
    """Write a small vision transformer with random weights, in the published form.

    Args:
        folder: where.

    Returns:
        The folder.
    """
    from transformers import Dinov2Config, Dinov2Model

    folder.mkdir(parents=True, exist_ok=True)
    random = generator(0, "made-up vision transformer")
    weights = {
        name: random.normal(0, 0.3, tuple(tensor.shape))
        for name, tensor in Dinov2Model(Dinov2Config(**VIT)).state_dict().items()
    }
    (folder / SOURCES["vit_s"][0]).write_bytes(vit_file(weights))
    return str(folder)


def vit_file(weights: Mapping[str, NDArray[np.floating[Any]]]) -> bytes:
    """Weights of a vision transformer as an ONNX file.

    Args:
        weights: by the names of transformers' DINOv2.
    """
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
    return onnx(tensors, nodes)


def onnx(
    tensors: Iterable[Tensor],
    nodes: Iterable[tuple[str, str, Iterable[str]]],
) -> bytes:
    """An ONNX file.

    Args:
        tensors: name, values, and how they stand in it: `raw`, `packed` or, as such that are no
            numbers of four bytes, `integers`.
        nodes: name, operation and inputs.
    """
    graph = b"".join(entry(5, _tensor(*each)) for each in tensors)
    for name, operation, inputs in nodes:
        node = b"".join(entry(1, each) for each in inputs) + entry(3, name) + entry(4, operation)
        graph += entry(1, node)
    # A version, a name and a number of eight bytes, which do not matter, stand around the graph.
    return entry(1, 7) + entry(2, "pytorch") + entry(7, graph) + _varint(9 << 3 | 1) + bytes(8)


def entry(number: int, content: int | str | bytes) -> bytes:
    """One field of a protocol buffer, see `onnx_file`."""
    if isinstance(content, int):
        return _varint(number << 3) + _varint(content)
    given = content.encode() if isinstance(content, str) else content
    return _varint(number << 3 | 2) + _varint(len(given)) + given


def _varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found, value = found + bytes([value & 127 | 128]), value >> 7
    return found + bytes([value])


def _tensor(name: str, values: NDArray[np.floating[Any]], how: str) -> bytes:
    packed = b"".join(_varint(size) for size in values.shape)
    shape = entry(1, packed) if how == "packed" else b"".join(entry(1, n) for n in values.shape)
    content = values.astype("<f4").tobytes()
    kind = 7 if how == "integers" else 1
    return shape + entry(2, kind) + entry(4 if how == "packed" else 9, content) + entry(8, name)
