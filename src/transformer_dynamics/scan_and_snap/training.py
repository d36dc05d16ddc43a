"""Training: SGD with momentum or Adam over all cells of a sweep in one tensor program."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.study.devices import device
from transformer_dynamics.scan_and_snap.initialization import uniform, zero
from transformer_dynamics.scan_and_snap.model import Model, Parameters
from transformer_dynamics.scan_and_snap.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.settings import Mixture, Training, TrainJob
from transformer_dynamics.scan_and_snap.streams import Sequences


class Run(NamedTuple):
    """What training of one seed on one mixture leaves."""

    attention_logits: NDArray[np.floating]
    """[recorded, G, L, M] rows z_m of Z at the recorded numbers of updates."""
    loss: NDArray[np.floating]
    """[steps, G] mean loss of each batch before its update."""


@torch.inference_mode()
def train(mixture: Mixture, job: TrainJob, seed: int, sequences: Sequences) -> Run:
    """Train all cells of a sweep on one mixture with one seed.

    A cell's numbers do not depend on which other cells train beside it.

    Args:
        mixture: the data model.
        job: sampling and training settings, and the device.
        seed: seed of the initialisation; the data are given.
        sequences: the training batches.

    Raises:
        InputError: if the device is not there.
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
    is_uniform = training.initialization == "uniform"
    start = uniform(mixture, job.sampling.stream, seed) if is_uniform else zero(mixture)
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


class Optimizer:
    """PyTorch's SGD with momentum or Adam, each cell with its own two rates."""

    def __init__(self, training: Training, parameters: Parameters) -> None:
        """Allocate the gradient and the moments that the optimiser keeps."""
        eta_z, ratio = torch.tensor(training.cells, dtype=torch.float64).T
        self.training = training
        self.gradient = Parameters(*map(torch.zeros_like, parameters))
        rates = (eta_z * ratio).view(1, -1, 1), eta_z.view(-1, 1, 1)
        self._rates = [rate.to(parameters.decoder) for rate in rates]
        num_moments = {"sgd": 1, "adam": 2}[training.optimizer]
        self._moments = [
            [torch.zeros_like(tensor) for _ in range(num_moments)] for tensor in parameters
        ]
        self._step = 0

    def update(self, parameters: Parameters) -> None:
        """Apply the gradient to the parameters, in place; the gradient may be overwritten."""
        self._step += 1
        step = self._sgd if self.training.optimizer == "sgd" else self._adam
        for each in zip(parameters, self.gradient, self._rates, self._moments, strict=True):
            step(*each)

    def _sgd(self, tensor: Tensor, gradient: Tensor, rate: Tensor, moments: list[Tensor]) -> None:
        (velocity,) = moments
        velocity.mul_(self.training.momentum).add_(gradient)
        tensor.addcmul_(velocity, rate, value=-1)

    def _adam(self, tensor: Tensor, gradient: Tensor, rate: Tensor, moments: list[Tensor]) -> None:
        adam, (first, second) = self.training.adam, moments
        assert adam is not None
        first.lerp_(gradient, 1 - adam.beta_1)
        second.mul_(adam.beta_2).addcmul_(gradient, gradient, value=1 - adam.beta_2)
        torch.sqrt(second, out=gradient)
        gradient.div_((1 - adam.beta_2**self._step) ** 0.5).add_(adam.epsilon)
        torch.div(first, gradient, out=gradient)
        tensor.addcmul_(gradient, rate / (1 - adam.beta_1**self._step), value=-1)
