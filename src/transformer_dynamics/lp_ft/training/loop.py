"""Fine-tuning, step by step."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.random_streams import generator
from transformer_dynamics.encoders.model import frozen_features, tensors
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.lp_ft.settings.runs import Optimiser, Schedule, Tuning, Updates
from transformer_dynamics.lp_ft.training.classifier import Classifier

Arrays = dict[str, NDArray[Any]]
CURVES = (
    "norms", "bias_norms", "logit_norms", "losses", "accuracies", "scores", "evaluated",
)  # fmt: skip
"""Fields of `State` that are lists of numbers."""
DIVERGED = -1.0
"""Score of an epoch after which logits are not finite: below that of every other one."""


class State(NamedTuple):
    """Fine-tuning between two steps; it is changed in place by the next one."""

    model: Classifier
    optimiser: torch.optim.Optimizer
    best: dict[str, Tensor]
    """Trained parameters of the epoch that is kept."""
    norms: list[float]
    """[step + 1] Norm ||V||_F before the first step and after each."""
    bias_norms: list[float]
    """[step + 1] Norm ||b|| before the first step and after each."""
    logit_norms: list[float]
    """[step] Mean ||f(x)|| over the batch before the step, with dropout."""
    losses: list[float]
    """[step] Mean cross-entropy of the batch before the step, with dropout, in nats."""
    accuracies: list[float]
    """[step] Share of right predictions on the batch before the step, with dropout."""
    scores: list[float]
    """[epoch] Validation accuracy, or `DIVERGED`."""
    evaluated: list[float]
    """[epoch] Number of steps before each score."""

    @property
    def step(self) -> int:
        """Number of steps that are done."""
        return len(self.losses)

    def arrays(self) -> Arrays:
        """Return the arrays that are needed to go on from this state."""
        kept: Arrays = {name: np.array(getattr(self, name)) for name in CURVES}
        parameters = {"model": self.model.trained_parameters, "best": self.best}
        for prefix, tensors_by_name in parameters.items():
            for name, tensor in tensors_by_name.items():
                kept[f"{prefix}/{name}"] = tensor.detach().cpu().numpy()
        for index, moments in self.optimiser.state_dict()["state"].items():
            for name, value in moments.items():
                if value is not None:
                    kept[f"optimiser/{index}/{name}"] = value.cpu().numpy()
        return kept


def train_steps(
    tuning: Tuning, seed: int, samples: Tokens, validation: Tokens, state: State
) -> Iterator[State]:
    """Yield the state after every step.

    Batches and dropout follow from the seed and the number of the step alone, so that all methods
    share them, and a run that goes on from a kept state gives the same bits. Validation samples
    choose the epoch that is kept.
    """
    schedule, number = tuning.schedule, len(samples.labels)
    last, per_epoch = schedule.total(number), schedule.steps_of_epoch(number)
    while state.step < last:
        batch = samples.take(batch_places(schedule, seed, state.step, number))
        rate = tuning.optimiser.rate * tuning.updates.rate_factor(state.step, last)
        _take_step(state, batch, seed, rate, tuning.optimiser.clip)
        if state.step % per_epoch == 0 or state.step == last:
            _score_epoch(schedule, state, validation)
        yield state


def batch_places(schedule: Schedule, seed: int, step: int, samples: int) -> NDArray[np.int64]:
    """Draw the places [batch] of a step's samples: each once in an epoch, in random order.

    `step` is the number of steps before it, `samples` N.
    """
    epoch, place = divmod(step, schedule.steps_of_epoch(samples))
    order = generator(seed, f"order of epoch {epoch}").permutation(samples)
    size = schedule.batch_size
    return np.asarray(order[place * size : (place + 1) * size])


def _take_step(state: State, batch: Tokens, seed: int, rate: float, clip: float | None) -> None:
    """Take one step on the mean cross-entropy of a batch, and record it."""
    model, place = state.model, state.model.weight.device
    labels = torch.from_numpy(batch.labels).to(place)
    model.train()
    with torch.random.fork_rng(devices=[place.index or 0] if place.type == "cuda" else []):
        torch.manual_seed(int(generator(seed, f"dropout of step {state.step}").integers(2**62)))
        logits = model(*tensors(batch, str(place)))
    loss = torch.nn.functional.cross_entropy(logits, labels)
    state.optimiser.zero_grad()
    torch.autograd.backward([loss])
    if clip is not None:
        torch.nn.utils.clip_grad_norm_(model.trained_parameters.values(), clip)
    for group in state.optimiser.param_groups:
        group["lr"] = rate
    state.optimiser.step()
    state.losses.append(float(loss.detach()))
    state.logit_norms.append(float(logits.detach().double().norm(dim=1).mean()))
    state.accuracies.append(float((logits.argmax(dim=1) == labels).double().mean()))
    state.norms.append(model.head.norm)
    state.bias_norms.append(_bias_norm(model))


def _bias_norm(model: Classifier) -> float:
    return float(torch.linalg.vector_norm(model.bias.detach()))


def _score_epoch(schedule: Schedule, state: State, validation: Tokens) -> None:
    """Measure an epoch on validation samples, and keep its parameters if they are to be."""
    _, logits = model_outputs(state.model, validation)
    is_finite = bool(np.isfinite(logits).all())
    score = float(np.mean(logits.argmax(axis=1) == validation.labels)) if is_finite else DIVERGED
    if schedule.kept == "last" or not state.scores or score > max(state.scores):
        trained = state.model.trained_parameters.items()
        state.best.update({name: tensor.detach().clone() for name, tensor in trained})
    state.scores.append(score)
    state.evaluated.append(state.step)


@torch.no_grad()
def model_outputs(
    model: Classifier, tokens: Tokens
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return features [n, h] and logits [n, C], without dropout."""
    model.eval()
    features = frozen_features(model.encoder, tokens)
    return features.cpu().numpy(), model.head.logits(features).cpu().numpy()


def initial_state(model: Classifier, optimiser: Optimiser, updates: Updates) -> State:
    """Return the state before the first step."""
    trained = list(model.trained_parameters.values())
    steps: torch.optim.Optimizer
    # One pass over all parameters, which a processor's memory bounds.
    shared: dict[str, Any] = {
        "lr": optimiser.rate,
        "weight_decay": updates.weight_decay,
        "fused": True,
    }
    if optimiser.kind == "adamw":
        first, second = updates.betas
        steps = torch.optim.AdamW(trained, betas=(first, second), eps=updates.epsilon, **shared)
    else:
        steps = torch.optim.SGD(trained, momentum=updates.momentum, **shared)
    return State(model, steps, {}, [model.head.norm], [_bias_norm(model)], [], [], [], [], [])


def restored_state(model: Classifier, tuning: Tuning, kept: Mapping[str, NDArray[Any]]) -> State:
    """Return the state that `State.arrays` kept; it sets the parameters of the untrained model."""
    state = initial_state(model, tuning.optimiser, tuning.updates)
    moments: dict[int, dict[str, Tensor]] = {}
    with torch.no_grad():
        for name, value in kept.items():
            kind, _, rest = name.partition("/")
            if kind == "model":
                model.trained_parameters[rest].copy_(torch.from_numpy(value))
            elif kind == "best":
                state.best[rest] = torch.from_numpy(value).to(model.weight.device)
            elif kind == "optimiser":
                index, _, moment = rest.partition("/")
                moments.setdefault(int(index), {})[moment] = torch.from_numpy(np.array(value))
    state.optimiser.load_state_dict(state.optimiser.state_dict() | {"state": moments})
    for name in CURVES:
        getattr(state, name)[:] = kept[name].tolist()
    return state


@torch.no_grad()
def restore_kept_epoch(state: State, schedule: Schedule) -> int:
    """Give the model the parameters that were kept, and return the number of their epoch."""
    for name, tensor in state.model.trained_parameters.items():
        tensor.copy_(state.best[name])
    return len(state.scores) - 1 if schedule.kept == "last" else int(np.argmax(state.scores))
