"""Settings of untrained attention whose Jacobian's norm is measured on texts of many lengths."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import Counts, Positive, Strict, refuse_repeated
from transformer_dynamics.recurrent_attention.settings.models import Initialisation

Metric = Literal["norms", "fingerprint"]
METRICS: tuple[Metric, ...] = ("norms", "fingerprint")


class TokenNormsJob(Strict):
    """Attention with random weights on random texts; a run is one draw of the weights."""

    dimension: int = Field(ge=1)
    """Number D of channels."""
    heads: Counts
    """Numbers H of heads, each with the same weights."""
    initialisations: Annotated[
        list[Initialisation], Field(min_length=1), AfterValidator(refuse_repeated)
    ]
    """Uniform draws of all four weights: `linear` up to 1/sqrt(D), as PyTorch's linear layers;
    `xavier` up to sqrt(3/D)."""
    tokens: Counts
    """Lengths S: a text is cut to its first S tokens."""
    texts: int = Field(ge=1)
    """Number of texts of a draw, over which norms are averaged: that of one text is erratic."""
    radius: Positive
    """Length |x_i| of every token."""
    vocabulary: int = Field(ge=1)
    """Number of words, whose embeddings have random directions."""
    zipf: float = Field(ge=0)
    """Exponent of Zipf's law: a word of rank k has a probability in proportion to k^-zipf."""
    tolerance: Annotated[float, Field(gt=0, lt=0.1)]
    """Residual of |J|_2^2, as a part of it, at which the search for it ends."""

    @model_validator(mode="after")
    def _check_heads(self) -> Self:
        for count in self.heads:
            if self.dimension % count:
                raise ValueError(f"heads: {self.dimension} channels are not cut evenly by {count}")
        return self


class TokenNormsMetricJob(Strict):
    """Job that makes one table of all runs."""

    runs: TokenNormsJob
    """Draws that are measured."""
    metric: Metric
    """Table that is made."""
