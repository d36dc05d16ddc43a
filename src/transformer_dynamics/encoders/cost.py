"""Cost of training an encoder."""

from transformer_dynamics.encoders.settings import EncoderName

LAYERS: dict[EncoderName, tuple[int, int]] = {
    "minilm": (6, 384),
    "mpnet": (12, 768),
    "roberta": (12, 768),
}
"""Number of layers and width h; a layer has 12 h^2 weights, all of which every token passes."""


def training_operations(encoder: EncoderName, tokens: float) -> float:
    """Return the number of floating-point operations of training an encoder.

    Operations of softmax and of products of keys do not count.

    Args:
        encoder: which one.
        tokens: of all batches together, with padding.
    """
    layers, width = LAYERS[encoder]
    # A multiplication and an addition a weight; forward, and twice as much backward.
    return tokens * 3 * 2 * layers * 12 * width**2
