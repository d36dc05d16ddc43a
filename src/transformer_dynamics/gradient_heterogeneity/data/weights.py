"""Weights that are loaded into a module: each tensor has its name and its shape, or is refused."""

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from replication.base.errors import InputError


def load_weights(module: nn.Module, given: Mapping[str, NDArray[Any]], kept: str = "") -> None:
    """Load all tensors of a module, except those whose names end with `kept`, if that is given.

    Raises an `InputError` if a tensor is missing, unknown, or has another shape.
    """
    wanted: dict[str, Tensor] = {
        name: value
        for name, value in module.state_dict().items()
        if not (kept and name.endswith(kept))
    }
    if other := sorted({*wanted} ^ {*given}):
        said = "missing" if other[0] in wanted else "no tensor of the network"
        raise InputError(f"{other[0]} is {said}")
    for name, value in given.items():
        if value.shape != tuple(wanted[name].shape):
            sizes = [" x ".join(map(str, shape)) for shape in (value.shape, wanted[name].shape)]
            raise InputError(f"{name} has the shape {sizes[0] or 1}, not {sizes[1] or 1}")
    tensors = {name: torch.from_numpy(value.copy()) for name, value in given.items()}
    module.load_state_dict(tensors, strict=False)
