"""SGD with momentum and Adam, over all cells of a sweep at once."""

import torch
from torch import Tensor

from transformer_dynamics.scan_and_snap.settings.training import Training
from transformer_dynamics.scan_and_snap.training.model import Parameters


class Optimizer:
    """PyTorch's SGD with momentum or Adam on `gradient`, each cell with its own two rates."""

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
