"""Any network by its settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from transformer_dynamics.gradient_heterogeneity import images, text_net, tiny
from transformer_dynamics.gradient_heterogeneity.net_settings import (
    ImageNet,
    NetChoice,
    TextNet,
)
from transformer_dynamics.gradient_heterogeneity.nets import Net


def build(
    choice: NetChoice, seed: int, data: Sequence[Mapping[str, NDArray[Any]]], device: str = "cpu"
) -> Net:
    """The network of a seed.

    Args:
        choice: which network on which samples.
        seed: of head and samples, and of the weights where they are random.
        data: what `choice.reads` names, in this order.
        device: where its parameters are.

    Raises:
        InputError: if data do not fit, or there are too few samples.
    """
    if isinstance(choice, TextNet):
        return text_net.net(choice, seed, data, device)
    if isinstance(choice, ImageNet):
        return images.net(choice, seed, data, device)
    return tiny.net(choice, seed, data, device)
