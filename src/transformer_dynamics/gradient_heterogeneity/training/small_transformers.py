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
from transformer_dynamics.gradient_heterogeneity.data.texts import text_samples
from transformer_dynamics.gradient_heterogeneity.data.vocabulary import MaskedText, mask_words
from transformer_dynamics.gradient_heterogeneity.settings.networks import (
    Masking,
    Shape,
    SmallTransformer,
)
from transformer_dynamics.gradient_heterogeneity.theory import placement
from transformer_dynamics.gradient_heterogeneity.theory.placement import Sizes, Stack
from transformer_dynamics.gradient_heterogeneity.training.networks import Block, Forward, Network
from transformer_dynamics.gradient_heterogeneity.training.optimisers import Tensors


def initial_body(shape: Shape, words: int, seed: int, device: str) -> Tensors:
    """Draw random weights without a head, in float32; they are the same whatever the placement."""
    sizes = Sizes(shape.width, words, shape.length, 1)
    random = generator(seed, "initialization")
    found = placement.initial_parameters(
        shape.depth, sizes, random, shape.deviation, shape.embedding_deviation
    )
    return {
        name: tensor.float().to(device)
        for name, tensor in found.items()
        if name not in {"head", "head_bias"}
    }


def add_head(body: Mapping[str, Tensor], classes: int, seed: int, deviation: float) -> Tensors:
    """Return weights with the random head of a seed, whose entries have a standard deviation."""
    table = body["tokens"]
    head = drawn_head(classes, table.shape[1], seed, deviation)
    return {**body, "head": head.weight.to(table), "head_bias": head.bias.to(table)}


def stack_forward(stack: Stack) -> Forward:
    """Return the logits of masked words, or of the beginning of a labelled text, as a function."""

    def forward(parameters: Mapping[str, Tensor], batch: Any, _: bool) -> Tensor:
        """Return the logits, [samples, words or labels], as a function of the parameters."""
        device = parameters["head"].device
        tokens = torch.from_numpy(np.array(batch.tokens)).to(device, torch.int64)
        if isinstance(batch, MaskedText):
            places = torch.from_numpy(np.array(batch.places)).to(device)
            state = placement.final_states(stack, parameters, tokens)
            seen = state.take_along_dim(places[:, :, None], dim=1)
        else:
            lengths = torch.from_numpy(np.array(batch.lengths)).to(device)
            real = torch.arange(tokens.shape[1], device=device) < lengths[:, None]
            seen = placement.final_states(stack, parameters, tokens, real)[:, 0]
        return placement.head_logits(parameters, seen)

    return forward


def stack_blocks(stack: Stack, start: Mapping[str, Tensor]) -> dict[str, Block]:
    """Return layer, kind and size of each tensor of a transformer, by its name."""
    after = stack.depth + 1
    outside = {"tokens": 0, "positions": 0, "head": after + 1, "head_bias": after + 1}
    edge = 0 if stack.placement == "post" else after
    blocks = {}
    for name, tensor in start.items():
        number = name.partition(".")[0]
        layer = int(number) + 1 if number.isdigit() else outside.get(name, edge)
        blocks[name] = Block(layer, placement.tensor_kind(name), tensor.numel())
    return blocks


def theory_stack(shape: Shape) -> Stack:
    """Return the transformer as the theory describes it."""
    return Stack(shape.placement, shape.depth, shape.heads)


def masked_network(
    choice: SmallTransformer,
    masking: Masking,
    seed: int,
    data: Mapping[str, NDArray[Any]],
    device: str = "cpu",
) -> Network:
    """Build a transformer from random weights on masked words; all samples are for training.

    The seed is of weights, head and masks, the data of `data.vocabulary`; labels are not used.
    """
    shape, words = choice.shape, len(data["words"])
    stack = theory_stack(shape)
    start = add_head(initial_body(shape, words, seed, device), words, seed, choice.head_deviation)
    samples = mask_words(data["stream"], shape.length, words, masking, seed)
    none = samples.take(np.empty(0, np.int64))
    return Network(stack_forward(stack), start, stack_blocks(stack, start), samples, none, none)


def text_network(
    choice: SmallTransformer,
    seed: int,
    data: Mapping[str, NDArray[Any]],
    trained: Mapping[str, Tensor],
) -> Network:
    """Build a transformer with the random head of a seed, on labelled texts of `data.vocabulary`.

    The seed is of head and samples. The head replaces one among the trained weights. Raises an
    `InputError` if there are too few samples.
    """
    stack = theory_stack(choice.shape)
    start = add_head(trained, len(data["classes"]), seed, choice.head_deviation)
    found = text_samples(choice.texts, seed, data)
    return Network(stack_forward(stack), start, stack_blocks(stack, start), *found)


def initial_network(
    choice: SmallTransformer,
    seed: int,
    data: Sequence[Mapping[str, NDArray[Any]]],
    device: str,
) -> Network:
    """Build a transformer from random weights on labelled texts of `data.vocabulary`.

    The seed is of weights, head and samples. Raises an `InputError` if there are too few samples.
    """
    (words,) = data
    start = initial_body(choice.shape, len(words["words"]), seed, device)
    return text_network(choice, seed, words, start)
