"""Heads and curvatures against the literal ways.

Heads of all optimisers and sizes of batches at once, against one head after the other: a linear
layer, autograd and PyTorch's optimisers, in float64 with the same batches, which the literal way
gets for nothing. Features are made up, in the sizes of the set's.

The largest eigenvalues of Hessian blocks of a Pre-LN transformer, by the same iteration from the
same start, against a loss, a gradient and a gradient of its product anew for every product.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.turns import ROUNDS, Compared, time_by_turns
from replication.plan.configuration import configure
from replication.study.contract import Experiment
from replication.study.studies import find_studies
from transformer_dynamics.encoders.head import drawn_head
from transformer_dynamics.gradient_heterogeneity.data.batches import batch_indices, slice_indices
from transformer_dynamics.gradient_heterogeneity.settings.heads import HeadOptimiser, HeadsJob
from transformer_dynamics.gradient_heterogeneity.settings.measuring import PairJob
from transformer_dynamics.gradient_heterogeneity.theory.curvature import (
    Loss,
    Product,
    block_product,
    largest_eigenvalue,
)
from transformer_dynamics.gradient_heterogeneity.training import heads
from transformer_dynamics.gradient_heterogeneity.training.record import recorded_steps
from transformer_dynamics.gradient_heterogeneity.training.small_transformers import masked_network

SETS = {"c6": (6, 5452), "c150": (150, 15_000)}
"""Classes and training samples of the smallest and the largest task."""
WIDTH = 384
"""Of MiniLM's features."""
STEPS = 80
"""A tenth of what the study trains, with a look before and after."""
TENSORS = ("query", "value", "out")
"""Whose blocks are measured, by the end of their names, in the first and the last layer."""
Arrays = dict[str, NDArray[Any]]


class Signs(torch.optim.Optimizer):
    """As released: v = mu v + (1 - mu) g, then a step of eta sign v."""

    def __init__(self, tensors: Iterator[nn.Parameter], lr: float, momentum: float) -> None:
        super().__init__(tensors, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: object = None) -> None:  # type: ignore[override]
        """One step of all tensors."""
        for group in self.param_groups:
            for tensor in group["params"]:
                v, mu = tensor.grad, group["momentum"]
                if mu:
                    average = self.state[tensor].setdefault("v", torch.zeros_like(tensor))
                    v = average.mul_(mu).add_(v, alpha=1 - mu)
                tensor.add_(v.sign(), alpha=-group["lr"])


def _steps(optimiser: HeadOptimiser, linear: nn.Linear, rate: float) -> torch.optim.Optimizer:
    """PyTorch's optimiser."""
    name, tensors = optimiser.name, linear.parameters()
    if name in {"signsgd", "signum"}:
        return Signs(tensors, rate, optimiser.beta)
    if name in {"sgd", "sgd_momentum"}:
        return torch.optim.SGD(tensors, lr=rate, momentum=optimiser.beta)
    if name == "rmsprop":
        return torch.optim.RMSprop(tensors, lr=rate, alpha=optimiser.second)
    return torch.optim.Adam(tensors, lr=rate, betas=(optimiser.momentum, optimiser.second))


def made_up(classes: int, number: int, width: int) -> tuple[Arrays, Arrays]:
    """Labels and features of N samples, around a centre for every class, as `heads` takes them."""
    random = np.random.default_rng(0)
    labels = random.integers(0, classes, number)
    centres = random.normal(size=(classes, width))
    phi = (centres[labels] + random.normal(size=(number, width))) / width**0.5
    names = np.array([f"class {k}" for k in range(classes)])
    return {"train_labels": labels, "classes": names}, {"train_features": phi.astype(np.float32)}


def one_after_the_other(
    job: HeadsJob, seed: int, known: heads.HeadSamples, batches: Mapping[int, Sequence[Tensor]]
) -> NDArray[np.float64]:
    """What `heads.train` has of a seed, [optimiser, batch size, point, ...].

    Args:
        job: which heads.
        seed: of their start.
        known: samples.
        batches: of every size those of all steps.
    """
    kept = set(recorded_steps(job.steps, job.points).tolist())
    judged = torch.from_numpy(slice_indices(job.slice, len(known.labels)))
    part = heads.HeadSamples(known.features[judged], known.labels[judged], known.classes)
    start = drawn_head(known.classes, known.features.shape[1], seed, job.head_deviation)
    found = []
    for optimiser, size in product(job.optimisers, job.batch_sizes):
        linear = nn.Linear(known.features.shape[1], known.classes).double()
        linear.load_state_dict({name: each.double() for name, each in start._asdict().items()})
        steps = _steps(optimiser, linear, job.rate)
        rows = []
        for step in range(job.steps + 1):
            if step in kept:
                looked = {name: each.detach() for name, each in linear.named_parameters()}
                rows.append(heads.record_heads(looked, part))
            if step < job.steps:
                batch = batches[size][step]
                loss = nn.functional.cross_entropy(
                    linear(known.features[batch]), known.labels[batch]
                )
                steps.zero_grad()
                torch.autograd.backward([loss])
                steps.step()
        found.append(torch.stack(rows).numpy())
    shape = (len(job.optimisers), len(job.batch_sizes), *found[0].shape)
    return np.stack(found).reshape(shape)


def trained_heads(
    job: HeadsJob, data: tuple[Arrays, Arrays], rounds: int = ROUNDS, seed: int = 1
) -> Compared:
    """Heads of one seed.

    Args:
        job: which, with all classes of the data.
        data: as `made_up` gives it.
        rounds: how often each way is timed.
        seed: of start and batches.
    """
    known = heads.head_samples(*data, job.classes, torch.device("cpu"))
    number = len(known.labels)
    batches = {
        size: [
            torch.from_numpy(batch_indices(seed, step, size, number)) for step in range(job.steps)
        ]
        for size in job.batch_sizes
    }
    count = len(job.optimisers) * len(job.batch_sizes)
    return time_by_turns(
        f"{job.steps} steps of {count} heads, {known.classes} classes",
        (
            "one head after the other",
            lambda: one_after_the_other(job, seed, known, batches),
            lambda: heads.train(job, [seed], data, None)["heads"][0],
        ),
        1e-9,
        rounds,
    )


def anew(loss: Loss, parameters: Mapping[str, Tensor], name: str) -> Product:
    """v -> H_bb v of one tensor, from a loss and its gradient that are computed every time."""

    def of(vector: Tensor) -> Tensor:
        leaf = parameters[name].detach().requires_grad_()
        value = loss({**parameters, name: leaf})
        (gradient,) = torch.autograd.grad(value, leaf, create_graph=True)
        (image,) = torch.autograd.grad((gradient * vector).sum(), leaf)
        return image

    return of


def curvatures(job: PairJob, words: int, rounds: int = ROUNDS) -> Compared:
    """Largest eigenvalues of some blocks of a transformer of random weights on masked words.

    Args:
        job: the transformer and the measuring.
        words: of made-up running text.
        rounds: how often each way is timed.
    """
    random = np.random.default_rng(0)
    stream = np.minimum(random.zipf(1.3, size=words) + 3, job.words - 1).astype(np.int32)
    data = {"words": np.arange(job.words), "stream": stream}
    net = masked_network(job.net, job.masking, 1, data)
    batch = net.train.take(np.arange(job.measuring.size))
    layers = (0, job.shape.depth - 1)
    names = [f"{layer}.{name}" for layer in layers for name in TENSORS]

    def found(way: Callable[[Loss, Mapping[str, Tensor], str], Product]) -> list[float]:
        return [
            largest_eigenvalue(
                way(lambda theta: net.loss(theta, batch), net.start, name),
                net.start[name],
                torch.Generator().manual_seed(index),
                job.measuring.least,
                job.measuring.tolerance,
                job.measuring.products,
            ).eigenvalue
            for index, name in enumerate(names)
        ]

    return time_by_turns(
        f"largest eigenvalues of {len(names)} Hessian blocks, {job.shape.depth} layers",
        ("every product anew", lambda: found(anew), lambda: found(block_product)),
        1e-3,
        rounds,
    )


def _experiments() -> Mapping[str, Experiment]:
    """Those of the default configuration."""
    study = find_studies()["gradient_heterogeneity"]
    configuration = configure({}, {study.name: study})
    return study.experiments(configuration.section(study.name), configuration.computation)


def compare(rounds: int = ROUNDS) -> Iterator[Compared]:
    """All comparisons, of the default optimisers, sizes of batches and shapes."""
    experiments = _experiments()
    given = next(iter(experiments["heads"].runs.values())).settings.model_dump()
    few = {"classes": None, "steps": STEPS, "points": 1}
    job = HeadsJob.parse(given | few, "heads")
    for classes, number in SETS.values():
        yield trained_heads(job, made_up(classes, number, WIDTH), rounds)
    pair = next(
        run for key, run in experiments["pairs"].runs.items() if key.startswith("trained-pre6")
    )
    yield curvatures(PairJob.parse(pair.settings.model_dump(), "pairs"), 20_000, rounds)
