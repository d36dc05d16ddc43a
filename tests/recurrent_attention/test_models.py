"""The models against a literal one: loops over heads, tokens and oscillators, in float64."""

from math import exp, sqrt

import numpy as np
import pytest
import torch
from small_models import step
from tables import whole

from transformer_dynamics.recurrent_attention.theory.recurrence import effective_weights
from transformer_dynamics.recurrent_attention.training.initialization import (
    FROZEN,
    initial_parameters,
)
from transformer_dynamics.recurrent_attention.training.losses import (
    energy_penalty,
    spectral_penalty,
)
from transformer_dynamics.recurrent_attention.training.network import forward_logits

DIGITS, WIDTH, LOOPS, BOARDS = 4, 8, 3, 2
SEEDS = (3, 5)
MODELS = {
    "itrsa": whole(kind="itrsa", width=WIDTH, heads=2),
    "itrsa in blocks": whole(kind="itrsa", width=WIDTH, heads=2, oscillator=4),
    "itrsa without norm": whole(kind="itrsa", width=WIDTH, heads=2, normalised=False),
    "itrsa with one head": whole(kind="itrsa", width=WIDTH, heads=1),
    "akorn": whole(kind="akorn", width=WIDTH, heads=2, oscillator=4),
    "akorn of one block": whole(kind="akorn", width=WIDTH, heads=4),
    "symmetric": whole(kind="symmetric", width=WIDTH, heads=1),
    "orthogonal": whole(kind="itrsa", width=WIDTH, heads=2, projections="orthogonal"),
    "hard": whole(kind="itrsa", width=WIDTH, heads=2, projections="hard"),
    "akorn by planes": whole(kind="akorn", width=WIDTH, heads=2, oscillator=4, omegas="planes"),
    "itrsa without positions": whole(kind="itrsa", width=WIDTH, heads=2, positions="none"),
    "itrsa of other blocks": whole(kind="itrsa", width=WIDTH, heads=2, readout_block=3),
    "akorn, hard": whole(kind="akorn", width=WIDTH, heads=2, oscillator=2, projections="hard"),
}
of_all_models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
TIGHT = {"rtol": 1e-12, "atol": 1e-12}


def parameters(model, seed):
    """Those of a run, none at a value such as 1 or 0 that hides what it does, in float64."""
    random = np.random.default_rng(seed)
    return {
        name: np.asarray(
            value if name in FROZEN else value + random.normal(0, 0.2, value.shape), np.float64
        )
        for name, value in initial_parameters(model, DIGITS, seed).items()
    }


def boards(seed):
    """Givens, 0 on blanks, and noise."""
    random = np.random.default_rng(seed)
    digits = random.integers(0, DIGITS + 1, (BOARDS, DIGITS**2))
    return digits, random.normal(size=(BOARDS, DIGITS**2, WIDTH))


def tensors(arrays):
    return {name: torch.from_numpy(value) for name, value in arrays.items()}


class Literal:
    """One model and one board, as the paper's formulas say it."""

    def __init__(self, model, arrays):
        self.model, self.p = model, arrays
        self.block = model.oscillator or model.width
        self.heads = self.literal_heads()

    def literal_heads(self):
        """(W^Q_h, W^K_h, W^V_h W^O_h) of every head."""
        model, p, heads = self.model, self.p, self.model.heads
        if model.kind == "symmetric":
            matrix = (p["symmetric"] + p["symmetric"].T) / 2
            return [(matrix, np.eye(WIDTH), matrix)]
        if model.projections == "hard":
            basis, half = cayley(p, "basis"), WIDTH // (2 * heads)
            found = []
            for head in range(heads):
                first = basis[:, 2 * head * half : (2 * head + 1) * half]
                second = basis[:, (2 * head + 1) * half : (2 * head + 2) * half]
                a = first @ second.T
                found.append((first, second, (a + a.T) / 2))
            return found
        is_free = model.projections == "free"
        value, output = (p[name] if is_free else cayley(p, name) for name in ("value", "output"))
        size = WIDTH // heads
        cuts = [slice(head * size, (head + 1) * size) for head in range(heads)]
        return [(p["query"][:, c], p["key"][:, c], value[:, c] @ output[c]) for c in cuts]

    def attention(self, tokens):
        """MSA(X) (1), one score and one token at a time."""
        beta = 1 / sqrt(WIDTH / self.model.heads)
        found = np.zeros_like(tokens)
        for query, key, product in self.heads:
            for i, x in enumerate(tokens):
                weights = [exp(beta * (x @ query) @ (y @ key)) for y in tokens]
                for weight, y in zip(weights, tokens, strict=True):
                    found[i] += weight / sum(weights) * (y @ product)
        return found

    def oscillators(self):
        return [slice(start, start + self.block) for start in range(0, WIDTH, self.block)]

    def normalised(self, tokens):
        """Pi (5), or RMSNorm (6) of ItrSA."""
        if not self.model.normalised:
            return tokens
        found = np.empty_like(tokens)
        for i, x in enumerate(tokens):
            for part in self.oscillators():
                found[i, part] = x[part] / sqrt(sum(x[part] ** 2))
            if self.model.kind == "itrsa":
                found[i] *= self.p["gamma"]
        return found

    def step(self, tokens, inputs):
        """(9), or (7)-(8)."""
        change = inputs + self.attention(tokens)
        if self.model.kind != "itrsa":
            for i, x in enumerate(tokens):
                for part in self.oscillators():
                    projection = np.eye(self.block) - np.outer(x[part], x[part])
                    change[i, part] = projection @ change[i, part]
        if self.model.kind == "akorn":
            omegas = self.p.get("omegas", [self.p.get("omega")] * (WIDTH // 2))
            for i, x in enumerate(tokens):
                for plane, omega in enumerate(omegas):
                    own = slice(2 * plane, 2 * plane + 2)
                    change[i, own] += np.array([[0, omega], [-omega, 0]]) @ x[own]
        return self.normalised(tokens + self.p["eta"] * change)

    def readout(self, tokens):
        """(98): norms of a few channels each, then the layers of the released code."""
        p, found, size = self.p, [], self.model.readout_block
        for x in tokens:
            z = x @ p["readout"]
            m = [sqrt(sum(z[size * k : size * (k + 1)] ** 2) + 1e-12) for k in range(WIDTH)]
            m = np.array(m) + p["readout_bias"]
            hidden = np.maximum(m @ p["layer_1"] + p["bias_1"], 0)
            features = np.maximum(m + hidden @ p["layer_2"] + p["bias_2"], 0)
            hidden = np.maximum(features @ p["layer_3"] + p["bias_3"], 0)
            found.append(hidden @ p["layer_4"] + p["bias_4"])
        return np.array(found)

    def inputs(self, digits):
        places = self.p.get("positions", np.zeros((len(digits), WIDTH)))
        return np.array([self.p["embedding"][d] + places[i] for i, d in enumerate(digits)])

    def logits(self, digits, noise):
        inputs = self.inputs(digits)
        start = [noise[i] if d == 0 else inputs[i] for i, d in enumerate(digits)]
        tokens = self.normalised(np.array(start))
        for _ in range(LOOPS):
            tokens = self.step(tokens, inputs)
        return self.readout(tokens)


def cayley(arrays, name):
    """Q_0 (Id + S)^-1 (Id - S)."""
    raw = arrays[f"{name}_angles"]
    skew = (raw - raw.T) / 2
    turn = np.linalg.inv(np.eye(WIDTH) + skew) @ (np.eye(WIDTH) - skew)
    return arrays[f"{name}_start"] @ turn


@of_all_models
def test_logits_are_those_of_the_formulas(model):
    arrays, (digits, noise) = parameters(model, 1), boards(2)
    literal = Literal(model, arrays)
    expected = [literal.logits(*board) for board in zip(digits, noise, strict=True)]
    found = forward_logits(
        model, tensors(arrays), torch.from_numpy(digits), torch.from_numpy(noise), LOOPS
    ).numpy()
    assert found.shape == (BOARDS, DIGITS**2, DIGITS)
    np.testing.assert_allclose(found, expected, **TIGHT)


@of_all_models
def test_one_step_is_that_of_the_formulas(model):
    arrays, random = parameters(model, 1), np.random.default_rng(7)
    tokens, inputs = random.normal(size=(2, 1, 6, WIDTH))
    expected = Literal(model, arrays).step(tokens[0], inputs[0])
    found = step(model, tensors(arrays), torch.from_numpy(tokens), torch.from_numpy(inputs))
    np.testing.assert_allclose(found[0].numpy(), expected, **TIGHT)


@of_all_models
def test_an_axis_of_seeds_changes_nothing(model):
    """Seeds have boards of their own, and parameters of their own."""
    runs = [parameters(model, seed) for seed in SEEDS]
    shown = [boards(seed) for seed in SEEDS]
    together = {name: torch.from_numpy(np.stack([run[name] for run in runs])) for name in runs[0]}
    digits, noise = (torch.from_numpy(np.stack(part)) for part in zip(*shown, strict=True))
    found = forward_logits(model, together, digits, noise, LOOPS)
    for index, run in enumerate(runs):
        alone = forward_logits(model, tensors(run), digits[index], noise[index], LOOPS)
        np.testing.assert_allclose(found[index].numpy(), alone.numpy(), **TIGHT)


@of_all_models
def test_the_effective_weights_are_those_of_the_heads(model):
    arrays = parameters(model, 1)
    weights = [matrix.numpy() for matrix in effective_weights(model, tensors(arrays))]
    for index, expected in enumerate(Literal(model, arrays).heads):
        query, key, value = (np.split(part, model.heads, axis=1)[index] for part in weights[:3])
        output = np.split(weights[3], model.heads, axis=0)[index]
        for found, own in zip((query, key, value @ output), expected, strict=True):
            np.testing.assert_allclose(found, own, **TIGHT)


def with_orthogonal_starts(arrays):
    """The same with starts that are orthogonal in float64; kept ones are so in float32."""
    return {
        name: np.linalg.qr(value)[0] if name.endswith("_start") else value
        for name, value in arrays.items()
    }


def test_orthogonal_projections_are_orthogonal_and_are_moved_by_their_angles():
    model = MODELS["orthogonal"]
    arrays = with_orthogonal_starts(parameters(model, 1))
    weights = effective_weights(model, tensors(arrays))
    for name in ("value", "output"):
        matrix = getattr(weights, name).numpy()
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(WIDTH), atol=1e-12)
        assert np.abs(matrix - arrays[f"{name}_start"]).max() > 0.1
    kept = parameters(model, 1)["value_start"]
    np.testing.assert_allclose(kept.T @ kept, np.eye(WIDTH), atol=1e-6)


def test_hard_projections_are_those_of_proposition_4_2():
    """A_h = U_1h U_2h^T with orthonormal columns, W^V_h W^O_h = (A_h + A_h^T)/2."""
    model = MODELS["hard"]
    arrays = with_orthogonal_starts(parameters(model, 1))
    query, key, value, output = (
        matrix.numpy() for matrix in effective_weights(model, tensors(arrays))
    )
    columns = np.concatenate([query, key], axis=1)
    assert columns.shape == (WIDTH, WIDTH)
    np.testing.assert_allclose(columns.T @ columns, np.eye(WIDTH), atol=1e-12)
    heads = [np.split(part, model.heads, axis=1) for part in (query, key, value)]
    products = []
    for q, k, v, o in zip(*heads, np.split(output, model.heads), strict=True):
        a = q @ k.T
        np.testing.assert_allclose(v @ o, (a + a.T) / 2, atol=1e-12)
        np.testing.assert_allclose(a @ a, 0, atol=1e-12)
        products.append(v @ o)
    np.testing.assert_allclose(products[0] @ products[1], 0, atol=1e-12)


def test_tokens_stay_where_the_normalisation_puts_them():
    """Norms of 1 in every oscillator of AKOrN, and of tokens over gamma in ItrSA."""
    random = np.random.default_rng(0)
    tokens, inputs = torch.from_numpy(random.normal(size=(2, BOARDS, 5, WIDTH)))
    arrays = tensors(parameters(MODELS["akorn"], 1))
    found = step(MODELS["akorn"], arrays, tokens, inputs).numpy().reshape(-1, 4)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-12)
    arrays = tensors(parameters(MODELS["itrsa"], 1))
    found = (step(MODELS["itrsa"], arrays, tokens, inputs) / arrays["gamma"]).numpy()
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1, atol=1e-12)


@pytest.mark.parametrize("name", ["itrsa", "itrsa with one head", "orthogonal", "symmetric"])
def test_regularisers_are_their_formulas(name):
    model = MODELS[name]
    runs = [parameters(model, seed) for seed in SEEDS]
    together = {key: torch.from_numpy(np.stack([run[key] for run in runs])) for key in runs[0]}
    weights = effective_weights(model, together)
    energy, spectral = energy_penalty(weights).numpy(), spectral_penalty(weights).numpy()
    assert energy.shape == spectral.shape == (len(SEEDS),)
    for index, run in enumerate(runs):
        product = sum(head for _, _, head in Literal(model, run).heads)
        gap = sum((product[i, j] - product[j, i]) ** 2 for i in range(WIDTH) for j in range(WIDTH))
        np.testing.assert_allclose(energy[index], gap, **TIGHT)
        matrices = (matrix[index].numpy() for matrix in weights)
        expected = sum((np.linalg.svd(w)[1][0] ** 2 - 1) ** 2 for w in matrices)
        np.testing.assert_allclose(spectral[index], expected, **TIGHT)


def test_the_penalty_of_the_sum_does_not_see_the_heads():
    """Erratum E3: R_E = 0 while neither head is symmetric."""
    model = whole(kind="itrsa", width=2, heads=2)
    swap = torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64)
    identity = torch.eye(2, dtype=torch.float64)
    weights = effective_weights(
        model, {"query": identity, "key": identity, "value": identity, "output": swap}
    )
    assert energy_penalty(weights).item() == 0
    heads = [weights.value[:, h : h + 1] @ weights.output[h : h + 1] for h in range(2)]
    assert all(not torch.equal(head, head.T) for head in heads)


@of_all_models
def test_parameters_begin_with_the_sizes_that_are_said(model):
    width = 64
    heads = model.heads if model.projections != "hard" else 2
    large = model.model_copy(update={"width": width, "heads": heads})
    made = initial_parameters(large, DIGITS, 3)
    for name in ("embedding", "positions") if model.positions == "learned" else ("embedding",):
        size = np.sqrt(np.mean(made[name].astype(np.float64) ** 2))
        assert size == pytest.approx(width**-0.5, rel=0.2), name
    linear = {"query", "key", "value", "output", "symmetric", "readout"} & {*made}
    for name in sorted(linear | {name for name in made if name.startswith("layer_")}):
        entries = np.abs(made[name])
        assert made[name].shape[0] == width
        assert width**-0.5 * 0.98 < entries.max() <= width**-0.5 * (1 + 1e-6), name
        assert entries.mean() == pytest.approx(width**-0.5 / 2, rel=0.1), name
    for name in made:
        if name.endswith("_start"):
            product = made[name].astype(np.float64) @ made[name].T
            np.testing.assert_allclose(product, np.eye(width), atol=1e-5)
        if name.endswith("_angles") or "bias" in name:
            assert not made[name].any()


@of_all_models
def test_numbers_begin_where_the_settings_have_them(model):
    other = {"eta": 0.25, "gamma": 0.75, "omega": -1.5}
    plain, moved = (
        initial_parameters(model, DIGITS, 3),
        initial_parameters(model.model_copy(update=other), DIGITS, 3),
    )
    assert plain.keys() == moved.keys()
    for name, value in plain.items():
        key = name.removesuffix("s")
        expected = np.full_like(value, other[key]) if key in other else value
        assert np.array_equal(moved[name], expected), name
    has = {"eta", *({"gamma"} if model.kind == "itrsa" and model.normalised else ())}
    has |= {"omega" if model.omegas == "one" else "omegas"} if model.kind == "akorn" else set()
    assert {"eta", "gamma", "omega", "omegas"} & {*plain} == has


def test_matrices_begin_within_the_bound_of_their_rule():
    linear, xavier = (
        initial_parameters(whole(kind="itrsa", width=32, heads=2, matrices=rule), DIGITS, 3)
        for rule in ("linear", "xavier")
    )
    for name, value in linear.items():
        factor = 1.0
        if name in ("query", "key", "value", "output", "readout") or name.startswith("layer_"):
            rows, columns = value.shape
            factor = (6 / (1 + columns / rows)) ** 0.5
        np.testing.assert_allclose(xavier[name], factor * value, rtol=1e-6, err_msg=name)


def test_models_without_positions_share_all_other_draws():
    with_positions, without = (
        dict(
            initial_parameters(
                whole(kind="itrsa", width=WIDTH, heads=2, positions=positions), DIGITS, 3
            )
        )
        for positions in ("learned", "none")
    )
    del with_positions["positions"]
    assert with_positions.keys() == without.keys()
    assert all(np.array_equal(value, without[name]) for name, value in with_positions.items())
