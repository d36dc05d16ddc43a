"""Evidence of the claims about figures 4, 5, 6, 11 and 12, against values worked out by hand."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from measured import (
    FLAT,
    HALF,
    LN2,
    LN3,
    LN5,
    LN6,
    ONE,
    QUARTER,
    R1,
    R10,
    TOKENS,
    P,
    changed,
    expect,
    losses,
    measures,
    on_classes,
    shuffled,
)

from replication.base.errors import InputError
from transformer_dynamics.scan_and_snap.claims import (
    figures_4_5,
    figures_6_11_12,
    tables,
)
from transformer_dynamics.scan_and_snap.claims.tables import Measured

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
    found = tables.read_runs(on_classes("attention", runs))
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
    assert tables.entropy(np.array(values, dtype=float)) == pytest.approx(nats, abs=1e-15)


def test_entropy_is_along_the_last_axis():
    h = tables.entropy(np.array([[[1.0, 0], [1, 1]], [[0, 5], [2, 2]]]))
    np.testing.assert_allclose(h, [[0, LN2], [0, LN2]])


def test_evidence_has_a_row_per_seed_and_comparison_and_names_both():
    cells = pd.DataFrame({"eta_z": [0.5, 0.5, 1.0], "ratio": [1.0, 10.0, 1.0]})
    found = tables.Runs(np.empty(0), cells, [3, 7], [0], None, 0)
    expect(
        tables.evidence_rows([[1, 2, 3], [4, 5, 6]], found, tables.RATES),
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


def test_change_with_ratio_is_highest_minus_lowest_of_every_other_comparison():
    values = {(1, 1): 5, (1, 2): 100, (1, 10): 7, (0.5, 1): 1, (0.5, 2): -100, (0.5, 10): 0}
    rows = [
        {"num_last": size, "eta_z": eta_z, "ratio": ratio, "seed": seed, "value": size * seed * v}
        for ((eta_z, ratio), v), seed, size in product(values.items(), (3, 7), (1, 10))
    ]
    expect(
        tables.change_with_ratio(shuffled(rows), num_last="num_last"),
        ("seed",),
        {
            (f"num_last {size}, eta_Z {eta_z:g}", seed): size * seed * change
            for size, seed, (eta_z, change) in product((1, 10), (3, 7), ((1, 2), (0.5, -1)))
        },
    )


# Figure 4


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
        figures_4_5.change_of_entropy(ends),
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
        figures_4_5.change_of_entropy_with_ratio(ends),
        ("seed",),
        {("eta_Z 1", 3): LN2, ("eta_Z 1", 7): LN5 / 2},
    )


def test_change_of_common_mass(ends):
    expect(
        figures_4_5.change_of_common_mass(ends),
        ("seed",),
        {(R1, 3): -0.4, (R10, 3): -0.275, (R1, 7): -0.4, (R10, 7): -0.2},
    )


def test_lead_of_the_most_frequent(ends):
    """P leads by 1 - 0.2/0.3, ONE by 1, the others not at all."""
    expect(
        figures_4_5.lead_of_the_most_frequent(ends),
        ("seed",),
        {(R1, 3): 1 / 2 - 1 / 3, (R10, 3): -1 / 3, (R1, 7): 2 / 3, (R10, 7): 1 / 2 - 1 / 3},
    )


@pytest.mark.parametrize(("learnt", "values"), [(10, (1 - 2, 2 - 4)), (12, (2 - 3, 0))])
def test_change_of_updates_to_learn(learnt, values):
    """A loss that touches the tenth is not below it; one that never is counts all updates."""
    measured = losses(
        {
            (3, 1, 1): [10, 5, 0.9, 0.5],
            (3, 1, 10): [10, 0.9, 0.8, 0.1],
            (7, 1, 1): [10, 5, 5, 5],
            (7, 1, 10): [8, 0.8, 0.7, 0.9],
        }
    )
    expect(
        figures_4_5.change_of_updates_to_learn(measured, measures(learnt=learnt)),
        ("seed",),
        {("eta_Z 1", seed): value for seed, value in zip((3, 7), values, strict=True)},
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

    Between rates: 5/12, 1/3, 0. Between seeds 3-7, 3-9, 7-9: 1/4, 1/4, 0 and 1/2, 7/12, 1/3, of
    which a seed's pseudo-value is the sum of all minus twice that without the seed.
    """
    cell = "rates 0.1 and 0.5"
    expect(
        figures_4_5.distance_between_rates(adam),
        ("seed",),
        {
            (cell, 3): 5 / 12 - (1 / 2 - 0 + 17 / 12 - 2 / 3) / 2,
            (cell, 7): 1 / 3 - (1 / 2 - 1 / 2 + 17 / 12 - 7 / 6) / 2,
            (cell, 9): 0 - (1 / 2 - 1 / 2 + 17 / 12 - 1) / 2,
        },
    )


def test_change_of_entropy_on_distinct(adam):
    start = LN6 / 6 + LN3 / 3 + LN2 / 2
    expect(
        figures_4_5.change_of_entropy_on_distinct(adam),
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
    """Linear in the logarithm of one rate and anything in the others."""
    grid = {
        (size, eta_z, ratio, seed): size * seed * np.log(eta_z) + ratio * size + 1e3 * seed
        for size, eta_z, ratio, seed in product((1, 3), (0.5, 1, 4), (1, 2, 5), (3, 7))
    }
    expect(
        figures_6_11_12.entropy_against_eta_z(entropies(grid)),
        ("seed",),
        {
            (f"num_last {n}, eta_Y/eta_Z {r}", s): n * s * np.log(8)
            for n, r, s in product((1, 3), (1, 2, 5), (3, 7))
        },
    )
    # Of two ratios from the threshold on the change is the difference.
    expect(
        figures_6_11_12.entropy_against_ratio(entropies(grid)),
        ("seed",),
        {
            (f"num_last {n}, eta_Z {z:g}", s): 3.0 * n
            for n, z, s in product((1, 3), (0.5, 1, 4), (3, 7))
        },
    )


def test_fewest_effective_tokens():
    grid = {
        (size, eta_z, ratio, seed): np.log(size * seed * eta_z * ratio)
        for size, eta_z, ratio, seed in product((1, 3), (0.5, 1), (2, 5), (3, 7))
    }
    expect(
        figures_6_11_12.fewest_effective_tokens(entropies(grid)),
        ("seed",),
        {(f"num_last {n}", s): n * s for n, s in product((1, 3), (3, 7))},
    )


def test_change_below_the_threshold():
    values = {1: 2.0, 2: 1.75, 5: 9.0}
    grid = {
        (size, eta_z, ratio, seed): size * seed * eta_z * value
        for size, eta_z, (ratio, value), seed in product((1, 3), (0.5, 1), values.items(), (3, 7))
    }
    expect(
        figures_6_11_12.entropy_change_below(entropies(grid)),
        ("seed",),
        {
            (f"num_last {n}, eta_Z {z:g}", s): -0.25 * n * s * z
            for n, z, s in product((1, 3), (0.5, 1), (3, 7))
        },
    )
    without = {key: value for key, value in grid.items() if key[2] != 1}
    with pytest.raises(InputError, match="two ratios"):
        figures_6_11_12.entropy_change_below(entropies(without))


def test_means_of_a_panel():
    ours = {key: value + key[-1] for key, value in TWO_CELLS.items()}
    expect(
        figures_6_11_12.panel_means(entropies(TWO_CELLS), entropies(ours)),
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
    table = figures_6_11_12.printed_entropy(entropies(TWO_CELLS), REFERENCE)
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


def test_change_after():
    rows = [
        {"eta_z": z, "ratio": r, "seed": s, "iteration": i, "entropy": z * r * s * value}
        for z, r, s in product((0.5, 1), (1, 10), (3, 7))
        for i, value in {50: 7.0, 100: 1.0, 300: 9.0, 1000: 1.5}.items()
    ]
    authors = entropies(TWO_CELLS)
    expect(
        figures_6_11_12.entropy_change_after(Measured(shuffled(rows), authors.job), authors),
        ("seed",),
        {
            (f"eta_Z {z:g}, eta_Y/eta_Z {r}", s): 0.5 * z * r * s
            for z, r, s in product((0.5, 1), (1, 10), (3, 7))
        },
    )
    late = shuffled([row for row in rows if row["iteration"] != 100])
    with pytest.raises(InputError, match="must record update 100"):
        figures_6_11_12.entropy_change_after(Measured(late, authors.job), authors)


# Figures 11 and 12


def test_descent_of_the_recall():
    """From the first to the last threshold after training: of two rates the change is its own."""
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
    expect(
        figures_6_11_12.descent_against_ratio(measured),
        ("seed",),
        {
            (f"num_last {n}, eta_Z {z:g}", s): 0 if s == 3 else 0.08
            for n, z, s in product((1, 3), (0.5, 1), (3, 7))
        },
    )
    expect(
        figures_6_11_12.descent_against_eta_z(measured),
        ("seed",),
        {
            (f"num_last {n}, eta_Y/eta_Z {r}", s): 0 if s == 3 else -0.05
            for n, r, s in product((1, 3), (2, 10), (3, 7))
        },
    )


def test_largest_share(ends):
    expect(
        figures_6_11_12.largest_share(ends),
        ("seed",),
        {
            (f"num_last 1, eta_Z 1, {ratio}", seed): share
            for (ratio, seed), share in {
                (R1, 3): 0.75,
                (R10, 3): 0.375,
                (R1, 7): 1,
                (R10, 7): 0.6,
            }.items()
        },
    )


def snapping(motions: dict, times=(0, 100, 6400)) -> Measured:
    """Attention that moves as far as is given between records, in one of two classes."""
    places = {rates: np.cumsum([0, *moved]) for rates, moved in motions.items()}
    runs = {
        (3, *rates): {
            time: [[P[0] - at, *P[1:4], P[4] + at], P]
            for time, at in zip(times, moved, strict=True)
        }
        for rates, moved in places.items()
    }
    return on_classes("attention", runs)


def test_motion_of_the_snap_and_past_it():
    """Half of |.|_1 is what one token gives to another; the mean over classes is half of that."""
    found = snapping({(1, 1): (0.1, 0.01), (1, 10): (0.1, -0.1), (3, 1): (0.02, 0.04)})
    cells = [f"num_last 1, eta_Z {z}, eta_Y/eta_Z {r}" for z, r in ((1, 1), (1, 10), (3, 1))]
    snapped, past = (dict(zip(cells, values, strict=True)) for values in (
        (0.05, 0.05, 0.01), (0.1, 1, 2)))  # fmt: skip
    for measure, values in (
        (figures_6_11_12.motion_of_the_snap, snapped), (figures_6_11_12.motion_past_the_snap, past),
    ):  # fmt: skip
        expect(measure(found), ("seed",), {(cell, 3): value for cell, value in values.items()})


def test_a_record_that_lacks_a_token_has_no_distance():
    whole = snapping({(1, 1): (0.1, 0.01)})
    without = whole._replace(table=whole.table.drop(index=3))
    with pytest.raises(InputError, match="lacks tokens that another has; measure attention anew"):
        figures_6_11_12.motion_past_the_snap(without)


@pytest.mark.parametrize("times", [(50, 100, 6400), (0, 100, 200, 6400)])
def test_the_snap_needs_three_records(times):
    moved = (0.1,) * (len(times) - 1)
    with pytest.raises(InputError, match="records of the start, the snap and the end"):
        figures_6_11_12.motion_past_the_snap(snapping({(1, 1): moved}, times))
