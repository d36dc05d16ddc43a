"""Settings of recurrent models: the step (9), (7)-(8), and what surrounds it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from replication.base.strict import Strict

Projections = Literal["free", "orthogonal", "hard"]
Initialisation = Literal["linear", "xavier"]
"""Bound of uniform matrices W [in, out]: up to 1/sqrt(in), as PyTorch's linear layers, or up to
sqrt(6/(in + out))."""
MOST_ROWS = 4096
"""Rows of the largest Jacobian that is written down: sixteen of them take 2 GB."""
Scale = Annotated[float, Field(gt=0, le=1000)]


class Model(Strict):
    """One recurrent model of tokens on a board."""

    kind: Literal["itrsa", "akorn", "symmetric"]
    """Kind of the model: ItrSA (9), AKOrN (7)-(8), or ItrSA with symmetric weights."""
    normalised: bool = True
    """True if tokens are normalised after every step; AKOrN's and symmetric SA's always are."""
    width: int = Field(ge=2, le=4096)
    """Number D of channels of a token."""
    heads: int = Field(ge=1)
    """Number H of heads of attention."""
    oscillator: int | None = Field(default=None, ge=2)
    """Number N of channels that are normalised together; D if it is left out."""
    projections: Projections = "free"
    """Parametrisation of W^V and W^O: free, orthogonal, or symmetric heads as Proposition 4.2 has
    them (hard)."""

    @model_validator(mode="after")
    def _check_sizes(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"heads ({self.heads}) must divide width ({self.width})")
        if self.width % self.block:
            raise ValueError(f"oscillator ({self.block}) must divide width ({self.width})")
        if self.kind == "akorn" and self.block % 2:
            raise ValueError(f"oscillator ({self.block}) of akorn must be even: it turns in planes")
        if self.projections == "hard" and self.width % (2 * self.heads):
            raise ValueError(f"twice the heads ({2 * self.heads}) must divide width ({self.width})")
        if self.kind == "symmetric" and (self.heads > 1 or self.projections != "free"):
            raise ValueError("symmetric has one head, whose projections are free")
        if not self.normalised and self.kind != "itrsa":
            raise ValueError(f"normalised: {self.kind} is always normalised; remove the key")
        return self

    @property
    def block(self) -> int:
        """Number N of channels that are normalised together."""
        return self.oscillator or self.width


class SharedSettings(Strict):
    """Settings that all models share: how digits come in and go out, where training begins."""

    positions: Literal["learned", "none"]
    """Learned vectors of cells that C adds to the embedding of a digit, or none."""
    noise: Scale
    """Standard deviation of the noise that blanks begin with, before X_0 is normalised."""
    omegas: Literal["one", "planes"]
    """Frequencies of AKOrN: one omega for all planes, or one for every plane."""
    readout_block: int = Field(ge=1, le=64)
    """Number of linear features of which the readout takes a norm."""
    matrices: Initialisation
    """Draw of the matrices of attention and readout before training, orthogonal ones excepted."""
    eta: Scale
    """Size eta of a step before training."""
    gamma: Scale
    """Value of every entry of gamma before training."""
    omega: float = Field(ge=-1000, le=1000)
    """Frequency omega before training."""


class Network(Model, SharedSettings):
    """A model with its inputs, its readout and its initial parameters."""

    embedding: Scale | None = Field(default=None, exclude_if=lambda scale: scale is None)
    """Standard deviation of the entries of the embeddings of digits and of cells before training;
    1/sqrt(D) if it is left out, with which tokens C have norms of about 1."""


class Penalty(Strict):
    """Penalty that is added to the loss."""

    kind: Literal["energy", "spectral"]
    """Kind of the penalty: R_E-multi (R_E-single with one head), or R_Spec."""
    strength: float = Field(ge=0)
    """Weight lambda of the penalty in the loss."""
