"""An encoder without words that never occur, against the whole one."""

import numpy as np
import pytest
import torch
from artificial_files import encoder

from transformer_dynamics.encoders.head import STANDARD_DEVIATION, drawn_head
from transformer_dynamics.encoders.model import build, frozen_features
from transformer_dynamics.encoders.texts import Texts
from transformer_dynamics.encoders.tokens import tokenise, tokenizer
from transformer_dynamics.encoders.used_tokens import keep_words, renumbered, words_of

pytestmark = pytest.mark.numerical
TEXTS = Texts(["g b", "e", "b b e g b"], None, np.array([0, 1, 0]), ("x", "y"))


@pytest.mark.parametrize("padding", [0, 1])
def test_without_other_words_features_are_the_same(padding):
    files, whole = encoder()
    tokens = tokenise(tokenizer(files.tokenizer), TEXTS, 12)
    words = words_of([tokens.take(np.array(part)) for part in ([0], [1, 2])], padding)
    # Padding and what is before it, the marks of a beginning and an end, then b, e, g.
    assert words.tolist() == [*range(padding + 1), 2, 3, 5, 8, 10]
    body, rows = build(files), whole.get_input_embeddings().weight.detach()[words]
    keep_words(body, words)
    table = body.get_input_embeddings()
    assert torch.equal(table.weight, rows)
    assert table.num_embeddings == len(words)
    assert torch.equal(
        frozen_features(body, renumbered(tokens, words)), frozen_features(build(files), tokens)
    )


def test_the_head_of_a_seed():
    head, again, other = (drawn_head(40, 50, seed) for seed in (1, 1, 2))
    assert torch.equal(head.weight, again.weight)
    assert not torch.equal(head.weight, other.weight)
    assert head.weight.shape == (40, 50)
    assert not head.bias.any()
    assert float(head.weight.std()) == pytest.approx(STANDARD_DEVIATION, rel=0.1)
