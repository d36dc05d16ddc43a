"""Which runs an experiment has."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from replication.base.strict import (
    REMOVABLE,
    Count,
    Positive,
    Positives,
    Strict,
    refuse_repeated,
    unknown_key,
)
from replication.study.seeds import Seeds
from transformer_dynamics.encoders.settings import EncoderName, TextChoice, TextName
from transformer_dynamics.lp_ft.run_settings import (
    Adapters,
    Method,
    Norm,
    Optimiser,
    ProbeChoice,
    RunJob,
    Schedule,
    Tuning,
)


class Rate(Strict):
    """What was chosen for one method on one set."""

    rate: Positive
    """At the first step."""
    batch_size: Count = 16
    """Samples of a step."""


class Length(Strict):
    """How long fine-tuning takes on one set."""

    epochs: Count | None = None
    """Passes over the training samples."""
    steps: Count | None = None
    """Or the number of steps."""
    others: Annotated[list[TextName], AfterValidator(refuse_repeated)] = []
    """Sets out of distribution whose test samples are looked at, too."""

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.epochs is None) == (self.steps is None):
            raise ValueError("must have either epochs or steps")
        return self


class Plane(Strict):
    """Features in the plane, by t-SNE."""

    texts: TextName
    """Set whose test samples are shown, of the first seed."""
    perplexity: Positive
    """About how many neighbours a sample has; below the number of samples."""


class Grid(Strict):
    """One run for every combination of its lists; LP, which has no steps, has one for each set."""

    texts: Annotated[dict[TextName, Length], Field(min_length=1), REMOVABLE]
    """Sets by name; `null` in an overlay removes one."""
    methods: Annotated[list[Method], Field(min_length=1), AfterValidator(refuse_repeated)]
    """What is trained."""
    rates: dict[Method, Positives] = {}
    """Rates to try, instead of the one that was chosen."""
    batch_size: Count | None = None
    """Samples of a step of every method, instead of what was chosen for each."""
    norms: Annotated[list[Norm], Field(min_length=1), AfterValidator(refuse_repeated)] = ["own"]
    """Length of the head at the start: its own, or that of the random head or of the probe."""
    factors: Positives = [1.0]
    """By which the head is then multiplied."""
    optimiser: Literal["adamw", "sgd"] = "adamw"
    """Of all runs."""
    clips: Annotated[
        list[Positive | None], Field(min_length=1), AfterValidator(refuse_repeated)
    ] = [1.0]
    """Largest norm of the gradient; `null` for any."""
    kept: Literal["best", "last"] = "best"
    """Which epoch: the first with the highest validation accuracy, or the end."""
    seeds: Seeds | None = None
    """Instead of those of all experiments."""
    tsne: Plane | None = None
    """Metric `tsne` of this experiment; there is none if left out."""

    @model_validator(mode="after")
    def _check_plane(self) -> Self:
        if self.tsne is None:
            return self
        if self.tsne.texts not in self.texts:
            raise ValueError(f"tsne > texts: {unknown_key(self.tsne.texts, [*self.texts])}")
        lists = map(len, self.rates.values())
        if max(len(self.norms), len(self.factors), len(self.clips), *lists) > 1:
            raise ValueError("tsne: is of experiments with one run of each method; leave it out")
        return self


class Shared(Strict):
    """What the runs of all experiments share."""

    encoder: EncoderName
    """What is under the head."""
    texts: dict[TextName, TextChoice]
    """Samples."""
    rates: dict[TextName, dict[Method, Rate]]
    """What was chosen."""
    probe: ProbeChoice
    """The probe."""
    adapters: Adapters
    """LoRA."""
    device: Literal["cpu", "cuda"]
    """Where."""


def arms(grid: Grid, shared: Shared) -> dict[str, RunJob]:
    """The runs of one seed by name, which says in what they differ.

    Raises:
        KeyError: if a set has no samples, or a method no rate.
    """
    found = {}
    for name, length in grid.texts.items():
        for method in grid.methods:
            for tuned, tuning in _tunings(grid, shared, name, length, method):
                found["-".join([name, method, *tuned])] = RunJob(
                    encoder=shared.encoder,
                    texts=shared.texts[name],
                    others=length.others,
                    method=method,
                    probe=shared.probe,
                    tuning=tuning,
                    device=shared.device,
                )
    return found


def _tunings(
    grid: Grid, shared: Shared, name: TextName, length: Length, method: Method
) -> Iterator[tuple[list[str], Tuning | None]]:
    """Every way in which a method is trained, with what tells it apart."""
    if method == "lp":
        yield [], None
        return
    rates = grid.rates.get(method)
    chosen = shared.rates.get(name, {}).get(method)
    batch_size = grid.batch_size or (chosen or Rate(rate=1)).batch_size
    schedule = Schedule(
        epochs=length.epochs, steps=length.steps, batch_size=batch_size, kept=grid.kept
    )
    for rate, norm, factor, clip in product(
        rates or [shared.rates[name][method].rate], grid.norms, grid.factors, grid.clips
    ):
        words = {
            f"rate{rate:g}": rates is not None,
            norm: len(grid.norms) > 1,
            f"x{factor:g}": len(grid.factors) > 1,
            "unclipped" if clip is None else f"clip{clip:g}": len(grid.clips) > 1,
        }
        yield (
            [word for word, tells in words.items() if tells],
            Tuning(
                optimiser=Optimiser(kind=grid.optimiser, clip=clip, rate=rate),
                schedule=schedule,
                adapters=shared.adapters,
                norm=norm,
                factor=factor,
            ),
        )
