"""The head that fine-tuning starts from: a direction, and a length."""

import torch

from transformer_dynamics.encoders.head import Head
from transformer_dynamics.encoders.probe import Probe
from transformer_dynamics.lp_ft.run_settings import Direction, Norm


def probed_head(found: Probe) -> Head:
    """A probe as a head in float32."""
    return Head(torch.from_numpy(found.weight).float(), torch.from_numpy(found.bias).float())


def started(
    drawn: Head, probed: Head | None, direction: Direction, norm: Norm, factor: float
) -> Head:
    """One of two heads, scaled as a whole, so that its logits are multiplied and no class changes.

    Args:
        drawn: the random head.
        probed: the probe; it may be missing if neither direction nor norm is its.
        direction: whose V/||V|| and b/||V|| there are.
        norm: whose ||V|| there is; its own is that of the head that gives the direction.
        factor: by which V and b are multiplied in the end.

    Returns:
        The head, in float32.

    Raises:
        KeyError: if the probe is missing but needed.
    """
    heads = {"random": drawn} | ({} if probed is None else {"probe": probed})
    head = heads[direction]
    length = heads[direction if norm == "own" else norm].norm
    scale = factor * length / head.norm
    return head if scale == 1 else head.scaled(scale)
