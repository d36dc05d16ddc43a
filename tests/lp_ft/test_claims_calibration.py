"""Claims on calibration: tables that say the opposite turn their verdicts."""

import math

import pytest
from claim_tables import judged, means, said, trained, verdict

from replication.base.errors import UnmeasurableError

BEFORE = {"ft": 0.05, "lp_ft": 0.12, "lora": 0.04, "lp_lora": 0.09}


def calibration(before, after=0.03, temperatures=None, sets=("cb", "trec6", "cr"), largest=3.0):
    """ECE by method before and after scaling; MCE is so many times as large."""
    after = after if isinstance(after, dict) else dict.fromkeys(before, after)
    known = temperatures or dict.fromkeys(before, 1.0)
    return trained(
        *(
            {"texts": name, "split": split, "method": method, "is_scaled": is_scaled,
             "values": {"ece": errors[method], "mce": largest * errors[method],
                        "temperature": known[method] if is_scaled else 1.0}}
            for name in sets
            for split in (["test", "sst2_sentences"] if name == "cr" else ["test"])
            for method in before
            for is_scaled, errors in ((False, before), (True, after))
        )
    )  # fmt: skip


def turned(values):
    """LP-FT and FT, and LP-LoRA and LoRA, in the place of one another."""
    pairs = {"ft": "lp_ft", "lp_ft": "ft", "lora": "lp_lora", "lp_lora": "lora"}
    return {pairs[method]: value for method, value in values.items()}


def test_errors():
    hot = {"ft": 1.2, "lp_ft": 2.4, "lora": 1.0, "lp_lora": 1.5}
    honest = calibration(BEFORE, temperatures=hot)
    assert means("L14a", honest) == {
        f"{name}: LP-FT minus FT": pytest.approx(0.07, abs=1e-9) for name in ("TREC-6", "CR")
    }
    assert means("L14b", honest)["CR: LP-LoRA minus LoRA"] == pytest.approx(0.05, abs=1e-9)
    assert means("L14c", honest)["CR: LP-FT minus FT"] == pytest.approx(0.21, abs=1e-9)
    assert means("L14d", honest)["CR: LP-FT minus FT"] == pytest.approx(math.log(2), abs=0.01)
    assert means("L15g", honest)["CR: LP-FT minus FT"] == pytest.approx(0, abs=1e-9)
    other = calibration(turned(BEFORE), temperatures=turned(hot))
    for claim in ("L14a", "L14b", "L14c", "L14d"):
        assert verdict(claim, honest) == "replicated"
        assert said(claim, other) == {"fails"}
    assert said("L14a", calibration(dict.fromkeys(BEFORE, 0.05))) == {"none"}
    assert verdict("L15g", honest) == "replicated"
    worse = calibration(BEFORE, after={**dict.fromkeys(BEFORE, 0.03), "lp_ft": 0.09})
    assert verdict("L15g", worse) == "does not hold"


def test_small_sets_are_not_judged():
    with pytest.raises(UnmeasurableError, match="no set has 500 test samples"):
        verdict("L14a", calibration(BEFORE, sets=("cb", "rte", "mrpc")))


def test_improvements():
    honest = calibration(BEFORE)
    found = means("L15a", honest)
    assert found == {
        f"{name}: over {told}": pytest.approx(0.12 - BEFORE[method], abs=1e-9)
        for name in ("TREC-6", "CR")
        for method, told in (("ft", "FT"), ("lora", "LoRA"), ("lp_lora", "LP-LoRA"))
    }
    assert means("L15b", honest)["CR: over FT"] == pytest.approx(0.21, abs=1e-9)
    assert verdict("L15a", honest) == verdict("L15b", honest) == "replicated"
    # The largest, but for one other method.
    one = calibration({**BEFORE, "lora": 0.2})
    assert verdict("L15a", one) == verdict("L15b", one) == "in part"
    assert judged("L15a", one).comparisons[1].decision == "fails"
    # A large error that scaling does not take off is no improvement.
    left = calibration(BEFORE, after={**dict.fromkeys(BEFORE, 0.03), "lp_ft": 0.12})
    assert verdict("L15a", left) == "does not hold"
    assert means("L15f", honest) == {
        f"{name}: LP-FT": pytest.approx(0.09, abs=1e-9) for name in ("TREC-6", "CR")
    }
    assert (verdict("L15f", honest), verdict("L15f", left)) == ("replicated", "open")
    worse = calibration(BEFORE, after={**dict.fromkeys(BEFORE, 0.03), "lp_ft": 0.2})
    assert said("L15f", worse) == {"fails"}
