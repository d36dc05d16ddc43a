"""Accuracy, votes and what is tried, against the models' own predictions, board by board."""

import numpy as np
import pytest
import torch
from small_models import DIGITS, MODELS, job, run
from tables import trained

from transformer_dynamics.recurrent_attention.metrics import accuracy, fingerprint, tuning, votes
from transformer_dynamics.recurrent_attention.metrics.trained_models import (
    BoardTensors,
    initial_conditions,
    initial_noise,
    seed_parameters,
    select_boards,
    solved_shares,
)
from transformer_dynamics.recurrent_attention.settings.metrics import Accuracy, Votes
from transformer_dynamics.recurrent_attention.settings.tuning import Candidate, TuningJob
from transformer_dynamics.recurrent_attention.training.network import forward_logits

pytestmark = pytest.mark.numerical

MODEL = MODELS["itrsa"]
SPLITS = ("valid_out", "test_in", "test_out")
BOARDS = 30


def boards():
    """Other ones in every split; nothing asks whether they can be solved."""
    random, shape = np.random.default_rng(2), (BOARDS, DIGITS**2)
    return {
        f"{split}_{name}": values
        for split in SPLITS
        for name, values in (
            ("solutions", random.integers(1, DIGITS + 1, shape).astype(np.uint8)),
            ("given", random.random(shape) < 0.5),
        )
    }


def predicted(seed_at, split, draw, loops):
    """Share of boards whose blanks are all right, and share of right blanks, of one seed."""
    data, (_, own) = boards(), [*seed_parameters([run(MODEL)], torch.float32)][seed_at]
    shown = select_boards(data, split)
    noise = initial_noise(split, draw, shown, MODEL)
    digits = forward_logits(MODEL, own, shown.digits, noise, loops).argmax(dim=-1).numpy() + 1
    whole = right = blanks = 0
    for found, solution, given in zip(
        digits, data[f"{split}_solutions"], data[f"{split}_given"], strict=True
    ):
        hits = [int(f == s) for f, s, g in zip(found, solution, given, strict=True) if not g]
        whole += sum(hits) == len(hits)
        right, blanks = right + sum(hits), blanks + len(hits)
    return whole / BOARDS, right / blanks


def test_blanks_count_and_givens_do_not():
    """Of two boards, the first with a wrong given, the second with one of two blanks right."""
    shown = BoardTensors(torch.tensor([[1, 0, 2], [0, 1, 0]]), torch.tensor([[1, 2, 2], [2, 1, 1]]))
    digits = torch.tensor([[[2, 2, 1], [2, 2, 2]]])
    whole, cells = solved_shares(torch.nn.functional.one_hot(digits - 1).double(), shown)
    assert (whole.tolist(), cells.tolist()) == ([0.5], pytest.approx([2 / 3]))


def test_blanks_begin_with_noise_of_the_size_that_is_set():
    """Which decides nothing where blanks are normalised, up to rounding."""
    shown = select_boards(boards(), "test_out")
    for name, factor in (("unnormalised", 3.0), ("itrsa", 1.0), ("akorn", 1.0)):
        model = MODELS[name]
        _, own = next(seed_parameters([run(model)], torch.float32))
        loud = model.model_copy(update={"noise": 3 * model.noise})
        (inputs, start), (same, louder) = (
            initial_conditions(each, own, shown) for each in (model, loud)
        )
        assert torch.equal(inputs, same)
        assert torch.equal(start[~shown.blank], louder[~shown.blank])
        torch.testing.assert_close(louder[shown.blank], factor * start[shown.blank])


def test_what_is_not_finite_predicts_nothing():
    shown = BoardTensors(torch.tensor([[0, 0]]), torch.tensor([[1, 1]]))
    logits = torch.tensor([[[[1.0, 0.0], [torch.nan, 0.0]]]])
    whole, cells = solved_shares(logits, shown)
    assert (whole.tolist(), cells.tolist()) == ([0], [0.5])


def test_accuracy_is_that_of_predictions_after_every_number_of_loops():
    how = Accuracy(loops=[4, 1, 2], draws=3)
    table = accuracy.measure(job(MODEL, how), [run(MODEL)], [boards()])
    found = table.set_index(["split", "seed", "loops"])
    assert len(found) == 2 * 2 * 3
    for split, name in (("test_in", "in distribution"), ("test_out", "out of distribution")):
        for place, seed in enumerate((1, 2)):
            for loops in how.loops:
                draws = [predicted(place, split, draw, loops) for draw in range(how.draws)]
                row = found.loc[(name, seed, loops), ["solved", "cells"]].tolist()
                assert row == pytest.approx(np.mean(draws, axis=0).tolist(), abs=1e-6)


def test_candidates_are_compared_on_validation_boards_alone():
    base = trained("itrsa")
    train = base.model_copy(
        update={"model": MODEL, "training": base.training.model_copy(update={"loops": 1})}
    )
    tried = Candidate(run="one", condition="itrsa", quantity="learning_rate", value=0.5)
    made = run(MODEL, seeds=(2,))._replace(name="one")
    whole = run(MODEL)
    made.arrays.update({name: value[1:] for name, value in whole.arrays.items()})
    work = TuningJob(candidates=[tried], runs={"one": train}, loops=3, metric="solved")
    table = tuning.measure(work, [made], [boards()])
    assert table[
        ["condition", "quantity", "value", "seed"]
    ].drop_duplicates().to_numpy().tolist() == [["itrsa", "learning_rate", 0.5, 2]]
    found = table.set_index("loops")[["solved", "cells"]]
    assert found.index.tolist() == [1, 3]
    for loops in (1, 3):
        expected = predicted(1, "valid_out", 0, loops)
        assert found.loc[loops].tolist() == pytest.approx(list(expected), abs=1e-6)


def test_votes_are_cast_on_boards_out_of_distribution():
    how = Votes(draws=3, boards=BOARDS, loops=2)
    table = votes.measure(job(MODEL, how), [run(MODEL)], [boards()])
    single = table[table["rule"] == "single"].set_index("seed")["solved"]
    for place, seed in enumerate((1, 2)):
        draws = [predicted(place, "test_out", draw, 2)[0] for draw in range(3)]
        assert single[seed] == pytest.approx(np.mean(draws), abs=1e-6)


def test_a_fingerprint_is_of_every_array():
    whole = run(MODEL)
    whole.arrays["losses"] = np.ones((2, 3), np.float32)
    first, second = fingerprint.fingerprint_rows(whole)["digest"]
    assert first != second
    for name, values in whole.arrays.items():
        changed = values.copy()
        entries = changed.reshape(2, -1)
        entries[1, 0] = np.nextafter(entries[1, 0], np.float32(9))
        other = whole._replace(arrays={**whole.arrays, name: changed})
        found = fingerprint.fingerprint_rows(other)["digest"]
        assert (found[0], found[1] != second) == (first, True), name
