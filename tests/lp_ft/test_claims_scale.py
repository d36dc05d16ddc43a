"""Claims on heads that are multiplied: curves that turn their verdicts."""

import math

import numpy as np
import pytest
from claim_tables import means, said, trained, verdict, without

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured

FACTORS = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0)
FEW = (0.1, 1.0, 10.0, 100.0)
NORMS = {"ft": 1.0, "lp_ft": 16.0}


def curves(shapes, factors=FACTORS, places=(("trec6", "test"),), spread=0.01, **arm):
    """Diff(F) by method as a function of the factor; heads are 1 and 16 long."""
    return trained(
        *(
            {"texts": texts, "split": split, "method": method, "factor": factor, **arm,
             "values": {"difference": shape(factor)}}
            for texts, split in places
            for method, shape in shapes.items()
            for factor in factors
        ),
        spread=spread,
    )  # fmt: skip


def with_norms(measured):
    """Each head's length before fine-tuning, which does not scatter."""
    table = measured.table
    return Measured(table.assign(start_norm=table["method"].map(NORMS) * table["factor"]), None)


def power(exponent, start=10.0):
    return lambda factor: start * factor**exponent


OOD = (("cr", "test"), ("cr", "sst2_sentences"))


def test_slopes():
    falling = {"ft": power(-0.2), "lp_ft": power(-0.1, 5.0)}
    both = curves(falling), curves(falling, FEW, OOD)
    sgd = curves({"ft": power(1.0), "lp_ft": power(1.0)}, FEW, optimiser="sgd", clip=0.0)
    found = means("L8c", *both, sgd)
    places = ("TREC-6", "CR", "CR to SST-2 sentences")
    assert found == {
        f"{name}: {method}": pytest.approx(slope, abs=0.01)
        for name in places
        for method, slope in (("FT", -0.2), ("LP-FT", -0.1))
    }
    assert verdict("L8c", *both, sgd) == verdict("L8b", *both, sgd) == "replicated"
    assert max(means("L8b", *both).values()) < 0
    rising = {"ft": power(-0.2), "lp_ft": power(0.2)}
    for claim in ("L8b", "L8c"):
        assert verdict(claim, curves(rising)) == "in part"
        assert said(claim, curves(rising)) == {"holds", "fails"}
    level = {"ft": power(-0.2), "lp_ft": power(0.0)}
    assert said("L8c", curves(level, spread=0.003)) == {"holds", "none"}
    # It falls from end to end, but not at every step.
    zigzag = {"ft": lambda factor: 10 / factor**0.3 * (1.5 if FACTORS.index(factor) % 2 else 1)}
    assert verdict("L8c", curves(zigzag)) == "replicated"
    assert verdict("L8b", curves(zigzag)) == "does not hold"
    bump = {"ft": lambda factor: 10 / factor**0.3 if factor != 50 else 10 / 10**0.3 * 1.05}
    assert means("L8b", curves(bump))["TREC-6: FT"] == pytest.approx(math.log(1.05), abs=0.01)
    assert verdict("L8b", curves(bump)) == "replicated"


def test_slopes_are_those_of_least_squares():
    shape = {"ft": lambda factor: 3 + math.cos(factor)}
    table = curves(shape, spread=0.0).table
    own = table[table["seed"] == 1]
    expected = np.polyfit(np.log(own["factor"]), np.log(own["difference"]), 1)[0]
    assert means("L8c", Measured(table, None))["TREC-6: FT"] == pytest.approx(expected, rel=1e-10)


def test_seeds_need_the_same_factors():
    table = curves({"ft": power(-0.2)}).table
    lacking = table[~((table["seed"] == 1) & (table["factor"] == 5))]
    with pytest.raises(UnmeasurableError, match="a seed lacks a value at some"):
        verdict("L8c", Measured(lacking, None))
    with pytest.raises(UnmeasurableError, match="there is no row where optimiser"):
        verdict("L8c", curves({"ft": power(1.0)}, optimiser="sgd"))


def test_at_equal_norm():
    """Heads of 1.6 to 100 are common; there FT is at 10 n^-.2 and LP-FT at twice less or more."""
    honest = {
        "ft": power(-0.2),
        "lp_ft": lambda factor: 5.0 * (16 * factor) ** -0.2,
    }
    found = means("L9", with_norms(curves(honest)))
    assert [*found] == [f"TREC-6: {which} common head" for which in ("middle", "longest")]
    found |= means("L9a", with_norms(curves(honest)))
    assert [*found][2:] == ["TREC-6: shortest common head"]
    assert all(value == pytest.approx(math.log(2), abs=0.02) for value in found.values())
    for claim in ("L9", "L9a"):
        assert verdict(claim, with_norms(curves(honest))) == "replicated"
    # The same at equal factors, but more at equal norms.
    same = {"ft": power(-0.2), "lp_ft": power(-0.2)}
    assert verdict("L9", with_norms(curves(same))) == "does not hold"
    crossing = {
        "ft": power(-0.2),
        "lp_ft": lambda factor: 2.0 * (16 * factor) ** 0.2,
    }
    found = means("L9", with_norms(curves(crossing)))
    assert found["TREC-6: longest common head"] < -0.1
    assert "fails" in said("L9", with_norms(curves(crossing)))
    assert verdict("L9a", with_norms(curves(crossing))) == "replicated"


def test_heads_without_a_common_norm_are_not_compared():
    measured = with_norms(curves({"ft": power(-0.2), "lp_ft": power(-0.2)}, (0.1, 0.5)))
    assert np.isnan([*means("L9", measured).values()]).all()
    assert verdict("L9", measured) == "not tested"
    with pytest.raises(UnmeasurableError, match="there is no LP-FT"):
        verdict("L9", with_norms(curves({"ft": power(-0.2)})))


def by_sgd(plain, clipped, at_one=(0.7, 1.9)):
    """Slopes without and with clipping; Diff of FT and LP-FT at factor 1."""
    shapes = [
        {"ft": power(slope, at_one[0]), "lp_ft": power(slope, at_one[1])}
        for slope in (plain, clipped)
    ]
    return [
        curves(shape, FEW, optimiser="sgd", clip=clip, rate=1e-3)
        for shape, clip in zip(shapes, (0.0, 1.0), strict=True)
    ]


def test_plain_descent():
    honest = by_sgd(plain=0.5, clipped=-0.1)
    assert means("B6c", *honest) == {
        f"TREC-6: {method}": pytest.approx(0.5, abs=0.01) for method in ("FT", "LP-FT")
    }
    assert means("B6d", *honest)["TREC-6: FT"] == pytest.approx(0.6, abs=0.01)
    assert means("B6e", *honest) == {"TREC-6": pytest.approx(math.log(1.9 / 0.7), abs=0.02)}
    for claim in ("B6c", "B6d", "B6e"):
        assert verdict(claim, *honest) == "replicated"
    turned = by_sgd(plain=-0.1, clipped=0.5, at_one=(1.9, 0.7))
    for claim in ("B6c", "B6d", "B6e"):
        assert verdict(claim, *turned) == "does not hold"
    assert verdict("B6d", *by_sgd(plain=0.5, clipped=0.5)) == "does not hold"
    unequal = [Measured(each.table.assign(rate=lambda t: t["method"].map(NORMS)), None)
               for each in honest]  # fmt: skip
    with pytest.raises(UnmeasurableError, match="different rates"):
        verdict("B6e", *unequal)
    with pytest.raises(UnmeasurableError, match="LP-FT was not trained with clipped gradients"):
        verdict("B6d", honest[0], without(honest[1], method="lp_ft"))


def test_factors_at_which_a_run_diverged_are_left_out():
    plain, clipped = by_sgd(plain=0.5, clipped=-0.1)
    table = plain.table
    table.loc[(table["factor"] == 100) & (table["seed"] == 2), "difference"] = math.nan
    diverged = Measured(table, None)
    assert means("B6c", diverged)["TREC-6: FT"] == pytest.approx(0.5, abs=0.01)
    assert verdict("B6c", diverged) == verdict("B6d", diverged, clipped) == "replicated"
    table.loc[table["factor"] > 0.1, "difference"] = math.nan
    with pytest.raises(UnmeasurableError, match="fewer than two factors"):
        verdict("B6c", Measured(table, None))
