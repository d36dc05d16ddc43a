"""Training: a seed alone, in company and resumed; clipping and Adam against those of PyTorch."""

from itertools import islice

import numpy as np
import pytest
import torch
from tables import SETTINGS, whole

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.data.boards import sample
from transformer_dynamics.recurrent_attention.metrics.fingerprint import fingerprint_rows
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob, Givens
from transformer_dynamics.recurrent_attention.settings.models import Penalty
from transformer_dynamics.recurrent_attention.settings.training import Adam, Training, TrainJob
from transformer_dynamics.recurrent_attention.theory.recurrence import effective_weights
from transformer_dynamics.recurrent_attention.training.initialization import (
    FROZEN,
    initial_parameters,
)
from transformer_dynamics.recurrent_attention.training.loop import (
    clip_gradients,
    draw_batch,
    run_updates,
)
from transformer_dynamics.recurrent_attention.training.loop import train as run
from transformer_dynamics.recurrent_attention.training.losses import (
    energy_penalty,
    spectral_penalty,
)
from transformer_dynamics.recurrent_attention.training.network import forward_logits
from transformer_dynamics.recurrent_attention.training.state import initial_state

pytestmark = pytest.mark.numerical

BOARDS = BoardJob(
    size="4x4",
    train=40,
    valid=5,
    test=5,
    in_distribution=Givens(least=7, most=10),
    out_of_distribution=Givens(least=4, most=5),
    held_out=SETTINGS.boards.held_out,
)
DATA = sample(BOARDS, [], [])
UPDATES, RATE = 8, 0.004
SEEDS = [3, 8, 5]
MODELS = {
    "itrsa": (whole(kind="itrsa", width=16, heads=2), None),
    "akorn": (
        whole(kind="akorn", width=16, heads=2, oscillator=4),
        Penalty(kind="spectral", strength=0.01),
    ),
    "orthogonal": (
        whole(kind="itrsa", width=16, heads=2, projections="orthogonal"),
        Penalty(kind="energy", strength=0.01),
    ),
    "by planes": (whole(kind="akorn", width=16, heads=2, oscillator=4, omegas="planes"), None),
    "hard": (whole(kind="itrsa", width=16, heads=2, projections="hard"), None),
    "symmetric": (whole(kind="symmetric", width=16, heads=1), None),
}
of_all_models = pytest.mark.parametrize("name", MODELS)


def job(name, **changes):
    model, penalty = MODELS[name]
    training = SETTINGS.training.model_dump() | {
        "updates": UPDATES, "batch_size": 3, "loops": 2, "clip": 1.0, "relabel": True,
    }  # fmt: skip
    return TrainJob(
        boards=BOARDS,
        model=model,
        penalty=penalty,
        learning_rate=RATE,
        training=Training(**training | changes),
        device="cpu",
    )


class Kept:
    """A checkpoint that is due after some updates, and then keeps no more."""

    def __init__(self, updates, kept=None):
        self.left, self.arrays = updates, kept

    def read(self):
        return self.arrays

    def is_due(self):
        self.left -= 1
        return self.left == 0

    def write(self, arrays):
        self.arrays = {name: np.array(value) for name, value in arrays.items()}


def same_bits(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert value.tobytes() == second[name].tobytes(), name


@of_all_models
def test_the_bits_of_a_seed_do_not_depend_on_its_company(name):
    long = job(name, updates=25)
    together = run(long, SEEDS, [DATA], Kept(-1))
    alone = run(long, SEEDS[1:2], [DATA], Kept(-1))
    assert alone["losses"].shape == (1, 1)
    same_bits({key: value[1:2] for key, value in together.items()}, alone)


@of_all_models
def test_a_resumed_run_gives_the_same_bits(name):
    long = job(name, updates=25)
    kept = Kept(7)
    whole = run(long, SEEDS, [DATA], kept)
    assert len(kept.arrays["losses"]) == 7
    resumed = run(long, SEEDS, [DATA], Kept(-1, kept.arrays))
    same_bits(whole, resumed)
    assert not any(key.startswith("adam/") for key in resumed)


@of_all_models
def test_an_untrained_model_is_as_it_was_drawn(name):
    found = run(job(name).model_copy(update={"trained": False}), SEEDS, [DATA], Kept(-1))
    losses = found.pop("losses")
    assert losses.shape == (len(SEEDS), 0)
    for index, seed in enumerate(SEEDS):
        drawn = initial_parameters(MODELS[name][0], BOARDS.digits, seed)
        same_bits({key: value[index] for key, value in found.items()}, dict(drawn))
    rows = fingerprint_rows(Run("3,5,8", SEEDS, found | {"losses": losses}))
    assert rows["loss"].isna().all()
    assert rows["digest"].nunique() == len(SEEDS)


def test_blanks_of_an_update_begin_with_noise_of_the_size_that_is_set():
    plain = job("itrsa")
    loud = plain.model_copy(update={"model": plain.model.model_copy(update={"noise": 3.0})})
    for small, large in zip(*(draw_batch(each, DATA, 3, 0) for each in (plain, loud)), strict=True):
        factor = 3 if small.dtype == np.float32 else 1
        assert large.dtype == small.dtype
        assert np.array_equal(large, small.dtype.type(factor) * small)


@of_all_models
def test_embeddings_have_the_scale_that_is_set(name):
    """Left out it is 1/sqrt(D) to the bit, and nothing else depends on it."""
    model = MODELS[name][0]
    plain, same, large = (
        dict(initial_parameters(model.model_copy(update={"embedding": scale}), 4, 3))
        for scale in (None, model.width**-0.5, 1.0)
    )
    same_bits(plain, same)
    for key in ("embedding", "positions"):
        assert np.allclose(large.pop(key), plain.pop(key) * model.width**0.5, rtol=1e-6)
    same_bits(plain, large)


class OnGpu(torch.Tensor):
    """A tensor that NumPy cannot read before it is on the CPU."""

    def cpu(self):
        return self.as_subclass(torch.Tensor)

    def numpy(self):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def test_moments_are_kept_from_a_gpu():
    long = job("itrsa", updates=2)
    (state,) = islice(run_updates(long, SEEDS, DATA, initial_state(long, SEEDS)), 1)
    on_cpu = state.arrays()
    for moments in state.optimiser.state.values():
        moments |= {name: value.as_subclass(OnGpu) for name, value in moments.items()}
    same_bits(on_cpu, state.arrays())


@pytest.mark.parametrize("window", [3, 5])
def test_the_losses_kept_are_means_over_windows(window):
    own = job("itrsa", updates=11, loss_window=window)
    found = run(own, [3], [DATA], Kept(-1))["losses"]
    state = initial_state(own, [3])
    for _ in run_updates(own, [3], DATA, state):
        pass
    each = np.concatenate(state.losses)
    expected = [each[end - window : end].mean() for end in range(window, 12, window)]
    np.testing.assert_allclose(found, [expected], rtol=1e-5)


def trace(own, seeds):
    """The parameters after every update, by name."""
    return [
        {name: tensor.detach().double().clone() for name, tensor in state.parameters.items()}
        for state in run_updates(own, seeds, DATA, initial_state(own, seeds))
    ]


@pytest.mark.parametrize(("decay", "every"), [(0.0, 1), (0.0, 3), (0.6, 1), (0.9, 3)])
@pytest.mark.parametrize("name", ["itrsa", "orthogonal"])
def test_an_average_weighs_every_mean_less_than_the_next(name, decay, every):
    plain = job(name)
    found = run(job(name, average={"decay": decay, "every": every}), SEEDS[:2], [DATA], Kept(-1))
    same_bits({"losses": run(plain, SEEDS[:2], [DATA], Kept(-1))["losses"]},
              {"losses": found.pop("losses")})  # fmt: skip
    along = trace(plain, SEEDS[:2])[every - 1 :: every]
    weights = [decay**age for age in range(len(along))][::-1]
    for key, value in found.items():
        mean = sum(w * each[key] for w, each in zip(weights, along, strict=True)) / sum(weights)
        np.testing.assert_allclose(value, mean.numpy(), rtol=1e-5, atol=1e-7, err_msg=key)


@of_all_models
def test_averages_of_a_seed_are_the_same_in_company_and_resumed(name):
    long = job(name, updates=10, loss_cells="blanks", average={"decay": 0.7, "every": 3})
    kept = Kept(7)
    together = run(long, SEEDS, [DATA], kept)
    same_bits(together, run(long, SEEDS, [DATA], Kept(-1, kept.arrays)))
    alone = run(long, SEEDS[1:2], [DATA], Kept(-1))
    same_bits({key: value[1:2] for key, value in together.items()}, alone)


def test_more_updates_between_averages_than_there_are_is_refused():
    with pytest.raises(ValueError, match=r"average > every \(9\) must not be above updates \(8\)"):
        job("itrsa", average={"decay": 0.9, "every": 9})


def test_seeds_differ():
    found = run(job("itrsa"), SEEDS, [DATA], Kept(-1))
    assert len({value.tobytes() for value in found["query"]}) == len(SEEDS)


@of_all_models
def test_what_is_frozen_stays_and_all_else_moves(name):
    found = run(job(name), SEEDS[:1], [DATA], Kept(-1))
    start = initial_parameters(MODELS[name][0], BOARDS.digits, SEEDS[0])
    assert found.keys() - {"losses"} == start.keys()
    for key, value in start.items():
        assert np.array_equal(found[key][0], value) == (key in FROZEN), key


@pytest.mark.parametrize("largest", [0.1, 1.0, 100.0])
def test_every_seed_is_clipped_as_pytorch_clips_it_alone(largest):
    random = np.random.default_rng(0)
    shapes = [(3, 5), (4,), ()]
    # Of norms below and above the largest.
    scales = np.array([1e-3, 0.3, 30.0])
    gradients = [
        torch.from_numpy(
            random.normal(size=(3, *shape)) * scales.reshape(3, *[1] * len(shape))
        ) for shape in shapes
    ]  # fmt: skip
    expected = []
    for seed in range(3):
        own = [torch.nn.Parameter(torch.zeros(shape, dtype=torch.float64)) for shape in shapes]
        for parameter, gradient in zip(own, gradients, strict=True):
            parameter.grad = gradient[seed].clone()
        torch.nn.utils.clip_grad_norm_(own, largest)
        expected.append([parameter.grad for parameter in own])
    clip_gradients(gradients, largest)
    for seed, own in enumerate(expected):
        for gradient, theirs in zip(gradients, own, strict=True):
            torch.testing.assert_close(gradient[seed], theirs, rtol=1e-12, atol=0)
        norm = sum(float(theirs.square().sum()) for theirs in own) ** 0.5
        assert norm <= largest


ADAM = Adam(first=0.7, second=0.9, epsilon=0.01, weight_decay=0.1)


def literal(job, seed):
    """Parameters of one seed after training, in float64, and the losses of its updates.

    Clipping by PyTorch's function, Adam by its formulas, cross-entropy by PyTorch's.
    """
    how = job.training.adam
    start = initial_parameters(job.model, BOARDS.digits, seed)
    parameters = {
        name: torch.from_numpy(value).double().requires_grad_(name not in FROZEN)
        for name, value in start.items()
    }
    trained = [each for each in parameters.values() if each.requires_grad]
    first, second = ([torch.zeros_like(each) for each in trained] for _ in range(2))
    losses = []
    for update in range(job.training.updates):
        digits, solutions, noise = map(torch.from_numpy, draw_batch(job, DATA, seed, update))
        found = forward_logits(job.model, parameters, digits, noise.double(), job.training.loops)
        asked = digits == 0 if job.training.loss_cells == "blanks" else digits >= 0
        loss = torch.nn.functional.cross_entropy(found[asked], solutions[asked] - 1)
        losses.append(loss.item())
        if job.penalty:
            penalty = {"energy": energy_penalty, "spectral": spectral_penalty}[job.penalty.kind]
            loss = loss + job.penalty.strength * penalty(effective_weights(job.model, parameters))
        for each in trained:
            each.grad = None
        loss.backward()
        moved = [each for each in trained if each.grad is not None]
        torch.nn.utils.clip_grad_norm_(moved, job.training.clip)
        with torch.no_grad():
            for m, v, each in zip(first, second, trained, strict=True):
                gradient = each.grad + how.weight_decay * each
                m.add_((1 - how.first) * (gradient - m))
                v.add_((1 - how.second) * (gradient**2 - v))
                rate = RATE / (1 - how.first ** (update + 1))
                root = (v / (1 - how.second ** (update + 1))).sqrt()
                each.sub_(rate * m / (root + how.epsilon))
    return {name: each.detach().numpy() for name, each in parameters.items()}, losses


@of_all_models
@pytest.mark.parametrize(
    "changes", [{}, {"loss_cells": "blanks"}, {"adam": ADAM}], ids=["default", "blanks", "adam"]
)
def test_training_is_adam_on_the_loss_of_one_seed(name, changes):
    """Adam's first steps are signs: a gradient of rounding moves an entry by the whole rate."""
    own, one = job(name, **changes), SEEDS[0]
    state = initial_state(own, [7, one])
    for _ in run_updates(own, [7, one], DATA, state):
        pass
    expected, losses = literal(own, one)
    np.testing.assert_allclose([each[1] for each in state.losses], losses, rtol=1e-3)
    assert losses[-1] != losses[0]
    for key, value in expected.items():
        found = state.parameters[key][1].detach().numpy()
        far = np.abs(found - value) > 1e-2 * RATE * UPDATES
        assert far.mean() < 0.02, key


def test_batches_are_boards_of_the_training_split_whose_blanks_are_zero():
    own = job("itrsa", relabel=False, batch_size=12)
    digits, solutions, noise = draw_batch(own, DATA, 3, 0)
    known = {(*s, *g) for s, g in zip(
        DATA["train_solutions"].tolist(), DATA["train_given"].tolist(), strict=True
    )}  # fmt: skip
    for shown, solution in zip(digits, solutions, strict=True):
        assert (*solution.tolist(), *(shown > 0).tolist()) in known
        assert np.array_equal(shown[shown > 0], solution[shown > 0])
    assert noise.shape == (12, BOARDS.cells, 16)
    assert len({each.tobytes() for each in noise}) == 12
    again, other = draw_batch(own, DATA, 3, 0), draw_batch(own, DATA, 3, 1)
    assert np.array_equal(noise, again[2])
    assert not np.array_equal(noise, other[2])


def test_relabelled_boards_have_their_digits_renamed_throughout():
    plain, renamed = (
        draw_batch(job("itrsa", relabel=relabel, batch_size=30), DATA, 3, 0)
        for relabel in (False, True)
    )
    assert np.array_equal(plain[0] == 0, renamed[0] == 0)
    changed = 0
    for before, after in zip(plain[1], renamed[1], strict=True):
        names = {*zip(before.tolist(), after.tolist(), strict=True)}
        assert len(names) == BOARDS.digits
        changed += any(a != b for a, b in names)
    assert changed > 20


def test_the_penalty_is_added_to_what_is_minimised_and_not_to_what_is_kept():
    plain, held = (
        job("orthogonal").model_copy(update={"penalty": penalty})
        for penalty in (None, Penalty(kind="energy", strength=10.0))
    )
    found = [run(each.model_copy(update={"training": each.training.model_copy(
        update={"updates": 25})}), [3], [DATA], Kept(-1)) for each in (plain, held)]  # fmt: skip
    model, _ = MODELS["orthogonal"]
    gaps = [
        energy_penalty(
            effective_weights(model, {k: torch.from_numpy(v) for k, v in each.items()})
        ).item()
        for each in found
    ]
    assert gaps[1] < 0.5 * gaps[0]
    assert all((each["losses"] < 2).all() for each in found)
