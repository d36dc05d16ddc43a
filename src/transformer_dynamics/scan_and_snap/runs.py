"""Train all mixtures and all cells of an experiment for some seeds."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.settings import TrainJob
from transformer_dynamics.scan_and_snap.streams import Sequences
from transformer_dynamics.scan_and_snap.training import Run
from transformer_dynamics.scan_and_snap.training import train as train_one


def train(
    job: TrainJob,
    seeds: list[int],
    data: Sequence[Mapping[str, NDArray[Any]]],
    checkpoint: object,
) -> dict[str, NDArray[np.floating]]:
    """Train every mixture with every seed.

    Args:
        job: mixtures, sampling, training and device.
        seeds: of the runs.
        data: the sequences of the same seeds, as `data.sample` returns them.
        checkpoint: not used, as runs take seconds.

    Returns:
        [seed, ...] arrays `<mixture>/<field of Run>`.

    Raises:
        InputError: if the device is not there or training diverges.
    """
    (drawn,) = data
    arrays = {}
    with tqdm(total=len(job.mixtures) * len(seeds), unit="sweep", file=sys.stderr) as progress:
        for name, mixture in job.mixtures.items():
            runs = []
            for index, seed in enumerate(seeds):
                batches = Sequences(
                    *(drawn[f"{name}/{field}"][index] for field in Sequences._fields)
                )
                runs.append(train_one(mixture, job, seed, batches))
                _check_finite(runs[-1], job, name, seed)
                progress.update()
            for field in Run._fields:
                arrays[f"{name}/{field}"] = np.stack([getattr(run, field) for run in runs])
    return arrays


def _check_finite(run: Run, job: TrainJob, mixture: str, seed: int) -> None:
    finite = np.isfinite(run.loss).all(axis=0) & np.isfinite(run.attention_logits[-1]).all((-2, -1))
    if not finite.all():
        eta_z, ratio = job.training.cells[int(np.argmin(finite))]
        raise InputError(
            f"training diverged: mixture '{mixture}', seed {seed}, eta_z {eta_z:g},"
            f" ratio {ratio:g}; lower the rates or set dtype: float64"
        )
