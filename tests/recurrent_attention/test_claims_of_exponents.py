"""Claims on exponents: synthetic tables, each with a change that turns the verdict."""

from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from registered import SETTINGS, evidence, verdict, verdict_in
from tables import exponents as exponents_of

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.claims import exponent_accuracy, exponents, spectrum
from transformer_dynamics.recurrent_attention.settings.metrics import IN, OUT, LinearRegime

SEEDS = range(1, 9)
REGIMES = SETTINGS.regimes
growth = partial(exponents.growth, regimes=REGIMES)
growth_beside = partial(exponents.growth_beside_exponent, regimes=REGIMES)
BLOCKS = {"itrsa": 48, "akorn": 4, "symmetric": 48}


def measured(table, kind="itrsa", **how):
    train = SimpleNamespace(
        model=SimpleNamespace(kind=kind, block=BLOCKS[kind]),
        training=SimpleNamespace(loops=8, updates=10),
    )
    return Measured(
        pd.DataFrame(table), SimpleNamespace(train=train, settings=SimpleNamespace(**how))
    )


DRAWS = count()


def noise(scale=0.01):
    """Of another draw for every table: seeds whose contrasts are all equal are not judged."""
    return iter(scale * np.random.default_rng(next(DRAWS)).normal(size=10_000))


def changed(exponent, accuracy=0.5, etas=(0.01, 0.1, 0.5, 1.0, 10.0), kind="itrsa"):
    """A table of `perturbed`: exponent and accuracy are functions of eta."""
    jitter = noise()
    rows = [
        {
            "seed": seed, "quantity": "eta", "value": eta, "max": exponent(eta) + next(jitter),
            "leading": exponent(eta) - 0.05 + next(jitter), "finite": True,
            "accuracy": accuracy(eta) if callable(accuracy) else accuracy,
        }
        for seed in SEEDS
        for eta in etas
    ]  # fmt: skip
    return measured(rows, kind, loops=16)


def trained(largest, kind="itrsa", nonnull=-0.2):
    """A table of `exponents` with two boards; the largest is that of all seeds, or of each."""
    largest_of = largest if isinstance(largest, dict) else dict.fromkeys(SEEDS, largest)
    jitter = noise()
    rows = [
        {
            "seed": seed, "board": board, "max": largest_of[seed] + next(jitter),
            "leading": largest_of[seed] - 0.1 + next(jitter), "nonnull": nonnull + next(jitter),
            "long": 0.1 if board == 0 else np.nan,
        }
        for seed in SEEDS
        for board in range(2)
    ]  # fmt: skip
    return measured(rows, kind)


def accuracies(out, kind="itrsa", within=0.9):
    jitter = noise()
    rows = [
        {"seed": seed, "split": split, "loops": loops, "solved": value + next(jitter)}
        for seed in SEEDS
        for split, value in ((OUT, out), (IN, within))
        for loops in (8, 16)
    ]
    return measured(rows, kind)


def parting(slope, start=1e-6):
    """A table of `trajectories`: growth at a rate up to 10, where it ends."""
    rows = [
        {
            "seed": seed, "kind": "small", "run": 6, "t": t,
            "distance": start * np.exp(min((slope + 0.001 * seed) * t, 16.0)),
        }
        for seed in SEEDS
        for t in [*range(301), 1000, 5000]
    ]  # fmt: skip
    return measured(rows, linear=300)


def test_level_exponents_are_told_from_rising_ones():
    level = exponents.range_with_normalisation(changed(lambda eta: 0.1 if eta >= 0.1 else 1.0))
    assert verdict("J8a", level) == "replicated"
    rising = exponents.range_with_normalisation(changed(lambda eta: 0.2 * np.log10(eta)))
    assert verdict("J8a", rising) == "does not hold"


def test_without_normalisation_is_larger_at_every_eta():
    calm = changed(lambda eta: 0.1)
    wild = changed(lambda eta: 0.1 + eta)
    found = exponents.excess_without_normalisation(calm, wild)
    assert found["cell"].unique().tolist() == ["eta 0.5", "eta 1", "eta 10"]
    assert verdict("J8b", found) == "replicated"
    mild = changed(lambda eta: -0.5 if eta == 1 else 0.1 + eta)
    assert verdict("J8b", exponents.excess_without_normalisation(calm, mild)) == "in part"
    with pytest.raises(UnmeasurableError, match=r"no eta from 0\.5 on was tried"):
        exponents.excess_without_normalisation(calm, changed(lambda eta: 0.1, etas=(0.1,)))
    # Pairs with other seeds, such as those of another draw of boards, are further seeds.
    other = [
        each._replace(table=each.table.assign(seed=each.table["seed"] + 10))
        for each in (calm, wild)
    ]
    joined = exponents.excess_without_normalisation(calm, wild, *other)
    assert set(joined["seed"]) == {*SEEDS, *(seed + 10 for seed in SEEDS)}
    assert verdict("J8b", joined) == "replicated"


def test_what_overflows_counts_with_the_exponent_of_the_largest_number():
    wild = changed(lambda eta: 1.0)
    is_last = wild.table["value"] == 10
    wild.table.loc[is_last, ["max", "finite"]] = [np.nan, False]
    found = exponents.excess_without_normalisation(changed(lambda eta: 0.0), wild)
    last = found[found["cell"] == "eta 10"]["value"]
    assert np.allclose(last, np.log(np.finfo(np.float64).max) / 16, atol=0.05)


def test_exponents_near_zero_are_told_from_others():
    near = trained(0.1), trained(0.12, "akorn")
    assert verdict("J10a", exponents.exponents(*near)) == "replicated"
    assert verdict("J11a", evidence("J11a", *near)) == "replicated"
    assert verdict("J11b", evidence("J11a", *near)) == "replicated"
    far = trained(-0.5), trained(0.1, "akorn")
    assert verdict("J10a", exponents.exponents(*far)) == "in part"
    assert verdict("J11a", evidence("J11a", *far)) == "in part"
    assert verdict("J11b", evidence("J11a", trained(0.5))) == "does not hold"
    world = {
        ("itrsa", "exponents"): near[0],
        ("akorn", "exponents"): near[1],
        ("symmetric", "exponents"): trained(-0.3, "symmetric"),
    }
    assert verdict_in("J12a", world) == "replicated"
    assert verdict("J12a", evidence("J11a", trained(0.3, "symmetric"))) == "does not hold"


def test_accurate_models_away_from_zero_count():
    near = changed(lambda eta: 0.1, 0.5)
    inaccurate = changed(lambda eta: 3.0, 0.2, kind="symmetric")
    assert verdict("J10b", exponents.exponents_of_accurate(near, inaccurate)) == "replicated"
    for size, expected in ((0.25, "replicated"), (0.5, "does not hold")):
        edge = changed(lambda eta, size=size: size, 0.5)
        assert verdict("J10b", exponents.exponents_of_accurate(edge, inaccurate)) == expected
    accurate = changed(lambda eta: 3.0, 0.4, kind="symmetric")
    assert verdict("J10b", exponents.exponents_of_accurate(near, accurate)) == "does not hold"
    with pytest.raises(UnmeasurableError, match="none is accurate"):
        exponents.exponents_of_accurate(changed(lambda eta: 0.1, 0.0))


def test_models_near_zero_are_told_from_others():
    """By hand: of pairs of an accurate and another model, the share with the accurate one nearer.

    The leading exponents are lower by 0.05.
    """
    accurate = {0.01: 0.5, 0.1: 0.3, 0.5: 0.2, 1.0: 0.0, 10.0: 0.1}.get
    for largest, area in (
        # Two accurate ones and three others: all six pairs, four, half and none of them.
        ([0.1, -0.2, 0.5, 3.0, -4.0], 1),
        ([0.1, -0.7, 0.5, 0.6, -4.0], 4 / 6),
        ([0.4] * 5, 1 / 2),
        ([3.0, -4.0, 0.1, 0.2, -0.3], 0),
    ):
        by_eta = dict(zip((0.01, 0.1, 0.5, 1.0, 10.0), largest, strict=True))
        models = changed(by_eta.get, accurate)
        models.table["max"] = models.table["value"].map(by_eta)
        found = exponents.indication_of_accuracy(models)
        assert found["cell"].unique().tolist() == ["largest", "leading"]
        assert np.allclose(found.query("cell == 'largest'")["value"], area)
    # What float64 cannot hold is farthest from zero, whatever stands there.
    broken = changed(lambda eta: 0.0, 0.2)
    broken.table["finite"] = False
    good = changed(lambda eta: 3.0, 0.5)
    assert np.allclose(exponents.indication_of_accuracy(good, broken)["value"], 1)
    with pytest.raises(UnmeasurableError, match="no model that is not accurate"):
        exponents.indication_of_accuracy(good)
    # In every second seed one pair more is out of order, of six.
    for second, others, expected in ((0.2, 0.6, "replicated"), (0.8, 5.0, "does not hold")):
        models = changed(lambda eta: 0.0, accurate)
        is_odd = models.table["seed"] % 2 == 1
        by_eta = models.table["value"].map({0.01: 0.1, 0.5: 0.5, 1.0: 0.7, 10.0: 4.0})
        own = by_eta.fillna(is_odd.map({True: others, False: second}))
        found = exponents.indication_of_accuracy(
            models._replace(table=models.table.assign(max=own, leading=own))
        )
        assert verdict("J10e", found) == expected


def test_orders_of_two_exponents_are_compared():
    """Five models have ten pairs; exponents that both are minus infinity are in no order."""
    alike = changed(lambda eta: eta)
    alike.table["nonnull"] = alike.table["leading"]
    assert (exponents.order_of_means(alike)["value"] == 1).all()
    for turned, expected in (
        ([2], ("replicated", "replicated")),
        ([2, 3] * 4, ("replicated", "does not hold")),
        ([4, 5] * 4, ("does not hold", "does not hold")),
    ):
        found = exponents.order_of_means(unlike(alike, "leading", turned))
        assert (verdict("J33b", found), verdict("J33", found)) == expected
        found = exponents.order_of_all_means(unlike(alike, "nonnull", turned))
        assert verdict("J33a", found) == expected[1]
    turned = alike._replace(table=alike.table.assign(nonnull=-alike.table["max"]))
    assert (exponents.order_of_all_means(turned)["value"] == 0).all()
    infinite = alike._replace(table=alike.table.assign(nonnull=-np.inf))
    assert (exponents.order_of_all_means(infinite)["value"] == 0).all()
    both = infinite._replace(table=infinite.table.assign(max=-np.inf))
    assert (exponents.order_of_all_means(both)["value"] == 1).all()
    with pytest.raises(UnmeasurableError, match="seed 1 has no two models"):
        exponents.order_of_means(changed(lambda eta: eta, etas=(1.0,)))


def unlike(table, column, turned):
    """The same with the order of some models turned: of two, three, four, five in a seed.

    These are one, three, six and all of ten pairs.
    """
    table = table._replace(table=table.table.copy())
    for seed, models in enumerate(turned, 1):
        own = table.table.index[table.table["seed"] == seed][:models]
        table.table.loc[own, column] = table.table.loc[own, column].to_numpy()[::-1]
    return table


def test_distances_from_zero_are_compared():
    found = exponent_accuracy.distance_from_zero(trained(-0.1), trained(0.6))
    means = found.groupby("cell")["value"].mean().to_dict()
    expected = {"largest exponent": 0.5, "mean of the leading exponents": 0.3}
    assert means == pytest.approx(expected, abs=0.01)
    assert verdict("J30", found) == "replicated"
    far = exponent_accuracy.distance_from_zero(trained(-0.6), trained(0.2))
    assert verdict("J30", far) == "does not hold"


def test_untrained_models_are_set_beside_trained_ones():
    def pair(kind, before, after):
        return exponents_of(f"{kind}_untrained", before), exponents_of(kind, after)

    pairs = *pair("itrsa", -0.6, -0.1), *pair("akorn", 0.2, 0.05)
    found = exponent_accuracy.nearer_after_training(*pairs)
    means = found.groupby("cell")["value"].mean().to_dict()
    assert means == {
        "AKOrN, N=4, largest exponent": pytest.approx(0.3 - 0.15),
        "AKOrN, N=4, mean of the leading exponents": pytest.approx(0.2 - 0.05),
        # The largest one of ItrSA is about 0 after training.
        "ItrSA, N=48, largest exponent": pytest.approx(0.5 - 0.0, abs=0.02),
        "ItrSA, N=48, mean of the leading exponents": pytest.approx(0.6 - 0.1),
    }
    assert verdict("J11c", found) == "replicated"
    turned = *pair("itrsa", -0.1, -0.6), *pair("akorn", 0.05, 0.2)
    assert verdict("J11c", exponent_accuracy.nearer_after_training(*turned)) == "does not hold"
    with pytest.raises(UnmeasurableError, match="pairs of untrained and trained"):
        exponent_accuracy.nearer_after_training(*pairs[::-1])


def test_a_gap_of_accuracy_is_seen():
    others = accuracies(0.4), accuracies(0.6, "akorn")
    low = exponents.gap_of_symmetric(accuracies(0.1, "symmetric"), *others)
    assert low.groupby("cell")["value"].mean().round(1).to_dict() == {
        "AKOrN, N=4": 0.5,
        "ItrSA, N=48": 0.3,
    }
    assert verdict("J12b", low) == "replicated"
    high = exponents.gap_of_symmetric(accuracies(0.5, "symmetric"), *others)
    assert verdict("J12b", high) == "in part"
    early = accuracies(0.4)
    short = early._replace(table=early.table.query("loops == 8"))
    with pytest.raises(UnmeasurableError, match="16 loops"):
        exponents.gap_of_symmetric(short, *others)


def test_symmetric_is_set_beside_others():
    def beside(own: float) -> pd.DataFrame:
        others = trained(-0.05), trained(0.1, "akorn")
        return evidence("J12c", trained(own, "symmetric"), *others)

    found = beside(-0.2)
    means = found.groupby("cell")["value"].mean().to_dict()
    assert means == pytest.approx({"AKOrN, N=4": -0.3, "ItrSA, N=48": -0.15}, abs=0.01)
    assert verdict("J12c", found) == "replicated"
    assert verdict("J12c", beside(0.2)) == "does not hold"


def test_slope_is_that_of_the_linear_regime():
    grown = parting(0.1)
    expected = 0.1 + 0.001 * np.array(SEEDS)
    positive = trained(0.1)
    np.testing.assert_allclose(growth(grown, positive)["value"], expected, rtol=1e-9)
    assert verdict("J25a", growth(grown, positive)) == "replicated"
    shrunk = growth(parting(-0.3), positive)
    np.testing.assert_allclose(shrunk["value"], expected - 0.4, rtol=1e-9)
    assert verdict("J25a", shrunk) == "does not hold"
    beside = growth_beside(grown, trained(0.1))
    assert verdict("J25b", beside) == "replicated"
    assert verdict("J25b", growth_beside(parting(0.2), trained(0.1))) == "does not hold"
    with pytest.raises(UnmeasurableError, match="leaves the linear regime"):
        growth(parting(2.0), positive)


def test_the_beginning_of_the_linear_regime_is_not_counted():
    """A perturbation needs some steps to turn to where it grows: here it shrinks for 25 of 301."""
    rows = [
        {"seed": 1, "kind": "small", "t": t, "distance": 1e-9 * np.exp(0.05 * abs(t - 25))}
        for t in range(301)
    ]
    found = exponents.slopes(measured(rows, linear=300), REGIMES.linear)
    assert found[1] == pytest.approx(0.05, rel=1e-9)
    whole = exponents.slopes(
        measured(rows, linear=300), REGIMES.linear.model_copy(update={"skipped": 0.0})
    )
    assert whole[1] < 0.049


def test_the_linear_regime_is_that_of_the_settings():
    """Growth by e^.1 a step to 1e-6, by e^.02 to 1e-4, and then no more."""
    steps = np.repeat([0.1, 0.02, 0.0], [70, 230, 100])
    logs = np.log(1e-9) + np.concatenate([[0.0], np.cumsum(steps)])
    rows = [
        {"seed": 1, "kind": "small", "t": t, "distance": float(np.exp(log))}
        for t, log in enumerate(logs)
    ]
    table = measured(rows, linear=400)
    for least, most, slope in ((1e-12, 1e-6, 0.1), (2e-6, 5e-5, 0.02)):
        linear = LinearRegime(least=least, most=most, skipped=0.0)
        kept = table._replace(table=table.table.query("distance >= @least"))
        assert exponents.slopes(kept, linear)[1] == pytest.approx(slope, rel=1e-6)
    with pytest.raises(UnmeasurableError, match="leaves the linear regime"):
        exponents.slopes(table, LinearRegime(least=1e-8, most=1e-2, skipped=0.0))
    with pytest.raises(ValueError, match=r"least \(0.1\) must be below most \(0.01\)"):
        LinearRegime(least=0.1, most=0.01, skipped=0.0)


def test_seeds_with_negative_exponents_do_not_count():
    few = trained({seed: 0.1 if seed < 5 else -0.1 for seed in SEEDS})
    with pytest.raises(UnmeasurableError, match="of ItrSA is positive in 4 of 8 seeds only"):
        growth(parting(0.1), few)
    most = trained({seed: -0.1 if seed < 3 else 0.1 for seed in SEEDS}, "akorn")
    found = growth(parting(0.1), most)
    assert found["seed"].tolist() == [3, 4, 5, 6, 7, 8]
    assert verdict("J25c", found) == "replicated"
    assert verdict("J25c", growth(parting(-0.3), most)) == "does not hold"


def eigenvalues(radius, imaginary, normalised, seeds=SEEDS):
    """Two boards with a real eigenvalue and a pair."""
    jitter = noise(0.001)
    return [
        {
            "seed": seed, "board": board, "normalised": normalised, "re": real,
            "im": part + next(jitter),
        }
        for seed in seeds
        for board in range(2)
        for real, part in ((radius, 0), (0, imaginary), (0, -imaginary))
    ]  # fmt: skip


def test_clouds_are_compared_at_equal_weights_and_training():
    normal = eigenvalues(0.8, 0.5, normalised=True)
    removed = eigenvalues(1.6, 1.0, normalised=False)
    world = {
        ("itrsa", "spectrum"): measured(normal + removed),
        ("itrsa_unnormalised", "spectrum"): measured(eigenvalues(1.6, 1.5, normalised=False)),
    }
    assert verdict("J9", spectrum.growth_without_normalisation(*world.values())) == "replicated"
    found = spectrum.growth_without_normalisation(*world.values())
    means = found.groupby("cell", sort=False)["value"].mean()
    expected = {
        "same weights, imaginary part": np.log(2), "same weights, radius": np.log(2),
        "equal training, imaginary part": np.log(3), "equal training, radius": np.log(2),
    }  # fmt: skip
    assert means.to_dict() == pytest.approx(expected, abs=0.01)
    trained_so = measured(eigenvalues(1.6, 0.3, normalised=False))
    smaller = spectrum.growth_without_normalisation(measured(normal + removed), trained_so)
    assert verdict("J9", smaller) == "in part"
    of_6x6 = {(f"{name}_6x6", metric): each for (name, metric), each in world.items()}
    assert verdict_in("J35b", of_6x6) == "replicated"
    assert verdict("J35b", smaller) == "in part"
    grown = [eigenvalues(*size, normalised=size[0] > 1) for size in ((1.6, 1.0), (0.8, 0.5))]
    turned = measured([*grown[0], *grown[1]]), measured(grown[1])
    assert verdict("J35b", spectrum.growth_without_normalisation(*turned)) == "does not hold"
