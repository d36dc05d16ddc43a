"""Runs of all methods against literal training, and what they share."""

from itertools import chain, repeat

import numpy as np
import pytest
import torch
from small_runs import ADAPTERS, METHODS, PROBE, data_of, job, made, trained, tuning

from replication.base.errors import InputError
from transformer_dynamics.encoders.head import Head, drawn_head
from transformer_dynamics.encoders.model import build, frozen_features, tensors
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.probe import probe
from transformer_dynamics.encoders.used_tokens import keep_words, renumbered, words_of
from transformer_dynamics.lp_ft.data.samples import draw_samples
from transformer_dynamics.lp_ft.settings.runs import Schedule
from transformer_dynamics.lp_ft.settings.samples import drawing_seed
from transformer_dynamics.lp_ft.training import loop
from transformer_dynamics.lp_ft.training.classifier import AdaptedLinear, Classifier, add_adapters
from transformer_dynamics.lp_ft.training.starts import probe_head, starting_head

pytestmark = pytest.mark.numerical


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("small")


@pytest.fixture(scope="module")
def all_methods(folder):
    return {method: trained(folder, job(method)) for method in METHODS}


def pretrained(folder, dropout=0.1):
    found = Pretrained.of(made(folder)["encoder"])
    changed = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout}
    return found._replace(config=found.config | changed)


def classifier(folder, chosen, seed=1, dropout=0.1):
    found = draw_samples(chosen.texts, chosen.others, seed, data_of(folder, chosen, seed)[:-1])
    body = build(pretrained(folder, dropout))
    if chosen.has_adapters:
        add_adapters(body, chosen.tuning.adapters, seed)
    return Classifier(body, drawn_head(found.classes, 8, seed)), found


def test_all_methods_share_samples_head_batches_and_dropout(all_methods):
    for found in all_methods.values():
        for name in ("random_weight", "train_places", "validation_places"):
            assert found[name].tobytes() == all_methods["lp"][name].tobytes()
    # With B = 0 adapters change nothing, so that the first loss is one of head, batch and dropout.
    for one, other in (("ft", "lora"), ("lp_ft", "lp_lora")):
        assert all_methods[one]["losses"][0, 0] == pytest.approx(
            all_methods[other]["losses"][0, 0], rel=1e-6
        )
    assert all_methods["ft"]["losses"][0, 0] != all_methods["lp_ft"]["losses"][0, 0]


def test_another_seed_has_other_samples_and_another_head(folder, all_methods):
    other = trained(folder, job("ft"), seed=2)
    for name in ("random_weight", "train_places"):
        assert (other[name] != all_methods["ft"][name]).any()


def test_batches_are_an_order_of_the_samples_anew_in_every_epoch():
    schedule = Schedule(epochs=2, batch_size=8)
    epochs = [[loop.batch_places(schedule, 1, 3 * e + s, 20) for s in range(3)] for e in (0, 1)]
    for epoch in epochs:
        assert [len(batch) for batch in epoch] == [8, 8, 4]
        assert sorted(np.concatenate(epoch)) == list(range(20))
    assert (np.concatenate(epochs[0]) != np.concatenate(epochs[1])).any()


def test_probing_starts_fine_tuning(folder, all_methods):
    found = draw_samples(job("lp").texts, [], 1, data_of(folder, job("lp")))
    lp, train, validation = all_methods["lp"], found.train, found.validation
    scores = []
    for strength in PROBE.strengths:
        best = probe(train.features, train.labels, 6, strength, PROBE.tolerance)
        right = best.logits(validation.features).argmax(1) == validation.labels
        scores.append((right.mean(), -strength, best))
    best = max(scores, key=lambda each: each[:2])[2]
    assert lp["weight"][0] == pytest.approx(best.weight, abs=1e-6)
    assert lp["strength"][0] == best.strength
    assert 0 < lp["gradient"][0] <= 1e-6
    for method in ("lp_ft", "lp_lora"):
        for part in ("weight", "bias"):
            assert all_methods[method][f"start_{part}"].tobytes() == lp[part].tobytes()
    for method in ("ft", "lora", "lp"):
        start = all_methods[method]["start_weight"]
        assert start.tobytes() == all_methods["lp"]["random_weight"].tobytes()


@pytest.mark.parametrize("whole", [False, True])
def test_features_are_those_of_the_drawn_samples(folder, whole):
    chosen = job("lp", "cr")
    if whole:
        texts = chosen.texts.model_copy(update={"train": None, "validation": None, "kept": 0.75})
        chosen = chosen.model_copy(update={"texts": texts})
    model = build(pretrained(folder))
    for seed in (1, 2):
        data = data_of(folder, chosen, seed)
        found = draw_samples(chosen.texts, [], seed, data)
        for part in (found.train, found.validation, found.tests["test"]):
            expected = frozen_features(model, part.tokens).numpy()
            assert part.features == pytest.approx(expected, abs=1e-5)
        assert (drawing_seed(chosen.texts, seed) == 0) == whole
    first, second = (draw_samples(chosen.texts, [], 1, data_of(folder, chosen, s)) for s in (1, 2))
    assert (first.train.features == second.train.features).all() == whole


def test_probing_leaves_features_as_they_are(folder, all_methods):
    lp, (_, features) = all_methods["lp"], made(folder)["trec6"]
    assert lp["test_features"].tobytes() == features["test_features"][None].tobytes()
    expected = features["test_features"] @ lp["weight"][0].T + lp["bias"][0]
    assert lp["test_logits"][0] == pytest.approx(expected, abs=1e-5)
    for method in METHODS[1:]:
        found = all_methods[method]
        assert np.abs(found["test_features"] - lp["test_features"]).max() > 1e-3
        logits = found["test_features"][0] @ found["weight"][0].T + found["bias"][0]
        assert found["test_logits"][0] == pytest.approx(logits, abs=1e-5)
        assert len(found["norms"][0]) == len(found["losses"][0]) + 1 == 7
        assert found["norms"][0, -1] > 0


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("kind", ["adamw", "sgd"])
@pytest.mark.parametrize("method", ["ft", "lora"])
def test_steps_are_those_of_pytorch_on_the_whole_model(folder, method, kind, clip):
    """All words, gradients clipped by hand, rates by hand; without dropout."""
    optimiser = {"kind": kind, "clip": clip, "rate": 1e-2}
    chosen = job(method, optimiser=optimiser, schedule={"epochs": None, "steps": 5})
    model, found = classifier(folder, chosen, dropout=0.0)
    literal, _ = classifier(folder, chosen, dropout=0.0)
    parts = found.train.tokens, found.validation.tokens
    if method == "ft":
        words = words_of([*parts], 0)
        keep_words(model.encoder, words)
        parts = tuple(renumbered(part, words) for part in parts)
    state = loop.initial_state(model, chosen.tuning.optimiser, chosen.tuning.updates)
    for _ in loop.train_steps(chosen.tuning, 1, *parts, state):
        pass
    trained = [p for p in literal.parameters() if p.requires_grad]
    kinds = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}
    steps = kinds[kind](trained, lr=1.0, weight_decay=0.0, foreach=False)
    for step in range(5):
        batch = found.train.tokens.take(loop.batch_places(chosen.tuning.schedule, 1, step, 20))
        logs = torch.log_softmax(literal(*tensors(batch)), dim=1)
        loss = -logs[torch.arange(len(batch.labels)), torch.from_numpy(batch.labels)].mean()
        steps.zero_grad()
        loss.backward()
        length = torch.sqrt(sum((p.grad**2).sum() for p in trained))
        if clip is not None and length > clip:
            for p in trained:
                p.grad *= clip / length
        steps.param_groups[0]["lr"] = 1e-2 * (5 - step) / 5
        steps.step()
        assert state.losses[step] == pytest.approx(loss.item(), rel=1e-4)
    for name, value in literal.trained_parameters.items():
        own = model.trained_parameters[name]
        expected = value[torch.from_numpy(words)] if own.shape != value.shape else value
        # Where a gradient is rounding, Adam's step is of either sign, as large as the rate.
        close = torch.isclose(own, expected, rtol=1e-3, atol=1e-4)
        assert close.double().mean() > (0.97 if kind == "adamw" else 0.999), name
    assert state.norms[-1] == pytest.approx(literal.head.norm, rel=1e-4)


def test_adapters_are_low_rank_matrices_beside_frozen_ones(folder):
    chosen = job("lora")
    model, found = classifier(folder, chosen)
    names = [name for name, part in model.named_modules() if isinstance(part, AdaptedLinear)]
    assert len(names) == 4
    assert all(name.endswith((".query", ".value")) for name in names)
    adapted = {f"encoder.{n.removeprefix('encoder.')}.{m}" for n in names for m in "ab"}
    assert {*model.trained_parameters} == {"weight", "bias"} | adapted
    dense = build(pretrained(folder))
    with torch.no_grad():
        for name in names:
            part = model.get_submodule(name)
            assert part.a.shape == (ADAPTERS.rank, 8)
            assert part.a.abs().max() <= 8**-0.5
            assert not part.b.any()
            part.b.copy_(torch.randn(part.b.shape, generator=torch.Generator().manual_seed(0)))
            linear = dense.get_submodule(name.removeprefix("encoder."))
            linear.weight += ADAPTERS.alpha / ADAPTERS.rank * part.b @ part.a
    tokens = found.tests["test"].tokens
    both = [frozen_features(each, tokens) for each in (model.encoder, dense)]
    assert torch.allclose(*both, atol=1e-5)
    assert not torch.allclose(both[0], torch.from_numpy(found.tests["test"].features), atol=1e-2)


def test_frozen_parameters_stay(folder):
    chosen = job("lora")
    model, found = classifier(folder, chosen)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = loop.initial_state(model, chosen.tuning.optimiser, chosen.tuning.updates)
    for _ in loop.train_steps(chosen.tuning, 1, found.train.tokens, found.validation.tokens, state):
        pass
    changed = {n for n, value in model.state_dict().items() if not torch.equal(value, before[n])}
    assert changed == {*model.trained_parameters}


@pytest.mark.parametrize("kept", ["best", "last"])
def test_the_first_of_the_best_epochs_is_kept(folder, kept):
    chosen = job("ft", schedule={"epochs": 5, "kept": kept})
    model, found = classifier(folder, chosen)
    state = loop.initial_state(model, chosen.tuning.optimiser, chosen.tuning.updates)
    ends = []
    for _ in loop.train_steps(chosen.tuning, 1, found.train.tokens, found.validation.tokens, state):
        if state.step in state.evaluated:
            ends.append({n: v.detach().clone() for n, v in model.trained_parameters.items()})
    assert state.evaluated == [3, 6, 9, 12, 15]
    _, logits = loop.model_outputs(model, found.validation.tokens)
    assert state.scores[-1] == np.mean(logits.argmax(1) == found.validation.labels)
    expected = 4 if kept == "last" else state.scores.index(max(state.scores))
    assert loop.restore_kept_epoch(state, chosen.tuning.schedule) == expected
    assert all(torch.equal(v, ends[expected][n]) for n, v in model.trained_parameters.items())


class Interrupted(Exception):
    pass


class Kept:
    """Keeps the state after some steps, and interrupts the run once."""

    def __init__(self, after):
        self.after, self.arrays, self.asked = after, None, 0

    def read(self):
        return self.arrays

    def is_due(self):
        self.asked += 1
        return self.asked == self.after and self.arrays is None

    def write(self, arrays):
        self.arrays = {name: np.array(values) for name, values in arrays.items()}
        raise Interrupted


@pytest.mark.parametrize("after", [1, 3, 4])
@pytest.mark.parametrize(
    ("method", "kind", "momentum"),
    [("lp_ft", "adamw", 0), ("lora", "adamw", 0), ("ft", "sgd", 0), ("ft", "sgd", 0.9)],
)
def test_an_interrupted_run_goes_on_to_the_same_bytes(folder, method, kind, momentum, after):
    chosen = job(method, optimiser={"kind": kind}, updates={"momentum": momentum})
    checkpoint = Kept(after)
    with pytest.raises(Interrupted):
        trained(folder, chosen, checkpoint=checkpoint)
    assert len(checkpoint.arrays["losses"]) == after
    again, whole = trained(folder, chosen, checkpoint=checkpoint), trained(folder, chosen)
    assert {*again} == {*whole}
    for name, values in whole.items():
        assert again[name].tobytes() == values.tobytes(), name


@pytest.mark.parametrize("direction", ["random", "probe"])
@pytest.mark.parametrize("norm", ["own", "random", "probe"])
def test_heads_are_scaled_as_a_whole(direction, norm):
    drawn = drawn_head(3, 8, 1)
    probed = Head(torch.arange(24.0).reshape(3, 8), torch.tensor([1.0, 2.0, -3.0]))
    heads = {"random": drawn, "probe": probed}
    found = starting_head(drawn, probed, direction, norm, 10.0)
    own = heads[direction]
    assert found.norm == pytest.approx(10 * heads[direction if norm == "own" else norm].norm)
    x = torch.randn(5, 8, generator=torch.Generator().manual_seed(1))
    ratio = found.norm / own.norm
    assert torch.allclose(found.logits(x), ratio * own.logits(x), rtol=1e-4, atol=1e-4)


def test_the_length_of_a_head_is_set_without_its_direction(folder, all_methods):
    random, lp = (all_methods[name] for name in ("ft", "lp"))
    found = trained(folder, job("ft", norm="probe", factor=2.0))
    start, own = found["start_weight"][0], random["start_weight"][0]
    assert np.linalg.norm(start) == pytest.approx(2 * np.linalg.norm(lp["weight"]), rel=1e-5)
    assert start / np.linalg.norm(start) == pytest.approx(own / np.linalg.norm(own), abs=1e-6)
    assert found["strength"] == lp["strength"]


def test_sets_out_of_distribution_are_looked_at(folder):
    found = trained(folder, job("lp", "cr", ["sst2_sentences"]))
    tokens, features = made(folder)["sst2_sentences"]
    assert found["sst2_sentences_logits"].shape == (1, len(tokens["test_labels"]), 2)
    assert (found["sst2_sentences_features"][0] == features["test_features"]).all()


def test_a_training_text_out_of_distribution_is_refused(folder):
    chosen = job("lp", "cr", ["sst2_sentences"])
    tokens, features, foreign, far, drawn = data_of(folder, chosen)
    seen = draw_samples(
        chosen.texts, chosen.others, 1, [tokens, features, foreign, far, drawn]
    ).train.places
    shared = np.where(np.arange(12) == 5, tokens["train_digests"][seen[0]], 0)
    spoilt = foreign | {"test_digests": shared}
    with pytest.raises(InputError, match="cr and sst2_sentences: 1 texts"):
        draw_samples(chosen.texts, chosen.others, 1, [tokens, features, spoilt, far, drawn])


def test_another_set_has_the_same_classes(folder):
    chosen = job("lp", "cr", ["trec6"])
    with pytest.raises(InputError, match=r"trec6: has the classes .* take it out of `others`"):
        draw_samples(chosen.texts, chosen.others, 1, data_of(folder, chosen))


def test_an_epoch_that_is_not_finite_is_not_kept(folder, monkeypatch):
    known, factors = loop.model_outputs, chain([np.nan], repeat(1.0))
    monkeypatch.setattr(
        loop, "model_outputs", lambda *given: (known(*given)[0], next(factors) * known(*given)[1])
    )
    found = trained(folder, job("ft"))
    assert found["scores"][0][0] == loop.DIVERGED
    assert found["chosen"] == [1]


def test_the_probe_as_a_head():
    random = np.random.default_rng(0)
    labels = np.arange(30) % 3
    best = probe(random.normal(size=(30, 8)), labels, 3, 1.0, PROBE.tolerance)
    assert probe_head(best).norm == pytest.approx(np.linalg.norm(best.weight), rel=1e-6)
    assert tuning().schedule.total(20) == 6
