"""What claims take of the pseudo-energy's metric, worked out by hand, and when they turn."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from registered import evidence, verdict_on

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.claims import pseudo_energy as claims

CURVES = {
    # seed, board: pseudo-energy, cosine, contribution, contribution_P0, quadratic form, t = 0, 1, 2
    (3, 0): ([-10, -30, -20], [0.9, 0.8, 0.9], [0.1, 0.3, 0.2], [0.1, 0.4, 0.3], [-1, -2, -3]),
    (3, 1): ([-20, -40, -50], [0.9, 0.9, 0.7], [0.1, 0.5, 0.6], [0.2, 0.5, 0.6], [-1, -2, -4]),
    (7, 0): ([20, 10, 40], [0.5, 0.6, 0.7], [0.4, 0.3, 0.2], [0.4, 0.3, 0.3], [1, 2, 8]),
    (7, 1): ([20, 30, 40], [0.7, 0.6, 0.5], [0.4, 0.3, 0.2], [0.2, 0.1, 0.1], [1, 2, 8]),
}
COLUMNS = ("pseudo_energy", "cosine", "contribution", "contribution_P0", "quadratic_form")


def measured(curves):
    rows = [
        {"seed": seed, "board": board, "t": t, **dict(zip(COLUMNS, values, strict=True))}
        for (seed, board), each in curves.items()
        for t, values in enumerate(zip(*each, strict=True))
    ]
    table = pd.DataFrame(rows).sample(frac=1, random_state=1, ignore_index=True)
    return Measured(table, SimpleNamespace())


def test_seeds_of_conditions_are_taken_together():
    """Both have the same curves, under other seeds."""
    other = {(10 + seed, board): each for (seed, board), each in CURVES.items()}
    found = claims.falling_steps(measured(CURVES), measured(other))
    expect(found, {3: 3 / 4, 7: 1 / 4, 13: 3 / 4, 17: 1 / 4})
    found = claims.largest_fall(measured(CURVES), measured(other))
    expect(found, {3: 0, 7: 0.1, 13: 0, 17: 0.1})


def expect(evidence, values):
    assert set(evidence["cell"]) == {"all boards"}
    found = dict(zip(evidence["seed"], evidence["value"], strict=True))
    assert found == {seed: pytest.approx(value, rel=1e-12) for seed, value in values.items()}


def test_energy_of_a_seed():
    expect(evidence("J21", measured(CURVES)), {3: (-35 + 15) / 15, 7: 1})
    expect(claims.falling_steps(measured(CURVES)), {3: 3 / 4, 7: 1 / 4})


def test_untrained_energies_are_set_beside_trained_ones():
    """Two seeds change places: what one gains the other loses."""
    turned = {(10 - seed, board): each for (seed, board), each in CURVES.items()}
    found = claims.further_after_training(measured(turned), measured(CURVES))
    expect(found, {3: 1 + 20 / 15, 7: -20 / 15 - 1})
    found = claims.more_falling_after_training(measured(turned), measured(CURVES))
    expect(found, {3: 1 / 2, 7: -1 / 2})


def test_cosine_of_a_seed():
    expect(evidence("J22", measured(CURVES)), {3: 0.8, 7: 0.6})


def test_contribution_of_a_seed():
    expect(claims.rise_of_contribution(measured(CURVES)), {3: 0.3, 7: -0.2})
    expect(claims.final_contribution(measured(CURVES)), {3: 0.4, 7: 0.2})
    expect(claims.largest_fall(measured(CURVES)), {3: 0, 7: 0.1})


def test_attention_at_the_start_explains_a_seed():
    # Errors of different signs do not make up for each other.
    short = {(3, 0): CURVES[3, 0], (7, 0): (*CURVES[7, 0][:3], [0.4, 0.3, 0.1], [1, 2, 8])}
    expect(claims.final_error(measured(short)), {3: 0.5, 7: 0.5})
    expect(claims.final_error(measured(CURVES)), {3: 0.45 / 0.4 - 1, 7: 0})


def test_form_of_a_seed():
    expect(claims.change_of_form(measured(CURVES)), {3: -2.5 / 15, 7: 7 / 20})


def test_boards_without_eigenbases_count_for_what_needs_none():
    found = measured(CURVES)
    missing = ["contribution", "contribution_P0"]
    found.table.loc[found.table["board"] == 1, missing] = np.nan
    expect(claims.rise_of_contribution(found), {3: 0.1, 7: -0.2})
    expect(evidence("J22", found), {3: 0.8, 7: 0.6})
    found.table[missing] = np.nan
    with pytest.raises(UnmeasurableError, match="contribution"):
        claims.rise_of_contribution(found)


def test_one_iteration_is_too_few():
    found = measured(CURVES)
    start = found._replace(table=found.table[found.table["t"] == 0])
    for measure in (partial(evidence, "J21"), claims.falling_steps, claims.rise_of_contribution):
        with pytest.raises(UnmeasurableError):
            measure(start)


def drawn(*, energy=-1.0, cosine=0.0, rise=0.3, dip=0.0, gap=0.01, form=1.4):
    """Eight seeds that are as the paper's figures, but for what is changed."""
    random, t = np.random.default_rng(0), np.arange(16)
    curves = {}
    for seed in range(1, 9):
        for board in range(3):
            contribution = 0.11 + rise * np.minimum(t / 3, 1) - dip * (t == 5)
            contribution = contribution + random.normal(0, 0.002) * t / 15
            fall = -10 + (40 + random.normal()) * energy * t / 15
            # One board in three has a bump, of a height of its own.
            bump = abs(energy) * 9 * (t == 4) * (board == 0) * (seed % 2)
            curves[seed, board] = (
                fall + bump,
                0.92 + cosine * (t == 4) + random.normal(0, 0.003, 16),
                contribution,
                contribution + gap + random.normal(0, 0.003, 16),
                (form + random.normal(0, 0.003)) * fall,
            )
    return measured(curves)


@pytest.mark.parametrize(
    ("claim", "mutation", "verdict"),
    [
        ("J21", {"energy": 1.0}, "does not hold"),
        ("J21", {"energy": -0.001}, "does not hold"),
        ("J21b", {"energy": 1.0}, "does not hold"),
        ("J35h", {"energy": 1.0}, "does not hold"),
        ("J22", {"cosine": -0.05}, "replicated"),
        ("J22", {"cosine": -0.09}, "does not hold"),
        ("J23", {"rise": -0.1}, "does not hold"),
        ("J23", {"rise": 0.01}, "does not hold"),
        ("J23b", {"rise": 0.05}, "does not hold"),
        ("J23b", {"rise": 0.6}, "does not hold"),
        ("J23c", {"dip": 0.05}, "does not hold"),
        ("J24b", {"gap": -0.2}, "does not hold"),
        ("J24b", {"gap": 0.2}, "does not hold"),
        ("J24c", {"energy": 1.0}, "does not hold"),
        ("J24c", {"form": 0.001}, "does not hold"),
    ],
)
def test_what_contradicts_a_claim_turns_its_verdict(claim, mutation, verdict):
    assert verdict_on(claim, drawn()) == "replicated"
    assert verdict_on(claim, drawn(**mutation)) == verdict


def test_identities_are_verified():
    assert verdict_on("J22b") == "verified"
