"""Models, training and evaluation on text, and the jobs made of them."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import Count, Positive, Strict, refuse_repeated

Names = Annotated[list[str], Field(min_length=1), AfterValidator(refuse_repeated)]
Updates = Annotated[list[Annotated[int, Field(ge=0)]], AfterValidator(refuse_repeated)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class TextModel(Strict):
    """An encoder of layers with one head and a causal mask that shows a position itself."""

    layers: Count
    """Number of layers."""
    width: int = Field(default=200, ge=2, multiple_of=2)
    """Width d of embeddings and hidden states."""
    hidden: Count = 200
    """Width of the feed-forward part."""
    positions: bool = True
    """True if sinusoidal positions are added to the embeddings; the theory has none."""
    feed_forward: bool = True
    """True if a feed-forward part follows attention; the theory has none."""
    residual: bool = True
    """True if there are residual connections; the theory has none."""
    scaled_embeddings: bool = True
    """True if embeddings are multiplied by the square root of the width before adding positions."""
    initial_bound: Positive = 0.1
    """Bound of the initial weights of embedding and output, uniform between minus and plus this."""


class TextTraining(Strict):
    """Plain SGD at a constant rate on successive chunks of running text."""

    updates: Count | None = None
    """Number of updates; instead of `epochs`."""
    epochs: Count | None = None
    """Number of passes over the training text; instead of `updates`."""
    feed_forward_ratio: Positive = 1.0
    """Rate of the lowest feed-forward part over that of all other parameters."""
    dropout: float = Field(ge=0, lt=1)
    """Probability that dropout sets an entry to zero."""
    clip: Positive = 0.5
    """Largest norm of the gradient."""
    batch_size: Count = 20
    """Number of columns of running text."""
    chunk_length: int = Field(default=35, ge=2)
    """Number of positions of a chunk."""
    recorded: Updates = []
    """Numbers of updates after which attention is recorded, besides the last one."""

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        if (self.updates is None) == (self.epochs is None):
            raise ValueError("give either updates or epochs")
        return self


class Evaluation(Strict):
    """Records of attention; no setting of them changes the training."""

    shown_chunk: int = Field(default=100, ge=0)
    """Number of the chunk, from 0, of the first column of the training text whose map is kept."""
    batch_size: Count = 10
    """Number of columns of the validation text."""
    sampled_chunks: Count = 20
    """Number of chunks of every column of the validation text whose maps are kept."""
    entropy_epsilon: float = Field(default=1e-8, ge=1e-12, lt=1)
    """Number that is added to attention within the logarithm of its entropy."""


class TokenJob(Strict):
    """All that the word ids of a corpus depend on."""

    train: Sha256
    """Digest of the training text."""
    valid: Sha256
    """Digest of the validation text."""


class TextTrainJob(Strict):
    """All that one training run on text depends on, besides its seed."""

    tokens: TokenJob
    """Word ids of the corpus."""
    model: TextModel
    """Model that is trained."""
    learning_rate: Positive
    """Rate of all parameters but those of the lowest feed-forward part."""
    training: TextTraining
    """Length, rates and batches."""
    evaluation: Evaluation
    """Records of attention."""
    device: Literal["cpu", "cuda"]
    """Device that trains."""
