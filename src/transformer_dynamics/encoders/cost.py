"""Sizes of encoders and of published sets, and the memory and operations that follow from them."""

from typing import NamedTuple

from transformer_dynamics.encoders.settings import EncoderName, TextName

FLOAT = 4
"""Bytes of a number in float32."""


class EncoderSize(NamedTuple):
    """Sizes of an encoder's network."""

    layers: int
    width: int
    """Width h of the hidden states; a layer has 12 h^2 weights, all of which every token passes."""
    heads: int
    """Number of heads of attention."""
    words: int
    """Number of tokens that have an embedding."""

    @property
    def bytes(self) -> int:
        """Bytes of all parameters in float32, about."""
        return FLOAT * (self.layers * 12 * self.width**2 + (self.words + 600) * self.width)


SIZES: dict[EncoderName, EncoderSize] = {
    "minilm": EncoderSize(6, 384, 12, 30522),
    "mpnet": EncoderSize(12, 768, 12, 30527),
    "roberta": EncoderSize(12, 768, 12, 50265),
}
"""Sizes of each encoder."""


class SetSize(NamedTuple):
    """Numbers of a published set, about: the readers of texts give the exact ones."""

    train: int
    """Number of published training samples."""
    test: int
    classes: int
    """Number of classes C."""


SETS: dict[TextName, SetSize] = {
    "cb": SetSize(250, 56, 3),
    "rte": SetSize(2490, 277, 2),
    "cola": SetSize(8551, 1043, 2),
    "sst2": SetSize(67349, 872, 2),
    "mrpc": SetSize(3668, 408, 2),
    "trec6": SetSize(5452, 500, 6),
    "cr": SetSize(2775, 1000, 2),
    "sst2_sentences": SetSize(6920, 1821, 2),
    "sst5": SetSize(8544, 2210, 5),
    "subj": SetSize(8000, 2000, 2),
    "banking77": SetSize(10003, 3080, 77),
    "clinc150": SetSize(15000, 4500, 150),
    "boolq": SetSize(9427, 3270, 2),
    "wic": SetSize(5428, 638, 2),
    "wsc": SetSize(554, 104, 2),
    "amazon": SetSize(30000, 38905, 3),
    "dynasent": SetSize(93553, 4320, 3),
    "semeval": SetSize(6000, 20622, 3),
    "boss_sst5": SetSize(4004, 1067, 3),
    "pubmed": SetSize(180040, 30135, 5),
}
"""Size of each set."""


def feature_operations(encoder: EncoderName, tokens: float) -> float:
    """Return the floating-point operations of an encoder's features, of all tokens with padding.

    Softmax and products of keys do not count.
    """
    size = SIZES[encoder]
    # A multiplication and an addition a weight.
    return tokens * 2 * size.layers * 12 * size.width**2


def training_operations(encoder: EncoderName, tokens: float) -> float:
    """Return the floating-point operations of training on the tokens of all batches, padded."""
    # Forward, and twice as much backward.
    return 3 * feature_operations(encoder, tokens)
