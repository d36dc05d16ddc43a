"""Features of texts that share rows, against those of each text by itself."""

import numpy as np
import pytest
import torch
from made_up import encoder, tokenizer_document

from transformer_dynamics.encoders import model as models
from transformer_dynamics.encoders.packing import NOBODY, features, packed, rows_of
from transformer_dynamics.encoders.texts import Texts
from transformer_dynamics.encoders.tokens import tokenise, tokenizer

FIRST = ["a b", "c d e f g a b", "d", "e f", "g", "b a c d"]
SECOND = ["c", "a b", "e f g", "a", "b b", "d"]


def tokens_of(second):
    labels = np.zeros(len(FIRST), np.int64)
    return tokenise(tokenizer(tokenizer_document()), Texts(FIRST, second, labels, ("x",)), 16)


def test_long_texts_come_first_and_no_row_is_too_long():
    assert rows_of(np.array([3, 7, 2, 4, 1, 4])) == [[1], [3, 0], [5, 2, 4]]
    assert rows_of(np.array([5, 5])) == [[0], [1]]


@pytest.mark.parametrize("second", [None, SECOND], ids=["single", "pairs"])
def test_every_token_is_somewhere_once(second):
    texts = tokens_of(second)
    found = packed(texts)
    assert int((found.owners != NOBODY).sum()) == texts.lengths.sum()
    assert found.tokens.numel() < texts.tokens.size
    for text, length in enumerate(texts.lengths.tolist()):
        own = found.owners == text
        assert found.tokens[own].tolist() == texts.tokens[text, :length].tolist()
        assert found.places[own].tolist() == list(range(length))
        assert int(found.seconds[own].sum()) == length - texts.seconds[text]
        assert found.owners.flatten()[found.starts[text]] == text
        assert found.places.flatten()[found.starts[text]] == 0


@pytest.mark.parametrize("second", [None, SECOND], ids=["single", "pairs"])
@pytest.mark.parametrize("kind", ["bert", "roberta", "mpnet"])
def test_features_and_gradients_are_those_of_each_text_by_itself(kind, second):
    texts, module = tokens_of(second), models.build(encoder(kind)[0]).double()
    alone = torch.cat(
        [
            models.features(module, *models.tensors(texts.take(np.array([text]))))
            for text in range(len(FIRST))
        ]
    )
    together = features(module, *packed(texts))
    assert (together - alone).abs().max() < 1e-12
    weights = torch.linspace(-1, 1, alone.numel(), dtype=alone.dtype).reshape(alone.shape)
    wanted, found = (
        torch.autograd.grad((weights * phi).sum(), list(module.parameters()), allow_unused=True)
        for phi in (alone, together)
    )
    for one, other in zip(wanted, found, strict=True):
        assert (one is None) == (other is None)
        assert one is None or (one - other).abs().max() < 1e-11
