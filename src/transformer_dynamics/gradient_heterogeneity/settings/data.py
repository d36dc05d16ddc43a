"""Jobs that make data, and the published files that they read."""

from typing import Annotated, Literal

from pydantic import Field

from replication.base.strict import Strict
from transformer_dynamics.encoders.settings import TextName

ImageNetworkName = Literal["efficientnet", "vit_s"]
"""Name of a pretrained network for images."""
SourceName = Literal["fashion_mnist", "efficientnet_lite0", "vit_s", "wikitext2"]
"""Name of an entry of `datasets.yaml`; that of WikiText-2 stands in another study's."""
SOURCES: dict[SourceName, tuple[str, ...]] = {
    "fashion_mnist": (
        "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz",
    ),
    "efficientnet_lite0": ("efficientnet-lite0.pth",),
    "vit_s": ("vit_s_focus.onnx",),
    "wikitext2": ("train.txt",),
}  # fmt: skip
"""Files of each source, in the order in which its reader takes them."""
WEIGHTS: dict[ImageNetworkName, SourceName] = {
    "efficientnet": "efficientnet_lite0",
    "vit_s": "vit_s",
}
"""Source of the weights of each network for images."""
Words = Annotated[int, Field(ge=6)]
"""Number of words of a vocabulary, with four that stand for padding, for all other words, for the
beginning of a text and for what is masked."""
Length = Annotated[int, Field(ge=2)]
"""Largest number T of tokens of a text."""


def source_paths(name: SourceName, folder: str | None) -> tuple[str, ...]:
    """Return the paths of a source's files for a job's `reads`, in the folder or to be fetched."""
    return tuple(f"{folder or f'results/datasets/{name}'}/{file}" for file in SOURCES[name])


class ImagesJob(Strict):
    """Reading of a set of images."""

    images: Literal["fashion_mnist"] = "fashion_mnist"
    """Name of the set."""


class PretrainedJob(Strict):
    """Reading of the weights of a network for images."""

    network: ImageNetworkName
    """Name of the network."""


class VocabularyJob(Strict):
    """Numbering of the words of running text, and of labelled texts by the same vocabulary."""

    texts: TextName
    """Name of the set of labelled texts."""
    words: Words
    """Number of words."""
    length: Length
    """Largest number T of tokens of a labelled text; longer ones are cut."""
