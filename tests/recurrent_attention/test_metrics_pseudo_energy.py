"""The metrics of the pseudo-energy and of votes against literal loops, in float64."""

from functools import partial
from math import sqrt

import numpy as np
import pandas as pd
import pytest
import torch
from tables import SETTINGS, whole

from replication.study.contract import Run
from transformer_dynamics.recurrent_attention.data.boards import sample
from transformer_dynamics.recurrent_attention.metrics import pseudo_energy, votes
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    BoardTensors,
    initial_noise,
    run_parameters,
    seed_parameters,
    select_boards,
)
from transformer_dynamics.recurrent_attention.settings.boards import BoardJob, Givens
from transformer_dynamics.recurrent_attention.settings.metrics import (
    MetricJob,
    PseudoEnergy,
    Votes,
)
from transformer_dynamics.recurrent_attention.settings.training import TrainJob
from transformer_dynamics.recurrent_attention.theory.recurrence import drive, effective_weights
from transformer_dynamics.recurrent_attention.training.initialization import initial_parameters
from transformer_dynamics.recurrent_attention.training.network import (
    embed_digits,
    final_tokens,
    forward_logits,
    initial_tokens,
)

BOARDS = BoardJob(
    size="4x4",
    train=10,
    valid=2,
    test=3,
    in_distribution=Givens(least=7, most=10),
    out_of_distribution=Givens(least=4, most=5),
    held_out=SETTINGS.boards.held_out,
)
DATA = sample(BOARDS, [], [])
MODEL = whole(kind="akorn", width=8, heads=2, oscillator=4)
SEEDS = [5, 3]
STEPS, SHARE = 3, 0.05
TRAIN = TrainJob(
    boards=BOARDS,
    model=MODEL,
    penalty=None,
    learning_rate=0.001,
    training=SETTINGS.training.model_copy(update={"loops": 2}),
    device="cpu",
)


@pytest.fixture(scope="module")
def run():
    drawn = [initial_parameters(MODEL, 4, seed) for seed in SEEDS]
    arrays = {name: np.stack([2 * each[name] for each in drawn]) for name in drawn[0]}
    return Run("both", SEEDS, arrays | {"losses": np.zeros((2, 1), np.float32)})


def at(parameters, shown, noise, t):
    """X_t and Y_t of every board."""
    inputs = embed_digits(parameters, shown.digits)
    start = initial_tokens(MODEL, parameters, inputs, shown.blank, noise)
    tokens = final_tokens(MODEL, parameters, start, inputs, t)
    return tokens, drive(MODEL, effective_weights(MODEL, parameters), tokens, inputs)


def attended(tokens, parameters, shares=None):
    """MSA(X) of one board, head by head, with given P_h if any; and the P_h."""
    width = MODEL.width // MODEL.heads
    total, used = torch.zeros_like(tokens), []
    for head in range(MODEL.heads):
        own = slice(head * width, (head + 1) * width)
        query, key = (tokens @ parameters[name][:, own] for name in ("query", "key"))
        free = torch.softmax(query @ key.T / sqrt(width), dim=-1)
        used.append(free if shares is None else shares[head])
        total = total + used[-1] @ tokens @ parameters["value"][:, own] @ parameters["output"][own]
    return total, used


def jacobian(tokens, parameters, shares=None):
    found = torch.autograd.functional.jacobian(lambda x: attended(x, parameters, shares)[0], tokens)
    return found.reshape(tokens.numel(), tokens.numel())


def in_leading(tokens, matrix):
    values, vectors = np.linalg.eigh((matrix + matrix.T).numpy())
    coordinates = vectors[:, np.argsort(-values)].T @ tokens.flatten().numpy()
    leading = int(SHARE * len(values))
    return (coordinates[:leading] ** 2).sum() / (coordinates**2).sum()


def test_contributions_by_products_are_those_by_matrices(run, monkeypatch):
    how = PseudoEnergy(boards=1, eigenbases=1, share=SHARE, steps=2)
    measure = partial(pseudo_energy.measure, MetricJob(train=TRAIN, settings=how), [run], [DATA])
    dense = measure()
    monkeypatch.setattr(pseudo_energy, "MOST_ROWS", 0)
    pd.testing.assert_frame_equal(measure(), dense, atol=1e-9)


def test_pseudo_energy_is_that_of_literal_loops(run):
    how = PseudoEnergy(boards=2, eigenbases=1, share=SHARE, steps=STEPS)
    table = pseudo_energy.measure(MetricJob(train=TRAIN, settings=how), [run], [DATA])
    assert len(table) == 2 * 2 * STEPS
    shown = select_boards(DATA, "test_out", 2)
    noise = initial_noise("test_out", 0, shown, MODEL).double()
    found = table.set_index(["seed", "board", "t"])
    for seed, own in seed_parameters([run]):
        starts, _ = at(own, shown, noise, 0)
        for t in range(STEPS):
            tokens, driven = at(own, shown, noise, t)
            for board in range(2):
                x, y = tokens[board], driven[board]
                at_start = attended(starts[board], own)[1]
                msa, shares = attended(x, own)
                exact = jacobian(x, own)
                form = jacobian(x, own, at_start)
                along = exact @ x.flatten()
                flat = msa.flatten()
                expected = {
                    "cosine": float(flat @ along / flat.norm() / along.norm()),
                    "pseudo_energy": -float(torch.trace(x.T @ y)),
                    "quadratic_form": -float(x.flatten() @ form @ x.flatten()),
                }
                if board == 0:
                    expected |= {
                        "contribution": in_leading(x, exact),
                        "contribution_P": in_leading(x, jacobian(x, own, shares)),
                        "contribution_P0": in_leading(x, form),
                    }
                row = found.loc[(seed, board, t)].dropna()
                assert row.to_dict() == pytest.approx(expected, rel=1e-8)


def test_votes_are_those_of_draws_one_by_one(run):
    how, parameters = Votes(draws=3, boards=3, loops=4), run_parameters(run, torch.float64)
    shown = select_boards(DATA, "test_out", 3)
    ballots = votes.cast_ballots(MetricJob(train=TRAIN, settings=how), parameters, shown)
    for draw in range(3):
        noise = initial_noise("test_out", draw, shown, MODEL)
        for index, (_, own) in enumerate(seed_parameters([run])):
            digits = forward_logits(MODEL, own, shown.digits, noise, 4).argmax(dim=-1) + 1
            energies = torch.stack(
                [-(x * y).sum((1, 2)) for x, y in (at(own, shown, noise, t) for t in range(4))]
            )
            assert torch.equal(ballots.digits[draw, index], digits)
            torch.testing.assert_close(ballots.energies[draw, index], energies.sum(0))
            torch.testing.assert_close(ballots.last[draw, index], energies[-1])


def test_outcomes_are_worked_out_by_hand():
    """One seed, two boards of three cells, the first of which is given; three draws."""
    shown = BoardTensors(torch.tensor([[1, 0, 0], [2, 0, 0]]), torch.tensor([[1, 2, 3], [2, 3, 1]]))
    digits = torch.tensor(
        [
            [[4, 2, 3], [2, 1, 1]],  # solves the first: its wrong cell was given
            [[1, 2, 1], [2, 3, 4]],
            [[1, 4, 3], [2, 3, 1]],  # solves the second
        ]
    ).unsqueeze(1)
    energies = torch.tensor([[-5.0, -9.0], [-4.0, -1.0], [-3.0, -8.0]]).unsqueeze(1)
    last = torch.tensor([[-1.0, -1.0], [-2.0, -2.0], [-1.0, -3.0]]).unsqueeze(1)
    found = votes.solved_by_rule(votes.Ballots(digits, energies, last), shown)
    expected = {
        "single": [1 / 3, 1 / 3],
        "majority": [1, 1],
        "energy": [1, 0],
        "last energy": [0, 1],
        "any": [1, 1],
    }
    assert {rule: right.double().tolist()[0] for rule, right in found.items()} == expected


def test_table_of_votes_has_every_seed_and_rule(run):
    how = Votes(draws=2, boards=3, loops=2)
    table = votes.measure(MetricJob(train=TRAIN, settings=how), [run], [DATA])
    assert set(zip(table["seed"], table["rule"], strict=True)) == {
        (seed, rule)
        for seed in SEEDS
        for rule in ("single", "majority", "energy", "last energy", "any")
    }
    wide = table.pivot(index="seed", columns="rule", values="solved")
    assert (wide.drop(columns="majority").le(wide["any"], axis=0)).all(axis=None)
