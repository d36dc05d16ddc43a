"""Settings of an experiment with trained runs, and the runs that it consists of."""

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
from transformer_dynamics.encoders.settings import EncoderChoice, EncoderName, TextChoice, TextName
from transformer_dynamics.lp_ft.settings.runs import (
    Adapters,
    Duration,
    Method,
    Norm,
    Optimiser,
    ProbeChoice,
    RunJob,
    Schedule,
    Training,
    Tuning,
)


class Rate(Strict):
    """Learning rate and batches chosen for one method on one set."""

    rate: Positive
    """Largest rate of a run, see `training`."""
    batch_size: Count = 16
    """Number of samples of a step."""


class SetSchedule(Duration):
    """Length of fine-tuning on one set, and other sets to test on."""

    others: Annotated[list[TextName], AfterValidator(refuse_repeated)] = []
    """Sets out of distribution whose test samples are looked at, too."""
    rates: dict[Method, Rate] = {}
    """Rates chosen by method, instead of those of all experiments, as for another encoder."""


class TsneSettings(Strict):
    """Features in the plane, by t-SNE."""

    texts: TextName
    """Set whose test samples are shown, of the first seed."""
    perplexity: Positive
    """About how many neighbours a sample has; below the number of samples."""


class Grid(Strict):
    """One run for every combination of its lists; LP, which has no steps, has one for each set."""

    texts: Annotated[dict[TextName, SetSchedule], Field(min_length=1), REMOVABLE]
    """Sets by name; `null` in an overlay removes one."""
    methods: Annotated[list[Method], Field(min_length=1), AfterValidator(refuse_repeated)]
    """Methods of training."""
    rates: dict[Method, Positives] = {}
    """Rates to try, instead of the one that was chosen."""
    batch_size: Count | None = None
    """Number of samples of a step of every method, instead of the number chosen for each."""
    norms: Annotated[list[Norm], Field(min_length=1), AfterValidator(refuse_repeated)] = ["own"]
    """Length of the head at the start: its own, or that of the random head or of the probe."""
    factors: Positives = [1.0]
    """Factors by which the head is multiplied in the end."""
    optimiser: Literal["adamw", "sgd"] = "adamw"
    """Optimiser of all runs."""
    clips: Annotated[
        list[Positive | None], Field(min_length=1), AfterValidator(refuse_repeated)
    ] = [1.0]
    """Largest norms of the gradient; `null` for any."""
    kept: Literal["best", "last"] = "best"
    """Epoch that is kept: the first with the highest validation accuracy, or the last."""
    seeds: Seeds | None = None
    """Seeds, instead of those of all experiments."""
    encoder: EncoderChoice | None = None
    """Encoder instead of that of all experiments, whose rates do not hold for it."""
    tsne: TsneSettings | None = None
    """Metric `tsne` of this experiment; there is none if left out."""

    @model_validator(mode="after")
    def _check_plane(self) -> Self:
        if self.tsne is None:
            return self
        if self.tsne.texts not in self.texts:
            raise ValueError(f"tsne > texts: {unknown_key(self.tsne.texts, [*self.texts])}")
        lists = map(len, self.rates.values())
        if max(len(self.norms), len(self.factors), len(self.clips), *lists) > 1:
            raise ValueError("tsne: is of experiments with one run of each method; set it to null")
        return self


class SharedSettings(Strict):
    """Settings that the runs of all experiments share."""

    encoder: EncoderName
    """Encoder under the head."""
    texts: dict[TextName, TextChoice]
    """Samples by set."""
    rates: dict[TextName, dict[Method, Rate]]
    """Chosen rates by set and method."""
    training: Training
    """Random head, and steps of all methods but LP."""
    probe: ProbeChoice
    """Settings of linear probing."""
    adapters: Adapters
    """Settings of LoRA."""
    device: Literal["cpu", "cuda"]
    """Device that trains."""


def run_jobs(grid: Grid, shared: SharedSettings) -> dict[str, RunJob]:
    """Return the runs of one seed by name, which tells them apart.

    `shared` has the encoder and the rates of this experiment. Raises a `KeyError` if a set has no
    samples, or a method no rate.
    """
    jobs = {}
    for name, schedule in grid.texts.items():
        for method in grid.methods:
            for parts, tuning in _tunings(grid, shared, name, method):
                jobs["-".join([name, method, *parts])] = RunJob(
                    encoder=shared.encoder,
                    texts=shared.texts[name],
                    others=schedule.others,
                    method=method,
                    head_deviation=shared.training.head_deviation,
                    probe=shared.probe,
                    tuning=tuning,
                    # Linear probing has no use for a GPU.
                    device="cpu" if method == "lp" else shared.device,
                )
    return jobs


def _tunings(
    grid: Grid, shared: SharedSettings, name: TextName, method: Method
) -> Iterator[tuple[list[str], Tuning | None]]:
    """Yield every way to train a method on a set, with the parts of its name."""
    if method == "lp":
        yield [], None
        return
    length, rates = grid.texts[name], grid.rates.get(method)
    chosen = shared.rates.get(name, {}) | length.rates
    batch_size = grid.batch_size or chosen.get(method, Rate(rate=1)).batch_size
    schedule = Schedule(
        epochs=length.epochs, steps=length.steps, batch_size=batch_size, kept=grid.kept
    )
    for rate, norm, factor, clip in product(
        rates or [chosen[method].rate], grid.norms, grid.factors, grid.clips
    ):
        # A setting is named if runs of the experiment differ in it.
        differs = {
            f"rate{rate:g}": rates is not None,
            norm: len(grid.norms) > 1,
            f"x{factor:g}": len(grid.factors) > 1,
            "unclipped" if clip is None else f"clip{clip:g}": len(grid.clips) > 1,
        }
        yield (
            [part for part, is_named in differs.items() if is_named],
            Tuning(
                optimiser=Optimiser(kind=grid.optimiser, clip=clip, rate=rate),
                schedule=schedule,
                updates=shared.training.updates,
                adapters=shared.adapters,
                norm=norm,
                factor=factor,
            ),
        )
