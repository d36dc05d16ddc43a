"""Benchmarks compare what gives the same numbers, and say so where it does not."""

from copy import deepcopy

import click
import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks import (
    gradient_heterogeneity,
    lp_ft,
    pilot,
    recurrent_attention,
    scan_and_snap,
    steps,
    text,
    turns,
)
from benchmarks.devices import difference_where_finite
from replication.study.studies import find_studies
from transformer_dynamics.encoders.artificial import SIZES
from transformer_dynamics.gradient_heterogeneity.settings.heads import HeadsJob
from transformer_dynamics.gradient_heterogeneity.settings.measuring import PairJob

pytestmark = pytest.mark.thorough
SHAPE = {"placement": "pre", "depth": 2, "width": 16, "length": 8}
TRAINING = {
    "optimiser": "adam", "rate": 1e-3, "steps": 1, "batch_size": 4, "points": 1, "slice": 4,
    "momentum": 0.9, "second": 0.999, "weight_decay": 0, "warm_up": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def small():
    return lp_ft.untrained({name: size for name, size in SIZES.items() if name != "model_type"})


def is_measured(found):
    assert min(found.seconds) > 0
    assert found.ratio == found.seconds[0] / found.seconds[1]


def test_kernels_are_those_of_rows_of_jacobians(small):
    is_measured(lp_ft.kernels(small, 3, 2, rounds=1))


def test_updates_of_an_encoder_are_those_of_padded_texts(small):
    is_measured(lp_ft.updates(small, 5, rounds=1))


def test_a_pretrained_encoder_that_is_not_there_is_none(tmp_path):
    assert lp_ft.published(tmp_path) is None


@pytest.mark.parametrize("momentum", [0.9, 0.5])
def test_heads_together_are_those_one_after_the_other(momentum):
    names = ("sgd", "sgd_momentum", "signsgd", "signum", "rmsprop", "adam")
    optimisers = [{"name": name, "momentum": momentum, "second": 0.99} for name in names]
    job = HeadsJob(
        encoder="minilm", texts="clinc150", optimisers=optimisers,
        batch_sizes=[2, 5], rate=1e-2, steps=6, points=2, slice=10, head_deviation=0.1,
        device="cpu",
    )  # fmt: skip
    data = gradient_heterogeneity.made_up(4, 30, 6)
    is_measured(gradient_heterogeneity.trained_heads(job, data, rounds=1))


def test_curvatures_are_those_of_products_made_anew():
    job = PairJob.model_validate(
        {
            "shape": SHAPE, "words": 40, "texts": {"name": "trec6", "length": 8},
            "head_deviation": 0.1, "masking": {"share": 0.2, "mask": 1, "random": 0},
            "measuring": {
                "size": 4, "tolerance": 0.03, "products": 12, "least": 8, "limit": 100,
                "factors": [1],
            },
            "masked": TRAINING, "tunings": {"adam": TRAINING},
        }
    )  # fmt: skip
    is_measured(gradient_heterogeneity.curvatures(job, 300, rounds=1))


def test_losses_of_seeds_together_are_those_of_each_alone():
    ((condition, job, seeds),) = recurrent_attention.jobs(("itrsa",))
    is_measured(recurrent_attention.seeds_together(condition, job, seeds[:2], 1, rounds=1))


def test_runs_of_a_sweep_are_those_of_the_literal_loop():
    job = scan_and_snap.runs_of_figure_6()
    few = job.sampling.model_copy(update={"steps": 3, "batch_size": 8, "sequence_length": 16})
    is_measured(scan_and_snap.cells_together(job.model_copy(update={"sampling": few}), rounds=1))


def test_losses_on_text_are_those_of_the_plain_loop(monkeypatch):
    monkeypatch.setattr(text, "VOCABULARY", 500)
    monkeypatch.setattr(text, "AGREED", 2)
    text.agree(1)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([1.0, 2.1], "differ by 5.0e-02"),
        ([1.0, float("nan")], "differ by nan"),
        ([1.0], r"\(2,\) and \(1,\)"),
    ],
)
def test_what_differs_is_not_timed(found, said):
    with pytest.raises(click.ClickException, match=said):
        turns.time_by_turns("a step", ("slowly", lambda: [1.0, 2.0], lambda: found), 1e-3)


def test_the_table_has_both_ways_and_their_ratio():
    rows = [
        turns.Compared("a step", "slowly", (3.0, 0.25)),
        turns.Compared("another", "slowly", (0.003, 0.002)),
    ]
    assert turns.to_markdown(rows).splitlines()[2:4] == [
        "| a step | slowly: 3.00 s | 250 ms | 12 |",
        "| another | slowly: 3 ms | 2 ms | 1.5 |",
    ]


def test_every_study_of_a_paper_has_a_benchmark():
    assert set(steps.STEPS) == set(find_studies()) - {"example"}


def test_a_row_is_held_for_every_direction_and_training_text(small):
    given = lp_ft.texts(3, (3, 9), 12)
    directions = torch.eye(8, dtype=torch.float64)[:2]
    found = lp_ft.kernel_by_rows(deepcopy(small).double(), given, directions, 2)
    assert found.shape == (3, 2, 2, 2)
    # A Gram matrix of gradients.
    flat = found[:2].transpose(1, 2).reshape(4, 4)
    assert torch.equal(flat, flat.T)
    assert torch.linalg.eigvalsh(flat).min() > 0


def test_the_difference_of_two_devices_is_relative_and_sees_what_is_not_finite():
    assert difference_where_finite([0.0, -4.0, np.nan], [1.0, -4.0, np.nan]) == 0.25
    assert difference_where_finite([0.0], [0.0]) == 0
    assert difference_where_finite([1.0, np.nan], [1.0, 2.0]) == np.inf


def test_the_pilot_asks_for_boards_that_tell_methods_apart():
    rows = [
        {"split": split, "givens": givens, "loops": loops, "solved": solved}
        for split, givens, loops, solved in (
            ("valid_in", 20, 1, True), ("valid_in", 21, 1, False), ("valid_in", 20, 2, False),
            # Outside the range that is judged.
            ("valid_out", 12, 2, False), ("valid_out", 15, 1, False),
            ("valid_out", 15, 2, True), ("valid_out", 17, 2, False),
        )
    ]  # fmt: skip
    judged = pilot.Givens(least=15, most=17)
    assert pilot.passes(pd.DataFrame(rows), judged)
    for left_out in (0, 5, 6):
        kept = pd.DataFrame([row for place, row in enumerate(rows) if place != left_out])
        assert not pilot.passes(kept, judged)


def test_a_pilot_of_two_updates_measures_each_validation_board():
    (_, job, _), *_ = recurrent_attention.jobs()
    few = {"size": "6x6", "train": 20, "test": 2, "held_out": None}
    givens = {"in_distribution": pilot.Givens(least=32, most=34)}
    boards = job.boards.model_copy(update=few | givens)
    job = job.model_copy(
        update={"boards": boards, "training": job.training.model_copy(update={"updates": 2})}
    )
    wide = pilot.with_fewer_givens(job)
    wide = wide.model_copy(update={"boards": wide.boards.model_copy(update={"valid": 6})})
    data = pilot.sample(wide.boards, [], [])
    found = pilot.solved(wide, data, pilot.train(wide, data, pilot.SEED))
    assert len(found) == 2 * 3 * 6
    beyond = found[found["split"] == "valid_out"]["givens"]
    assert beyond.between(pilot.FEWEST, 31).all()
    assert found[found["split"] == "valid_in"]["givens"].between(32, 34).all()
