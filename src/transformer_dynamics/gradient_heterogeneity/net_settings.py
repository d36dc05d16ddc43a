"""Which network on which samples, and where the files of both are."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replication.strict import Count, Positive, Strict
from transformer_dynamics.encoders.settings import EncoderName, TextChoice, TextName

ImageNetName = Literal["efficientnet", "vit_s"]
"""A pretrained network for images."""
SourceName = Literal["fashion_mnist", "efficientnet_lite0", "vit_s", "wikitext2"]
"""Of an entry of `datasets.yaml`; that of WikiText-2 stands in another study's."""
SOURCES: dict[SourceName, tuple[str, ...]] = {
    "fashion_mnist": (
        "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz",
    ),
    "efficientnet_lite0": ("efficientnet-lite0.pth",),
    "vit_s": ("vit_s_focus.onnx",),
    "wikitext2": ("train.txt",),
}  # fmt: skip
"""Files of each, in the order in which its reader takes them."""
NETWORKS: dict[ImageNetName, SourceName] = {
    "efficientnet": "efficientnet_lite0",
    "vit_s": "vit_s",
}
"""Where the weights of a network are."""
MULTIPLES: dict[ImageNetName, int] = {"efficientnet": 32, "vit_s": 14}
"""What edges of images are multiples of: EfficientNet halves them five times, and a patch of the
vision transformer has so many pixels."""


def sources(name: SourceName, folder: str | None = None) -> tuple[str, ...]:
    """Paths of files, which a job names in `reads`.

    Args:
        name: which.
        folder: one that has them under these names; they are fetched if left out.
    """
    return tuple(f"{folder or f'results/datasets/{name}'}/{file}" for file in SOURCES[name])


class ImagesJob(Strict):
    """What reads a set of images."""

    images: Literal["fashion_mnist"] = "fashion_mnist"
    """Which one."""


class NetworkJob(Strict):
    """What reads the weights of a network for images."""

    network: ImageNetName
    """Which one."""


class WordsJob(Strict):
    """What makes numbers of running text, and of labelled texts in the same words."""

    texts: TextName
    """Which labelled texts."""
    words: Annotated[int, Field(ge=6)]
    """How many there are, with four that stand for padding, others, a text's beginning and what is
    masked."""
    length: Annotated[int, Field(ge=2)]
    """T, of labelled texts; longer ones are cut."""


class TextNet(Strict):
    """A pretrained encoder with a random head, on labelled texts."""

    net: EncoderName = "minilm"
    """Which one."""
    texts: TextChoice
    """Its samples."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the data that `build` takes: tokens, then the encoder."""
        return (f"tokens-{self.texts.name}", "encoder")


class ImageNet(Strict):
    """A pretrained network with a random head, on Fashion-MNIST."""

    net: ImageNetName
    """Which one."""
    size: Count
    """Pixels along an edge, to which images of 28 are enlarged; a multiple of 32 for
    EfficientNet and of 14 for the vision transformer."""
    train: Count
    """Training samples, drawn from the published training set by the seed."""
    validation: Annotated[int, Field(ge=0)]
    """Validation samples, drawn beside them."""
    test: Count
    """Test samples, the same for all seeds."""

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if self.size % MULTIPLES[self.net]:
            raise ValueError(f"size: {self.size} is no multiple of {MULTIPLES[self.net]}")
        return self

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the data that `build` takes: images, then weights."""
        return ("fashion_mnist", self.net)


class Shape(Strict):
    """A transformer that is trained from random weights."""

    placement: Literal["post", "pre"]
    """Where layer normalisation stands."""
    depth: Count
    """L."""
    width: Count = 128
    """d."""
    heads: Count = 4
    """H, a divisor of d."""
    length: Annotated[int, Field(ge=2)] = 24
    """T, the number of places."""
    deviation: Positive | None = 0.05
    """Standard deviation of all matrices; `null` for PyTorch's."""
    embeddings: Positive | None = None
    """Standard deviation of embeddings; if left out that of matrices, or 1 as PyTorch's."""

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"heads: {self.heads} is no divisor of the width, {self.width}")
        return self

    @property
    def embedded(self) -> float:
        """Standard deviation of embeddings."""
        return self.embeddings or self.deviation or 1.0


class TinyNet(Strict):
    """A transformer from random weights, with a random head, on labelled texts."""

    net: Literal["tiny"] = "tiny"
    """No published network."""
    shape: Shape
    """Its sizes."""
    words: Annotated[int, Field(ge=6)] = 4000
    """As `WordsJob` has them."""
    texts: TextChoice
    """Its samples."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the data that `build` takes."""
        return (f"words-{self.texts.name}-{self.words}-{self.shape.length}",)


NetChoice = TextNet | ImageNet | TinyNet
"""Any of them; their `net` tells them apart."""
