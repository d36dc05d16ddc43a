"""Small transformers from random weights, Post-LN and Pre-LN, that differ in nothing else.

They are trained on running text first, to tell masked words, then with a new head on labelled
texts.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from replication.base.random_streams import generator
from transformer_dynamics.encoders.head import drawn_head
from transformer_dynamics.gradient_heterogeneity.net_settings import Masking, Shape, TinyNet
from transformer_dynamics.gradient_heterogeneity.nets import Block, Forward, Net
from transformer_dynamics.gradient_heterogeneity.optimizers import Tensors
from transformer_dynamics.gradient_heterogeneity.text_net import parts
from transformer_dynamics.gradient_heterogeneity.theory import placement
from transformer_dynamics.gradient_heterogeneity.theory.placement import Sizes, Stack
from transformer_dynamics.gradient_heterogeneity.words import Masked, masked


def body(shape: Shape, words: int, seed: int, device: str = "cpu") -> Tensors:
    """Random weights without a head, in float32; the same whatever the placement.

    Args:
        shape: sizes and scales.
        words: number of words.
        seed: of the draw.
        device: where they are.
    """
    sizes = Sizes(shape.width, words, shape.length, 1)
    random = generator(seed, "initialization")
    found = placement.initial(shape.depth, sizes, random, shape.deviation, shape.embedded)
    return {
        name: tensor.float().to(device)
        for name, tensor in found.items()
        if name not in {"head", "head_bias"}
    }


def headed(body: Mapping[str, Tensor], classes: int, seed: int, deviation: float) -> Tensors:
    """The same with the random head of a seed, whose entries have a standard deviation."""
    table = body["tokens"]
    head = drawn_head(classes, table.shape[1], seed, deviation)
    return {**body, "head": head.weight.to(table), "head_bias": head.bias.to(table)}


def of_stack(stack: Stack) -> Forward:
    """Logits of what is masked, or of the beginning of a labelled text."""

    def forward(parameters: Mapping[str, Tensor], batch: Any, _: bool) -> Tensor:
        device = parameters["head"].device
        tokens = torch.from_numpy(np.array(batch.tokens)).to(device, torch.int64)
        if isinstance(batch, Masked):
            places = torch.from_numpy(np.array(batch.places)).to(device)
            state = placement.states(stack, parameters, tokens)
            seen = state.take_along_dim(places[:, :, None], dim=1)
        else:
            lengths = torch.from_numpy(np.array(batch.lengths)).to(device)
            real = torch.arange(tokens.shape[1], device=device) < lengths[:, None]
            seen = placement.states(stack, parameters, tokens, real)[:, 0]
        return placement.headed(parameters, seen)

    return forward


def described(stack: Stack, start: Mapping[str, Tensor]) -> dict[str, Block]:
    """What the tensors of a transformer are.

    Args:
        stack: its placement says where the normalisation outside of layers stands.
        start: tensors by name.
    """
    after = stack.depth + 1
    outside = {"tokens": 0, "positions": 0, "head": after + 1, "head_bias": after + 1}
    edge = 0 if stack.placement == "post" else after
    blocks = {}
    for name, tensor in start.items():
        number = name.partition(".")[0]
        layer = int(number) + 1 if number.isdigit() else outside.get(name, edge)
        blocks[name] = Block(layer, placement.kind(name), tensor.numel())
    return blocks


def stack_of(shape: Shape) -> Stack:
    """What the theory calls it."""
    return Stack(shape.placement, shape.depth, shape.heads)


def masked_net(
    choice: TinyNet,
    masking: Masking,
    seed: int,
    data: Mapping[str, NDArray[Any]],
    device: str = "cpu",
) -> Net:
    """A transformer from random weights on masked words; all samples are for training.

    Args:
        choice: which; its labelled texts are not used.
        masking: which words are masked, and how.
        seed: of weights, head and masks.
        data: arrays as the program `data.words` returns them.
        device: where parameters are.
    """
    shape, words = choice.shape, len(data["words"])
    stack = stack_of(shape)
    start = headed(body(shape, words, seed, device), words, seed, choice.head_deviation)
    samples = masked(data["stream"], shape.length, words, masking, seed)
    none = samples.take(np.empty(0, np.int64))
    return Net(of_stack(stack), start, described(stack, start), samples, none, none)


def text_net(
    choice: TinyNet, seed: int, data: Mapping[str, NDArray[Any]], trained: Mapping[str, Tensor]
) -> Net:
    """A transformer with the random head of a seed, on labelled texts.

    Args:
        choice: which, and its samples.
        seed: of head and samples.
        data: arrays as the program `data.words` returns them.
        trained: weights; a head among them is replaced.

    Raises:
        InputError: if there are too few samples.
    """
    stack = stack_of(choice.shape)
    start = headed(trained, len(data["classes"]), seed, choice.head_deviation)
    found = parts(choice.texts, seed, data)
    return Net(of_stack(stack), start, described(stack, start), *found)


def net(
    choice: TinyNet, seed: int, data: Sequence[Mapping[str, NDArray[Any]]], device: str = "cpu"
) -> Net:
    """A transformer from random weights on labelled texts.

    Args:
        choice: which, and its samples.
        seed: of weights, head and samples.
        data: arrays as the program `data.words` returns them.
        device: where parameters are.

    Raises:
        InputError: if there are too few samples.
    """
    (words,) = data
    start = body(choice.shape, len(words["words"]), seed, device)
    return text_net(choice, seed, words, start)
