"""The training loop: all cells of a sweep in one tensor program, for every mixture and seed."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from replication.base.errors import InputError
from replication.study.devices import device
from transformer_dynamics.scan_and_snap.data.sequences import Sequences
from transformer_dynamics.scan_and_snap.settings.training import Mixture, TrainJob
from transformer_dynamics.scan_and_snap.theory.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.training.initialization import initial_matrices
from transformer_dynamics.scan_and_snap.training.model import Model, Parameters
from transformer_dynamics.scan_and_snap.training.optimizer import Optimizer


class Run(NamedTuple):
    """Records of the training of one seed on one mixture."""

    attention_logits: NDArray[np.floating]
    """[recorded, G, L, M] Rows z_m of Z at the recorded numbers of updates."""
    loss: NDArray[np.floating]
    """[steps, G] Mean loss of each batch before its update."""


def train(
    job: TrainJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: object,
) -> dict[str, NDArray[np.floating]]:
    """Train every mixture with every seed; return [seed, ...] arrays `<mixture>/<field of Run>`.

    Raise InputError if the device is not there or training diverges.
    """
    (drawn,) = data
    arrays = {}
    with tqdm(total=len(job.mixtures) * len(seeds), unit="sweep", file=sys.stderr) as progress:
        for name, mixture in job.mixtures.items():
            runs = []
            for index, seed in enumerate(seeds):
                batches = (drawn[f"{name}/{field}"][index] for field in Sequences._fields)
                runs.append(train_sweep(mixture, job, seed, Sequences(*batches)))
                _check_finite(runs[-1], job, name, seed)
                progress.update()
            for field in Run._fields:
                arrays[f"{name}/{field}"] = np.stack([getattr(run, field) for run in runs])
    return arrays


@torch.inference_mode()
def train_sweep(mixture: Mixture, job: TrainJob, seed: int, sequences: Sequences) -> Run:
    """Train all cells of a sweep on one mixture with one seed.

    A cell's numbers do not depend on which other cells train beside it. The seed is that of the
    initialisation; the data are given. Raise InputError if the device is not there.
    """
    training, place = job.training, device(job.device)
    dtype = getattr(torch, training.dtype)
    classes = sequence_classes(mixture)
    model = Model(
        classes,
        residual=training.residual,
        query_among_keys=training.query_among_keys,
        device=place,
    )
    start = initial_matrices(mixture, training.initialization, job.sampling.stream, seed)
    # The rows of Y and Z that can change, the same for every cell.
    cells, rows = len(training.cells), start.decoder[: model.num_rows]
    logits = torch.from_numpy(start.attention_logits[classes.query_tokens]).to(place, dtype)
    parameters = Parameters(
        decoder=torch.from_numpy(rows.copy()).to(place, dtype)[:, None].repeat(1, cells, 1),
        attention_logits=logits.repeat(cells, 1, 1),
    )
    optimizer = Optimizer(training, parameters)
    recorded, losses = [], []
    for step, batch in enumerate(model.batches(sequences, dtype)):
        if step in job.recorded:
            recorded.append(parameters.attention_logits.clone())
        losses.append(model.gradient(parameters, batch, optimizer.gradient))
        optimizer.update(parameters)
    recorded.append(parameters.attention_logits)
    return Run(torch.stack(recorded).cpu().numpy(), torch.stack(losses).cpu().numpy())


def _check_finite(run: Run, job: TrainJob, mixture: str, seed: int) -> None:
    finite = np.isfinite(run.loss).all(axis=0) & np.isfinite(run.attention_logits[-1]).all((-2, -1))
    if not finite.all():
        eta_z, ratio = job.training.cells[int(np.argmin(finite))]
        raise InputError(
            f"training diverged: mixture '{mixture}', seed {seed}, eta_z {eta_z:g},"
            f" ratio {ratio:g}; lower the rates or set dtype: float64"
        )
