"""Claims on features: tables that say the opposite turn their verdicts."""

import math

import pytest
from claim_tables import ARM, means, said, trained, verdict

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured

PLACES = (("cb", "test"), ("trec6", "test"), ("cr", "test"), ("cr", "sst2_sentences"))
NAMES = ("CB", "TREC-6", "CR", "CR to SST-2 sentences")
METHODS = ("lp", "ft", "lora", "lp_ft", "lp_lora")


def features(column, places=PLACES, noise_floor=5.0, **by_method):
    """A column of every test set by method; LP's rows are there in any case."""
    return trained(
        *(
            {"texts": texts, "split": split, "method": method,
             "noise_floor": math.nan if texts == "cb" else noise_floor,
             "values": {column: by_method.get(method, 1.0)}}
            for texts, split in places
            for method in METHODS
            if method in {*by_method, "lp"}
        )
    )  # fmt: skip


def test_less_change():
    honest = features("difference", ft=12.0, lp_ft=3.0, lora=5.0, lp_lora=2.0)
    found = means("L6a", honest)
    assert [*found] == [f"{name}: FT minus LP-FT" for name in NAMES]
    assert all(value == pytest.approx(math.log(4), abs=0.02) for value in found.values())
    assert means("L6b", honest)["CB: LoRA minus LP-LoRA"] == pytest.approx(math.log(2.5), abs=0.02)
    turned = features("difference", ft=3.0, lp_ft=12.0, lora=2.0, lp_lora=5.0)
    same = features("difference", ft=3.0, lp_ft=3.0, lora=2.0, lp_lora=2.0)
    for claim in ("L6a", "L6b"):
        assert verdict(claim, honest) == "replicated"
        assert verdict(claim, turned) == "does not hold"
        assert verdict(claim, same) == "does not hold"


@pytest.mark.parametrize(("texts", "expected"), [("trec6", "in part"), ("cb", "replicated")])
def test_a_run_that_diverged_costs_the_claim_its_comparison_on_sets_that_count(texts, expected):
    table = features("difference", ft=12.0, lp_ft=3.0).table
    diverged = (table["seed"] == 2) & (table["method"] == "ft") & (table["texts"] == texts)
    table.loc[diverged, "difference"] = math.nan
    assert verdict("L6a", Measured(table, None)) == expected


def at_rates(**ratios):
    return trained(
        *(
            {"texts": "trec6", "split": "test", "method": method, "rate": float(rate[1:]) * 1e-5,
             "values": {"difference": 2.0 * (ratio if method == "ft" else 1.0)}}
            for rate, ratio in ratios.items()
            for method in ("ft", "lp_ft")
        )
    )  # fmt: skip


def test_less_change_at_equal_rates():
    honest = at_rates(r1=2.0, r3=3.0, r10=4.0)
    found = means("L6c", honest)
    assert found == {
        "TREC-6: rate 1e-05": pytest.approx(math.log(2), abs=0.02),
        "TREC-6: rate 3e-05": pytest.approx(math.log(3), abs=0.02),
        "TREC-6: rate 0.0001": pytest.approx(math.log(4), abs=0.02),
    }
    assert verdict("L6c", honest) == "replicated"
    assert verdict("L6c", at_rates(r1=2.0, r3=3.0, r10=0.5)) == "in part"
    assert said("L6c", at_rates(r1=2.0, r3=3.0, r10=0.5)) == {"holds", "fails"}
    with pytest.raises(UnmeasurableError, match="unknown value of called 'LP-FT'"):
        verdict("L6c", trained(*({**row, "method": "ft"} for row in [
            {"texts": "cr", "split": "test", "values": {"difference": 1.0}}
        ])))  # fmt: skip


def heads(random, probe):
    """Diff by the norm of the head, (random, probe), for a random direction and the probe's."""
    return trained(
        *(
            {"texts": texts, "split": "test", "method": method, "norm_of": norm,
             "values": {"difference": value}}
            for texts in ("trec6", "cr")
            for method, own in (("ft", random), ("lp_ft", probe))
            for norm, value in zip(("random", "probe"), own, strict=True)
        )
    )  # fmt: skip


def test_less_change_by_direction_and_norm():
    by_norm = heads(random=(12.0, 4.0), probe=(12.0, 4.0))
    by_direction = heads(random=(12.0, 12.0), probe=(4.0, 4.0))
    both = heads(random=(12.0, 6.0), probe=(8.0, 2.0))
    assert means("L6d", both) == {
        f"{name}: norm of {head}": pytest.approx(math.log(ratio), abs=0.03)
        for name in ("TREC-6", "CR")
        for head, ratio in (("the random head", 1.5), ("the probe", 3.0))
    }
    assert means("L6e", both) == {
        f"{name}: direction of {head}": pytest.approx(math.log(ratio), abs=0.03)
        for name in ("TREC-6", "CR")
        for head, ratio in (("the random head", 2.0), ("the probe", 4.0))
    }
    assert (verdict("L6d", both), verdict("L6e", both)) == ("replicated", "replicated")
    assert (verdict("L6d", by_norm), verdict("L6e", by_norm)) == ("does not hold", "replicated")
    assert (verdict("L6d", by_direction), verdict("L6e", by_direction)) == (
        "replicated", "does not hold",
    )  # fmt: skip
    turned = heads(random=(2.0, 8.0), probe=(6.0, 12.0))
    assert (verdict("L6d", turned), verdict("L6e", turned)) == ("does not hold", "does not hold")
    # A smaller rate of one method would be taken for its direction.
    table = both.table.assign(rate=both.table["method"].map({"ft": 1e-4, "lp_ft": 3e-5}))
    with pytest.raises(UnmeasurableError, match="TREC-6 has methods with different rates"):
        verdict("L6d", Measured(table, None))
    assert verdict("L6e", Measured(table, None)) == "replicated"
    table = both.table.assign(batch_size=both.table["method"].map({"ft": 16, "lp_ft": 4}))
    with pytest.raises(UnmeasurableError, match="TREC-6 has methods with different sizes of batc"):
        verdict("L6d", Measured(table, None))


def test_similarity():
    collapsed = features("cosine_similarity", lp=0.99, ft=0.3, lp_ft=0.9)
    assert means("L7a", collapsed) == {
        f"{name}: LP-FT minus FT": pytest.approx(0.6, abs=0.02) for name in NAMES[:3]
    }
    assert verdict("L7a", collapsed) == verdict("L7c", collapsed) == "replicated"
    # Features that are apart at first, and come together in FT: kept, and yet less similar.
    apart = features("cosine_similarity", lp=0.2, ft=0.5, lp_ft=0.25)
    assert (verdict("L7a", apart), verdict("L7c", apart)) == ("does not hold", "replicated")
    assert means("L7c", apart)["CR"] == pytest.approx(0.25, abs=0.02)
    adapted = features("cosine_similarity", lora=0.3, lp_lora=0.9)
    assert means("L7d", adapted)["CR: LP-LoRA minus LoRA"] == pytest.approx(0.6, abs=0.02)
    assert verdict("L7d", adapted) == "replicated"
    assert said("L7d", features("cosine_similarity", lora=0.9, lp_lora=0.3)) == {"fails"}
    lost = features("cosine_similarity", lp=0.99, ft=0.9, lp_ft=0.3)
    assert verdict("L7a", lost) == verdict("L7c", lost) == "does not hold"


def test_discriminant_ratio():
    column = "discriminant_ratio"
    honest = features(column, ft=40.0, lp_ft=20.0)
    assert means("L7b", honest) == {
        f"{name}: FT minus LP-FT": pytest.approx(math.log(2), abs=0.02) for name in NAMES[1:3]
    }
    assert verdict("L7b", honest) == "replicated"
    assert verdict("L17", honest) == "does not hold"
    turned = features(column, ft=20.0, lp_ft=40.0)
    assert means("L17", turned) == {
        f"{NAMES[3]}: LP-FT minus FT": pytest.approx(math.log(2), abs=0.02)
    }
    assert (verdict("L7b", turned), verdict("L17", turned)) == ("does not hold", "replicated")
    adapted = features(column, lora=40.0, lp_lora=20.0)
    assert means("L7e", adapted) == {
        f"{name}: LoRA minus LP-LoRA": pytest.approx(math.log(2), abs=0.02) for name in NAMES[1:3]
    }
    assert verdict("L7e", adapted) == "replicated"
    assert said("L7e", features(column, lora=20.0, lp_lora=40.0)) == {"fails"}
    few = features(column, noise_floor=math.nan, ft=40.0, lp_ft=20.0)
    with pytest.raises(UnmeasurableError, match="no test set has more samples"):
        verdict("L7b", few)
    inside = features(column, places=PLACES[:3], ft=40.0, lp_ft=20.0)
    with pytest.raises(UnmeasurableError, match="there is no row where split"):
        verdict("L17", inside)
    assert {*ARM} < {*honest.table}
