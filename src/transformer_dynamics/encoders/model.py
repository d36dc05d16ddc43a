"""A pretrained encoder as a module, and its features phi(x): the last hidden state at position 0.

There is no pooler. Attention is computed literally ("eager"), so that it has second derivatives and
Jacobian-vector products.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from replication.errors import InputError
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.tokens import Tokens

KINDS = ("bert", "mpnet", "roberta")
"""Types of encoders that are known to have what is used here."""


def build(pretrained: Pretrained, dropout: float | None = None) -> nn.Module:
    """The encoder with its published parameters, in eval mode, in float32.

    Args:
        pretrained: its files.
        dropout: probability of both its dropouts; as published if left out. It acts in training
            mode only.

    Raises:
        InputError: if a package is missing, the type is unknown or the parameters do not fit.
    """
    try:
        from safetensors.torch import load
        from transformers import AutoConfig, AutoModel
    except ImportError as error:
        raise InputError(
            f"the package {error.name} is needed; install what encoders need with `make encoders`"
        ) from error
    given = dict(pretrained.config)
    if dropout is not None:
        given |= {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    kind = given.pop("model_type", None)
    if kind not in KINDS:
        raise InputError(f"the encoder is of type {kind!r}, but {', '.join(KINDS)} are known")
    config = AutoConfig.for_model(kind, **given)
    model = AutoModel.from_config(config, attn_implementation="eager", add_pooling_layer=False)
    wanted = {name for name, _ in model.named_parameters()}
    found = {
        name.removeprefix(f"{kind}."): value for name, value in load(pretrained.weights).items()
    }
    if not wanted <= set(found):
        raise InputError(f"model.safetensors lacks {min(wanted - set(found))}; fetch it again")
    # Left out are the pooler, an output layer, and tables of positions, which are no parameters.
    fitting = {name: value.to(torch.float32) for name, value in found.items() if name in wanted}
    try:
        model.load_state_dict(fitting, strict=False)
    except RuntimeError as error:
        raise InputError(f"config.json and model.safetensors do not fit: {error}") from error
    module: nn.Module = model.eval()
    return module


def features(model: nn.Module, tokens: Tensor, lengths: Tensor, seconds: Tensor) -> Tensor:
    """phi(x): the last hidden state at position 0, differentiable and with the model's dropout.

    Args:
        model: as `build` gives it.
        tokens: [n, T] numbers of tokens.
        lengths: [n] how many are no padding.
        seconds: [n] where the second text of a pair begins.

    Returns:
        [n, h].
    """
    return _run(model, {}, tokens, lengths, seconds)


def feature_map(
    model: nn.Module, lengths: Tensor, seconds: Tensor
) -> Callable[[Mapping[str, Tensor], Tensor], Tensor]:
    """Features as a function of parameters by name and tokens [n, T], to differentiate it.

    Args:
        model: as `build` gives it; parameters that are not given are its own.
        lengths: [n] how many tokens are no padding.
        seconds: [n] where the second text of a pair begins.
    """
    return lambda body, tokens: _run(model, body, tokens, lengths, seconds)


def _run(
    model: nn.Module, body: Mapping[str, Tensor], tokens: Tensor, lengths: Tensor, seconds: Tensor
) -> Tensor:
    place = torch.arange(tokens.shape[1], device=tokens.device)
    given = {"input_ids": tokens, "attention_mask": (place < lengths[:, None]).long()}
    if getattr(model.config, "type_vocab_size", 1) > 1:
        given["token_type_ids"] = ((place >= seconds[:, None]) & (place < lengths[:, None])).long()
    output = torch.func.functional_call(model, dict(body), (), given)
    state: Tensor = output.last_hidden_state
    return state[:, 0]


def tensors(texts: Tokens, device: str = "cpu") -> tuple[Tensor, Tensor, Tensor]:
    """Tokens, lengths and beginnings of second texts, as `features` takes them."""
    tokens, lengths, seconds = (
        torch.from_numpy(values).to(device, torch.int64)
        for values in (texts.tokens, texts.lengths, texts.seconds)
    )
    return tokens, lengths, seconds


def batches(texts: Tokens, size: int) -> Iterator[Tokens]:
    """Texts in their order, each batch with no more padding than it needs."""
    for start in range(0, len(texts.labels), size):
        chosen = torch.arange(start, min(start + size, len(texts.labels))).numpy()
        yield texts.take(chosen)


def frozen_features(model: nn.Module, texts: Tokens, size: int = 32) -> Tensor:
    """Features of all texts with dropout off and without gradients; the mode is then as it was.

    Texts of like lengths share a batch, so that little is padded.

    Args:
        model: as `build` gives it.
        texts: [n] tokenised texts.
        size: texts in a batch.

    Returns:
        [n, h], on the model's device.
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
