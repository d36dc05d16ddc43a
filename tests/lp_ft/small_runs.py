"""Runs of an untrained encoder of width 8 on made-up texts."""

from functools import cache
from itertools import product
from pathlib import Path

from transformer_dynamics.encoders.artificial import write_encoder, write_texts
from transformer_dynamics.encoders.data import encoder, tokens
from transformer_dynamics.encoders.settings import (
    EncoderChoice,
    EncoderJob,
    FeatureJob,
    TextChoice,
)
from transformer_dynamics.lp_ft.data import drawn_features, features_of_tests
from transformer_dynamics.lp_ft.settings.runs import (
    Adapters,
    Optimiser,
    ProbeChoice,
    RunJob,
    Schedule,
    Tuning,
    Updates,
)
from transformer_dynamics.lp_ft.settings.samples import DrawnJob, drawing_seed
from transformer_dynamics.lp_ft.training import runs

PROBE = ProbeChoice(strengths=[0.1, 1.0], steps=40, points=6, tolerance=1e-6)
UPDATES = Updates(
    dropout=None, weight_decay=0, betas=[0.9, 0.999], epsilon=1e-8, momentum=0, warm_up=0,
    decay="linear",
)  # fmt: skip
DEVIATION = 0.02
"""Of the random head."""
ADAPTERS = Adapters(rank=3, alpha=6)
METHODS = ("lp", "ft", "lora", "lp_ft", "lp_lora")


class NoCheckpoint:
    """Nothing is kept."""

    def read(self):
        return None

    def is_due(self):
        return False


def tuning(schedule=None, **changes):
    rate = {"kind": "adamw", "rate": 3e-2} | changes.pop("optimiser", {})
    chosen = Schedule(**({"epochs": 2, "batch_size": 8} | (schedule or {})))
    updates = UPDATES.model_copy(update=changes.pop("updates", {}))
    return Tuning(
        optimiser=Optimiser(**rate),
        schedule=chosen,
        updates=updates,
        adapters=ADAPTERS,
        **changes,
    )


def job(method, name="trec6", others=(), **changes):
    return RunJob(
        encoder="minilm",
        texts=TextChoice(name=name, length=12, train=20, validation=10),
        others=list(others),
        method=method,
        head_deviation=DEVIATION,
        probe=PROBE,
        tuning=None if method == "lp" else tuning(**changes),
        device="cpu",
    )


@cache
def made(folder: Path):
    """An encoder, and tokens and test features of a set by name, made once in a folder."""
    choice = EncoderChoice(folder=write_encoder(folder / "encoder"))
    found = {"encoder": encoder.sample(EncoderJob(encoder="minilm"), [], choice.sources)}
    for name in ("trec6", "cr", "sst2_sentences"):
        texts = TextChoice(name=name, folder=write_texts(folder / name, name))
        sources = (*choice.sources, *texts.sources)
        given = FeatureJob(encoder="minilm", texts=name, length=12)
        found[name] = [
            program.sample(given, [], sources) for program in (tokens, features_of_tests)
        ]
    return found


def drawn(folder, choice, seed):
    """Features of the samples that a seed draws of a set."""
    made(folder)
    given = DrawnJob(encoder="minilm", texts=choice)
    sources = (
        *EncoderChoice(folder=str(folder / "encoder")).sources,
        *choice.model_copy(update={"folder": str(folder / choice.name)}).sources,
    )
    return drawn_features.sample(given, [drawing_seed(choice, seed)], sources)


def data_of(folder, chosen, seed=1):
    known = made(folder)
    own = [part for name in chosen.sets for part in known[name]]
    own.append(drawn(folder, chosen.texts, seed))
    return own if chosen.tuning is None else [*own, known["encoder"]]


def metric_data(folder, metric, seeds):
    """Data that a metric of runs of some seeds reads, see `set_data`."""
    own = [part for name in metric.sets for part in made(folder)[name]]
    choices = {run.texts.name: run.texts for run in metric.runs.values()}
    return [*own, *(drawn(folder, *each) for each in product(choices.values(), seeds))]


def trained(folder, chosen, seed=1, checkpoint=None):
    return runs.train(chosen, [seed], data_of(folder, chosen, seed), checkpoint or NoCheckpoint())
