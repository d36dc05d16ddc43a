"""Train one run of one seed; an interrupted one goes on where it was."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from replication.study.devices import device
from transformer_dynamics.encoders.head import Head, drawn_head
from transformer_dynamics.encoders.model import build
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.words import keep_words, renumbered, words_of
from transformer_dynamics.lp_ft import training
from transformer_dynamics.lp_ft.classifier import Classifier, adapt
from transformer_dynamics.lp_ft.head_start import probed_head, started
from transformer_dynamics.lp_ft.probing import path, probed
from transformer_dynamics.lp_ft.run_settings import RunJob, Tuning
from transformer_dynamics.lp_ft.sets import Sets, sets

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

Arrays = dict[str, NDArray[Any]]


def train(
    job: RunJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: "Checkpoint",
) -> Arrays:
    """Train a run.

    Args:
        job: what is trained, and how.
        seeds: the one seed.
        data: tokens and features of each of `job.sets`; then the encoder, unless the method is LP.
        checkpoint: keeps what is under way.

    Returns:
        The seed first. Heads, float32, V [C, h] and b [C]: `random_weight`, `start_weight`,
        `start_bias`, `weight`, `bias`. By step: `steps`, `norms` (one more than) `losses` and
        `accuracies` of batches; of LP by point of its path, see `probing.Path`, with `falling`.
        By epoch: `scores`, `evaluated`; `chosen`. Places of the samples in their published splits:
        `train_places`, `validation_places`. Without dropout `validation_logits`; of each test set,
        `test` and those out of distribution, `<name>_logits` [n, C] and `<name>_features` [n, h].
        `strength`, C_reg, and `gradient` of the probe; 0 where there is none.

    Raises:
        InputError: if a probe fails, the device is not there or there are too few samples.
    """
    (seed,) = seeds
    device("cpu")
    own = data[: 2 * len(job.sets)]
    found = sets(job.texts, job.others, seed, own)
    drawn = drawn_head(found.classes, found.train.features.shape[1], seed)
    if job.tuning is None:
        arrays = _probing(job, found, drawn)
    else:
        encoder = Pretrained.of(data[-1])
        arrays = _tuning(job, job.tuning, seed, found, drawn, encoder, checkpoint)
    arrays |= {
        "random_weight": drawn.weight.numpy(),
        "train_places": found.train.places,
        "validation_places": found.validation.places,
    }
    return {name: np.asarray(values)[None] for name, values in arrays.items()}


def _probing(job: RunJob, found: Sets, drawn: Head) -> Arrays:
    """LP: nothing is trained but a head, on features that are known."""
    best = probed(found, job.probe)
    along = path(drawn, found.train, job.probe)
    score = np.mean(best.logits(found.validation.features).argmax(1) == found.validation.labels)
    arrays = along._asdict() | {
        "scores": np.array([score]),
        "evaluated": along.steps[-1:].astype(float),
        "chosen": np.array(0),
        "strength": np.array(best.strength),
        "gradient": np.array(best.gradient),
    }
    arrays |= _heads(drawn, probed_head(best))
    arrays["validation_logits"] = best.logits(found.validation.features).astype(np.float32)
    for name, part in found.tests.items():
        arrays[f"{name}_features"] = part.features
        arrays[f"{name}_logits"] = best.logits(part.features).astype(np.float32)
    return arrays


def _heads(start: Head, end: Head) -> Arrays:
    heads = {"start_": start, "": end}
    return {
        f"{when}{name}": tensor.detach().cpu().numpy()
        for when, head in heads.items()
        for name, tensor in head._asdict().items()
    }


def _tuning(
    job: RunJob,
    tuning: Tuning,
    seed: int,
    found: Sets,
    drawn: Head,
    encoder: Pretrained,
    checkpoint: "Checkpoint",
) -> Arrays:
    """All other methods."""
    needs_probe = "probe" in {job.direction, tuning.norm}
    best = probed(found, job.probe) if needs_probe else None
    start = started(drawn, best and probed_head(best), job.direction, tuning.norm, tuning.factor)
    body = build(encoder)
    parts = {"train": found.train, "validation": found.validation, **found.tests}
    words = words_of([part.tokens for part in parts.values()], body.config.pad_token_id)  # type: ignore[union-attr, arg-type]
    keep_words(body, words)
    if job.is_adapted:
        adapt(body, tuning.adapters, seed)
    model = Classifier(body, start).to(device(job.device))
    tokens = {name: renumbered(part.tokens, words) for name, part in parts.items()}
    kept = checkpoint.read()
    if kept is None:
        state = training.begun(model, tuning.optimiser)
    else:
        state = training.resumed(model, tuning.optimiser, kept)
        click.echo(f"going on after step {state.step}", err=True)
    with tqdm(
        total=tuning.schedule.total(len(found.train.labels)),
        initial=state.step,
        unit="step",
        mininterval=10,
        smoothing=0.1,
    ) as bar:
        for _ in training.train(tuning, seed, tokens["train"], tokens["validation"], state):
            bar.update()
            bar.set_postfix(loss=f"{np.mean(state.losses[-25:]):.3f}", refresh=False)
            if checkpoint.is_due():
                checkpoint.write(state.arrays())
    chosen = training.restore(state, tuning.schedule)
    arrays: Arrays = {name: np.array(getattr(state, name)) for name in training.CURVES}
    arrays |= _heads(start, model.head)
    arrays |= {
        "steps": np.arange(len(state.norms)),
        "chosen": np.array(chosen),
        "strength": np.array(best.strength if best else 0.0),
        "gradient": np.array(best.gradient if best else 0.0),
    }
    _, arrays["validation_logits"] = training.outputs(model, tokens["validation"])
    for name in found.tests:
        arrays[f"{name}_features"], arrays[f"{name}_logits"] = training.outputs(model, tokens[name])
    return arrays
