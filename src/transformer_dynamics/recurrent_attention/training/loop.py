"""Train all seeds of a condition in one tensor program, whose first axis is the seed.

Models as small as these are bound by the number of operations, not by their arithmetic. No
operation mixes seeds, so that a seed gives the same bits in every company.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm import tqdm

from replication.base.random_streams import generator
from transformer_dynamics.recurrent_attention.settings.training import TrainJob
from transformer_dynamics.recurrent_attention.training.losses import cross_entropy, penalty
from transformer_dynamics.recurrent_attention.training.network import forward_logits
from transformer_dynamics.recurrent_attention.training.state import (
    State,
    initial_state,
    restored_state,
)

if TYPE_CHECKING:
    from replication.run.checkpoint import Checkpoint

Boards = Mapping[str, NDArray[Any]]


def train(
    job: TrainJob, seeds: list[int], data: Sequence[Boards], checkpoint: "Checkpoint"
) -> dict[str, NDArray[Any]]:
    """Train all seeds at once; an interrupted run goes on where it was.

    Return parameters by name, the seed first, averaged along training if the job says so; `losses`
    [seed, updates / `loss_window`] are means in nats.
    """
    (boards,), every = data, job.training.loss_window
    kept = checkpoint.read()
    state = initial_state(job, seeds) if kept is None else restored_state(job, seeds, kept)
    done = len(state.losses)
    if done:
        click.echo(f"going on after update {done}", err=True)
    with tqdm(total=job.updates, initial=done, unit="update", mininterval=10, smoothing=0.1) as bar:
        for _ in run_updates(job, seeds, boards, state):
            bar.update()
            bar.set_postfix(loss=f"{np.mean(state.losses[-every:]):.3f}", refresh=False)
            if checkpoint.is_due():
                checkpoint.write(state.arrays())
    # In memory as that of one seed alone is: sums depend on it in their last digit.
    losses = np.ascontiguousarray(state.arrays()["losses"].T)
    whole = losses[:, : losses.shape[1] // every * every].reshape(len(seeds), -1, every)
    parameters = {
        name: state.averages.get(name, tensor).detach().cpu().numpy()
        for name, tensor in state.parameters.items()
    }
    return {**parameters, "losses": whole.mean(axis=-1)}


def run_updates(job: TrainJob, seeds: list[int], boards: Boards, state: State) -> Iterator[State]:
    """Yield the state after every update; it is changed in place between two of them.

    Boards and noise of an update are drawn from the seed and the number of the update, so that a
    run which goes on from a kept state gives the same bits.
    """
    trained = state.trained_parameters()
    while (update := len(state.losses)) < job.updates:
        batches = [draw_batch(job, boards, seed, update) for seed in seeds]
        digits, solutions, noise = (
            torch.from_numpy(np.stack(part)).to(trained[0].device)
            for part in zip(*batches, strict=True)
        )
        logits = forward_logits(job.model, state.parameters, digits, noise, job.training.loops)
        losses = cross_entropy(job, logits, digits, solutions)
        state.optimiser.zero_grad()
        torch.autograd.backward([(losses + penalty(job, state.parameters)).sum()])
        clip_gradients([x.grad for x in trained if x.grad is not None], job.training.clip)
        state.optimiser.step()
        state.losses.append(losses.detach().cpu().numpy())
        move_averages(job, state)
        yield state


def draw_batch(job: TrainJob, boards: Boards, seed: int, update: int) -> tuple[NDArray[Any], ...]:
    """Draw digits (0 on blanks), solutions [board, S] and noise [board, S, D] of one update."""
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


def clip_gradients(gradients: list[Tensor], largest: float) -> None:
    """Scale the gradient of every seed to a norm of at most `largest`, in place."""
    # One seed at a time: a sum over an axis beside that of seeds may add in another order.
    for seed in range(len(gradients[0])):
        own = [gradient[seed] for gradient in gradients]
        norm = torch.nn.utils.get_total_norm(own)
        torch._foreach_mul_(own, (largest / (norm + 1e-6)).clamp(max=1.0))


@torch.no_grad()
def move_averages(job: TrainJob, state: State) -> None:
    """Move the averages towards the parameters of now, if it is time to."""
    average = job.training.average
    if average is None or len(state.losses) % average.every:
        return
    # The sum of weights decay^k is 1 at first and goes to 1/(1 - decay).
    share = (1 - average.decay) / (1 - average.decay ** (len(state.losses) // average.every))
    for name, tensor in state.parameters.items():
        if tensor.requires_grad:
            state.averages.setdefault(name, tensor.detach().clone()).lerp_(tensor, share)
