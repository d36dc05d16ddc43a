"""Networks that are trained or measured, and their samples."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replication.base.strict import Count, Positive, Strict
from transformer_dynamics.encoders.settings import EncoderName, TextChoice
from transformer_dynamics.gradient_heterogeneity.settings.data import (
    ImageNetworkName,
    Length,
    Words,
)

Share = Annotated[float, Field(ge=0, lt=1)]
"""Part of a whole, less than all of it."""
Fraction = Annotated[float, Field(ge=0, le=1)]
"""Part of a whole, perhaps all of it."""
Enlarging = Literal["nearest", "bilinear", "bicubic"]
"""Interpolation between the pixels of an image that is made larger."""
Placement = Literal["post", "pre"]
"""Place of layer normalisation: after the sum of stream and branch, or before the branch."""
MULTIPLES: dict[ImageNetworkName, int] = {"efficientnet": 32, "vit_s": 14}
"""Divisor of the edge of images: EfficientNet halves an edge five times, and a patch of the vision
transformer has 14 pixels."""
IMAGES = "fashion_mnist"
"""Task of networks for images."""


class Dropout(Strict):
    """Probability to be left out in training."""

    encoder: Share | None
    """Dropout within the encoder of texts and of its features; `null` for the published one."""
    efficientnet: Share
    """Dropout of EfficientNet's features."""
    vit_s: Share
    """Dropout of the vision transformer's features."""


class TextNetwork(Strict):
    """A pretrained encoder with a random head, on labelled texts."""

    net: EncoderName = "minilm"
    """Name of the encoder."""
    texts: TextChoice
    """Samples of the encoder."""
    head_deviation: Positive
    """Standard deviation of the entries of the head."""
    dropout: Share | None
    """Probability of all dropouts of the encoder; as published if `null`."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the data that `build_network` takes: tokens, then the encoder."""
        return (f"tokens-{self.texts.name}", "encoder")

    @property
    def task(self) -> str:
        """Name of the set of texts."""
        return self.texts.name


class ImageNetworkSetting(Strict):
    """A pretrained network on Fashion-MNIST."""

    net: ImageNetworkName
    """Name of the network."""
    size: Count
    """Pixels along an edge, to which images of 28 are enlarged; a multiple of 32 for
    EfficientNet and of 14 for the vision transformer."""
    train: Count
    """Number of training samples, drawn from the published training set by the seed."""
    validation: Annotated[int, Field(ge=0)]
    """Number of validation samples, drawn beside the training samples."""
    test: Count
    """Number of test samples, the same for all seeds."""

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if self.size % MULTIPLES[self.net]:
            raise ValueError(f"size: {self.size} is no multiple of {MULTIPLES[self.net]}")
        return self


class ImageNetwork(ImageNetworkSetting):
    """A pretrained network with a random head, on Fashion-MNIST."""

    head_deviation: Positive
    """Standard deviation of the entries of the head."""
    dropout: Share
    """Probability of a feature to be left out in training."""
    renewed: Fraction | None
    """Share of a running statistic that a batch of training replaces; `null` if there are none."""
    enlarged: Enlarging
    """Interpolation by which images are made larger."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the data that `build_network` takes: images, then weights."""
        return (IMAGES, self.net)

    @property
    def task(self) -> str:
        """Name of the set of images."""
        return IMAGES


def check_heads(width: int, heads: int) -> None:
    """Refuse heads that have no equal shares of the width."""
    if width % heads:
        raise ValueError(f"heads: {heads} is no divisor of the width, {width}")


class Shape(Strict):
    """Sizes and scales of a transformer that is trained from random weights."""

    placement: Placement
    """Place of layer normalisation."""
    depth: Count
    """Number L of layers."""
    width: Count = 128
    """Number d of channels."""
    heads: Count = 4
    """Number H of heads of attention, a divisor of d."""
    length: Length = 24
    """Number T of places."""
    deviation: Positive | None = 0.05
    """Standard deviation of all matrices; `null` for PyTorch's."""
    embeddings: Positive | None = None
    """Standard deviation of embeddings; if left out that of matrices, or 1 as PyTorch's."""

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        check_heads(self.width, self.heads)
        return self

    @property
    def embedding_deviation(self) -> float:
        """Standard deviation of embeddings."""
        return self.embeddings or self.deviation or 1.0


class Masking(Strict):
    """Choice of the words that small transformers are to tell, and of their stand-ins."""

    share: Annotated[float, Field(gt=0, lt=1)]
    """Share of the words of a stretch that are to be told; rounded, and one at least."""
    mask: Fraction
    """Share of these words in whose place is the mask."""
    random: Fraction
    """Share of these words in whose place is a random word; all others stay as they are."""

    @model_validator(mode="after")
    def _check_shares(self) -> Self:
        if self.mask + self.random > 1:
            raise ValueError("random: together with mask it is more than all")
        return self


class SmallTransformer(Strict):
    """A transformer from random weights, with a random head, on labelled texts."""

    net: Literal["tiny"] = "tiny"
    """Name that tells it from published networks."""
    shape: Shape
    """Sizes of the transformer."""
    words: Words = 4000
    """Number of words that the transformer knows."""
    texts: TextChoice
    """Samples of the transformer."""
    head_deviation: Positive
    """Standard deviation of the entries of the head."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the data that `build_network` takes."""
        return (f"words-{self.texts.name}-{self.words}-{self.shape.length}",)

    @property
    def task(self) -> str:
        """Name of the set of texts."""
        return self.texts.name


NetworkChoice = TextNetwork | ImageNetwork | SmallTransformer
"""Any network with its samples; `net` tells them apart."""


class Networks(Strict):
    """Constants that all networks share."""

    head_deviation: Positive
    """Standard deviation of the entries of a random head."""
    dropout: Dropout
    """Dropout by network; small transformers have none."""
    renewed: Fraction
    """Share of a running statistic of EfficientNet that a batch of training replaces."""
    enlarged: Enlarging
    """Interpolation by which images are made larger."""

    def complete(self, setting: ImageNetworkSetting) -> ImageNetwork:
        """Return a network for images with those of these constants that it depends on."""
        return ImageNetwork(
            **dict(setting),
            head_deviation=self.head_deviation,
            dropout=getattr(self.dropout, setting.net),
            renewed=self.renewed if setting.net == "efficientnet" else None,
            enlarged=self.enlarged,
        )
