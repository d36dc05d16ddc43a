"""Train one run of one seed; an interrupted one goes on from its checkpoint."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from replication.study.devices import device
from transformer_dynamics.encoders.head import Head, drawn_head
from transformer_dynamics.encoders.model import build
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.used_tokens import keep_words, renumbered, words_of
from transformer_dynamics.lp_ft.data.samples import SeedSamples, draw_samples
from transformer_dynamics.lp_ft.settings.runs import RunJob, Tuning
from transformer_dynamics.lp_ft.training import loop
from transformer_dynamics.lp_ft.training.classifier import Classifier, add_adapters
from transformer_dynamics.lp_ft.training.probing import descent_path
from transformer_dynamics.lp_ft.training.starts import probe_head, select_probe, starting_head

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

Arrays = dict[str, NDArray[Any]]


def train(
    job: RunJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> Arrays:
    """Train one run, and return its heads, its curves, and logits and features of its samples.

    The data are tokens and test features of each of `job.sets`, features of the seed's samples, and
    the encoder, unless the method is LP. In all arrays the seed comes first.

    Heads, float32, V [C, h] and b [C]: `random_weight`, `start_weight`, `start_bias`, `weight`,
    `bias`. By step: `steps`, `norms` and `bias_norms` (one more than) `logit_norms`, `losses` and
    `accuracies` of batches; of LP by point of its path, see `probing.DescentPath`, with `falling`.
    By epoch: `scores`, `evaluated`; `chosen`. Places of the samples in their published splits:
    `train_places`, `validation_places`. Without dropout `validation_logits`; of each test set,
    `test` and those out of distribution, `<name>_logits` [n, C] and `<name>_features` [n, h].
    `strength`, C_reg, and `gradient` of the probe are 0 where there is none.

    Raises an `InputError` if a probe fails, the device is not there or there are too few samples.
    """
    (seed,) = seeds
    device("cpu")
    samples = draw_samples(job.texts, job.others, seed, data[: 2 * len(job.sets) + 1])
    width = samples.train.features.shape[1]
    random = drawn_head(samples.classes, width, seed, job.head_deviation)
    if job.tuning is None:
        arrays = _train_probe(job, samples, random)
    else:
        encoder = Pretrained.of(data[-1])
        arrays = _fine_tune(job, job.tuning, seed, samples, random, encoder, checkpoint)
    arrays |= {
        "random_weight": random.weight.numpy(),
        "train_places": samples.train.places,
        "validation_places": samples.validation.places,
    }
    return {name: np.asarray(values)[None] for name, values in arrays.items()}


def _train_probe(job: RunJob, samples: SeedSamples, random: Head) -> Arrays:
    """Train by LP: only a head, on features that are known."""
    best = select_probe(samples, job.probe)
    path = descent_path(random, samples.train, job.probe)
    logits = best.logits(samples.validation.features)
    arrays = path._asdict() | {
        "scores": np.array([np.mean(logits.argmax(1) == samples.validation.labels)]),
        "evaluated": path.steps[-1:].astype(float),
        "chosen": np.array(0),
        "strength": np.array(best.strength),
        "gradient": np.array(best.gradient),
        "validation_logits": logits.astype(np.float32),
    }
    for name, part in samples.tests.items():
        arrays[f"{name}_features"] = part.features
        arrays[f"{name}_logits"] = best.logits(part.features).astype(np.float32)
    return arrays | _head_arrays(random, probe_head(best))


def _head_arrays(start: Head, end: Head) -> Arrays:
    heads = {"start_": start, "": end}
    return {
        f"{when}{name}": tensor.detach().cpu().numpy()
        for when, head in heads.items()
        for name, tensor in head._asdict().items()
    }


def _fine_tune(
    job: RunJob,
    tuning: Tuning,
    seed: int,
    samples: SeedSamples,
    random: Head,
    pretrained: Pretrained,
    checkpoint: "Checkpoint",
) -> Arrays:
    """Train by any method but LP: the head, with the encoder or its adapters."""
    needs_probe = "probe" in {job.direction, tuning.norm}
    best = select_probe(samples, job.probe) if needs_probe else None
    probe = probe_head(best) if best else None
    start = starting_head(random, probe, job.direction, tuning.norm, tuning.factor)
    encoder = build(pretrained, tuning.updates.dropout)
    parts = {"train": samples.train, "validation": samples.validation, **samples.tests}
    words = words_of([part.tokens for part in parts.values()], encoder.config.pad_token_id)  # type: ignore[union-attr, arg-type]
    keep_words(encoder, words)
    if job.has_adapters:
        add_adapters(encoder, tuning.adapters, seed)
    model = Classifier(encoder, start).to(device(job.device))
    tokens = {name: renumbered(part.tokens, words) for name, part in parts.items()}
    kept = checkpoint.read()
    if kept is None:
        state = loop.initial_state(model, tuning.optimiser, tuning.updates)
    else:
        state = loop.restored_state(model, tuning, kept)
        click.echo(f"going on after step {state.step}", err=True)
    steps = loop.train_steps(tuning, seed, tokens["train"], tokens["validation"], state)
    _take_steps(steps, state, tuning.schedule.total(len(samples.train.labels)), checkpoint)
    chosen = loop.restore_kept_epoch(state, tuning.schedule)
    arrays: Arrays = {name: np.array(getattr(state, name)) for name in loop.CURVES}
    arrays |= _head_arrays(start, model.head)
    arrays |= {
        "steps": np.arange(len(state.norms)),
        "chosen": np.array(chosen),
        "strength": np.array(best.strength if best else 0.0),
        "gradient": np.array(best.gradient if best else 0.0),
        "validation_logits": loop.model_outputs(model, tokens["validation"])[1],
    }
    for name in samples.tests:
        features, logits = loop.model_outputs(model, tokens[name])
        arrays |= {f"{name}_features": features, f"{name}_logits": logits}
    return arrays


def _take_steps(
    steps: Iterable[object], state: loop.State, total: int, checkpoint: "Checkpoint"
) -> None:
    """Take all steps that are left, with a bar of progress, and keep checkpoints."""
    with tqdm(total=total, initial=state.step, unit="step", mininterval=10, smoothing=0.1) as bar:
        for _ in steps:
            bar.update()
            bar.set_postfix(loss=f"{np.mean(state.losses[-25:]):.3f}", refresh=False)
            if checkpoint.is_due():
                checkpoint.write(state.arrays())
