"""The state of training between two updates, and how a checkpoint keeps it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.study.devices import device
from transformer_dynamics.recurrent_attention.settings.training import TrainJob
from transformer_dynamics.recurrent_attention.training.initialization import (
    FROZEN,
    initial_parameters,
)

AVERAGE, MOMENTS = "average/", "adam/"
"""Prefixes of the names of arrays that are no parameters."""


class State(NamedTuple):
    """Training between two updates."""

    parameters: dict[str, Tensor]
    """Parameters by name, the seed first."""
    optimiser: torch.optim.Adam
    losses: list[NDArray[np.float32]]
    """Mean cross-entropy of the boards of every update, in nats, [seed]."""
    averages: dict[str, Tensor]
    """Averages of trained parameters by name; empty before the first, and where none is kept."""

    def trained_parameters(self) -> list[Tensor]:
        """Return the parameters that have a gradient."""
        return [tensor for tensor in self.parameters.values() if tensor.requires_grad]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything that is needed to go on, losses as [update, seed]."""
        moments = self.optimiser.state_dict()["state"]
        tensors = {
            **{name: tensor.detach() for name, tensor in self.parameters.items()},
            **{
                f"{MOMENTS}{index}/{name}": value
                for index, own in moments.items()
                for name, value in own.items()
            },
            **{f"{AVERAGE}{name}": value for name, value in self.averages.items()},
        }
        shape = len(self.losses), len(self.parameters["eta"])
        losses = np.array(self.losses, np.float32).reshape(shape)
        return {name: value.cpu().numpy() for name, value in tensors.items()} | {"losses": losses}


def initial_state(job: TrainJob, seeds: list[int]) -> State:
    """Return the state before the first update."""
    drawn = [initial_parameters(job.model, job.boards.digits, seed) for seed in seeds]
    place = device(job.device)
    parameters = {
        name: torch.from_numpy(np.stack([each[name] for each in drawn]))
        .to(place)
        .requires_grad_(name not in FROZEN)
        for name in drawn[0]
    }
    adam = job.training.adam
    optimiser = torch.optim.Adam(
        [tensor for tensor in parameters.values() if tensor.requires_grad],
        lr=job.learning_rate,
        betas=(adam.first, adam.second),
        eps=adam.epsilon,
        weight_decay=adam.weight_decay,
    )
    return State(parameters, optimiser, [], {})


def restored_state(job: TrainJob, seeds: list[int], kept: Mapping[str, NDArray[Any]]) -> State:
    """Return the state that `State.arrays` kept."""
    state = initial_state(job, seeds)
    with torch.no_grad():
        for name, tensor in state.parameters.items():
            tensor.copy_(torch.from_numpy(kept[name]))
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in kept.items():
        if name.startswith(MOMENTS):
            _, index, moment = name.split("/")
            moments.setdefault(int(index), {})[moment] = torch.from_numpy(np.array(value))
        elif name.startswith(AVERAGE):
            own = name.removeprefix(AVERAGE)
            average = torch.from_numpy(np.array(value)).to(state.parameters[own].device)
            state.averages[own] = average
    state.optimiser.load_state_dict(state.optimiser.state_dict() | {"state": moments})
    return state._replace(losses=list(kept["losses"]))
