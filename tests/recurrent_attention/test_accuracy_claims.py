"""Claims about accuracy, mean exponents and weights: mistakes in their tables change verdicts."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from registered import evidence, verdict
from tables import SEEDS, SETTINGS, STUDY, T_MAX, accuracy, exponents, noise, trained, weights

from replication.base.errors import UnmeasurableError
from replication.base.storage import read_csv
from replication.study.contract import Measured
from transformer_dynamics.recurrent_attention.claims import accuracy as claims
from transformer_dynamics.recurrent_attention.claims import exponent_accuracy
from transformer_dynamics.recurrent_attention.claims import weights as of_weights
from transformer_dynamics.recurrent_attention.claims.seed_values import condition_name

ITRSA = ["itrsa_n4", "itrsa_n8", "itrsa_n12", "itrsa_n16", "itrsa_n24", "itrsa"]
AKORN = ["akorn", "akorn_n8", "akorn_n12", "akorn_n16", "akorn_n24", "akorn_n48"]
HEADS = ["itrsa_h1", "itrsa_h2", "itrsa", "itrsa_h8", "itrsa_h16"]
STRENGTHS = ["energy_multi", "energy_multi_weak", "energy_multi_strong"]


def means(evidence):
    return evidence.groupby("cell", sort=False)["value"].mean().round(9).to_dict()


def without(measured, *seeds):
    return Measured(measured.table[~measured.table["seed"].isin(seeds)], measured.job)


def flat(condition, value, **options):
    return accuracy(condition, value, value, **options)


def test_gain_of_loops():
    honest = [accuracy(name, 0.2, 0.5) for name in ITRSA]
    found = evidence("J13", *honest)
    assert means(found) == {f"N={n}": pytest.approx(0.3) for n in (4, 8, 12, 16, 24, 48)}
    assert verdict("J13", found) == "replicated"
    falling = [*honest[:-1], accuracy("itrsa", 0.5, 0.2)]
    assert verdict("J13", evidence("J13", *falling)) == "in part"
    level = [*honest[:-1], flat("itrsa", 0.5, spread=0.004)]
    assert verdict("J13", evidence("J13", *level)) == "in part"


def test_gain_of_late_loops():
    """Two of six doublings from 8 to 512 are within four times the loops of training."""
    honest = [accuracy(name, 0.2, 0.5) for name in ITRSA]
    found = evidence("J13a", *honest)
    assert means(found) == {f"N={n}": pytest.approx(0.2) for n in (4, 8, 12, 16, 24, 48)}
    assert verdict("J13a", found) == "replicated"
    level = [flat(name, 0.5, spread=0.004) for name in ITRSA]
    assert verdict("J13a", evidence("J13a", *level)) == "does not hold"


def test_shifted_loops_and_swapped_splits_are_seen():
    honest = accuracy("itrsa", 0.2, 0.5)
    late = honest.table.assign(loops=honest.table["loops"] // 2)
    with pytest.raises(UnmeasurableError, match="a seed lacks a value at some loops"):
        evidence("J13", Measured(late, honest.job))
    other = {"in distribution": "out of distribution", "out of distribution": "in distribution"}
    swapped = honest.table.assign(split=honest.table["split"].map(other))
    found = evidence("J13", Measured(swapped, honest.job))
    assert verdict("J13", found) == "does not hold"


def test_a_dropped_seed_is_seen():
    pair = flat("itrsa", 0.5), flat("energy_multi", 0.1)
    assert verdict("J16a", evidence("J16a", *pair)) == "replicated"
    with pytest.raises(UnmeasurableError, match="different seeds"):
        evidence("J16a", without(pair[0], 4), pair[1])
    few = [without(each, *SEEDS[:4]) for each in pair]
    assert verdict("J16a", evidence("J16a", *few)) == "not tested"


def test_seeds_are_paired_by_number_and_not_by_place():
    first, second = flat("itrsa", 0.5), flat("energy_multi", 0.1)
    shuffled = Measured(second.table.iloc[::-1], second.job)
    found = [evidence("J16a", first, each) for each in (second, shuffled)]
    pd.testing.assert_frame_equal(*found)


def test_falls_of_large_oscillators():
    falls = dict(zip(AKORN, (0.0, 0.0, 0.2, 0.2, 0.2, 0.2), strict=True))
    akorn = [accuracy(name, 0.5, 0.5 - fall, spread=0.0) for name, fall in falls.items()]
    itrsa = [accuracy(name, 0.2, 0.5, spread=0.01) for name in ITRSA]
    with_size, beside_itrsa = (
        partial(measure, regimes=SETTINGS.regimes)
        for measure in (claims.fall_with_size, claims.fall_beside_itrsa)
    )
    assert means(with_size(*akorn)) == {"large N minus small N": pytest.approx(0.2)}
    noisy = [accuracy(name, 0.5, 0.5 - fall) for name, fall in falls.items()]
    assert verdict("J14a", with_size(*noisy)) == "replicated"
    assert verdict("J14a", with_size(noisy[2], noisy[3], *[
        accuracy(name, 0.9, 0.1) for name in AKORN[:2]
    ])) == "does not hold"  # fmt: skip
    beside = beside_itrsa(*noisy, *itrsa)
    assert [*means(beside)] == ["N=12", "N=16", "N=24", "N=48"]
    assert verdict("J14b", beside) == "replicated"
    steep = [accuracy(name, 0.7, 0.1) for name in ITRSA]
    assert verdict("J14b", beside_itrsa(*noisy, *steep)) == "does not hold"
    with pytest.raises(UnmeasurableError, match="same N"):
        beside_itrsa(*noisy, *itrsa[:-1])
    with pytest.raises(UnmeasurableError, match="large and small"):
        with_size(*akorn[:2])


def test_large_is_what_the_settings_call_so():
    """Three of six are large from D/3 on, and then one of those that fall is small."""
    regimes = SETTINGS.regimes.model_copy(update={"large": 1 / 3})
    falls = dict(zip(AKORN, (0.0, 0.0, 0.3, 0.2, 0.2, 0.2), strict=True))
    akorn = [accuracy(name, 0.5, 0.5 - fall, spread=0.0) for name, fall in falls.items()]
    itrsa = [accuracy(name, 0.2, 0.5, spread=0.01) for name in ITRSA]
    found = means(claims.fall_with_size(*akorn, regimes=regimes))
    assert found == {"large N minus small N": pytest.approx(0.2 - 0.1)}
    beside = claims.fall_beside_itrsa(*akorn, *itrsa, regimes=regimes)
    assert [*means(beside)] == ["N=16", "N=24", "N=48"]


def test_lead_of_the_first():
    others = ["itrsa", "energy_single", "energy_multi", "itrsa_spectral"]
    best = [flat("akorn_n8", 0.8), *(flat(name, 0.4) for name in others)]
    found = evidence("J16a", *best)
    assert len(means(found)) == len(others)
    assert verdict("J27", found) == "replicated"
    assert verdict("J27", evidence("J16a", *reversed(best))) == "does not hold"
    same = [flat("itrsa", 0.5), flat("energy_multi_none", 0.5)]
    assert verdict("J20c", evidence("J16a", *same)) == "does not hold"
    lowest = [flat("energy_multi_hard", 0.1), *(flat(name, 0.4) for name in STRENGTHS)]
    assert verdict("J20d", evidence("J16a", *lowest)) == "replicated"


def test_lead_at_equal_sizes():
    names = "akorn", "akorn_n8", "itrsa_n4", "itrsa_n8"
    found = evidence("J14c", *map(flat, names, (0.6, 0.5, 0.4, 0.4)))
    assert means(found) == {"N=4": pytest.approx(0.2), "N=8": pytest.approx(0.1)}
    assert verdict("J14c", found) == "does not hold"
    same = evidence("J14c", *map(flat, names, (0.6, 0.5, 0.6, 0.5)))
    assert verdict("J14c", same) == "replicated"
    with pytest.raises(UnmeasurableError, match="unknown value of kind"):
        evidence("J14c", flat("akorn", 0.5), flat("itrsa_n8", 0.5))


def test_lead_of_normalised():
    with_it = accuracy("itrsa", 0.3, 0.5, inside=0.9)
    without_it = accuracy("itrsa_unnormalised", 0.0, 0.0, inside=0.6)
    inside, outside = pytest.approx(0.3), pytest.approx(0.3)
    # One doubling of six from 8 to 512 loops.
    doubled = pytest.approx(0.3 + 0.2 / 6)
    for measure, number, times, expected in (
        (partial(evidence, "J31"), "J31", (1, 1), (inside, outside)),
        (partial(evidence, "J31a"), "J31a", (2, 2), (inside, doubled)),
        (partial(evidence, "J35"), "J35", (1, 2), (inside, doubled)),
    ):
        found = measure(with_it, without_it)
        splits = zip(("in distribution", "out of distribution"), times, strict=True)
        cells = [f"{split}, {loops} x T of training" for split, loops in splits]
        assert means(found) == dict(zip(cells, expected, strict=True))
        assert verdict(number, found) == "replicated"
        turned = measure(flat("itrsa", 0.0, inside=0.1), without_it)
        assert verdict(number, turned) == "does not hold"
        half = measure(with_it, flat("itrsa_unnormalised", 0.0, inside=0.9))
        assert verdict(number, half) == "in part"
    # Pairs with other seeds, such as those of another draw of boards, are further seeds.
    others = (
        accuracy(name, *shares, seeds=range(11, 15), inside=inside)
        for name, shares, inside in (
            ("itrsa", (0.3, 0.5), 0.9), ("itrsa_unnormalised", (0.0, 0.0), 0.6)
        )
    )  # fmt: skip
    joined = evidence("J31", with_it, without_it, *others)
    assert joined.groupby("cell")["seed"].apply(list).tolist() == [[*SEEDS, *range(11, 15)]] * 2


def test_solved_boards_as_trained():
    """In distribution for J32, out of it for E13, after the loops of training for both."""
    name = "unnormalised_drawn_5"
    solves, fails = accuracy(name, 0.3, 0.0, inside=0.9), accuracy(name, 0.0, 0.3, inside=0.01)
    assert means(evidence("J32", solves)) == {"ItrSA without norm, N=48": 0.9}
    assert means(evidence("E13", solves)) == {"ItrSA without norm, N=48": 0.3}
    for number, measure in (
        ("J32", partial(evidence, "J32")), ("E13", partial(evidence, "E13"))
    ):  # fmt: skip
        assert verdict(number, measure(solves)) == "does not hold"
        assert verdict(number, measure(fails)) == "replicated"
    short = solves._replace(table=solves.table.query("loops > 8"))
    with pytest.raises(UnmeasurableError, match="there is no row where split"):
        evidence("J32", short)


def test_penalties_act():
    """On norms and on exponents, for ItrSA and AKOrN, with the draws that the registry names."""

    def norms(condition, distance):
        above = 1 + distance + 0.02 * noise(condition, len(SEEDS))
        sigmas = {"query": above, "key": above, "value": 1 - distance, "output": 1 - distance}
        table = pd.DataFrame({f"sigma_{name}": sigma for name, sigma in sigmas.items()})
        table["seed"] = list(SEEDS)
        return Measured(table, weights(condition, 1).job)

    free, held = norms("itrsa", 1.5), norms("itrsa_spectral", 0.5)
    found = of_weights.nearer_to_one(free, held)
    assert means(found) == {"ItrSA, N=48": pytest.approx(1.0)}
    assert verdict("J36", found) == "replicated"
    assert verdict("J36", of_weights.nearer_to_one(held, free)) == "does not hold"
    near = norms("itrsa_spectral", 1.47)
    assert verdict("J36", of_weights.nearer_to_one(free, near)) == "does not hold"
    free, held = exponents("akorn", 0.1), exponents("akorn_spectral", -0.1)
    found = exponent_accuracy.lower_with_penalty(free, held)
    assert means(found) == {"AKOrN, N=4": pytest.approx(0.2, abs=0.01)}
    assert verdict("J36a", found) == "replicated"
    assert verdict("J36a", exponent_accuracy.lower_with_penalty(held, free)) == "does not hold"


def test_remaining_loss():
    def trained_to(loss):
        table = pd.DataFrame({"seed": SEEDS, "loss": loss + 0.01 * np.arange(len(SEEDS))})
        return Measured(table, weights("energy_single", 1).job)

    found = evidence("J16e", trained_to(np.log(4)))
    assert found["value"].min() == pytest.approx(1)
    assert verdict("J16e", found) == "replicated"
    assert verdict("J16e", evidence("J16e", trained_to(0.1))) == "does not hold"


def test_causes_are_told_apart():
    names = "itrsa", "energy_multi_none", "energy_multi"

    def judged(*shares):
        free, orthogonal, held = (flat(*item) for item in zip(names, shares, strict=True))
        return (
            verdict("J16c", claims.orthogonality_beyond_penalty(free, orthogonal, held)),
            verdict("J16d", evidence("J16a", held, orthogonal)),
        )

    found = claims.orthogonality_beyond_penalty(*map(flat, names, (0.5, 0.2, 0.1)))
    assert means(found) == {"orthogonal matrices minus R_E": pytest.approx(0.2)}
    assert judged(0.5, 0.15, 0.15) == ("replicated", "replicated")
    assert judged(0.5, 0.45, 0.15) == ("does not hold", "does not hold")
    assert judged(0.5, 0.3, 0.1) == ("open", "does not hold")


def test_most_solved():
    failing = flat("energy_single", 0.0, inside=0.01, spread=0.002)
    assert verdict("J16b", evidence("J16b", failing)) == "replicated"
    assert verdict("J16b", evidence("J16b", flat("energy_single", 0.0))) == "does not hold"


def test_gains_of_a_penalty():
    shares = {"itrsa": 0.3, "itrsa_spectral": 0.4, "akorn": 0.3, "akorn_spectral": 0.6}
    honest = [flat(name, share) for name, share in shares.items()]
    assert means(claims.gain_of_penalty(*honest)) == {"ItrSA, N=48": 0.1, "AKOrN, N=4": 0.3}
    assert means(claims.larger_gain_of_penalty(*honest)) == {"AKOrN, N=4 minus ItrSA, N=48": 0.2}
    assert verdict("J17a", claims.gain_of_penalty(*honest)) == "replicated"
    assert verdict("J17b", claims.larger_gain_of_penalty(*honest)) == "replicated"
    held = [honest[1], honest[0], honest[3], honest[2]]
    assert verdict("J17a", claims.gain_of_penalty(*held)) == "does not hold"
    assert verdict("J17b", claims.larger_gain_of_penalty(*held)) == "does not hold"


def test_heads():
    shares = dict(zip(HEADS, (0.0, 0.1, 0.4, 0.6, 0.3), strict=True))
    honest = [flat(name, share) for name, share in shares.items()]
    few, some = claims.lead_over_few_heads(*honest), claims.lead_of_some_heads(*honest)
    assert means(few) == {
        "over H=1": pytest.approx(1.3 / 3),
        "over H=2": pytest.approx(1.3 / 3 - 0.1),
    }
    assert means(some) == {"over H=1": pytest.approx(0.6), "over H=16": pytest.approx(0.3)}
    assert (verdict("J18a", few), verdict("J18b", some)) == ("replicated", "replicated")
    rising = [flat(name, 0.1 * place) for place, name in enumerate(HEADS)]
    assert verdict("J18b", claims.lead_of_some_heads(*rising)) == "in part"
    falling = [flat(name, 0.5 - 0.1 * place) for place, name in enumerate(HEADS)]
    assert verdict("J18a", claims.lead_over_few_heads(*falling)) == "does not hold"


def test_equal_heads_do_not_lead_by_chance():
    """The highest of a seed's own values would be above the ends by a standard deviation."""
    random, shapes = np.random.default_rng(0), [flat(name, 0.5) for name in HEADS]
    found = []
    for _ in range(60):
        equal = [
            Measured(each.table.assign(solved=random.normal(0.5, 0.1, len(each.table))), each.job)
            for each in shapes
        ]
        found += means(claims.lead_of_some_heads(*equal)).values()
    assert abs(np.mean(found)) < 0.02


def test_change_with_strength():
    shares = dict(zip(STRENGTHS, (0.6, 0.4, 0.2), strict=True))
    found = evidence("J20a", *(flat(*item) for item in shares.items()))
    assert means(found) == {"accuracy": pytest.approx(-0.4)}
    assert verdict("J20a", found) == "replicated"
    turned = dict(zip(STRENGTHS, (0.2, 0.4, 0.6), strict=True))
    rising = evidence("J20a", *(flat(*item) for item in turned.items()))
    assert verdict("J20a", rising) == "does not hold"


def test_exponents_with_strength():
    falling = [exponents(name, -0.1 * place) for place, name in enumerate(STRENGTHS)]
    found = evidence("J20b", *falling)
    assert means(found) == {"mean of the leading exponents": pytest.approx(-0.2)}
    assert verdict("J20b", found) == "replicated"
    level = [exponents(name, -0.1, spread=0.002) for name in STRENGTHS]
    assert verdict("J20b", evidence("J20b", *level)) == "does not hold"
    # Each mean has a claim, and neither sees the other.
    rising = [
        Measured(each.table.assign(nonnull=each.table["nonnull"] + 0.3 * place), each.job)
        for place, each in enumerate(falling)
    ]
    found = evidence("J20b", *rising)
    other = evidence("J20g", *rising)
    assert means(other) == {"mean of all non-null exponents": pytest.approx(0.4)}
    assert (verdict("J20b", found), verdict("J20g", other)) == ("replicated", "does not hold")
    other = evidence("J20g", *falling)
    assert verdict("J20g", other) == "replicated"
    hard = exponents("energy_multi_hard", -0.5)
    assert verdict("J20e", evidence("J20e", hard, *falling)) == "replicated"
    high = exponents("energy_multi_hard", 0.5)
    found = evidence("J20e", high, *falling)
    assert verdict("J20e", found) == "does not hold"


def test_correlation_over_heads():
    shares = (0.1, 0.2, 0.5, 0.6, 0.4)
    solved = [flat(name, share, spread=0.1) for name, share in zip(HEADS, shares, strict=True)]
    together, apart = (
        [exponents(name, sign * share) for name, share in zip(HEADS, shares, strict=True)]
        for sign in (1, -1)
    )
    found = evidence("J19", *solved, *together)
    assert verdict("J19", found) == "replicated"
    turned = evidence("J19", *solved, *apart)
    assert verdict("J19", turned) == "does not hold"
    wide = pd.DataFrame({c.job.train.model.heads: c.table.query(
        f"split == 'out of distribution' and loops == {T_MAX}").set_index("seed")["solved"]
        for c in solved})  # fmt: skip
    other = pd.DataFrame({
        c.job.train.model.heads: c.table.groupby("seed")["leading"].mean() for c in together
    })  # fmt: skip
    # Each mean has a claim, and neither sees the other.
    mixed = [
        Measured(each.table.assign(nonnull=-each.table["nonnull"]), each.job) for each in together
    ]
    found = evidence("J19", *solved, *mixed)
    others = evidence("J19a", *solved, *mixed)
    assert (verdict("J19", found), verdict("J19a", others)) == ("replicated", "does not hold")
    others = evidence("J19a", *solved, *together)
    assert verdict("J19a", others) == "replicated"
    assert {*found["cell"]} == {"mean of the leading exponents"}
    own = found.set_index("seed")["value"]
    for seed in SEEDS:
        expected = wide.loc[seed].corr(other.loc[seed], method="spearman")
        assert own[seed] == pytest.approx(expected, abs=1e-12)
    same = [flat(name, 0.5, spread=0.0) for name in HEADS]
    nothing = evidence("J19", *same, *together)
    assert (nothing["value"] == 0).all()
    with pytest.raises(UnmeasurableError, match="a seed lacks a value at some heads"):
        evidence("J19", *solved, without(together[0], 3), *together[1:])


def test_exponents_with_heads():
    rising = [exponents(name, 0.1 * place) for place, name in enumerate(HEADS)]
    found = evidence("J29", *rising)
    assert means(found) == {
        "largest exponent": pytest.approx(0.4),
        "mean of the leading exponents": pytest.approx(0.4),
    }
    assert verdict("J29", found) == "replicated"
    falling = [exponents(name, -0.1 * place) for place, name in enumerate(HEADS)]
    assert verdict("J29", evidence("J29", *falling)) == "does not hold"
    other = evidence("J29a", *rising)
    assert means(other) == {"mean of all non-null exponents": pytest.approx(0.4)}
    assert verdict("J29a", other) == "replicated"
    # Neither sees the other's mean.
    turned = [
        Measured(each.table.assign(nonnull=each.table["nonnull"] - 0.3 * place), each.job)
        for place, each in enumerate(rising)
    ]
    assert verdict("J29", evidence("J29", *turned)) == "replicated"
    other = evidence("J29a", *turned)
    assert verdict("J29a", other) == "does not hold"


def test_gamma():
    small = evidence("J15", *(weights(name, 0.8) for name in ITRSA))
    assert len(means(small)) == len(ITRSA)
    assert verdict("J15", small) == "replicated"
    large = evidence("J15", *(weights(name, 1.3) for name in ITRSA))
    assert verdict("J15", large) == "does not hold"


def test_asymmetry_left_to_heads():
    free, held = (
        evidence("J20f", *(weights(name, 1, heads=own) for name in STRENGTHS)) for own in (1.2, 0.1)
    )
    assert verdict("J20f", free) == "replicated"
    assert verdict("J20f", held) == "does not hold"


def test_printed_norms():
    printed = read_csv(STUDY.folder / "published/tabS3.csv", ())
    found = of_weights.norm_above_largest_entry(printed)
    assert verdict("E6", found) == "does not hold"
    assert found[found["value"] < 0]["cell"].tolist() == ["N=8"]
    possible = printed.assign(gamma_norm=printed[["gamma_norm", "gamma_max"]].max(axis=1))
    assert verdict("E6", of_weights.norm_above_largest_entry(possible)) == "verified"


def test_names_tell_conditions_apart():
    conditions = ["itrsa", "itrsa_unnormalised", "akorn", "akorn_n8", "akorn_n8_spectral",
        "symmetric", "energy_single", *STRENGTHS, "energy_multi_none", "energy_multi_hard",
        "itrsa_spectral", "akorn_spectral"]  # fmt: skip
    assert len({condition_name(trained(condition)) for condition in conditions}) == len(conditions)
