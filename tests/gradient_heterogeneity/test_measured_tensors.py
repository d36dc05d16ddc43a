"""Norms against autograd, curvatures against dense Hessians, and the tables made of them."""

from contextlib import suppress
from itertools import pairwise

import configured
import numpy as np
import pandas as pd
import pytest
import torch
from configured import DEVIATION, MASKING, tiny_net
from configured import text_net as text
from small_networks import TEXT, Memory, shape
from tiers import quick_first

from replication.base.errors import InputError
from replication.study.contract import Run
from transformer_dynamics.encoders.artificial import write_encoder, write_texts
from transformer_dynamics.encoders.data import encoder as encoder_data
from transformer_dynamics.encoders.data import tokens as tokens_data
from transformer_dynamics.encoders.model import build as build_encoder
from transformer_dynamics.encoders.model import features, tensors
from transformer_dynamics.encoders.pretrained import Pretrained
from transformer_dynamics.encoders.settings import (
    EncoderChoice,
    EncoderJob,
    TextChoice,
    TextJob,
)
from transformer_dynamics.encoders.tokens import Tokens
from transformer_dynamics.gradient_heterogeneity.data import vocabulary
from transformer_dynamics.gradient_heterogeneity.data.texts import text_samples
from transformer_dynamics.gradient_heterogeneity.metrics import measured_states, spread
from transformer_dynamics.gradient_heterogeneity.metrics import one_step as one_step_metric
from transformer_dynamics.gradient_heterogeneity.metrics import tensors as tensors_metric
from transformer_dynamics.gradient_heterogeneity.settings.data import VocabularyJob
from transformer_dynamics.gradient_heterogeneity.settings.measuring import (
    MeasuredJob,
    PairJob,
)
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob
from transformer_dynamics.gradient_heterogeneity.theory import heterogeneity
from transformer_dynamics.gradient_heterogeneity.theory.curvature import (
    Iteration,
    largest_eigenvalue,
    top_eigenvalue,
)
from transformer_dynamics.gradient_heterogeneity.training import (
    measured_networks,
    measurements,
    placement_pairs,
    small_transformers,
)
from transformer_dynamics.gradient_heterogeneity.training.build import WORDS, build_network
from transformer_dynamics.gradient_heterogeneity.training.record import (
    STEP_METHODS,
    TENSOR_SETS,
    Measurement,
)

pytestmark = pytest.mark.numerical

TEXTS = TextChoice(name="trec6", length=10, train=30, validation=6)
EXACT = configured.measuring(batches=2, size=5, curved=1, tolerance=1e-13, products=400)
FEW = configured.measuring(batches=3, size=4, curved=1, tolerance=1e-3, products=4)
TRAINING = configured.training(rate=1e-2, steps=4, batch_size=5, points=2, slice=8)
PAIR = PairJob(
    shape=shape("pre"),
    words=30,
    texts=TEXTS,
    head_deviation=DEVIATION,
    masking=MASKING,
    measuring=FEW,
    masked=TRAINING,
    tunings={"sgd": TRAINING.model_copy(update={"optimiser": "sgd"}), "adam": TRAINING},
)
LEAST = FEW.least
MEASURED = MeasuredJob(net=text(TEXTS), measuring=FEW, tuning=TRAINING)


@pytest.fixture(scope="module")
def text_data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    choice = EncoderChoice(folder=write_encoder(folder / "encoder"))
    texts = TextChoice(name="trec6", folder=write_texts(folder / "trec6", "trec6"))
    job = TextJob(encoder="minilm", texts="trec6", length=10)
    return [
        tokens_data.sample(job, [], (*choice.sources, *texts.sources)),
        encoder_data.sample(EncoderJob(encoder="minilm"), [], choice.sources),
    ]


@pytest.fixture(scope="module")
def word_data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    corpus = folder / "train.txt"
    corpus.write_text(TEXT * 5)
    labelled = TextChoice(name="trec6", folder=write_texts(folder / "trec6", "trec6")).sources
    job = VocabularyJob(texts="trec6", words=30, length=6)
    return vocabulary.sample(job, [], [corpus, *map(type(corpus), labelled)])


@pytest.fixture(scope="module")
def pair_run(word_data):
    return run(placement_pairs, PAIR, [word_data])


@pytest.fixture(scope="module")
def measured_run(text_data):
    return run(measured_networks, MEASURED, text_data)


def exact(placement, word_data):
    """A small transformer in float64."""
    net = build_network(tiny_net(shape(placement), TEXTS), 1, [word_data])
    return net, {name: tensor.double() for name, tensor in net.start.items()}


@pytest.mark.parametrize("placement", quick_first(["post", "pre"]))
def test_curvatures_are_those_of_a_dense_hessian(placement, word_data):
    net, parameters = exact(placement, word_data)
    found = measurements.measure_state(net, parameters, EXACT, 1)
    batch = next(measurements.measured_batches(net, EXACT, 1))
    names = list(net.blocks)
    for name in ("0.query", "1.value", "0.out", "1.first_gain", "edge_gain", "head", "positions"):

        def flat(vector, name=name):
            return net.loss(parameters | {name: vector.reshape(parameters[name].shape)}, batch)

        hessian = torch.autograd.functional.hessian(flat, parameters[name].flatten())
        largest = float(torch.linalg.eigvalsh(hessian)[-1])
        assert found.curvatures[0, names.index(name)] == pytest.approx(largest, rel=1e-6)
    # As released, an iteration may end early, but never above; what is negative is told so.
    change = {"iteration": "released", "products": 8, "tolerance": 1e-3}
    released = measurements.measure_state(net, parameters, EXACT.model_copy(update=change), 1)
    below = found.curvatures - released.curvatures
    assert np.nanmin(below) > -1e-9
    assert np.nanmax(below) > 0
    is_bias = np.array([net.blocks[name].kind == "bias" for name in names])
    assert np.isnan(found.curvatures[0, is_bias]).all()
    assert np.isfinite(found.curvatures[0, ~is_bias]).all()


def test_norms_are_those_of_autograd(word_data):
    net, parameters = exact("post", word_data)
    found = measurements.measure_state(net, parameters, EXACT, 1)
    for row, batch in enumerate(measurements.measured_batches(net, EXACT, 1)):
        leaves = {name: tensor.clone().requires_grad_() for name, tensor in parameters.items()}
        net.loss(leaves, batch).backward()
        for column, leaf in enumerate(leaves.values()):
            gradient = leaf.grad.numpy().ravel()
            expected = np.linalg.norm(gradient), np.abs(gradient).sum()
            assert found.norms[row, column] == pytest.approx(expected[0], rel=1e-12, abs=1e-300)
            assert found.absolute[row, column] == pytest.approx(expected[1], rel=1e-12, abs=1e-300)
            assert found.nonzero[row, column] == np.count_nonzero(gradient)


def test_steps_are_those_of_their_formulas(word_data):
    net, parameters = exact("post", word_data)
    found = measurements.measure_state(net, parameters, EXACT, 1)
    batch = next(measurements.measured_batches(net, EXACT, 1))
    _, gradients = net.gradients(parameters, batch)
    h = dict(zip(net.blocks, found.curvatures[0], strict=True))
    before = float(net.loss(parameters, batch))
    kinds = {"all": {"matrix", "embedding", "normalisation", "head"}, "matrices": {"matrix"}}
    for i, kept in enumerate(kinds.values()):
        names = [name for name, block in net.blocks.items() if block.kind in kept]
        floor = np.median([max(h[name], 0) for name in names]) / EXACT.limit
        for j, scale in enumerate(
            (lambda g, _: g, lambda g, _: g.sign(), lambda g, least: g / least)
        ):
            d = {name: scale(gradients[name], max(h[name], floor)) for name in names}
            slope = sum(float((gradients[name] * d[name]).sum()) for name in names)
            bend = sum(max(h[name], 0) * float((d[name] ** 2).sum()) for name in names)
            assert found.slopes[0, i, j] == pytest.approx(slope, rel=1e-10)
            assert found.bends[0, i, j] == pytest.approx(bend, rel=1e-10)
            for k in (0, 4, 7):
                eta = EXACT.factors[k] * slope / bend
                moved = {name: parameters[name] - eta * d[name] for name in names}
                decrease = before - float(net.loss(parameters | moved, batch))
                assert found.decreases[0, i, j, k] == pytest.approx(decrease, rel=1e-9, abs=1e-12)


def test_the_table_of_steps_has_what_is_sure(pair_run):
    found = pair_run
    table = one_step_metric.measure(
        MeasuredMetricJob(runs={"pair": PAIR}), [Run("pair-1", [1], found)], []
    )
    assert set(table["state"]) == {"sgd", "adam"}
    states_, sets, methods = 2, len(TENSOR_SETS), len(STEP_METHODS)
    assert len(table) == states_ * sets * methods * len(FEW.factors)
    row = table.query(
        "state == 'adam' and set == 'matrices' and method == 'sign' and factor == 0.5"
    ).iloc[0]
    slope, bend = found["slopes"][0, 4, 0, 1, 1], found["bends"][0, 4, 0, 1, 1]
    assert row["rate"] == pytest.approx(0.5 * slope / bend)
    assert row["sure"] == pytest.approx(0.5 * slope**2 / bend - 0.125 * slope**2 / bend)
    assert row["decrease"] == found["decreases"][0, 4, 0, 1, 1, FEW.factors.index(0.5)]


def test_batches_share_no_sample(word_data):
    net, _ = exact("post", word_data)
    one = list(measurements.measured_batches(net, configured.measuring(batches=5, size=6), 1))
    tokens = np.concatenate([batch.tokens for batch in one])
    key = sorted(map(bytes, tokens))
    assert key == sorted(map(bytes, net.train.tokens))
    again = list(measurements.measured_batches(net, configured.measuring(batches=2, size=6), 1))
    assert all(np.array_equal(a.tokens, b.tokens) for a, b in zip(one[:2], again, strict=True))
    other = next(measurements.measured_batches(net, configured.measuring(batches=2, size=6), 2))
    assert not np.array_equal(other.tokens, one[0].tokens)


def test_an_encoder_leaves_out_as_much_as_is_asked_for(text_data):
    def losses(dropout):
        net = build_network(text(TEXTS, dropout=dropout), 1, text_data)
        batch = net.train.take(np.arange(6))
        torch.manual_seed(0)
        return [float(net.loss(net.start, batch, training=way)) for way in (False, True)]

    none, some, published = (losses(share) for share in (0.0, 0.5, None))
    assert none[0] == some[0] == published[0] == pytest.approx(none[1], rel=1e-5)
    assert len({none[1], some[1], published[1]}) == 3


def test_words_that_never_occur_change_nothing(text_data):
    net = build_network(text(TEXTS), 1, text_data)
    batch = net.train.take(np.arange(6))
    loss, gradients = net.gradients(net.start, batch)
    body = build_encoder(Pretrained.of(text_data[1]))
    whole = text_samples(TEXTS, 1, text_data[0])[0].take(np.arange(6))
    phi = features(body, *tensors(whole))
    logits = torch.nn.functional.linear(phi, net.start["head.weight"], net.start["head.bias"])
    expected = torch.nn.functional.cross_entropy(logits, torch.from_numpy(whole.labels))
    expected.backward()
    assert loss == pytest.approx(float(expected.detach()), rel=1e-5)
    for name, parameter in body.named_parameters():
        norm = torch.linalg.vector_norm(gradients[f"body.{name}"])
        assert float(norm) == pytest.approx(
            float(torch.linalg.vector_norm(parameter.grad)), rel=1e-3, abs=1e-6
        )
    table = body.get_input_embeddings().weight
    assert net.blocks[WORDS].size == table.numel()
    assert net.start[WORDS].numel() <= table.numel()
    assert isinstance(net.train, Tokens)


def indefinite(seed):
    """A symmetric matrix whose eigenvalue of largest magnitude is negative."""
    random = torch.Generator().manual_seed(seed)
    basis, _ = torch.linalg.qr(torch.randn(60, 60, generator=random, dtype=torch.float64))
    values = torch.linspace(-1, 0.8, 60, dtype=torch.float64) ** 3
    values[0], values[-1] = -9.0, 1.5
    return basis @ torch.diag(values) @ basis.T


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_eigenvalue_is_found_beside_larger_negative_ones(seed):
    matrix = indefinite(seed)
    like = torch.zeros(12, 5, dtype=torch.float64)

    def product(vector):
        return (matrix @ vector.flatten()).reshape(vector.shape)

    def found(**how):
        return largest_eigenvalue(product, like, torch.Generator().manual_seed(seed), LEAST, **how)

    top = found(tolerance=1e-12)
    assert top.eigenvalue == pytest.approx(1.5, rel=1e-10)
    assert torch.allclose(product(top.vector), 1.5 * top.vector, atol=1e-5)
    usual = found()
    assert 1.5 * (1 - 1e-3) <= usual.eigenvalue <= 1.5 * (1 + 1e-12)
    # Power iteration has to find the negative one first.
    power = top_eigenvalue(product, like, torch.Generator().manual_seed(seed), Iteration())
    assert power.tried > 1
    assert usual.products < power.products
    values = [found(tolerance=1e-15, most=most).eigenvalue for most in (1, 4, 8, 12, 16)]
    assert all(later >= value - 1e-12 for value, later in pairwise(values))
    assert found(tolerance=1e-15, most=500).products <= 60


@pytest.mark.parametrize("seed", range(10))
def test_a_small_eigenvalue_is_not_lost_in_many_zeros_beside_a_large_negative_one(seed):
    values = torch.zeros(3000)
    values[0], values[1] = -1000, 20
    random = torch.Generator().manual_seed(seed)
    top = largest_eigenvalue(lambda vector: values * vector, values, random, LEAST, tolerance=0.03)
    assert top.eigenvalue == pytest.approx(20, rel=0.03)


def run(program, job, data, memory=None):
    return program.train(job, [1], data, memory or Memory())


@pytest.mark.parametrize("after", quick_first([3, 1, 6]))
def test_an_interrupted_measurement_goes_on_to_the_same_bits(
    word_data, text_data, pair_run, measured_run, after
):
    for program, job, data, whole in (
        (placement_pairs, PAIR, [word_data], pair_run),
        (measured_networks, MEASURED, text_data, measured_run),
    ):
        memory = Memory(last=after)
        with suppress(InterruptedError):
            run(program, job, data, memory)
        resumed = run(program, job, data, Memory(memory.found))
        assert resumed.keys() == whole.keys()
        for name, values in whole.items():
            assert resumed[name].tobytes() == values.tobytes(), name


def test_what_pairs_share_and_what_they_return(word_data, pair_run):
    found = pair_run
    assert found["states"].tolist() == [["initial", "masked", "pretrained", "sgd", "adam"]]
    tensors_of = len(small_transformers.masked_network(PAIR.net, MASKING, 1, word_data).blocks)
    assert found["norms"].shape == (1, 5, 3, tensors_of)
    assert found["curvatures"].shape == (1, 5, 1, tensors_of)
    # Curvatures are those after fine-tuning.
    assert np.isfinite(found["curvatures"]).any(axis=3).tolist() == [[[False]] * 3 + [[True]] * 2]
    assert (found["products"] > 0).any(axis=3).tolist() == [[[False]] * 3 + [[True]] * 2]
    for name in ("on_masked", "on_texts_sgd", "on_texts_adam"):
        assert found[f"{name}_losses"].shape == (1, 4)
    # Both fine-tunings begin with the same loss, on the same batch.
    assert found["on_texts_sgd_losses"][0, 0] == found["on_texts_adam_losses"][0, 0]
    only = PAIR.model_copy(update={"masked": None, "tunings": {}})
    initial = run(placement_pairs, only, [word_data])
    assert initial["states"].tolist() == [["initial"]]
    assert np.array_equal(initial["norms"][0, 0], found["norms"][0, 0])


def test_what_is_not_measured_is_refused():
    with pytest.raises(ValueError, match="only 2 batches"):
        configured.measuring(batches=2, curved=3)


def test_tables_of_tensors_and_spread(pair_run, measured_run):
    job = MeasuredMetricJob(runs={"pair": PAIR, "encoder": MEASURED})
    runs = [Run("pair-1", [1], pair_run), Run("encoder-1", [1], measured_run)]
    table = tensors_metric.measure(job, runs, [])
    assert set(table["net"]) == {"tiny", "minilm"}
    kinds = table.groupby("kind")["curvature"]
    assert kinds.count()["bias"] == 0
    of = table[(table.state == "masked") & (table.batch == 1)].set_index("tensor")
    assert of.task.unique().tolist() == ["wikitext2"]
    assert of.loc["head", "norm"] == runs[0].arrays["norms"][0, 1, 1, list(of.index).index("head")]
    assert of.curvature.isna().all()
    first = table[(table.state == "adam") & (table.batch == 0)]
    assert first[first.kind != "bias"].curvature.notna().all()
    assert table[table.net == "tiny"].depth.unique().tolist() == [2]

    spreads = spread.measure(job, runs, [])
    keys = ["arm", "seed", "state", "set", "metric"]
    assert not spreads.duplicated(keys).any()
    assert (spreads.low <= spreads.value + 1e-12).all()
    assert (spreads.value <= spreads.high + 1e-12).all()
    matrices = table[(table.state == "tuned") & (table.kind == "matrix")]
    wide = matrices.pivot(index="batch", columns="tensor", values="norm")
    mine = spreads[(spreads.state == "tuned") & (spreads.set == "matrices")].set_index("metric")
    assert mine.loc["gini_norm", "value"] == pytest.approx(heterogeneity.gini(wide).mean())
    assert mine.blocks.unique().tolist() == [wide.shape[1]]


def test_lost_training_has_no_numbers_and_loses_no_other(text_data, measured_run):
    away = TRAINING.model_copy(update={"optimiser": "sgd", "rate": 1e9, "clip": None})
    job = MEASURED.model_copy(update={"tuning": away})
    found = run(measured_networks, job, text_data)
    assert not np.isfinite(found["norms"][0, 1]).all()
    told = MeasuredMetricJob(runs={"lost": job, "kept": MEASURED})
    runs = [Run("lost-1", [1], found), Run("kept-1", [1], measured_run)]
    keys = ["arm", "state", "metric"]
    spreads = spread.measure(told, runs, []).set_index(keys).sort_index()["value"]
    assert spreads["lost", "tuned"].isna().all()
    assert {*spreads["lost", "tuned"].index} >= {*spreads["kept", "tuned"].index}
    assert spreads["lost", "pretrained"].equals(spreads["kept", "pretrained"])
    assert spreads["kept"].notna().all()
    steps = one_step_metric.measure(told, runs, [])
    assert {*steps[steps["arm"] == "lost"]["state"]} == {"pretrained"}
    only = one_step_metric.measure(told, [Run("lost-1", [1], {
        name: values[:, 1:] if values.ndim > 1 else values for name, values in found.items()
    })], [])  # fmt: skip
    assert only.empty
    assert [*only] == [*steps]


def test_what_is_not_defined_has_no_number_and_stops_no_other(capsys):
    state = made_up()._replace(columns={"arm": "a", "seed": 1, "state": "tuned"})
    chosen = spread.is_member(state, "all")
    # Two curvatures that are not downward are too few for a slope.
    found = spread._metrics(state, chosen)
    assert all(np.isnan(found[name]).all() for name in spread.CURVATURES)
    assert np.isfinite(found["gini_norm"]).all()
    assert "a, 1, tuned: " in capsys.readouterr().err
    still = state._replace(found=state.found._replace(norms=np.zeros((2, 5))))
    nothing = spread._metrics(still, spread.is_member(still, "all"))
    assert all(np.isnan(values).all() for values in nothing.values())
    away = np.array([[np.inf, 1.0, 0.0, np.nan, 5.0]])
    with pytest.raises(InputError, match="not finite"):
        spread.curvature_metrics(
            state._replace(found=state.found._replace(curvatures=away)), chosen
        )


def test_an_iteration_goes_on_to_the_least_products():
    values = torch.arange(1.0, 50.0)
    for least in (1, 5, 12):
        random = torch.Generator().manual_seed(1)
        top = largest_eigenvalue(lambda v: values * v, values, random, least, tolerance=1e3)
        assert top.products == least


def test_steps_are_tried_at_the_factors_and_rates_end_at_the_limit(word_data):
    net, parameters = exact("post", word_data)
    few = EXACT.model_copy(update={"factors": [0.25, 8.0], "products": 12})
    usual, near = (
        measurements.measure_state(net, parameters, few.model_copy(update={"limit": limit}), 1)
        for limit in (EXACT.limit, 1.0)
    )
    assert usual.decreases.shape[-1] == 2
    methods = [STEP_METHODS.index(name) for name in ("gradient", "sign", "block_rates")]
    is_same = [np.array_equal(usual.slopes[..., i], near.slopes[..., i]) for i in methods]
    assert is_same == [True, True, False]


def test_a_product_that_is_not_finite_ends_the_iteration():
    random = torch.Generator().manual_seed(1)
    top = largest_eigenvalue(lambda vector: vector * torch.inf, torch.zeros(50), random, LEAST)
    assert np.isnan(top.eigenvalue)
    assert top.products == 1


def made_up():
    """Two batches of five tensors, of which one has no gradient and one is a bias."""
    norms = np.array([[3.0, 4.0, 0.0, 7.0, 1.0], [4.0, 3.0, 0.0, 7.0, 1.0]])
    nonzero = np.tile([4, 9, 0, 2, 1], (2, 1))
    return measured_states.MeasuredState(
        {"state": "made up"},
        np.array(["a", "b", "unused", "shift", "head"]),
        np.array([1, 2, 2, 1, 4]),
        np.array(["matrix", "matrix", "matrix", "bias", "head"]),
        np.array([4, 16, 4, 2, 1]),
        Measurement(
            norms, 1.2 * norms, nonzero,
            np.array([[2.0, -1.0, 0.0, np.nan, 5.0]]), np.ones((1, 5), np.int64),
            *np.zeros((3, 1)),
        ),
        FEW,
    )  # fmt: skip


def test_numbers_of_a_made_up_network():
    state = made_up()
    matrices, whole = (spread.is_member(state, name) for name in ("matrices", "all"))
    assert matrices.tolist() == [True, True, False, False, False]
    assert whole.tolist() == [True, True, False, False, True]
    found = spread.layer_norms(state.found.norms[:, whole], state.layers[whole], 2)
    assert found.tolist() == [[3, 4], [4, 3]]
    # The third curvature makes a slope possible; negative ones are none.
    upward = np.array([[2.0, 0.5, 0.0, np.nan, 5.0]])
    numbers = spread.curvature_metrics(
        state._replace(found=state.found._replace(curvatures=upward)), whole
    )
    gradient = np.array([(9 * 2 + 16 * 0.5 + 5) / 26, (16 * 2 + 9 * 0.5 + 5) / 26])
    size = (4 * 2 + 9 * 0.5 + 5) / 14
    assert numbers["lambda_g"] == pytest.approx(gradient)
    assert numbers["lambda_p"] == pytest.approx([size, size])
    near = state._replace(
        found=state.found._replace(curvatures=upward),
        measuring=configured.measuring(limit=1),
    )
    # No curvature counts as less than the median, which is 2.
    assert spread.curvature_metrics(near, whole)["block_gain"][0] < numbers["block_gain"][0]
    # Norms of 1 are 1.2 times those of 2, which are sqrt 26; 14 entries are not zero.
    kappa = (1.2 * 8) ** 2 / (14 * 26)
    assert numbers["advantage"] == pytest.approx(kappa * gradient / size)
    low, high = spread.bootstrap_interval(np.array([1.0, 3.0]))
    assert (low, high) == (1, 3)
    assert spread.bootstrap_interval(np.full(5, 2.0)) == (2, 2)
    assert isinstance(pd.DataFrame([{"low": low}]), pd.DataFrame)
