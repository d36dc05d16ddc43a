"""Which network on which samples, and where the files of both are."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replication.base.strict import Count, Positive, Strict
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
Share = Annotated[float, Field(ge=0, lt=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]
Enlarging = Literal["nearest", "bilinear", "bicubic"]
"""How images are made larger."""
MULTIPLES: dict[ImageNetName, int] = {"efficientnet": 32, "vit_s": 14}
"""What edges of images are multiples of: EfficientNet halves them five times, and a patch of the
vision transformer has so many pixels."""


class Dropout(Strict):
    """Probability to be left out in training."""

    encoder: Share | None
    """Within the encoder of texts and of its features; `null` for the published one."""
    efficientnet: Share
    """Of EfficientNet's features."""
    vit_s: Share
    """Of the vision transformer's features."""


class Networks(Strict):
    """What all networks share."""

    head_deviation: Positive
    """Standard deviation of the entries of a random head."""
    dropout: Dropout
    """By network; small transformers have none."""
    renewed: Fraction
    """Share of a running statistic of EfficientNet that a batch of training replaces."""
    enlarged: Enlarging
    """How images are made larger."""

    def of_images(self, chosen: "OfImages") -> "ImageNet":
        """A network for images with those of these constants that it depends on.

        Args:
            chosen: which, on which samples.
        """
        return ImageNet(
            **dict(chosen),
            head_deviation=self.head_deviation,
            dropout=getattr(self.dropout, chosen.net),
            renewed=self.renewed if chosen.net == "efficientnet" else None,
            enlarged=self.enlarged,
        )


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
    head_deviation: Positive
    """Standard deviation of the entries of its head."""
    dropout: Share | None
    """Probability of all its dropouts; as published if `null`."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the data that `build` takes: tokens, then the encoder."""
        return (f"tokens-{self.texts.name}", "encoder")


class OfImages(Strict):
    """A pretrained network on Fashion-MNIST."""

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


class ImageNet(OfImages):
    """The same with a random head."""

    head_deviation: Positive
    """Standard deviation of the entries of its head."""
    dropout: Share
    """Probability of a feature to be left out in training."""
    renewed: Fraction | None
    """Share of a running statistic that a batch of training replaces; `null` where there are
    none."""
    enlarged: Enlarging
    """How images are made larger."""


def check_heads(width: int, heads: int) -> None:
    """Refuse heads that have no equal shares of the width."""
    if width % heads:
        raise ValueError(f"heads: {heads} is no divisor of the width, {width}")


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
        check_heads(self.width, self.heads)
        return self

    @property
    def embedded(self) -> float:
        """Standard deviation of embeddings."""
        return self.embeddings or self.deviation or 1.0


class Masking(Strict):
    """Which words small transformers are to tell, and what stands in their places."""

    share: Annotated[float, Field(gt=0, lt=1)]
    """Of the words of a stretch, those that are to be told; rounded, and one at least."""
    mask: Fraction
    """Of these, the share in whose place is the mask."""
    random: Fraction
    """The share in whose place is a random word; what is left stays as it is."""

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        if self.mask + self.random > 1:
            raise ValueError("random: together with mask it is more than all")
        return self


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
    head_deviation: Positive
    """Standard deviation of the entries of its head."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the data that `build` takes."""
        return (f"words-{self.texts.name}-{self.words}-{self.shape.length}",)


NetChoice = TextNet | ImageNet | TinyNet
"""Any of them; their `net` tells them apart."""
