"""Runs of an untrained encoder of width 8 on made-up texts."""

from functools import cache
from pathlib import Path

from transformer_dynamics.encoders.artificial import write_encoder, write_texts
from transformer_dynamics.encoders.data import encoder, features, tokens
from transformer_dynamics.encoders.settings import (
    EncoderChoice,
    EncoderJob,
    TextChoice,
    TextJob,
)
from transformer_dynamics.lp_ft.settings.runs import (
    Adapters,
    Optimiser,
    ProbeChoice,
    RunJob,
    Schedule,
    Tuning,
    Updates,
)
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
    """An encoder, and tokens and features of a set by name, made once in a folder."""
    choice = EncoderChoice(folder=write_encoder(folder / "encoder"))
    found = {"encoder": encoder.sample(EncoderJob(encoder="minilm"), [], choice.sources)}
    for name in ("trec6", "cr", "sst2_sentences"):
        texts = TextChoice(name=name, folder=write_texts(folder / name, name))
        sources = (*choice.sources, *texts.sources)
        given = TextJob(encoder="minilm", texts=name, length=12)
        found[name] = [program.sample(given, [], sources) for program in (tokens, features)]
    return found


def data_of(folder, chosen):
    known = made(folder)
    own = [part for name in chosen.sets for part in known[name]]
    return own if chosen.tuning is None else [*own, known["encoder"]]


def trained(folder, chosen, seed=1, checkpoint=None):
    return runs.train(chosen, [seed], data_of(folder, chosen), checkpoint or NoCheckpoint())
