"""Kernels and updates of an encoder against the literal ways.

Kernels of all parameters, against Jacobians of one text after another by autograd, a row at a time,
and their products. The rows of training texts are held, 182 MB each, so that few fit: more texts
make more products, which matrices of inputs and outputs need less of.

An update of fine-tuning, against the same texts padded to the longest one, all positions of the
last layer, and AdamW as PyTorch has it by default; without dropout, so that both losses agree.

The encoder is the published MiniLM if it has been fetched; otherwise an untrained one of the same
shape, as its weights change no time. Texts are made up, as long as those of CB.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from benchmarks.turns import ROUNDS, Compared, time_by_turns
from replication.base.random_streams import generator
from transformer_dynamics.encoders.head import Head, random_head
from transformer_dynamics.encoders.model import build, tensors
from transformer_dynamics.encoders.pretrained import read
from transformer_dynamics.encoders.settings import EncoderChoice
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.lp_ft.settings.runs import Optimiser, Updates
from transformer_dynamics.lp_ft.training import feature_kernel
from transformer_dynamics.lp_ft.training.classifier import Classifier
from transformer_dynamics.lp_ft.training.loop import initial_state

MINILM = {
    "vocab_size": 30_522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
    "intermediate_size": 1536, "max_position_embeddings": 512, "type_vocab_size": 2,
}  # fmt: skip
"""Sizes of the default encoder."""
CLASSES = 3
"""Of CB."""
LENGTHS = (24, 96)
"""Of texts, the longest of CB being cut."""
BATCH = 16
RATE = 1e-4
STEPS = Updates(
    dropout=None, weight_decay=0, betas=[0.9, 0.999], epsilon=1e-8, momentum=0, warm_up=0,
    decay="linear",
)  # fmt: skip
"""Of AdamW as PyTorch has it by default, without weight decay."""
FETCHED = Path("results/datasets/minilm")
"""Where the workflow puts the encoder."""
UPDATES = 2
"""Of one timing; the loss before the second depends on the first."""


def untrained(sizes: Mapping[str, Any] = MINILM) -> nn.Module:
    """BERT of some sizes from random weights, in eval mode and without a pooler."""
    torch.manual_seed(0)
    config = AutoConfig.for_model("bert", **sizes)
    model: nn.Module = AutoModel.from_config(
        config, attn_implementation="eager", add_pooling_layer=False, dtype=torch.float32
    )
    return model.eval()


def published(folder: Path) -> nn.Module | None:
    """The published encoder, if its files are in a folder."""
    sources = EncoderChoice(folder=str(folder)).sources
    there = all(Path(source).is_file() for source in sources)
    return build(read("minilm", sources)) if there else None


def texts(number: int, lengths: tuple[int, int], words: int) -> Tokens:
    """Pairs of made-up texts, padded with 0.

    Args:
        number: n.
        lengths: the smallest and the largest.
        words: numbers of tokens are below it, and not 0.
    """
    random = generator(0, "texts of a benchmark")
    long = random.integers(lengths[0], lengths[1] + 1, number)
    tokens = random.integers(1, words, (number, int(long.max())))
    tokens[np.arange(tokens.shape[1]) >= long[:, None]] = 0
    first, second = long.astype(np.int32), (long // 2).astype(np.int32)
    return Tokens(tokens.astype(np.int32), first, second, np.arange(number) % CLASSES)


def plain_features(model: nn.Module, given: Tokens) -> Tensor:
    """phi [n, h]: the encoder as it comes, every text in a row of its own."""
    tokens, lengths, seconds = tensors(given)
    place = torch.arange(tokens.shape[1])
    output = model(
        input_ids=tokens,
        attention_mask=(place < lengths[:, None]).long(),
        token_type_ids=((place >= seconds[:, None]) & (place < lengths[:, None])).long(),
    )
    state: Tensor = output.last_hidden_state
    return state[:, 0]


def kernel_by_rows(model: nn.Module, given: Tokens, directions: Tensor, train: int) -> Tensor:
    """Theta^phi along directions, [n, m, Q, Q], from rows of Jacobians.

    Args:
        model: the encoder, in the directions' type.
        given: [n] texts, those of training first.
        directions: [Q, h] u.
        train: m; the rows of these are held, those of the others are used and forgotten.
    """
    body, size = list(model.parameters()), len(directions)
    held = directions.new_empty(train * size, sum(tensor.numel() for tensor in body))
    others = []
    for index in range(len(given.labels)):
        phi = plain_features(model, given.take(np.array([index])))[0]
        for number, direction in enumerate(directions):
            parts = torch.autograd.grad(
                phi @ direction, body, retain_graph=True, materialize_grads=True
            )
            row = torch.cat([part.flatten() for part in parts])
            if index < train:
                held[index * size + number] = row
            else:
                others.append(held @ row)
    flat = torch.cat([held @ held.T, torch.stack(others)]) if others else held @ held.T
    return flat.view(-1, size, train, size).transpose(1, 2)


def kernels(model: nn.Module, train: int, test: int, rounds: int = ROUNDS) -> Compared:
    """Kernels of all parameters, along the rows of a random head and of one like a probe's."""
    exact, width = deepcopy(model).double(), _width(model)
    random = torch.Generator().manual_seed(1)
    heads = [random_head(CLASSES, width, random).weight.double() for _ in range(2)]
    # The rows of a probe sum to zero.
    centred = heads[1] - heads[1].mean(dim=0)
    directions, _ = feature_kernel.orthonormal_directions([heads[0], centred])
    given = texts(train + test, _lengths(model), _words(model))
    plan = feature_kernel.KernelPlan(directions, train)
    return time_by_turns(
        f"kernel of {train} training and {test} other texts, {len(directions)} directions",
        (
            "rows of Jacobians",
            lambda: kernel_by_rows(exact, given, directions, train),
            lambda: feature_kernel.feature_kernels(exact, given, plan).whole,
        ),
        1e-9,
        rounds,
    )


def updates(model: nn.Module, batch: int = BATCH, rounds: int = ROUNDS) -> Compared:
    """Updates of fine-tuning on the same batch, over and over; losses are compared."""
    given = texts(batch, _lengths(model), _words(model))
    labels = torch.from_numpy(given.labels)
    head = random_head(CLASSES, _width(model), torch.Generator().manual_seed(1))
    ours, plain = (Classifier(deepcopy(model), head).eval() for _ in range(2))
    state = initial_state(ours, Optimiser(kind="adamw", rate=RATE), STEPS)
    literal = torch.optim.AdamW(plain.parameters(), lr=RATE, weight_decay=0.0)

    def losses(trained: Classifier, steps: torch.optim.Optimizer, *, padded: bool) -> list[float]:
        found = []
        for _ in range(UPDATES):
            steps.zero_grad()
            if padded:
                logits = Head(trained.weight, trained.bias).logits(
                    plain_features(trained.encoder, given)
                )
            else:
                logits = trained(*tensors(given))
            loss = nn.functional.cross_entropy(logits, labels)
            torch.autograd.backward([loss])
            steps.step()
            found.append(float(loss.detach()))
        return found

    return time_by_turns(
        f"{UPDATES} updates of all parameters with {batch} texts",
        (
            "padded texts",
            lambda: losses(plain, literal, padded=True),
            lambda: losses(ours, state.optimiser, padded=False),
        ),
        1e-3,
        rounds,
    )


def _width(model: nn.Module) -> int:
    return int(model.config.hidden_size)  # type: ignore[union-attr, arg-type]


def _words(model: nn.Module) -> int:
    return int(model.config.vocab_size)  # type: ignore[union-attr, arg-type]


def _lengths(model: nn.Module) -> tuple[int, int]:
    """`LENGTHS`, or as many as a smaller encoder has places for."""
    most = int(model.config.max_position_embeddings)  # type: ignore[union-attr, arg-type]
    return min(LENGTHS[0], most // 4), min(LENGTHS[1], most)


def compare(rounds: int = ROUNDS) -> Iterator[Compared]:
    """All comparisons.

    Args:
        rounds: how often each way is timed.
    """
    found = published(FETCHED)
    model, which = (found, "MiniLM") if found else (untrained(), "untrained, MiniLM's shape")
    for row in (kernels(model, 3, 1, rounds), updates(model, rounds=rounds)):
        yield row._replace(step=f"{row.step} ({which})")
