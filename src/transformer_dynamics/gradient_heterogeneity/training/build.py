"""Any network of a seed by its settings: a pretrained one with a random head, or a small one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from transformer_dynamics.encoders.head import drawn_head
from transformer_dynamics.encoders.model import build, features, tensors
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.encoders.used_tokens import keep_words, renumbered, words_of
from transformer_dynamics.gradient_heterogeneity.data import efficientnet, vit
from transformer_dynamics.gradient_heterogeneity.data.images import CLASSES, Images, image_samples
from transformer_dynamics.gradient_heterogeneity.data.texts import text_samples
from transformer_dynamics.gradient_heterogeneity.settings.networks import (
    Enlarging,
    ImageNetwork,
    NetworkChoice,
    TextNetwork,
)
from transformer_dynamics.gradient_heterogeneity.training.networks import (
    HeadedModule,
    Inputs,
    Network,
    copy_parameters,
    describe_blocks,
    module_forward,
)
from transformer_dynamics.gradient_heterogeneity.training.small_transformers import (
    initial_network,
)

WORDS = "body.embeddings.word_embeddings.weight"
"""Name of the table whose rows are left out if their words never occur."""
Data = Sequence[Mapping[str, NDArray[Any]]]
"""Arrays of each of the data that a network reads."""


def build_network(choice: NetworkChoice, seed: int, data: Data, device: str = "cpu") -> Network:
    """Build the network of a seed, from the arrays that `choice.reads` names, in this order.

    The seed is of head and samples, and of the weights where they are random. Raises an
    `InputError` if data do not fit, or there are too few samples.
    """
    if isinstance(choice, TextNetwork):
        return _text_network(choice, seed, data, device)
    if isinstance(choice, ImageNetwork):
        return _image_network(choice, seed, data, device)
    return initial_network(choice, seed, data, device)


def _text_network(choice: TextNetwork, seed: int, data: Data, device: str) -> Network:
    """Build the encoder with the random head of a seed, without words that never occur.

    No gradient reaches these, so that norms and curvatures are those of the whole table, of which
    the block keeps the size.
    """
    tokens, encoder = data
    found = text_samples(choice.texts, seed, tokens)
    body = build(Pretrained.of(encoder), choice.dropout)
    sizes = body.config
    words = words_of(list(found), int(sizes.pad_token_id))  # type: ignore[union-attr, arg-type]
    whole = body.get_input_embeddings().weight.numel()  # type: ignore[operator]
    keep_words(body, words)
    width = int(sizes.hidden_size)  # type: ignore[union-attr, arg-type]
    head = drawn_head(len(tokens["classes"]), width, seed, choice.head_deviation)
    dropout = float(sizes.hidden_dropout_prob)  # type: ignore[union-attr, arg-type]
    module = HeadedModule(body, features, head, dropout)
    start = copy_parameters(module.to(device))
    blocks = describe_blocks(start)
    blocks[WORDS] = blocks[WORDS]._replace(size=whole)
    train, validation, test = (renumbered(part, words) for part in found)
    return Network(module_forward(module, _text_inputs), start, blocks, train, validation, test)


def _text_inputs(batch: Tokens, like: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return tensors(batch, str(like.device))


def _image_network(choice: ImageNetwork, seed: int, data: Data, device: str) -> Network:
    """Build a pretrained network for images with the random head of a seed."""
    images, weights = data
    # Statistics of batches are what the convolutional network alone has.
    if choice.renewed is None:
        body, width = vit.build_network(weights), len(weights["layernorm.weight"])
        phi, mean, deviation = vit.class_features, vit.MEAN, vit.DEVIATION
    else:
        body = efficientnet.build_network(weights, choice.renewed)
        width = len(weights["top.normalisation.weight"])
        phi, mean, deviation = nn.Module.__call__, efficientnet.MEAN, efficientnet.DEVIATION
    head = drawn_head(CLASSES, width, seed, choice.head_deviation)
    module = HeadedModule(body, phi, head, choice.dropout).to(device)
    start = copy_parameters(module)
    return Network(
        module_forward(module, image_inputs(choice.size, choice.enlarged, mean, deviation)),
        start,
        describe_blocks(start),
        *image_samples(choice, seed, images),
        statistics={name: value for name, value in module.named_buffers() if "running_" in name},
    )


def image_inputs(
    size: int, enlarging: Enlarging, mean: Sequence[float], deviation: Sequence[float]
) -> Inputs:
    """Return the map from images to normalised pixels [n, 3, size, size] with equal channels.

    Channels go from 0 to 1 before `mean` [3] is taken off and `deviation` [3] divides them;
    `enlarging` is the interpolation between pixels.
    """

    def inputs(batch: Images, like: Tensor) -> tuple[Tensor]:
        grey = torch.from_numpy(np.array(batch.pixels)).to(like)[:, None] / 255
        large = nn.functional.interpolate(grey, size=(size, size), mode=enlarging)
        centre, scale = (like.new_tensor(values)[:, None, None] for values in (mean, deviation))
        # Channels last in memory, as convolutions are a third faster so.
        return (((large - centre) / scale).contiguous(memory_format=torch.channels_last),)

    return inputs
