"""What is measured on training runs, on small tables whose evidence is worked out by hand.

And: no claim about training is replicated by a model that was not trained.
"""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from transformer_dynamics.errors import InputError
from transformer_dynamics.generate import REGISTRY
from transformer_dynamics.registry import read_registry
from transformer_dynamics.scan_and_snap import metrics
from transformer_dynamics.scan_and_snap.claims import arrays, fig4, fig5, fig6, recall, trajectory
from transformer_dynamics.scan_and_snap.claims.command import Measured
from transformer_dynamics.scan_and_snap.experiments import MeasureJob, Mixture
from transformer_dynamics.scan_and_snap.initialization import uniform, zero
from transformer_dynamics.scan_and_snap.paper_settings import PAPER
from transformer_dynamics.scan_and_snap.sequence_classes import sequence_classes
from transformer_dynamics.scan_and_snap.theory.decoder import snapping_start
from transformer_dynamics.verification.judgement import Judged, Verdict, judge

LN2, LN3, LN5, LN6 = np.log([2, 3, 5, 6])

SMALL = Mixture(
    num_last=1, next_tokens_per_query=2, common_weights=[1, 1], distinct_weights=[0.5, 1, 1.5]
)
"""K = 2, M = 11; tokens 0 and 1 are common, 2-4 and 5-7 distinct, 8 asks, 9 and 10 come next."""
P = [0.2, 0.2, 0.1, 0.2, 0.3]
"""P(l|n) of SMALL."""
ONE, HALF = [0, 0, 0, 0, 1.0], [0, 0, 0, 0.5, 0.5]
QUARTER, FLAT = [0, 0.25, 0.25, 0.25, 0.25], [0.2] * 5
TOKENS = {1: [0, 1, 2, 3, 4], 2: [0, 1, 5, 6, 7]}
"""Support of each class of SMALL."""


def changed(experiment: str, metric: str, mixtures: dict | None = None, **training) -> MeasureJob:
    """An experiment's job on SMALL, with the recorded updates and the rates given."""
    job = PAPER.measure_job(experiment, metric, "cpu")
    steps = training.pop("steps")
    return job.model_copy(
        update={
            "mixtures": mixtures or {"small": SMALL},
            "sampling": job.sampling.model_copy(update={"steps": steps}),
            "training": job.training.model_copy(update=training),
        }
    )


def shuffled(rows: list[dict]) -> pd.DataFrame:
    return pd.DataFrame(rows).sample(frac=1, random_state=1, ignore_index=True)


def on_classes(metric: str, runs: dict) -> Measured:
    """From {(seed, eta_z, ratio): {iteration: values on both classes' supports}}."""
    rows = []
    for (seed, eta_z, ratio), run in runs.items():
        for iteration, classes in run.items():
            for number, values in zip((1, 2), classes, strict=True):
                by_token = dict.fromkeys(range(8), 0.0) | dict(
                    zip(TOKENS[number], values, strict=True)
                )
                rows += [
                    {
                        "seed": seed,
                        "iteration": iteration,
                        "eta_z": eta_z,
                        "ratio": ratio,
                        "sequence_class": number,
                        "token": token,
                        metric: value,
                    }
                    for token, value in by_token.items()
                ]
    *recorded, steps = sorted({row["iteration"] for row in rows})
    # The rates as a person might list them: their order must not matter.
    rates = {name: sorted({row[name] for row in rows}, reverse=True) for name in ("eta_z", "ratio")}
    job = changed("theory_comparison", metric, steps=steps, recorded=recorded, **rates)
    return Measured(shuffled(rows), job)


def by(table: pd.DataFrame, *names: str) -> dict:
    """Evidence as {(cell, ...): value}; every row has its own key."""
    keys = list(zip(*(table[name] for name in ("cell", *names)), strict=True))
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, table["value"].astype(float), strict=True))


def expect(table: pd.DataFrame, names: tuple[str, ...], values: dict) -> None:
    assert by(table, *names) == pytest.approx(values, rel=1e-9, abs=1e-12)


# Arrays


def test_runs_bring_shuffled_rows_into_order():
    """Every value tells where it belongs."""
    seeds, iterations, cells = [7, 3], [9, 0, 4], [(2, 3), (1, 3), (2, 1), (1, 1)]

    def value(seed, iteration, eta_z, ratio, number, token):
        return token + 10 * number + 100 * ratio + 1e3 * eta_z + 1e4 * iteration + 1e6 * seed

    runs = {
        (seed, *cell): {
            iteration: [
                [value(seed, iteration, *cell, number, token) for token in TOKENS[number]]
                for number in (1, 2)
            ]
            for iteration in iterations
        }
        for seed, cell in product(seeds, cells)
    }
    found = arrays.runs(on_classes("attention", runs))
    assert found.seeds == [3, 7]
    assert found.iterations == [0, 4, 9]
    assert found.cells.to_numpy().tolist() == [[1, 1], [1, 3], [2, 1], [2, 3]]
    assert found.num_common == 2
    assert found.array.shape == (2, 3, 4, 2, 5)
    expected = [
        value(seed, iteration, eta_z, ratio, number, token)
        for seed in (3, 7)
        for iteration in (0, 4, 9)
        for eta_z in (1, 2)
        for ratio in (1, 3)
        for number in (1, 2)
        for token in TOKENS[number]
    ]
    assert found.array.ravel().tolist() == expected
    assert found.distinct().shape == (2, 3, 4, 2, 3)
    assert found.distinct()[0, 0, 0, 1].tolist() == [value(3, 0, 1, 1, 2, t) for t in (5, 6, 7)]


@pytest.mark.parametrize(
    ("values", "nats"),
    [
        ([1, 0, 0], 0),
        ([3, 3, 3, 3], np.log(4)),
        ([0.5, 0, 0.25, 0.25], 1.5 * LN2),
        ([2, 1], np.log(3) - 2 / 3 * LN2),
    ],
)
def test_entropy_of_known_distributions(values, nats):
    assert arrays.entropy(np.array(values, dtype=float)) == pytest.approx(nats, abs=1e-15)


def test_entropy_is_along_the_last_axis():
    h = arrays.entropy(np.array([[[1.0, 0], [1, 1]], [[0, 5], [2, 2]]]))
    np.testing.assert_allclose(h, [[0, LN2], [0, LN2]])


def test_evidence_has_a_row_per_seed_and_cell_and_names_the_cells():
    cells = pd.DataFrame({"eta_z": [0.5, 0.5, 1.0], "ratio": [1.0, 10.0, 1.0]})
    table = arrays.evidence([[1, 2, 3], [4, 5, 6]], [3, 7], cells)
    named = arrays.labelled(table, eta_z="eta_Z", ratio="eta_Y/eta_Z")
    expect(
        named,
        ("seed",),
        {
            ("eta_Z 0.5, eta_Y/eta_Z 1", 3): 1,
            ("eta_Z 0.5, eta_Y/eta_Z 10", 3): 2,
            ("eta_Z 1, eta_Y/eta_Z 1", 3): 3,
            ("eta_Z 0.5, eta_Y/eta_Z 1", 7): 4,
            ("eta_Z 0.5, eta_Y/eta_Z 10", 7): 5,
            ("eta_Z 1, eta_Y/eta_Z 1", 7): 6,
        },
    )


def test_change_with_ratio_is_highest_minus_lowest_of_every_other_cell():
    values = {(1, 1): 5, (1, 2): 100, (1, 10): 7, (0.5, 1): 1, (0.5, 2): -100, (0.5, 10): 0}
    rows = [
        {"num_last": size, "eta_z": eta_z, "ratio": ratio, "seed": seed, "value": size * seed * v}
        for ((eta_z, ratio), v), seed, size in product(values.items(), (3, 7), (1, 10))
    ]
    expect(
        arrays.change_with_ratio(shuffled(rows), num_last="num_last"),
        ("seed",),
        {
            (f"num_last {size}, eta_Z {eta_z:g}", seed): size * seed * change
            for size, seed, (eta_z, change) in product((1, 10), (3, 7), ((1, 2), (0.5, -1)))
        },
    )


# Figure 4


R1, R10 = "eta_Y/eta_Z 1", "eta_Y/eta_Z 10"


@pytest.fixture
def ends() -> Measured:
    """From P to four ends, by way of something else."""
    ends = {
        (3, 1, 1): [ONE, HALF],
        (3, 1, 10): [HALF, QUARTER],
        (7, 1, 1): [ONE, ONE],
        (7, 1, 10): [FLAT, ONE],
    }
    return on_classes("attention", {k: {0: [P, P], 5: [FLAT, ONE], 9: v} for k, v in ends.items()})


def test_change_of_entropy(ends):
    start = 0.6 * LN5 + 0.1 * np.log(10) + 0.3 * np.log(10 / 3)
    expect(
        fig4.change_of_entropy(ends),
        ("seed",),
        {
            (R1, 3): LN2 / 2 - start,
            (R10, 3): (LN2 + 2 * LN2) / 2 - start,
            (R1, 7): -start,
            (R10, 7): LN5 / 2 - start,
        },
    )


def test_change_of_entropy_with_ratio(ends):
    expect(
        fig4.change_of_entropy_with_ratio(ends),
        ("seed",),
        {("eta_Z 1", 3): LN2, ("eta_Z 1", 7): LN5 / 2},
    )


def test_change_of_common_mass(ends):
    expect(
        fig4.change_of_common_mass(ends),
        ("seed",),
        {(R1, 3): -0.4, (R10, 3): -0.275, (R1, 7): -0.4, (R10, 7): -0.2},
    )


def test_lead_of_the_most_frequent(ends):
    """P leads by 1 - 0.2/0.3, ONE by 1, the others not at all."""
    expect(
        fig4.lead_of_the_most_frequent(ends),
        ("seed",),
        {(R1, 3): 1 / 2 - 1 / 3, (R10, 3): -1 / 3, (R1, 7): 2 / 3, (R10, 7): 1 / 2 - 1 / 3},
    )


def losses(runs: dict, **training) -> Measured:
    rows = [
        {"seed": seed, "eta_z": eta_z, "ratio": ratio, "iteration": iteration, "loss": loss}
        for (seed, eta_z, ratio), run in runs.items()
        for iteration, loss in enumerate(run)
    ]
    steps = max(row["iteration"] for row in rows) + 1
    return Measured(shuffled(rows), changed("theory_comparison", "loss", steps=steps, **training))


def test_change_of_updates_to_learn():
    """A loss that touches the tenth is not below it; one that never is counts all updates."""
    measured = losses(
        {
            (3, 1, 1): [10, 5, 0.9, 0.5],
            (3, 1, 10): [10, 0.5, 2, 0.1],
            (7, 1, 1): [10, 5, 5, 5],
            (7, 1, 10): [8, 0.8, 0.7, 0.9],
        }
    )
    expect(
        fig4.change_of_updates_to_learn(measured),
        ("seed",),
        {("eta_Z 1", 3): 1 - 2, ("eta_Z 1", 7): 2 - 4},
    )


# Figure 5


@pytest.fixture
def adam() -> Measured:
    ends = {
        (3, 0.1, 1): [ONE, HALF],
        (3, 0.5, 1): [HALF, QUARTER],
        (7, 0.1, 1): [ONE, ONE],
        (7, 0.5, 1): [FLAT, ONE],
        (9, 0.1, 1): [ONE, ONE],
        (9, 0.5, 1): [ONE, ONE],
    }
    return on_classes("attention", {k: {0: [P, P], 5: [FLAT, ONE], 9: v} for k, v in ends.items()})


def test_distance_between_rates(adam):
    """On distinct tokens ONE to HALF is 1/2, ONE to FLAT = QUARTER 2/3, HALF to FLAT 1/3.

    Between rates: 5/12, 1/3, 0. Between seeds 3-7, 3-9, 7-9: 1/4, 1/4, 0 and 1/2, 7/12, 1/3.
    """
    cell = "rates 0.1 and 0.5"
    expect(
        fig5.distance_between_rates(adam),
        ("seed",),
        {
            (cell, 3): 5 / 12 - (1 / 4 + 13 / 24) / 2,
            (cell, 7): 1 / 3 - (1 / 8 + 5 / 12) / 2,
            (cell, 9): 0 - (1 / 8 + 11 / 24) / 2,
        },
    )


def test_change_of_entropy_on_distinct(adam):
    start = LN6 / 6 + LN3 / 3 + LN2 / 2
    expect(
        fig5.change_of_entropy_on_distinct(adam),
        ("seed",),
        {
            ("rate 0.1", 3): LN2 / 2 - start,
            ("rate 0.5", 3): (LN2 + LN3) / 2 - start,
            ("rate 0.1", 7): -start,
            ("rate 0.5", 7): LN3 / 2 - start,
            ("rate 0.1", 9): -start,
            ("rate 0.5", 9): -start,
        },
    )


# Figure 6


def entropies(values: dict, **training) -> Measured:
    """From {(num_last, eta_z, ratio, seed): final entropy}, and another one before."""
    rows = [
        {**dict(zip(("num_last", "eta_z", "ratio", "seed"), key, strict=True)), "iteration": i}
        | {"entropy": value if i == 100 else -5.0}
        for key, value in values.items()
        for i in (50, 100)
    ]
    return Measured(shuffled(rows), changed("syn_medium", "entropy", steps=100, **training))


REFERENCE = pd.DataFrame(
    [(1, 0.5, 1, 1.5, 0.4), (3, 2, 10, 2.5, 0.1)],
    columns=["num_last", "eta_z", "ratio", "entropy_mean", "entropy_std"],
)
TWO_CELLS = {
    (1, 0.5, 1, 3): 1.0,
    (1, 0.5, 1, 7): 2.0,
    (3, 2, 10, 3): 2.0,
    (3, 2, 10, 7): 2.4,
    (3, 3, 10, 3): 9.0,  # not printed
    (3, 3, 10, 7): 9.0,
}
CELL_1 = "num_last 1, eta_Z 0.5, eta_Y/eta_Z 1"
CELL_2 = "num_last 3, eta_Z 2, eta_Y/eta_Z 10"


def test_entropy_against_the_rates():
    grid = {
        (size, eta_z, ratio, seed): size + 10 * eta_z + 100 * ratio + 1e4 * seed
        for size, eta_z, ratio, seed in product((1, 3), (0.5, 1), (1, 2, 5), (3, 7))
    }
    expect(
        fig6.against_eta_z(entropies(grid)),
        ("level", "seed"),
        {(f"num_last {n}, eta_Y/eta_Z {r}", z, s): v for (n, z, r, s), v in grid.items()},
    )
    expect(
        fig6.against_ratio_beyond(entropies(grid)),
        ("level", "seed"),
        {(f"num_last {n}, eta_Z {z:g}", r, s): v for (n, z, r, s), v in grid.items() if r > 1},
    )


def test_change_below_the_threshold():
    values = {1: 2.0, 2: 1.75, 5: 9.0}
    grid = {
        (size, eta_z, ratio, seed): size * seed * eta_z * value
        for size, eta_z, (ratio, value), seed in product((1, 3), (0.5, 1), values.items(), (3, 7))
    }
    expect(
        fig6.change_below(entropies(grid)),
        ("seed",),
        {
            (f"num_last {n}, eta_Z {z:g}", s): -0.25 * n * s * z
            for n, z, s in product((1, 3), (0.5, 1), (3, 7))
        },
    )
    without = {key: value for key, value in grid.items() if key[2] != 1}
    with pytest.raises(InputError, match="two ratios"):
        fig6.change_below(entropies(without))


def test_means_of_a_panel():
    ours = {key: value + key[-1] for key, value in TWO_CELLS.items()}
    expect(
        fig6.means_of_a_panel(entropies(TWO_CELLS), entropies(ours)),
        ("sample", "seed"),
        {
            ("num_last 1", "paper", 3): 1.0,
            ("num_last 1", "paper", 7): 2.0,
            ("num_last 3", "paper", 3): 5.5,
            ("num_last 3", "paper", 7): 5.7,
            ("num_last 1", "ours", 3): 4.0,
            ("num_last 1", "ours", 7): 9.0,
            ("num_last 3", "ours", 3): 8.5,
            ("num_last 3", "ours", 7): 12.7,
        },
    )


def test_published():
    table = fig6.published(entropies(TWO_CELLS), REFERENCE)
    expect(
        table,
        ("published",),
        {
            (f"mean, {CELL_1}", 1.5): 1.5,
            (f"mean, {CELL_2}", 2.5): 2.2,
            (f"std, {CELL_1}", 0.4): np.sqrt(0.5),
            (f"std, {CELL_2}", 0.1): np.sqrt(0.08),
        },
    )


def test_predicted():
    table = fig6.predicted(entropies(TWO_CELLS), REFERENCE)
    expect(
        table,
        ("seed", "published", "published_seeds"),
        {
            (CELL_1, 3, 1.5, 10): 1.0,
            (CELL_1, 7, 1.5, 10): 2.0,
            (CELL_2, 3, 2.5, 10): 2.0,
            (CELL_2, 7, 2.5, 10): 2.4,
        },
    )


def test_error_bars_over_the_standard_error():
    """The standard error of two values is half their distance."""
    expect(
        fig6.error_bars(entropies(TWO_CELLS), REFERENCE),
        (),
        {(CELL_1,): 0.4 / 0.5, (CELL_2,): 0.1 / 0.2},
    )


def test_change_after():
    rows = [
        {"eta_z": z, "ratio": r, "seed": s, "iteration": i, "entropy": z * r * s * value}
        for z, r, s in product((0.5, 1), (1, 10), (3, 7))
        for i, value in {50: 7.0, 100: 1.0, 300: 9.0, 1000: 1.5}.items()
    ]
    authors = entropies(TWO_CELLS)
    expect(
        fig6.change_after(Measured(shuffled(rows), authors.job), authors),
        ("seed",),
        {
            (f"eta_Z {z:g}, eta_Y/eta_Z {r}", s): 0.5 * z * r * s
            for z, r, s in product((0.5, 1), (1, 10), (3, 7))
        },
    )
    late = shuffled([row for row in rows if row["iteration"] != 100])
    with pytest.raises(InputError, match="must record update 100"):
        fig6.change_after(Measured(late, authors.job), authors)


# Figures 11 and 12


def test_descent_of_the_recall():
    """From the first to the last threshold after training; 0.3 - 0.1 equals 0.2."""
    falls = {
        (size, z, r, s): (0.3, 0.1) if s == 3 else (0.5 + 0.01 * r, 0.1 * z)
        for size, z, r, s in product((1, 3), (0.5, 1), (2, 10), (3, 7))
    }
    rows = [
        {"num_last": n, "eta_z": z, "ratio": r, "seed": s, "iteration": i, "threshold": h}
        | {"recall": value if i == 9 else 1.0}
        for (n, z, r, s), (first, last) in falls.items()
        for i in (0, 9)
        for h, value in {0.004: first, 0.01: 0.9, 0.02: last}.items()
    ]
    measured = Measured(shuffled(rows), changed("fig6_replication", "recall", steps=9))
    falls = {key: first - last for key, (first, last) in falls.items()}
    against_ratio = recall.descent_against_ratio(measured)
    expect(
        against_ratio,
        ("level", "seed"),
        {(f"num_last {n}, eta_Z {z:g}", r, s): fall for (n, z, r, s), fall in falls.items()},
    )
    assert (against_ratio.loc[against_ratio["seed"] == 3, "value"] == 0.2).all()
    expect(
        recall.descent_against_eta_z(measured),
        ("level", "seed"),
        {(f"num_last {n}, eta_Y/eta_Z {r}", z, s): fall for (n, z, r, s), fall in falls.items()},
    )


# Theory against training


def test_time_to_an_error():
    """The mean of ten losses is eps; t eps eta_Y/(K ln(M/eps)) is largest at the t below."""
    measured = losses(
        {
            (3, 0.5, 2): [2.0] * 20 + [0.1] * 10,  # the only mean up to 0.2 is the last one
            (7, 0.5, 2): [0.15] * 15 + [0.01] * 15,  # largest at the last update of the plateau
            (3, 0.5, 4): [1.0] * 30,  # never down to 0.2
            (7, 0.5, 4): [0.15] * 15 + [0.01] * 15,
        },
        eta_z=[0.5],
        ratio=[4.0, 2.0],
    )
    plateau = 14 * 0.15 / (2 * np.log(11 / 0.15))
    expect(
        trajectory.time_to_an_error(measured),
        ("seed",),
        {
            ("eta_Y/eta_Z 2", 3): 29 * 0.1 / (2 * np.log(110)),
            ("eta_Y/eta_Z 2", 7): plateau,
            ("eta_Y/eta_Z 4", 3): 29 * 2 / (2 * np.log(11)),
            ("eta_Y/eta_Z 4", 7): 2 * plateau,
        },
    )


@pytest.fixture
def grown() -> Measured:
    """P exp(z) after z of each class has come about."""
    logits = {
        (3, 1, 1): [[-1, -2, 1, 2, 3], [-3, -4, 3, 4, 5]],
        (3, 1, 10): [[-1, -2, 9, 9, 9], [-0.5, -4, 9, 9, 9]],
        (7, 1, 1): [[-1, -2, -1, 0, 1], [-3, 0.25, 0, 0, 2]],
        (7, 1, 10): [[-2, -2, 9, 9, 9], [-2, -2, 9, 9, 9]],
    }
    runs = {
        key: {0: [P, P], 5: [FLAT, FLAT], 9: (np.array(P) * np.exp(z)).tolist()}
        for key, z in logits.items()
    }
    return on_classes("unnormalised_attention", runs)


def test_rise_of_distinct_tokens(grown):
    """At the lowest ratio, mean over classes."""
    rises = {3: (2, 3, 4), 7: (-0.5, 0, 1.5)}
    expect(
        trajectory.rise_of_distinct_tokens(grown),
        ("seed",),
        {
            (f"P(l|n) = {p}", seed): rise
            for seed, values in rises.items()
            for p, rise in zip(("0.1000", "0.2000", "0.3000"), values, strict=True)
        },
    )


def test_fall_of_common_tokens(grown):
    """The largest over tokens and classes."""
    expect(
        trajectory.fall_of_common_tokens(grown),
        ("seed",),
        {(R1, 3): -1, (R10, 3): -0.5, (R1, 7): 0.25, (R10, 7): -2},
    )


def growths(runs: dict) -> Measured:
    """From {(seed, ratio): {iteration: (exponent, relative gain, growth factor)}}."""
    names = ("exponent", "relative_gain", "growth_factor")
    rows = [
        {"mixture": "small", "seed": seed, "eta_z": 0.2, "ratio": ratio, "iteration": iteration}
        | {"quantity": name, "growth": value}
        for (seed, ratio), run in runs.items()
        for iteration, values in run.items()
        for name, value in zip(names, values, strict=True)
    ]
    job = changed("theory_comparison", "growth", steps=9, recorded=[0, 5])
    return Measured(shuffled(rows), job)


def test_gain_over_growth():
    start, other = (0, 2, 1), (50, 60, 70)
    measured = growths(
        {
            (3, 1): {0: start, 5: other, 9: (1, 5, 2)},
            (3, 10): {0: start, 5: other, 9: (1, 6, 3)},
            (7, 1): {0: (0, 4, 1), 5: other, 9: (1, 6, 3)},
            (7, 10): {0: start, 5: other, 9: (1, 2, 4)},
        }
    )
    expect(
        trajectory.gain_over_growth(measured),
        ("seed",),
        {(R1, 3): 1.25, (R10, 3): 1, (R1, 7): 0.5, (R10, 7): 0.25},
    )


def test_place_between_the_bounds():
    """2 B f^2 <= ln chi <= 2 B; f^2 of the most frequent distinct token is 2.25/5.5 = 9/22."""
    start, other = (0, 2, 1), (50, 60, 70)
    ends = {
        (3, 1): (0.5, 60, np.exp(9 / 22)),
        (3, 10): (0.5, 60, np.exp(1)),
        (7, 1): (1, 60, np.exp(2 * 15.5 / 22)),
        (7, 10): (2, 60, np.exp(4 * 35 / 22)),
    }
    measured = growths({key: {0: start, 5: other, 9: end} for key, end in ends.items()})
    expect(
        trajectory.place_between_the_bounds(measured),
        ("seed",),
        {(R1, 3): 0, (R10, 3): 1, (R1, 7): 0.5, (R10, 7): 2},
    )


def test_growth_of_the_dominant_share():
    """Spearman's correlation of four ranks is 1 - sum d^2/10; times need not be equally far."""
    orders = {(3, 1): (1, 2, 3, 4), (3, 10): (1, 3, 2, 4), (7, 1): (4, 3, 2, 1)}
    orders[7, 10] = (2, 1, 4, 3)
    runs = {
        (seed, 0.2, ratio): {
            t: [[*P[:4], 0.3 * share]] * 2 for t, share in zip((0, 2, 50, 80), order, strict=True)
        }
        for (seed, ratio), order in orders.items()
    }
    expect(
        trajectory.growth_of_the_dominant_share(on_classes("attention", runs)),
        ("seed",),
        {(R1, 3): 1, (R10, 3): 0.8, (R1, 7): -1, (R10, 7): 0.6},
    )


def test_remaining_share():
    """P has 1/3 and 2/3 of the dominant token's share."""
    first = [0.2, 0.1, 0.1, 0.2, 0.4]  # 1/4 and 1/2: both keep 3/4
    second = [0.2, 0.15, 0.05, 0.3, 0.3]  # 1/6 and 1: 1/2 and 3/2
    ends = {
        (3, 1, 1): [first, second],
        (3, 1, 10): [first, first],
        (7, 1, 1): [second, second],
        (7, 1, 10): [P, second],
    }
    measured = on_classes(
        "attention", {k: {0: [P, P], 5: [FLAT] * 2, 9: v} for k, v in ends.items()}
    )
    kept = {
        (R1, 3): (0.625, 1.125),
        (R10, 3): (0.75, 0.75),
        (R1, 7): (0.5, 1.5),
        (R10, 7): (0.75, 1.25),
    }
    expect(
        trajectory.remaining_share(measured),
        ("seed", "level"),
        {(*key, rank): value for key, pair in kept.items() for rank, value in enumerate(pair, 1)},
    )


TIMES = [0, 5, 10, 20, 40, 80]


@pytest.fixture
def moving() -> Measured:
    """Attention that moves at given speeds in the intervals of TIMES."""
    speeds = {
        (3, 0.5, 2): [0.01, 0.004, 0.002, 0.0005, 0.0002],
        (3, 0.5, 4): [0.002, 0.008, 0.003, 0.0005, 0.00025],
        (7, 0.5, 2): [0.004, 0.002, 0.01, 0.001, 0.0001],
        (7, 0.5, 4): [0.01, 0.005, 0.002, 0.0015, 0.0005],
    }
    runs = {}
    for key, speed in speeds.items():
        moved = np.concatenate([[0], np.cumsum(np.array(speed) * np.diff(TIMES))])
        # In one class only, from a common token to a distinct one: |.|_1 is twice this, the mean
        # over classes half of that.
        runs[key] = {
            t: [[P[0] - m, P[1], P[2], P[3] + m, P[4]], P]
            for t, m in zip(TIMES, moved, strict=True)
        }
    return on_classes("attention", runs)


def test_speed_past_the_transition(moving):
    """t_0 is 14.3 at eta_Y = 1, so that update 20 is the first past it, and 7.2 at eta_Y = 2."""
    assert 10 < snapping_start(1, 11, 2) < 20
    assert 5 < snapping_start(2, 11, 2) < 10
    expect(
        trajectory.speed_past_the_transition(moving),
        ("seed",),
        {
            ("eta_Y/eta_Z 2", 3): 0.0005 / 0.01,
            ("eta_Y/eta_Z 4", 3): 0.003 / 0.008,
            ("eta_Y/eta_Z 2", 7): 0.001 / 0.01,
            ("eta_Y/eta_Z 4", 7): 0.002 / 0.01,
        },
    )


def test_speed_at_the_end(moving):
    expect(
        trajectory.speed_at_the_end(moving),
        ("seed",),
        {
            ("eta_Y/eta_Z 2", 3): 0.0002 / 0.01,
            ("eta_Y/eta_Z 4", 3): 0.00025 / 0.008,
            ("eta_Y/eta_Z 2", 7): 0.0001 / 0.01,
            ("eta_Y/eta_Z 4", 7): 0.0005 / 0.01,
        },
    )


def test_largest_share(ends):
    expect(
        trajectory.largest_share(ends),
        ("seed",),
        {(R1, 3): 0.75, (R10, 3): 0.375, (R1, 7): 1, (R10, 7): 0.6},
    )


def test_common_mass():
    """0.4 at first; it falls by 0.01 and 0.03 per record, the faster the higher the ratio."""
    runs = {
        (seed, 0.2, ratio): {
            3 * k: [
                [0.2 - fall * k * scale, 0.2, 0.1, 0.2, 0.3 + fall * k * scale]
                for fall in (0.001, 0.003)
            ]
            for k in range(11)
        }
        for (seed, ratio), scale in {(3, 1): 1, (3, 10): 2, (7, 1): 3, (7, 10): 4}.items()
    }
    expect(
        trajectory.common_mass(on_classes("attention", runs)),
        ("seed", "level"),
        {
            (f"eta_Y/eta_Z {ratio}", seed, 3 * k): 0.4 - 0.002 * k * scale
            for (seed, ratio), scale in {(3, 1): 1, (3, 10): 2, (7, 1): 3, (7, 10): 4}.items()
            for k in range(0, 11, 2)
        },
    )


def test_exponent_of_the_turn():
    """B_n = t^2/(t^2 + T^2) turns at a fixed part of T, which is a power of eta_Y."""
    powers = {("a", 3): -0.5, ("a", 7): -1, ("b", 3): 0, ("b", 7): -0.75}
    times = np.arange(0, 1001, 3)
    rows = [
        {"mixture": name, "seed": seed, "eta_z": 0.5, "ratio": ratio, "iteration": t}
        | {"quantity": quantity, "growth": value}
        for (name, seed), power in powers.items()
        for ratio in (1, 2, 4)
        for t in times
        for quantity, value in {
            "exponent": t**2 / (t**2 + (100 * (ratio / 2) ** power) ** 2),
            "relative_gain": t,
        }.items()
    ]
    table = trajectory.exponent_of_the_turn(
        Measured(shuffled(rows), changed("phase_transition", "growth", steps=1000))
    )
    assert by(table, "seed") == pytest.approx(powers, abs=0.03)


def test_lead_of_the_initial_winner():
    """Only neighbours of which the rarer one starts ahead count."""
    starts = [[0.2, 0.2, 0.3, 0.1, 0.2], [0.2, 0.2, 0.1, 0.2, 0.1]]
    ends = {
        (3, 1, 2): [[0.2, 0.1, 0.4, 0.1, 0.2], [0.4, 0.3, 0.1, 0.1, 0.1]],  # 4/3 and 1/2
        (3, 1, 10): starts,
        (7, 1, 2): [[0.1, 0.2, 0.6, 0.1, 0.7], [0.1, 0.2, 0.1, 0.6, 0.1]],  # 2 and 3
        (7, 1, 10): [[0.1, 0.2, 0.1, 0.1, 0.7], [0.1, 0.2, 0.1, 0.1, 0.1]],  # 1/3 and 1/2
    }
    runs = {key: {0: starts, 5: [FLAT, FLAT], 9: end} for key, end in ends.items()}
    expect(
        trajectory.lead_of_the_initial_winner(on_classes("attention", runs)),
        ("seed",),
        {
            ("eta_Y/eta_Z 2", 3): (np.log(4 / 3) - LN2) / 2,
            ("eta_Y/eta_Z 10", 3): 0,
            ("eta_Y/eta_Z 2", 7): (LN2 + LN3) / 2,
            ("eta_Y/eta_Z 10", 7): -(LN2 + LN3) / 2,
        },
    )
    runs[7, 1, 10] = {0: [P, P], 9: [P, P]}
    runs = {key: {0: run[0], 9: run[9]} for key, run in runs.items()}
    with pytest.raises(InputError, match="reverses no pair"):
        trajectory.lead_of_the_initial_winner(on_classes("attention", runs))


# No claim without training

CLAIMS = {claim.id: claim for claim in read_registry(REGISTRY).claims}
MODULES = {"fig4": fig4, "fig5": fig5, "fig6": fig6, "recall": recall, "trajectory": trajectory}
SEEDS = list(range(1, 11))
RECORDED = [0, 20, 40, 160, 320, 500]

# Left out, because a model that does not move satisfies or cannot show them:
# T14c (no gain is as much as no growth), T20b (attention does not collapse), C (entropy stays the
# same); T15e, T20a and T20c are 0/0. T15f has its own test.
BY_TOKEN = ["T16b", "T17b", "T17c", "T18b", "T21a", "T21b", "T21d", "T23a", "T23b", "T11c", "T13c"]
BY_CELL = ["T7g", "T22a", "T22b", "T22c", "T26a", "T26b"]


def judged(claim: str, *measured: Measured) -> Verdict:
    """By the registry's measure and test, alone, so that no correction hides a wrong verdict."""
    module, _, name = CLAIMS[claim].measure.partition(".")
    table = getattr(MODULES[module], name)(*measured)
    return judge([Judged(claim, CLAIMS[claim].test, table)])[claim]


def untrained(claim: str, noise: float = 0, drift: float = 0) -> Measured:
    """The metric of a claim on attention that stays where the experiment starts it.

    Args:
        claim: number of the claim.
        noise: standard deviation of each z_ml recorded after the start; it does not accumulate.
        drift: how far training moves the logits by its end, at the lowest rates: tokens go up
            with their initial attention, common ones down.
    """
    (source,) = CLAIMS[claim].data
    job = PAPER.measure_job(source.experiment, source.metric, "cpu")
    iterations = RECORDED if job.sampling.steps > 100 else [0, 100]
    rng = np.random.default_rng(5)
    tables = [
        _untrained(job, name, mixture, iterations, noise, drift, rng)
        for name, mixture in job.mixtures.items()
    ]
    table = pd.concat(tables, ignore_index=True)
    return Measured(table.sample(frac=1, random_state=1, ignore_index=True), job)


def _untrained(job, name, mixture, iterations, noise, drift, rng) -> pd.DataFrame:
    classes = sequence_classes(mixture)
    cells = job.training.cells
    shape = (len(SEEDS), len(iterations), len(cells), mixture.num_last, mixture.vocabulary_size)
    if job.training.initialization == "zero":
        starts = [zero(mixture) for _ in SEEDS]
    else:
        starts = [uniform(mixture, job.sampling.stream, seed) for seed in SEEDS]
    z = np.array([initial.attention_logits[classes.query_tokens] for initial in starts])
    z = np.broadcast_to(z[:, None, None], shape)
    later = (np.array(iterations) > 0)[:, None, None, None]
    z = z + noise * later * rng.normal(size=shape)
    if drift:
        pace = drift / np.arange(1, len(cells) + 1)[:, None, None]
        done = (np.array(iterations) / iterations[-1])[:, None, None, None]
        common = np.arange(mixture.vocabulary_size) < len(mixture.common_weights)
        weights = np.zeros(classes.vocabulary_size)
        weights[classes.support] = classes.probabilities
        start = weights * np.exp(z[:, :1])
        top = np.where(common, 0, start).max(axis=-1, keepdims=True)
        z = z + pace * done * np.where(common, -1, start / top)
    values, axes = _metric(job, name, classes, z)
    index = pd.MultiIndex.from_product(
        [SEEDS, iterations, cells, *axes.values()], names=["seed", "iteration", "cell", *axes]
    )
    table = pd.DataFrame({job.metric: values.ravel()}, index=index).reset_index()
    rates = pd.DataFrame(table.pop("cell").tolist(), columns=["eta_z", "ratio"])
    return table.join(rates).assign(mixture=name, num_last=mixture.num_last)


def _metric(job, name, classes, z) -> tuple[np.ndarray, dict]:
    if job.metric == "entropy":
        return metrics.entropy_on_distinct(classes, z), {}
    if job.metric == "growth":
        growth = metrics.growth(classes, np.moveaxis(z, 1, 0))
        return np.moveaxis(growth, 0, 1), {"quantity": metrics.GROWTH}
    if job.metric == "recall":
        spacing = job.recall_thresholds[name]
        thresholds = np.linspace(spacing.first, spacing.last, spacing.count)
        return metrics.recall_of_distinct(classes, z, thresholds), {"threshold": thresholds}
    on_support = getattr(metrics, job.metric)(classes, z)
    values = np.zeros((*on_support.shape[:-1], classes.num_contextual))
    np.put_along_axis(values, np.broadcast_to(classes.support, on_support.shape), on_support, -1)
    numbers = range(1, len(classes.support) + 1)
    return values, {"sequence_class": numbers, "token": range(classes.num_contextual)}


@pytest.mark.parametrize("noise", [0, 0.02])
@pytest.mark.parametrize("claim", [*BY_TOKEN, *BY_CELL])
def test_untrained_attention_replicates_nothing(claim, noise):
    assert judged(claim, untrained(claim, noise)).verdict in {"contradicted", "inconclusive"}


@pytest.mark.parametrize("claim", BY_TOKEN)
def test_attention_that_moves_as_claimed_is_replicated(claim):
    """Otherwise the test above would hold for a verifier that rejects everything."""
    assert judged(claim, untrained(claim, noise=0.005, drift=2)).verdict == "replicated"


@pytest.mark.parametrize(("claim", "loss"), [("T10b", np.log(33)), ("T21c", np.log(34))])
def test_untrained_loss_replicates_nothing(claim, loss):
    (source,) = CLAIMS[claim].data
    job = PAPER.measure_job(source.experiment, source.metric, "cpu")
    index = pd.MultiIndex.from_product(
        [SEEDS, job.training.cells, range(job.sampling.steps)], names=["seed", "cell", "iteration"]
    )
    table = pd.DataFrame({"loss": loss}, index=index).reset_index()
    rates = pd.DataFrame(table.pop("cell").tolist(), columns=["eta_z", "ratio"])
    verdict = judged(claim, Measured(table.join(rates), job))
    assert verdict.verdict in {"contradicted", "inconclusive"}


@pytest.mark.xfail(strict=True, reason="equal shares are ranked in the order of time")
def test_a_dominant_share_that_stays_the_same_does_not_grow():
    assert judged("T15f", untrained("T15f")).verdict != "replicated"
