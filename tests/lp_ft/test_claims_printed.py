"""Claims on printed tables: what tables would turn them, and that no number was typed twice."""

import math

import pandas as pd
import pytest
from claim_tables import CLAIMS, STUDY, means, verdict

from replication.base.storage import read_csv

PUBLISHED = STUDY.folder / "published"


def table(name):
    return read_csv(PUBLISHED / name, ())


def changed(printed, value, **row):
    """The table with another value in some rows."""
    found = printed.copy()
    chosen = pd.Series(data=True, index=found.index)
    for column, wanted in row.items():
        chosen &= found[column] == wanted
    assert chosen.any()
    found.loc[chosen, "value"] = value
    return found


def test_ratios_from_norms():
    printed = table("table2.csv")
    # Sheet of numbers: .214 .215 .217 .232 and .993 .988 .990 .999 minus the ratios.
    found = means("B1a", printed)
    assert found["CB, FT"] == pytest.approx(0.214 - 0.1987, abs=6e-4)
    assert found["WiC, LP-FT"] == pytest.approx(0.999 - 0.9996, abs=6e-4)
    assert means("B1b", printed)["CB"] == pytest.approx(1.0137 - 0.228, abs=6e-4)
    assert means("B1i", printed)["WiC, LP-LoRA"] == pytest.approx(
        math.log(0.778 / 0.7454), abs=1e-3
    )
    for claim in ("B1a", "B1b", "B1i"):
        assert verdict(claim, printed) == "verified"
    other = changed(printed, 0.5, set="rte", method="ft", quantity="ft_ratio")
    assert verdict("B1a", other) == verdict("B1i", other) == "does not hold"
    norms = changed(printed, 0.139, set="rte", method="lp_lora", quantity="ft_ratio")
    assert verdict("B1b", norms) == "does not hold"


def test_ranks():
    printed = table("table2.csv")
    found = means("E5a", printed)
    assert (found["CB"], found["RTE"]) == (20 - 500, 30 - 432)
    assert verdict("E5a", printed) == "verified"
    higher = changed(printed, 700, set="wic", quantity="ntk_rank")
    assert verdict("E5a", higher) == "does not hold"
    assert means("B3b", printed)["CB, LP-FT"] == pytest.approx(344 / 450)
    assert verdict("B3b", printed) == "verified"
    full = changed(printed, 300, set="rte", method="lp_ft", quantity="f_rank")
    assert verdict("B3b", full) == "does not hold"


def test_accuracies_of_kernels():
    """79.17 % of 56 is no whole number, 79.17 % of 168 is 133."""
    printed = table("table2.csv")
    assert verdict("E5b", printed) == "does not hold"
    assert verdict("E5c", printed) == "verified"
    assert means("E5b", printed)["CB, test"] > 100
    whole = printed.copy()
    accuracies = whole["quantity"].str.contains("logit_test")
    whole.loc[accuracies, "value"] = 78.57  # 44 of 56
    whole.loc[whole["quantity"].str.contains("logit_train"), "value"] = 88.00
    assert verdict("E5b", whole) == "verified"
    third = changed(printed, 80.00, set="cb", quantity="f_logit_test")
    assert verdict("E5c", third) == "does not hold"


def test_majorities():
    printed = table("table8.csv")
    found = means("E6", printed)
    assert {*found} == {
        "SST-2, LoRA", "MRPC, LoRA", "WSC, LP", "WSC, FT", "WSC, LP-FT", "WSC, LP-LoRA",
    }  # fmt: skip
    assert max(map(abs, found.values())) < 0.005
    assert verdict("E6", printed) == "verified"
    better = changed(printed, 90.0, set="mrpc", method="lora")
    assert verdict("E6", better) == "does not hold"


def test_growth():
    printed = table("table13.csv")
    found = means("E7", printed)
    assert len(found) == 9 * 5
    falling = {name for name, value in found.items() if value < 0}
    assert {name for name in falling if name.endswith(", FT")} == {
        f"{name}, FT" for name in ("CoLA", "SST-2", "WSC", "Amazon")
    }
    assert {"WSC, LP", "WSC, LoRA", "SST-2, LP-FT"} < falling
    assert len(falling) == 11
    assert found["SST-2, LP-FT"] == pytest.approx(math.log(109 / 132))
    assert verdict("E7", printed) == "does not hold"
    level = printed.assign(value=1.0)
    assert verdict("E7", level) == "verified"


def test_what_is_printed_twice():
    printed = table("printed_twice.csv")
    assert means("E9", printed) == {
        "CB": pytest.approx(math.log(33.5 / 24.8)), "RTE": pytest.approx(math.log(15.1 / 10.6)),
    }  # fmt: skip
    assert verdict("E9", printed) == "verified"
    assert verdict("E9", changed(printed, 1.0, set="rte")) == "does not hold"
    keys = ["set", "method", "quantity"]
    for number in (1, 12, 13):
        own = printed[printed["table"] == number].set_index(keys)["value"]
        known = table(f"table{number}.csv").set_index(keys)["value"]
        assert own.to_dict() == known[own.index].to_dict()


def test_samples_of_cb():
    """With 56 samples all five means are whole numbers of 280."""
    printed = table("table8.csv")
    assert verdict("E10", printed) == "does not hold"
    own = printed[printed["set"] == "cb"]["value"] / 100 * 280
    assert (own - own.round()).abs().max() <= 280 * 0.005 / 100
    possible = printed.assign(value=lambda t: (t["value"] / 100 * 285).round() / 285 * 100)
    assert verdict("E10", possible) == "verified"


def test_settings():
    printed = table("rates.csv")
    assert means("B10", printed) == {"of 10 sets": 9}
    rates = printed.set_index(["set", "method", "quantity"])["value"]
    assert rates["cb", "ft", "rate"] / rates["cb", "lp_ft", "rate"] == pytest.approx(10)
    assert rates["pubmed", "ft", "batch_size"] == rates["pubmed", "lp_ft", "batch_size"] == 8
    assert verdict("B10", printed) == "verified"
    assert verdict("B10", changed(printed, 8, quantity="batch_size")) == "does not hold"


def test_every_claim_on_a_table_is_tried_here():
    named = {claim.id for claim in CLAIMS.values() if claim.published_table}
    assert named == {
        "B1a", "B1b", "B1i", "B3b", "B10", "E5a", "E5b", "E5c", "E6", "E7", "E9", "E10", "E14",
    }  # fmt: skip


def test_gains_of_lp_ft():
    printed = table("table8.csv")
    found = means("E14", printed)
    assert (found["SST-2"], found["CoLA"]) == pytest.approx((2.11, -0.80))
    assert verdict("E14", printed) == "does not hold"
    assert sum(value >= 0.01 for value in found.values()) == 5
    assert verdict("E14", changed(printed, 99, method="lp_ft")) == "verified"
