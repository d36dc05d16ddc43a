"""Transformers from random weights: their words, and that pairs differ in nothing but placement."""

import numpy as np
import pytest
import torch
from configured import DEVIATION, MASKING, tiny_net
from small_networks import TEXT, shape

from replication.base.errors import InputError
from transformer_dynamics.encoders.artificial import write_texts
from transformer_dynamics.encoders.settings import TextChoice
from transformer_dynamics.encoders.texts import Texts
from transformer_dynamics.gradient_heterogeneity.data import vocabulary
from transformer_dynamics.gradient_heterogeneity.settings.data import VocabularyJob
from transformer_dynamics.gradient_heterogeneity.settings.networks import Masking
from transformer_dynamics.gradient_heterogeneity.training import small_transformers
from transformer_dynamics.gradient_heterogeneity.training.build import build_network

pytestmark = pytest.mark.numerical

LINES = TEXT.split("\n")
CHOICE = TextChoice(name="trec6", train=30, validation=6)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    corpus = folder / "train.txt"
    corpus.write_text(TEXT * 5 + "a b c d e f g h i j k l\n" * 4)
    labelled = TextChoice(name="trec6", folder=write_texts(folder / "trec6", "trec6")).sources
    job = VocabularyJob(texts="trec6", words=30, length=6)
    return vocabulary.sample(job, [], [corpus, *map(type(corpus), labelled)])


def net(data, placement, **changes):
    return build_network(tiny_net(shape(placement, **changes), CHOICE), 1, [data])


def masked_network(data, placement="post"):
    return small_transformers.masked_network(tiny_net(shape(placement), CHOICE), MASKING, 1, data)


def test_words_are_counted_and_numbered():
    known = vocabulary.list_words(LINES, 8)
    assert known == ["[PAD]", "<unk>", "[CLS]", "[MASK]", "the", "cat", "dog", "ran"]
    numbers = {word: number for number, word in enumerate(known)}
    stream = vocabulary.number_running_text(LINES, numbers)
    # No heading; capitals are small; what is not listed is unknown.
    assert stream.tolist()[:10] == [4, 5, 1, 1, 4, 1, 1, 4, 5, 1]
    assert len(stream) == 27
    texts = Texts(["The dog ran off", "cat"], None, np.array([1, 0]), ("x", "y"))
    found = vocabulary.tokenise_texts(texts, numbers, 4)
    assert found.tokens.tolist() == [[2, 4, 6, 7], [2, 5, 0, 0]]
    assert found.lengths.tolist() == [4, 2]
    with pytest.raises(InputError, match="pairs"):
        vocabulary.tokenise_texts(texts._replace(second=["a", "b"]), numbers, 4)


def test_masked_words_can_be_put_back():
    stream = np.arange(10, 10 + 47, dtype=np.int32)
    found = vocabulary.mask_words(stream, 12, 60, MASKING, 3)
    assert found.tokens.shape == (4, 12)
    assert found.places.shape == found.labels.shape == (4, 2)
    assert (np.take_along_axis(found.tokens, found.places, axis=1) == vocabulary.MASK).all()
    assert (found.tokens == vocabulary.MASK).sum() == 8
    assert (found.tokens[:, 0] == vocabulary.BEGIN).all()
    np.put_along_axis(found.tokens, found.places, found.labels.astype(np.int32), axis=1)
    assert found.tokens[:, 1:].ravel().tolist() == stream[:44].tolist()
    assert not np.array_equal(
        vocabulary.mask_words(stream, 12, 60, MASKING, 4).places, found.places
    )
    # All places are masked about as often.
    many = vocabulary.mask_words(np.zeros(11 * 4000, np.int32), 12, 60, MASKING, 0)
    counts = np.bincount(many.places.ravel(), minlength=12)
    assert counts[0] == 0
    assert np.abs(counts[1:] / 8000 - 1 / 11).max() < 0.02
    with pytest.raises(InputError, match="fewer than"):
        vocabulary.mask_words(stream[:5], 12, 60, MASKING, 3)


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_as_many_words_are_to_be_told_as_are_asked_for(share):
    stream = np.arange(10, 10 + 40, dtype=np.int32)
    found = vocabulary.mask_words(stream, 21, 60, MASKING.model_copy(update={"share": share}), 3)
    assert found.places.shape == (2, share * 20)


def test_what_stands_in_the_places_of_words():
    """BERT's shares; places and labels are those of the mask alone."""
    stream = np.full(11 * 4000, 7, dtype=np.int32)
    bert = Masking(share=MASKING.share, mask=0.8, random=0.1)
    alone, found = (vocabulary.mask_words(stream, 12, 60, way, 3) for way in (MASKING, bert))
    assert np.array_equal(found.places, alone.places)
    assert (found.labels == 7).all()
    shown = np.take_along_axis(found.tokens, found.places, axis=1)
    shares = [np.mean(shown == vocabulary.MASK), np.mean(shown == 7)]
    assert shares == pytest.approx([0.8, 0.1], abs=0.02)
    others = shown[(shown != vocabulary.MASK) & (shown != 7)]
    assert others.min() >= len(vocabulary.SPECIAL)
    assert others.max() < 60


def test_a_pair_differs_in_the_placement_alone(data):
    for made in (
        lambda which: net(data, which),
        lambda which: masked_network(data, which),
    ):
        post, pre = made("post"), made("pre")
        assert list(post.start) == list(pre.start)
        assert all(torch.equal(post.start[name], pre.start[name]) for name in post.start)
        for one, other in zip(post.train, pre.train, strict=True):
            assert np.array_equal(one, other)
        different = {name for name in post.blocks if post.blocks[name] != pre.blocks[name]}
        # The one normalisation outside of layers comes first, or last.
        assert different == {"edge_gain", "edge_shift"}
        batch = post.train.take(np.arange(4))
        logits = [each.logits(each.start, batch) for each in (post, pre)]
        assert logits[0].shape == logits[1].shape
        assert not torch.allclose(*logits)
    # Without layers there is nothing but the placement, and it makes no difference.
    post, pre = (
        small_transformers.stack_forward(small_transformers.Stack(which, 0, 2))
        for which in ("post", "pre")
    )
    parameters = net(data, "post").start
    tokens = net(data, "post").train.take(np.arange(4))
    assert torch.equal(post(parameters, tokens, False), pre(parameters, tokens, False))


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_padding_changes_nothing(data, placement):
    found = net(data, placement)
    texts = found.train.take(np.argsort(found.train.lengths)[:8])
    logits = found.logits(found.start, texts)
    longer = np.full((8, 6), 7, np.int32)
    for row, tokens, length in zip(longer, texts.tokens, texts.lengths, strict=True):
        row[:length] = tokens[:length]
    other = found.logits(found.start, texts._replace(tokens=longer))
    assert torch.allclose(other, logits, rtol=1e-5, atol=1e-6)
    alone = [found.logits(found.start, texts.take(np.array([i]))) for i in range(8)]
    assert torch.allclose(torch.cat(alone), logits, rtol=1e-5, atol=1e-6)


def test_masked_words_are_told_at_their_places(data):
    found = masked_network(data, "pre")
    batch = found.train.take(np.arange(3))
    assert found.start["head"].shape == (len(data["words"]), 8)
    with torch.no_grad():
        whole = small_transformers.placement.logits(
            small_transformers.theory_stack(shape("pre")),
            found.start,
            torch.from_numpy(batch.tokens).long(),
        )
    places, labels = torch.from_numpy(batch.places), torch.from_numpy(batch.labels)
    expected = torch.stack([whole[i, places[i]] for i in range(3)])
    assert torch.allclose(found.logits(found.start, batch), expected, atol=1e-6)
    loss = torch.nn.functional.cross_entropy(expected.flatten(0, 1), labels.flatten())
    assert float(found.loss(found.start, batch)) == pytest.approx(float(loss), rel=1e-5)


def test_heads_have_the_deviation_that_is_asked_for(data):
    wide = build_network(tiny_net(shape(), CHOICE, head_deviation=3 * DEVIATION), 1, [data])
    expected = 3 * net(data, "post").start["head"]
    assert torch.allclose(wide.start["head"], expected, rtol=1e-6)


def test_what_was_trained_gets_a_new_head(data):
    trained = {name: tensor + 1 for name, tensor in masked_network(data).start.items()}
    choice = tiny_net(shape(), CHOICE)
    found = small_transformers.text_network(choice, 2, data, trained)
    other = small_transformers.text_network(choice, 3, data, trained)
    assert found.start["head"].shape == (6, 8)
    assert not found.start["head_bias"].any()
    assert not torch.equal(found.start["head"], other.start["head"])
    kept = found.start.keys() - {"head", "head_bias"}
    assert all(torch.equal(found.start[name], trained[name]) for name in kept)
    assert [len(part.labels) for part in (found.train, found.validation)] == [30, 6]


def test_a_missing_corpus_is_named(tmp_path):
    job = VocabularyJob(texts="trec6", words=30, length=6)
    with pytest.raises(InputError, match="results/datasets/wikitext2"):
        vocabulary.sample(job, [], [tmp_path / "train.txt"])


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"one\n\xff\xfe", "line 2: is not in utf-8"), (b" = Title = \n", "has no running text")],
)
def test_what_is_no_running_text_is_named(tmp_path, content, said):
    path = tmp_path / "train.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"{path.name}.*{said}"):
        vocabulary.sample(VocabularyJob(texts="trec6", words=30, length=6), [], [path])
