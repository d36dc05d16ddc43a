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
from transformer_dynamics.lp_ft.classifier import Classifier
from transformer_dynamics.lp_ft.run_settings import Optimiser, Schedule, Tuning

Arrays = dict[str, NDArray[Any]]
CURVES = ("norms", "losses", "accuracies", "scores", "evaluated")
"""Fields of `State` that are lists of numbers."""


LOST = -1.0
"""Score of an epoch after which logits are not finite: below that of every other one."""


class State(NamedTuple):
    """Fine-tuning between two steps; it is changed in place by the next one."""

    model: Classifier
    """What is trained."""
    optimiser: torch.optim.Optimizer
    """With its moments."""
    best: dict[str, Tensor]
    """Trained parameters of the epoch that is kept."""
    norms: list[float]
    """[step + 1] ||V||_F before the first step and after each."""
    losses: list[float]
    """[step] mean cross-entropy of the batch before the step, with dropout, in nats."""
    accuracies: list[float]
    """[step] share of its right predictions."""
    scores: list[float]
    """[epoch] validation accuracy, or `LOST`."""
    evaluated: list[float]
    """[epoch] steps before each."""

    @property
    def step(self) -> int:
        """Steps that are done."""
        return len(self.losses)

    def arrays(self) -> Arrays:
        """Everything that is needed to go on."""
        kept: Arrays = {name: np.array(getattr(self, name)) for name in CURVES}
        for prefix, tensors_by_name in (("model", self.model.trained), ("best", self.best)):
            for name, tensor in tensors_by_name.items():
                kept[f"{prefix}/{name}"] = tensor.detach().cpu().numpy()
        for index, moments in self.optimiser.state_dict()["state"].items():
            for name, value in moments.items():
                if value is not None:
                    kept[f"optimiser/{index}/{name}"] = value.cpu().numpy()
        return kept


def begun(model: Classifier, optimiser: Optimiser) -> State:
    """The state before the first step."""
    trained = list(model.trained.values())
    steps: torch.optim.Optimizer
    if optimiser.kind == "adamw":
        # One pass over all parameters, which a processor's memory bounds.
        steps = torch.optim.AdamW(trained, lr=optimiser.rate, weight_decay=0.0, fused=True)
    else:
        steps = torch.optim.SGD(trained, lr=optimiser.rate, fused=True)
    return State(model, steps, {}, [model.head.norm], [], [], [], [])


def resumed(model: Classifier, optimiser: Optimiser, kept: Mapping[str, NDArray[Any]]) -> State:
    """The state that `State.arrays` kept.

    Args:
        model: as it was before the first step; its parameters are set.
        optimiser: settings.
        kept: what was kept.
    """
    state = begun(model, optimiser)
    moments: dict[int, dict[str, Tensor]] = {}
    with torch.no_grad():
        for name, value in kept.items():
            kind, _, rest = name.partition("/")
            if kind == "model":
                model.trained[rest].copy_(torch.from_numpy(value))
            elif kind == "best":
                state.best[rest] = torch.from_numpy(value).to(model.weight.device)
            elif kind == "optimiser":
                index, _, moment = rest.partition("/")
                moments.setdefault(int(index), {})[moment] = torch.from_numpy(np.array(value))
    state.optimiser.load_state_dict(state.optimiser.state_dict() | {"state": moments})
    for name in CURVES:
        getattr(state, name)[:] = kept[name].tolist()
    return state


def train(
    tuning: Tuning, seed: int, samples: Tokens, validation: Tokens, state: State
) -> Iterator[State]:
    """Yield the state after every step.

    Batches and dropout follow from the seed and the number of the step alone, so that all methods
    share them, and a run that goes on from a kept state gives the same bits.

    Args:
        tuning: optimiser and schedule.
        seed: of the run.
        samples: [N] training samples.
        validation: samples by which the epoch that is kept is chosen.
        state: where to begin or to go on.
    """
    schedule, number = tuning.schedule, len(samples.labels)
    last, per_epoch = schedule.total(number), schedule.steps_of_epoch(number)
    while state.step < last:
        batch = samples.take(batch_of(schedule, seed, state.step, number))
        _step(tuning.optimiser, state, batch, seed, 1 - state.step / last)
        if state.step % per_epoch == 0 or state.step == last:
            _evaluate(schedule, state, validation)
        yield state


def batch_of(schedule: Schedule, seed: int, step: int, samples: int) -> NDArray[np.int64]:
    """[batch] the samples of a step: each once in an epoch, in random order.

    Args:
        schedule: size of a batch.
        seed: of the run.
        step: steps before it.
        samples: N.
    """
    epoch, place = divmod(step, schedule.steps_of_epoch(samples))
    order = generator(seed, f"order of epoch {epoch}").permutation(samples)
    size = schedule.batch_size
    return np.asarray(order[place * size : (place + 1) * size])


def _step(optimiser: Optimiser, state: State, batch: Tokens, seed: int, share: float) -> None:
    """One step at a share of the rate."""
    model, place = state.model, state.model.weight.device
    labels = torch.from_numpy(batch.labels).to(place)
    model.train()
    with torch.random.fork_rng(devices=[place.index or 0] if place.type == "cuda" else []):
        torch.manual_seed(int(generator(seed, f"dropout of step {state.step}").integers(2**62)))
        logits = model(*tensors(batch, str(place)))
    loss = torch.nn.functional.cross_entropy(logits, labels)
    state.optimiser.zero_grad()
    torch.autograd.backward([loss])
    if optimiser.clip is not None:
        torch.nn.utils.clip_grad_norm_(model.trained.values(), optimiser.clip)
    for group in state.optimiser.param_groups:
        group["lr"] = optimiser.rate * share
    state.optimiser.step()
    state.losses.append(float(loss.detach()))
    state.accuracies.append(float((logits.argmax(dim=1) == labels).double().mean()))
    state.norms.append(model.head.norm)


def _evaluate(schedule: Schedule, state: State, validation: Tokens) -> None:
    """Score an epoch, and keep its parameters if they are to be."""
    _, logits = outputs(state.model, validation)
    is_finite = bool(np.isfinite(logits).all())
    score = float(np.mean(logits.argmax(axis=1) == validation.labels)) if is_finite else LOST
    if schedule.kept == "last" or not state.scores or score > max(state.scores):
        trained = state.model.trained.items()
        state.best.update({name: tensor.detach().clone() for name, tensor in trained})
    state.scores.append(score)
    state.evaluated.append(state.step)


@torch.no_grad()
def outputs(model: Classifier, tokens: Tokens) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Features [n, h] and logits [n, C], without dropout."""
    model.eval()
    found = frozen_features(model.encoder, tokens)
    return found.cpu().numpy(), model.head.logits(found).cpu().numpy()


@torch.no_grad()
def restore(state: State, schedule: Schedule) -> int:
    """Give the model the parameters that were kept; the number of their epoch, from 0."""
    for name, tensor in state.model.trained.items():
        tensor.copy_(state.best[name])
    return len(state.scores) - 1 if schedule.kept == "last" else int(np.argmax(state.scores))
