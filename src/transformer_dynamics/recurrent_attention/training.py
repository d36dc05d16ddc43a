"""Train all seeds of a condition in one tensor program, whose first axis is the seed.

Models as small as these are bound by the number of operations, not by their arithmetic. No
operation mixes seeds, so that a seed gives the same bits in every company.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.random_streams import generator
from replication.study.devices import device
from transformer_dynamics.recurrent_attention.initialization import FROZEN, initial
from transformer_dynamics.recurrent_attention.models import effective_weights, logits
from transformer_dynamics.recurrent_attention.regularisers import energy_penalty, spectral_penalty
from transformer_dynamics.recurrent_attention.train_settings import TrainJob

Arrays = dict[str, NDArray[Any]]
Boards = Mapping[str, NDArray[Any]]
PENALTIES = {"energy": energy_penalty, "spectral": spectral_penalty}
AVERAGE, MOMENTS = "average/", "adam/"
"""How the names of arrays begin that are no parameters."""


class State(NamedTuple):
    """Training between two updates."""

    parameters: dict[str, Tensor]
    """By name, the seed first."""
    optimiser: torch.optim.Adam
    """With its moments."""
    losses: list[NDArray[np.float32]]
    """Mean cross-entropy of the boards of every update, in nats, [seed]."""
    averages: dict[str, Tensor]
    """Of trained parameters by name; empty before the first, and where none is kept."""

    def arrays(self) -> Arrays:
        """Everything that is needed to go on."""
        kept = {name: tensor.detach().cpu().numpy() for name, tensor in self.parameters.items()}
        shape = len(self.losses), len(kept["eta"])
        kept["losses"] = np.array(self.losses, np.float32).reshape(shape)
        for index, moments in self.optimiser.state_dict()["state"].items():
            kept |= {
                f"{MOMENTS}{index}/{name}": value.cpu().numpy() for name, value in moments.items()
            }
        return kept | {
            f"{AVERAGE}{name}": value.cpu().numpy() for name, value in self.averages.items()
        }


def begun(job: TrainJob, seeds: list[int]) -> State:
    """The state before the first update."""
    drawn = [initial(job.model, job.boards.digits, seed) for seed in seeds]
    place = device(job.device)
    parameters = {
        name: torch.from_numpy(np.stack([each[name] for each in drawn]))
        .to(place)
        .requires_grad_(name not in FROZEN)
        for name in drawn[0]
    }
    trained = [tensor for tensor in parameters.values() if tensor.requires_grad]
    how = job.training.adam
    optimiser = torch.optim.Adam(
        trained,
        lr=job.learning_rate,
        betas=(how.first, how.second),
        eps=how.epsilon,
        weight_decay=how.weight_decay,
    )
    return State(parameters, optimiser, [], {})


def resumed(job: TrainJob, seeds: list[int], kept: Mapping[str, NDArray[Any]]) -> State:
    """The state that `State.arrays` kept."""
    state = begun(job, seeds)
    with torch.no_grad():
        for name, tensor in state.parameters.items():
            tensor.copy_(torch.from_numpy(kept[name]))
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in kept.items():
        if name.startswith(MOMENTS):
            _, index, moment = name.split("/")
            moments.setdefault(int(index), {})[moment] = torch.from_numpy(np.array(value))
        elif name.startswith(AVERAGE):
            place = state.parameters[name.removeprefix(AVERAGE)].device
            average = torch.from_numpy(np.array(value)).to(place)
            state.averages[name.removeprefix(AVERAGE)] = average
    state.optimiser.load_state_dict(state.optimiser.state_dict() | {"state": moments})
    return state._replace(losses=list(kept["losses"]))


def train(
    job: TrainJob, seeds: list[int], boards: Boards, state: State | None = None
) -> Iterator[State]:
    """Yield the state after every update; it is changed in place between two of them.

    Boards and noise of an update are drawn from the seed and the number of the update, so that a
    run which goes on from a kept state gives the same bits.

    Args:
        job: the condition.
        seeds: of the runs.
        boards: as `boards.program.sample` returns them.
        state: where to go on; from the beginning if left out.
    """
    state = state or begun(job, seeds)
    trained = [tensor for tensor in state.parameters.values() if tensor.requires_grad]
    place = trained[0].device
    while (done := len(state.losses)) < job.updates:
        batches = [_batch(job, boards, seed, done) for seed in seeds]
        digits, solutions, noise = (
            torch.from_numpy(np.stack(part)).to(place) for part in zip(*batches, strict=True)
        )
        losses = _losses(job, state.parameters, digits, solutions, noise)
        state.optimiser.zero_grad()
        torch.autograd.backward([(losses + _penalties(job, state.parameters)).sum()])
        _clip([tensor.grad for tensor in trained if tensor.grad is not None], job.training.clip)
        state.optimiser.step()
        state.losses.append(losses.detach().cpu().numpy())
        _average(job, state)
        yield state


def _losses(
    job: TrainJob,
    parameters: Mapping[str, Tensor],
    digits: Tensor,
    solutions: Tensor,
    noise: Tensor,
) -> Tensor:
    """Mean cross-entropy over the cells of all boards of every seed, or over blanks [seed]."""
    found = logits(job.model, parameters, digits, noise, job.training.loops)
    logs = torch.log_softmax(found, dim=-1)
    right = logs.gather(-1, (solutions - 1).unsqueeze(-1)).squeeze(-1)
    if job.training.loss_cells == "all":
        return -right.flatten(1).mean(dim=1)
    blank = digits == 0
    return -(right * blank).flatten(1).sum(dim=1) / blank.flatten(1).sum(dim=1)


def _penalties(job: TrainJob, parameters: Mapping[str, Tensor]) -> Tensor | float:
    if job.penalty is None:
        return 0.0
    weights = effective_weights(job.model, parameters)
    return job.penalty.strength * PENALTIES[job.penalty.kind](weights)


def _batch(job: TrainJob, boards: Boards, seed: int, update: int) -> tuple[NDArray[Any], ...]:
    """Digits (0 on blanks) and solutions [board, S], and noise [board, S, D] of one update."""
    random = generator(seed, f"update {update}")
    shape = job.training.batch_size, job.boards.cells
    chosen = random.integers(len(boards["train_solutions"]), size=shape[0])
    solutions = boards["train_solutions"][chosen].astype(np.int64)
    if job.training.relabel:
        names = random.permuted(np.tile(np.arange(1, job.boards.digits + 1), (shape[0], 1)), axis=1)
        solutions = np.take_along_axis(names, solutions - 1, axis=1)
    digits = np.where(boards["train_given"][chosen], solutions, 0)
    noise = random.standard_normal((*shape, job.model.width), np.float32)
    return digits, solutions, np.float32(job.model.noise) * noise


@torch.no_grad()
def _average(job: TrainJob, state: State) -> None:
    """Move the averages towards the parameters of now, if it is time to."""
    how = job.training.average
    if how is None or len(state.losses) % how.every:
        return
    # The sum of weights decay^k is 1 at first and goes to 1/(1 - decay).
    share = (1 - how.decay) / (1 - how.decay ** (len(state.losses) // how.every))
    for name, tensor in state.parameters.items():
        if tensor.requires_grad:
            state.averages.setdefault(name, tensor.detach().clone()).lerp_(tensor, share)


def _clip(gradients: list[Tensor], largest: float) -> None:
    """Scale the gradient of every seed to a norm of at most `largest`, in place."""
    # One seed at a time: a sum over an axis beside that of seeds may add in another order.
    for seed in range(len(gradients[0])):
        own = [gradient[seed] for gradient in gradients]
        norm = torch.nn.utils.get_total_norm(own)
        torch._foreach_mul_(own, (largest / (norm + 1e-6)).clamp(max=1.0))
