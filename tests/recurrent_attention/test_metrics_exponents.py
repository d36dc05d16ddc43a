"""Metrics of exponents, eigenvalues and trajectories against autograd on the models' own steps."""

import numpy as np
import pandas as pd
import pytest
import torch
from small_models import MODELS, boards, job, run, step

from transformer_dynamics.recurrent_attention.metrics import (
    distribution,
    exponents,
    perturbed,
    spectrum,
    trajectories,
)
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    SPLIT,
    initial_conditions,
    initial_noise,
    run_parameters,
    seed_parameters,
    select_boards,
)
from transformer_dynamics.recurrent_attention.settings.metrics import (
    Distribution,
    Exponents,
    Perturbed,
    Spectrum,
    Trajectories,
)
from transformer_dynamics.recurrent_attention.theory import products
from transformer_dynamics.recurrent_attention.theory.jacobian import Step
from transformer_dynamics.recurrent_attention.theory.jacobian import (
    step_with_jacobian as closed_step,
)
from transformer_dynamics.recurrent_attention.theory.recurrence import effective_weights
from transformer_dynamics.recurrent_attention.training.network import final_tokens, forward_logits

DOUBLE = torch.float64
EXPONENTS = Exponents(boards=2, steps=4, leading=3, long=40, skipped=0.1)
PERTURBED = Perturbed(
    etas=[0.1, 3.0], weights=[0.5, 2.0], inputs=[2.0], boards=2, leading=3, loops=4
)
TRAJECTORIES = Trajectories(
    warm_up=3, steps=50, points=6, early=4, runs=2, spread=1e-3, small=1e-8, linear=20
)
each_model = pytest.mark.parametrize("name", MODELS)


def of_first_seed(model):
    return next(seed_parameters([run(model)]))[1]


def product(model, own, board, loops, factor=1.0):
    """Jacobian [S D, S D] of all steps along one board by autograd, and where they end."""
    shown = select_boards(boards(), SPLIT)
    inputs, start = (part[board] for part in initial_conditions(model, own, shown))
    jacobian = torch.autograd.functional.jacobian(
        lambda tokens: final_tokens(model, own, tokens, factor * inputs, loops), start
    )
    size = start.numel()
    return (
        jacobian.reshape(size, size),
        final_tokens(model, own, start, factor * inputs, loops),
        inputs,
    )


def null_directions(model):
    tokens = 4
    return tokens * model.width // model.block if model.normalised else 0


@each_model
def test_a_step_in_closed_form_is_that_of_the_model(name):
    model = MODELS[name]
    own = of_first_seed(model)
    tokens = torch.randn(4, 8, generator=torch.Generator().manual_seed(0), dtype=DOUBLE)
    inputs = 0.5 * tokens.flip(0)
    found = closed_step(model, own, effective_weights(model, own), tokens, inputs)
    torch.testing.assert_close(found.tokens, step(model, own, tokens, inputs), rtol=0, atol=1e-12)
    oracle = torch.autograd.functional.jacobian(lambda x: step(model, own, x, inputs), tokens)
    torch.testing.assert_close(found.jacobian, oracle.reshape(32, 32), rtol=0, atol=1e-12)
    assert found.normals.shape[-1] == null_directions(model)


@each_model
def test_exponents_are_those_of_the_product_by_autograd(name):
    model = MODELS[name]
    table = exponents.measure(job(model, EXPONENTS), [run(model)], [boards()])
    assert table[["seed", "board"]].to_numpy().tolist() == [[1, 0], [1, 1], [2, 0], [2, 1]]
    assert table["finite"].all()
    assert table["float32_finite"].all()
    assert table["long"].notna().tolist() == [True, False, True, False]
    for board in range(2):
        jacobian, _, _ = product(model, of_first_seed(model), board, loops=4)
        logs = torch.linalg.svdvals(jacobian)[: 32 - null_directions(model)].log() / 4
        expected = [logs[0], logs[:3].mean(), logs.mean()]
        found = table.loc[board, ["max", "leading", "nonnull"]].to_numpy(np.float64)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_all_exponents_have_the_mean_that_is_measured():
    model = MODELS["akorn"]
    data = [run(model)], [boards()]
    whole = distribution.measure(job(model, Distribution(boards=2, steps=4)), *data)
    means = whole.groupby(["seed", "board"])["exponent"].agg(["size", "max", "mean"])
    table = exponents.measure(job(model, EXPONENTS), *data).set_index(["seed", "board"])
    assert (means["size"] == 32 - 8).all()
    np.testing.assert_allclose(means["max"], table["max"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(means["mean"], table["nonnull"], rtol=0, atol=1e-8)


@pytest.mark.thorough
def test_metrics_by_products_are_those_by_matrices(monkeypatch):
    """As where matrices would not fit, which is decided by the number of rows."""
    model = MODELS["akorn"]
    data = [run(model)], [boards()]
    hows = (EXPONENTS, PERTURBED.model_copy(update={"etas": [0.1], "inputs": []}))
    measures = (exponents.measure, perturbed.measure)
    dense = [measure(job(model, how), *data) for measure, how in zip(measures, hows, strict=True)]
    monkeypatch.setattr(products, "MOST_ROWS", 0)
    monkeypatch.setattr(products, "PROBES", 2)
    for measure, how, expected in zip(measures, hows, dense, strict=True):
        found = measure(job(model, how), *data)
        same = [column for column in expected if column != "nonnull"]
        pd.testing.assert_frame_equal(found[same], expected[same], atol=1e-9)
        assert (found["nonnull"] < found["max"]).all()


def test_the_largest_are_the_first_of_all():
    model = MODELS["itrsa by blocks"]
    data = [run(model)], [boards()]
    whole, few = (
        distribution.measure(job(model, Distribution(boards=1, steps=4, largest=most)), *data)
        for most in (None, 5)
    )
    pd.testing.assert_frame_equal(few, whole[whole["index"] < 5].reset_index(drop=True))
    whole, few = (
        spectrum.measure(job(model, Spectrum(boards=1, steps=4, largest=most)), *data)
        for most in (None, 6)
    )
    keys = ["seed", "board", "normalised"]
    for key, rows in few.groupby(keys):
        every = whole.set_index(keys).loc[key]
        moduli, all_moduli = (np.hypot(each["re"], each["im"]).to_numpy() for each in (rows, every))
        np.testing.assert_allclose(moduli[:6], all_moduli[:6], atol=1e-9)
        assert rows["im"].abs().max() == pytest.approx(every["im"].abs().max(), abs=1e-9)


@pytest.mark.thorough
def test_a_long_time_forgets_the_start():
    model = MODELS["unnormalised"]
    parameters = run_parameters(run(model), DOUBLE)
    # X' = X + eta C + eta X W without queries: attention is flat, and the step is linear.
    flat = parameters | {"query": 0 * parameters["query"], "eta": 0.3 + 0 * parameters["eta"]}
    shown = select_boards(boards(), SPLIT, 1)
    how = EXPONENTS.model_copy(update={"long": 400})
    found = exponents.largest_long_exponents(model, flat, shown, how)
    mixing = flat["value"] @ flat["output"]
    mean = torch.ones(4, 4, dtype=DOUBLE) / 4
    for index in range(2):
        matrix = torch.eye(32, dtype=DOUBLE) + 0.3 * torch.kron(mean, mixing[index].T.contiguous())
        radius = torch.linalg.eigvals(matrix).abs().max()
        assert found[index] == pytest.approx(float(radius.log()), abs=5e-3)
    late = exponents.largest_long_exponents(
        model, flat, shown, how.model_copy(update={"skipped": 0.9})
    )
    assert all(abs(later / early - 1) > 1e-9 for later, early in zip(late, found, strict=True))


def test_what_overflows_has_no_exponents():
    def grow(factor):
        def at(tokens):
            jacobian = factor * torch.eye(4, dtype=DOUBLE)
            return Step(factor * tokens, jacobian, jacobian[:, :0])

        return exponents.finite_time_exponents(at, torch.ones(1, 4, dtype=DOUBLE), 10, 2)

    calm, single, double = grow(10.0), grow(1e3), grow(1e40)
    assert calm == pytest.approx((np.log(10), np.log(10), np.log(10), True, True))
    # s_1 = 1e30 is a number of float32, alpha_1 = 1e60 is none.
    assert single == pytest.approx((np.log(1e3), np.log(1e3), np.log(1e3), True, False))
    assert np.isnan(double[:3]).all()
    assert double[3:] == (False, False)


@pytest.mark.parametrize("name", ["itrsa", "unnormalised", "akorn"])
def test_eigenvalues_are_those_of_the_step_by_autograd(name):
    model = MODELS[name]
    table = spectrum.measure(job(model, Spectrum(boards=2, steps=4)), [run(model)], [boards()])
    expected = {"itrsa": {True, False}, "unnormalised": {False}, "akorn": {True}}[name]
    assert set(table["normalised"]) == expected
    own = of_first_seed(model)
    for (board, normalised), rows in table.query("seed == 1").groupby(["board", "normalised"]):
        _, tokens, inputs = product(model, own, board, loops=4)
        variant = model.model_copy(update={"normalised": normalised})
        oracle = torch.autograd.functional.jacobian(
            lambda x, variant=variant, inputs=inputs: step(variant, own, x, inputs), tokens
        )
        right = torch.linalg.eigvals(oracle.reshape(32, 32)).numpy()
        found = (rows["re"] + 1j * rows["im"]).to_numpy()
        assert len(found) == 32
        # Defective zeros are found to the root of the precision.
        assert max(np.abs(found - each).min() for each in right) < 1e-6
        assert max(np.abs(right - each).min() for each in found) < 1e-6
        assert (np.diff(np.abs(found)) <= 1e-12).all()


@pytest.mark.parametrize("name", ["itrsa", "symmetric", "orthogonal"])
def test_changed_models_are_what_their_parameters_say(name):
    model = MODELS[name]
    table = perturbed.measure(job(model, PERTURBED), [run(model)], [boards()])
    own = of_first_seed(model)
    plain = table[table["seed"] == 1].set_index(["quantity", "value"])
    assert plain.index.tolist() == [
        ("none", 1.0), ("eta", 0.1), ("eta", 3.0), ("weights", 0.5), ("weights", 2.0),
        ("inputs", 2.0),
    ]  # fmt: skip
    measured = exponents.measure(job(model, EXPONENTS), [run(model)], [boards()])
    trained = measured[measured["seed"] == 1][["max", "leading", "nonnull"]].mean()
    np.testing.assert_allclose(plain.loc[("none", 1.0), trained.index], trained, atol=1e-12)
    faster = own | {"eta": torch.tensor(3.0, dtype=DOUBLE)}
    assert plain.loc[("eta", 3.0), "max"] == pytest.approx(largest(model, faster), abs=1e-8)
    if name == "itrsa":
        stronger = own | {"output": 2 * own["output"]}
        assert plain.loc[("weights", 2.0), "max"] == pytest.approx(
            largest(model, stronger), abs=1e-8
        )
        louder = own | {name: 2 * own[name] for name in ("embedding", "positions")}
        assert plain.loc[("inputs", 2.0), "max"] == pytest.approx(largest(model, louder), abs=1e-8)


def largest(model, own):
    found = [product(model, own, board, loops=4)[0] for board in range(2)]
    return np.mean([float(torch.linalg.matrix_norm(each, ord=2).log()) / 4 for each in found])


@pytest.mark.parametrize(("quantity", "value"), [("eta", 3.0), ("inputs", 2.0)])
def test_accuracy_of_a_changed_model_is_that_of_its_parameters(quantity, value):
    """On boards whose solutions are what the model with these parameters predicts after T steps."""
    model = MODELS["itrsa"]
    _, own = next(seed_parameters([run(model)], torch.float32))
    other = {
        "eta": own | {"eta": torch.tensor(value)},
        "inputs": own | {name: value * own[name] for name in ("embedding", "positions")},
    }[quantity]
    shown = select_boards(boards(40), SPLIT)
    noise = initial_noise(SPLIT, 0, shown, model)
    right = shown._replace(
        solutions=forward_logits(model, other, shown.digits, noise, 2).argmax(dim=-1) + 1
    )
    unchanged, *changes = perturbed.changed_models(model, own, PERTURBED)
    (changed,) = (each for each in changes if (each.quantity, each.value) == (quantity, value))
    assert perturbed.solved_share(model, changed, right, 2) == 1
    for other, loops in ((changed, 1), (changed, 3), (unchanged, 2)):
        assert perturbed.solved_share(model, other, right, loops) < 1


def test_a_mean_over_boards_is_held_where_all_of_them_are(monkeypatch):
    held = {True: exponents.BoardExponents(1.0, 0.5, 0.25, True, True)}
    held[False] = held[True]._replace(max=3.0, float32_finite=False)
    model = MODELS["itrsa"]
    own = of_first_seed(model)
    (plain, *_) = perturbed.changed_models(model, own, PERTURBED)
    for order, expected in (((True, True), True), ((True, False), False), ((False, True), False)):
        along = iter(order)
        monkeypatch.setattr(
            perturbed, "finite_time_exponents", lambda *_, along=along: held[next(along)]
        )
        found = perturbed.mean_exponents(model, plain, select_boards(boards(), SPLIT), PERTURBED)
        assert found == (2.0 if not expected else 1.0, 0.5, 0.25, True, expected)


def test_a_trajectory_is_the_models_own_after_the_noise():
    model = MODELS["itrsa"]
    table = trajectories.measure(job(model, TRAJECTORIES), [run(model)], [boards()])
    first = table[table["seed"] == 1]
    times = first.groupby("kind")["t"].unique()
    assert sorted(times["original"]) == [0, 1, 2, 3, 4, 10, 20, 30, 40, 50]
    assert sorted(times["small"]) == [*range(21), 30, 40, 50]
    assert (first.query("kind == 'original'")["distance"] == 0).all()
    assert first.groupby("kind")["run"].unique().map(list).to_dict() == {
        "original": [0], "spread": [1, 2], "small": [3],
    }  # fmt: skip
    runs = {"small": 1, "spread": 2}
    begun = first[first["t"] == 0].groupby("kind")["distance"].agg(list)
    for kind, size in (("small", 1e-8), ("spread", 1e-3)):
        assert begun[kind] == pytest.approx([32 * size * (2 / np.pi) ** 0.5] * runs[kind], rel=0.4)
    own = of_first_seed(model)
    _, warm, inputs = product(model, own, 0, loops=3)
    ended = final_tokens(model, own, warm, inputs, 50)
    last = first.query("kind == 'original' and t == 50")["coordinate"].item()
    assert last == pytest.approx(float(ended[0, 0]), abs=1e-10)


def test_small_distances_follow_the_jacobian():
    model = MODELS["akorn"]
    table = trajectories.measure(job(model, TRAJECTORIES), [run(model)], [boards()])
    own = of_first_seed(model)
    _, warm, inputs = product(model, own, 0, loops=3)
    noise = trajectories._perturbations(TRAJECTORIES, model, 4)[-1]
    _, moved = torch.autograd.functional.jvp(
        lambda x: final_tokens(model, own, x, inputs, 5), warm, noise
    )
    found = table.query("seed == 1 and kind == 'small' and t == 5")["distance"].item()
    assert found == pytest.approx(float(moved.abs().sum()), rel=1e-5)
