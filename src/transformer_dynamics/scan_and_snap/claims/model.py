"""The model: its gradient (Lemma 1), what it conserves (Section 2), long sequences (Lemma 2)."""

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.study.evidence import Cases, evidence
from transformer_dynamics.scan_and_snap.claims.examples import ONE_QUERY, deviation
from transformer_dynamics.scan_and_snap.data.sequences import Sequences, draw_sequences
from transformer_dynamics.scan_and_snap.settings.training import Mixture, Sampling
from transformer_dynamics.scan_and_snap.theory.sequence_classes import (
    SequenceClasses,
    sequence_classes,
)
from transformer_dynamics.scan_and_snap.training.literal import literal_loss
from transformer_dynamics.scan_and_snap.training.model import Model, Parameters

LENGTHS = (64, 512, 4096, 32768)
SYN_SMALL, SYN_MEDIUM = "Syn-Small", "Syn-Medium, 3 queries"


def example_mixtures(mixtures: dict[str, Mixture]) -> dict[str, Mixture]:
    """Return data models to try statements on: two of the paper's, and one of one query."""
    return {
        SYN_SMALL: mixtures["syn_small"],
        SYN_MEDIUM: mixtures["syn_medium_3"],
        "four classes of one query": ONE_QUERY,
    }


@evidence
def gradient(mixtures: dict[str, Mixture]) -> Cases:
    """Measure the largest error of Eqs. 3-4 against automatic differentiation of (15).

    The error is over the largest entry of the latter. Y and Z are random, a batch has 64 sequences
    of T = 128.
    """
    for name, mixture in example_mixtures(mixtures).items():
        drawn, classes = _draw_batches(mixture, 1, 64, 128), sequence_classes(mixture)
        y, z = _random_parameters(classes.vocabulary_size)
        y_slope, z_slope = _automatic_gradient(mixture, drawn, y, z)
        queries = torch.from_numpy(classes.query_tokens)
        model = _plain_model(classes)
        rows = slice(model.num_rows)
        found = _zero_parameters(model, classes)
        (batch,) = model.batches(drawn, torch.float64)
        model.gradient(Parameters(y[rows, None].clone(), z[None, queries].clone()), batch, found)
        yield f"{name}: Y", deviation(found.decoder[:, 0], y_slope[rows])
        yield f"{name}: Z", deviation(found.attention_logits[0], z_slope[queries])


@evidence
def row_sums(mixtures: dict[str, Mixture]) -> Cases:
    """Measure the largest |row sum| of Y and of Z over the largest entry.

    Y and Z come from 30 updates from zero.
    """
    for name, mixture in example_mixtures(mixtures).items():
        classes = sequence_classes(mixture)
        model = _plain_model(classes)
        parameters, slope = _zero_parameters(model, classes), _zero_parameters(model, classes)
        for batch in model.batches(_draw_batches(mixture, 30, 32, 128), torch.float64):
            model.gradient(parameters, batch, slope)
            for value, gradient in zip(parameters, slope, strict=True):
                value.sub_(gradient)
        for matrix, value in zip(("Y", "Z"), parameters, strict=True):
            yield f"{name}: {matrix}", value.sum(-1).abs().max() / value.abs().max()


@evidence
def other_rows(mixtures: dict[str, Mixture]) -> Cases:
    """Measure the largest |dJ/dz_m'| of a sequence over all m' that are not its query m (Eq. 4)."""
    for name, mixture in example_mixtures(mixtures).items():
        classes = sequence_classes(mixture)
        drawn = _draw_batches(mixture, 1, 1, 128)
        _, slope = _automatic_gradient(mixture, drawn, *_random_parameters(classes.vocabulary_size))
        slope[classes.query_tokens[classes.query[int(drawn.classes[0, 0])]]] = 0
        yield name, slope.abs().max()


@evidence
def attention_limit(mixtures: dict[str, Mixture]) -> Cases:
    """Measure the slope of ln E|X^T b_T - c_n|_1 against ln T between two lengths (Lemma 2).

    Z is random.
    """
    known = example_mixtures(mixtures)
    for name in (SYN_SMALL, SYN_MEDIUM):
        distances = [
            np.abs(attended - limit).sum(axis=-1).mean()
            for attended, limit in (_attention_and_limit(known[name], length) for length in LENGTHS)
        ]
        slopes = np.diff(np.log(distances)) / np.diff(np.log(LENGTHS))
        for (first, last), slope in zip(pairwise(LENGTHS), slopes, strict=True):
            yield f"{name}: T = {first} to {last}", slope


@evidence
def frequency_bound(mixtures: dict[str, Mixture]) -> Cases:
    """Measure the share of sequences beyond Lemma 18's bound over delta, of the worst token.

    The bound is that of |q_l - P(l|m,n)|.
    """
    for length in LENGTHS[:3]:
        mixture = mixtures["syn_small"]
        drawn = _draw_batches(mixture, 40, 64, length)
        share = drawn.counts / (length - 1)
        deviation = np.abs(share - sequence_classes(mixture).probabilities[drawn.classes])
        for delta in (0.5, 0.1, 0.01):
            bound = np.sqrt(np.log(2 / delta) / (2 * (length - 1)))
            beyond = (deviation > bound).mean(axis=(0, 1)).max()
            yield f"T = {length}, delta = {delta:g}", beyond / delta


def _draw_batches(mixture: Mixture, steps: int, batch_size: int, length: int) -> Sequences:
    sampling = Sampling(
        stream="independent", steps=steps, batch_size=batch_size, sequence_length=length
    )
    return draw_sequences(mixture, sampling, seed=1)


def _random_parameters(size: int) -> tuple[Tensor, Tensor]:
    """Draw random Y and Z [M, M]."""
    y, z = np.random.default_rng(1).normal(size=(2, size, size))
    return torch.from_numpy(y), torch.from_numpy(z)


def _plain_model(classes: SequenceClasses) -> Model:
    return Model(classes, residual=False, query_among_keys=False, device=torch.device("cpu"))


def _zero_parameters(model: Model, classes: SequenceClasses) -> Parameters:
    size = classes.vocabulary_size
    return Parameters(
        torch.zeros(model.num_rows, 1, size, dtype=torch.float64),
        torch.zeros(1, len(classes.query_tokens), size, dtype=torch.float64),
    )


def _automatic_gradient(
    mixture: Mixture, drawn: Sequences, y: Tensor, z: Tensor
) -> tuple[Tensor, Tensor]:
    """Return [M, M] gradients of -J on the first batch, by Y and by Z."""
    classes = sequence_classes(mixture)
    tokens = [
        [*np.repeat(classes.support[n], count), classes.query_tokens[classes.query[n]]]
        for n, count in zip(drawn.classes[0], drawn.counts[0], strict=True)
    ]
    next_tokens = classes.next_tokens[drawn.classes[0]]
    batch = torch.from_numpy(np.array(tokens)), torch.from_numpy(next_tokens)
    y, z = (part.clone().requires_grad_() for part in (y, z))
    loss = literal_loss(y, z, *batch, residual=False, query_among_keys=False)
    by_y, by_z = torch.autograd.grad(loss, (y, z))
    return by_y, by_z


def _attention_and_limit(
    mixture: Mixture, length: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return [B, S] X^T b_T of some sequences on their support, and their limits c_n."""
    classes = sequence_classes(mixture)
    drawn = _draw_batches(mixture, 10, 64, length)
    shape = len(classes.query_tokens), classes.vocabulary_size
    z = np.random.default_rng(2).normal(size=shape)
    weights = np.exp(classes.support_logits(z))
    n, counts = drawn.classes.ravel(), drawn.counts.reshape(-1, classes.support.shape[1])
    output, limit = counts * weights[n], (classes.probabilities * weights)[n]
    return output / output.sum(-1, keepdims=True), limit / limit.sum(-1, keepdims=True)
