"""A pretrained encoder as a module, and its features phi(x): the last hidden state at position 0.

There is no pooler. Attention is computed literally ("eager"), so that it has second derivatives and
Jacobian-vector products.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from replication.base.errors import InputError
from replication.base.strict import shorten
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.settings import MEND
from transformer_dynamics.encoders.sizes import sizes
from transformer_dynamics.encoders.tokens import Tokens

KINDS = ("bert", "mpnet", "roberta")
"""Types of encoders that are known to have all that is used here."""
TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
"""Types of numbers in a file of weights."""
BESIDE = ("pooler.", "lm_head.", "cls.")
"""Beginnings of names of tensors that a file may have beside the encoder's."""


def build(pretrained: Pretrained, dropout: float | None = None) -> nn.Module:
    """Build the encoder with its published parameters, in eval mode, in float32.

    `dropout` is the probability of both its dropouts, as published if left out; it acts in training
    mode only. Raises an `InputError` if a package is missing, or the files do not hold one network.
    """
    try:
        from safetensors.torch import load
        from transformers import AutoConfig, AutoModel
    except ImportError as error:
        raise InputError(
            f"the package {error.name} is needed; install what encoders need with `make encoders`"
        ) from error
    kind, given = _kind(pretrained.config), sizes(pretrained.config)
    if dropout is not None:
        given |= {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}

    def network() -> nn.Module:
        config = AutoConfig.for_model(kind, **given)
        made: nn.Module = AutoModel.from_config(
            config, attn_implementation="eager", add_pooling_layer=False, dtype=torch.float32
        )
        return made

    try:
        tensors = load(pretrained.weights)
    except Exception as error:
        # Damaged bytes fail in any way.
        raise InputError(f"model.safetensors cannot be read ({error}); {MEND}") from error
    found = _named(kind, tensors)
    _check_layers(given, found)
    try:
        # Without memory, of which sizes that are not those of the weights may need any amount.
        with torch.device("meta"):
            wanted = dict(network().named_parameters())
    except Exception as error:
        # So do sizes of no network.
        said = shorten(" ".join(str(error).split()))
        raise InputError(f"config.json describes no network ({said}); {MEND}") from error
    _check_tensors(wanted, found)
    model = network()
    fitting = {name: found[name].to(torch.float32) for name in wanted}
    model.load_state_dict(fitting, strict=False)
    return model.eval()


def _kind(config: Mapping[str, Any]) -> str:
    """Return the type of a network, and refuse one that is not known.

    BERT's tensors have the names and the shapes of RoBERTa's, which counts positions otherwise: so
    another type than that which the published classes are of is refused, too.
    """
    kind = config.get("model_type")
    if kind not in KINDS:
        raise InputError(
            f"config.json: the encoder is of type {shorten(repr(kind))}; choose one of type"
            f" {', '.join(KINDS)}"
        )
    architectures = config.get("architectures")
    first = str(architectures).lstrip("['").lower()
    if architectures and not first.startswith(kind):
        raise InputError(
            f"config.json has model_type {kind}, but its architectures are"
            f" {shorten(str(architectures))}; {MEND}"
        )
    return str(kind)


def _named(kind: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors by their names in the model; a file may have the kind before them."""
    named = {name.removeprefix(f"{kind}."): value for name, value in tensors.items()}
    if len(named) < len(tensors):
        twice = next(name for name in tensors if f"{kind}.{name}" in tensors)
        raise InputError(
            f"model.safetensors has both {shorten(twice)} and {shorten(f'{kind}.{twice}')}; {MEND}"
        )
    return named


def _check_layers(given: Mapping[str, Any], found: Mapping[str, Tensor]) -> None:
    """Refuse more layers than there are tensors, as building each takes time."""
    layers = given.get("num_hidden_layers", 0)
    if layers > len(found):
        raise InputError(
            f"config.json asks for {layers} layers, but model.safetensors has only {len(found)}"
            f" tensors; {MEND}"
        )


def _check_tensors(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    """Refuse tensors by name that `config.json` does not describe, or that are not finite."""
    for name in sorted({*wanted} | {*found}):
        wrong = _wrong(name, wanted.get(name), found.get(name))
        if wrong:
            raise InputError(f"model.safetensors {wrong}; {MEND}")


def _wrong(name: str, wanted: Tensor | None, found: Tensor | None) -> str | None:
    """Say in which way a tensor is wrong, if in any."""
    if found is None:
        return f"lacks {name}, which config.json asks for"
    if wanted is None:
        # Beside the encoder: a pooler, an output layer, and tables of positions, no parameters.
        is_beside = name.startswith(BESIDE) or name.endswith("position_ids")
        return None if is_beside else f"has {shorten(name)}, which config.json does not ask for"
    if found.shape != wanted.shape:
        return f"has {name} of shape {[*found.shape]}, but config.json asks for {[*wanted.shape]}"
    if found.dtype not in TYPES:
        known = ", ".join(map(_called, TYPES))
        return f"has {name} in {_called(found.dtype)}, of which only {known} are read"
    # The network's, and squares of them, which norms take.
    if not found.to(torch.float32).square().isfinite().all():
        return f"has entries of {name} that are not finite in float32, or whose squares are not"
    return None


def _called(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def features(model: nn.Module, tokens: Tensor, lengths: Tensor, seconds: Tensor) -> Tensor:
    """Return the features phi(x) [n, h], the last hidden state at position 0.

    They can be differentiated, and have the model's dropout. Of `tokens` [n, T], `lengths` [n] are
    no padding; at `seconds` [n] the second text of a pair begins.
    """
    return _run(model, {}, tokens, lengths, seconds)


def feature_map(
    model: nn.Module, lengths: Tensor, seconds: Tensor
) -> Callable[[Mapping[str, Tensor], Tensor], Tensor]:
    """Return features as a function of parameters by name and tokens [n, T], to differentiate it.

    Parameters that are not given are the model's own. Of the tokens, `lengths` [n] are no padding;
    at `seconds` [n] the second text of a pair begins.
    """
    return lambda body, tokens: _run(model, body, tokens, lengths, seconds)


def _run(
    model: nn.Module, body: Mapping[str, Tensor], tokens: Tensor, lengths: Tensor, seconds: Tensor
) -> Tensor:
    """Return features [n, h]; short texts share a row, and the last layer has first tokens only."""
    place = torch.arange(tokens.shape[1], device=tokens.device)
    is_text = place < lengths[:, None]
    row, start = (
        torch.tensor(numbers, device=tokens.device) for numbers in packed(lengths.tolist())
    )
    own = torch.arange(len(lengths), device=tokens.device)
    # Where each token goes, and there: its number, its text (-1 is padding), its place in the text.
    to = (row[:, None].expand_as(tokens)[is_text], (start[:, None] + place)[is_text])
    shape = (int(row.max()) + 1, int(lengths.max()))

    def laid(values: Tensor, empty: int = 0) -> Tensor:
        return values.new_full(shape, empty).index_put(to, values.expand_as(tokens)[is_text])

    text = laid(own[:, None], -1)
    is_other = text[:, None, :, None] != text[:, None, None, :]
    dtype = next(model.parameters()).dtype
    mask = torch.zeros_like(is_other, dtype=dtype)
    given = {
        "input_ids": laid(tokens),
        # Four dimensions are taken as what is added to products of queries and keys.
        "attention_mask": mask.masked_fill(is_other, torch.finfo(dtype).min),
        "position_ids": laid(place[None]) + _first_position(model),
    }
    if getattr(model.config, "type_vocab_size", 1) > 1:
        given["token_type_ids"] = laid((place >= seconds[:, None]).long())

    def of_first_tokens(_: nn.Module, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return *states[:-1], states[-1][row, start]

    encoder: Any = model.encoder
    last = encoder.layer[-1]
    hooks = [
        part.register_forward_pre_hook(of_first_tokens) for part in (last.intermediate, last.output)
    ]
    try:
        output = torch.func.functional_call(model, dict(body), (), given)
    finally:
        for hook in hooks:
            hook.remove()
    state: Tensor = output.last_hidden_state
    return state


def packed(lengths: Sequence[int]) -> tuple[list[int], list[int]]:
    """Put texts into rows as long as the longest, long ones first, each where there is room.

    Returns, of lengths [n], each text's row [n] and the place in it at which the text begins [n].
    """
    rows, starts, taken = [0] * len(lengths), [0] * len(lengths), list[int]()
    for text in sorted(range(len(lengths)), key=lambda each: -lengths[each]):
        room = max(lengths) - lengths[text]
        row = next((row for row, used in enumerate(taken) if used <= room), len(taken))
        if row == len(taken):
            taken.append(0)
        rows[text], starts[text] = row, taken[row]
        taken[row] += lengths[text]
    return rows, starts


def _first_position(model: nn.Module) -> int:
    """Return the row of a text's first token in the table of positions."""
    padding: int | None = model.embeddings.position_embeddings.padding_idx  # type: ignore[union-attr, assignment]
    return 0 if padding is None else padding + 1


def positions(model: nn.Module) -> int:
    """Return the largest number of tokens of a text that a model takes."""
    table: nn.Embedding = model.embeddings.position_embeddings  # type: ignore[union-attr, assignment]
    return table.num_embeddings - _first_position(model)


def tensors(texts: Tokens, device: str = "cpu") -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, lengths and beginnings of second texts, as `features` takes them."""
    tokens, lengths, seconds = (
        torch.from_numpy(values).to(device, torch.int64)
        for values in (texts.tokens, texts.lengths, texts.seconds)
    )
    return tokens, lengths, seconds


def batches(texts: Tokens, size: int) -> Iterator[Tokens]:
    """Yield texts in their order, each batch with no more padding than it needs."""
    for start in range(0, len(texts.labels), size):
        chosen = torch.arange(start, min(start + size, len(texts.labels))).numpy()
        yield texts.take(chosen)


def frozen_features(model: nn.Module, texts: Tokens, size: int = 32) -> Tensor:
    """Return features [n, h] of all texts, with dropout off and without gradients.

    They are on the model's device, and the model's mode is then as it was. Texts of like lengths
    share a batch of `size` texts, so that little is padded.
    """
    device = str(next(model.parameters()).device)
    was_training = model.training
    order = np.argsort(texts.lengths, kind="stable")
    model.eval()
    try:
        with torch.no_grad():
            found = [
                features(model, *tensors(part, device)) for part in batches(texts.take(order), size)
            ]
    finally:
        model.train(was_training)
    return torch.cat(found)[torch.from_numpy(np.argsort(order)).to(device)]
