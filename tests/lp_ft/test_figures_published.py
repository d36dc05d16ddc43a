"""Printed numbers obey what their definitions, and the paper's own sums and texts, say of them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from transformer_dynamics.lp_ft import figures
from transformer_dynamics.lp_ft.figures.run_tables import QUANTITIES
from transformer_dynamics.lp_ft.settings.labels import METHOD_LABELS, SET_LABELS

FOLDER = Path(figures.__file__).parent.parent / "published"
NAMES = sorted(path.stem for path in FOLDER.glob("table*.csv"))
SEEDS = 5
SAMPLES = {"cb": 56, "rte": 277, "sst2": 872, "wic": 638, "mrpc": 408, "wsc": 104, "boolq": 3270}
"""Of test sets."""
BENCHMARKS = ["cb", "rte", "sst2", "wic", "cola", "mrpc", "wsc", "boolq"]
SHIFTED = ["dynasent", "semeval", "sst5"]


def read(name):
    return pd.read_csv(FOLDER / f"{name}.csv")


def wide(name, quantity, index="set"):
    """Sets by methods."""
    rows = read(name)
    rows = rows[rows["quantity"] == quantity]
    return rows.pivot(index=index, columns="method", values="value")


def test_all_tables_are_there():
    numbers = [1, 2, 3, 8, 10, 11, 12, 13, 14, 15]
    assert {*NAMES} == {f"table{number}" for number in numbers}


@pytest.mark.parametrize("name", NAMES)
def test_columns_and_keys(name):
    rows = read(name)
    assert [*rows] == ["table", "set", "method", "quantity", "value", "deviation"]
    assert not rows.duplicated(["table", "set", "method", "quantity"]).any()
    assert np.isfinite(rows["value"]).all()
    assert {*rows["method"]} <= {*METHOD_LABELS}
    assert {*rows["set"]} <= {*SET_LABELS}
    number = int(name.removeprefix("table"))
    assert {*rows["table"]} == ({2, 9} if number == 2 else {number})
    if number != 2:
        assert {*rows["quantity"]} <= {*QUANTITIES, "matthews"}


def test_accuracies_are_counts_of_test_samples():
    rows = read("table8")
    rows = rows[rows["quantity"] == "accuracy"]
    assert {*rows["set"]} == {*SAMPLES}
    number = rows["set"].map(SAMPLES) * SEEDS
    right = rows["value"] / 100 * number
    # As far as two digits after the point tell.
    assert ((right - right.round()).abs() <= 0.5e-4 * number + 1e-9).all()


def test_constant_predictors_have_the_share_of_the_commonest_class():
    table = wide("table8", "accuracy")
    for (name, method), share in {
        ("sst2", "lora"): 444 / 872,
        ("mrpc", "lora"): 279 / 408,
        ("wsc", "ft"): 66 / 104,
    }.items():
        assert table.loc[name, method] == pytest.approx(100 * share, abs=0.005)


def test_accuracies_of_kernels_are_counts_of_pairs_of_sample_and_class():
    rows = read("table2")
    rows = rows[rows["quantity"].str.contains("_logit_")]
    is_train = rows["quantity"].str.endswith("_train")
    pairs = np.where(rows["set"] == "cb", np.where(is_train, 225 * 3, 56 * 3), 250 * 2)
    right = rows["value"] / 100 * pairs
    assert ((right - right.round()).abs() <= 0.5e-4 * pairs + 1e-9).all()


def test_ranks_are_below_what_heads_allow():
    f, ntk = wide("table2", "f_rank"), wide("table2", "ntk_rank")
    assert (f[["ft", "lora"]] <= 500).drop("cb").all(axis=None)
    assert (f.loc["cb", ["ft", "lora"]] <= 675).all()
    assert (f.loc["cb", ["lp_ft", "lp_lora"]] <= 450).all()
    binary = ["rte", "boolq", "wic"]
    assert (f.loc[binary, ["lp_ft", "lp_lora"]] <= 250).all(axis=None)
    assert (ntk.loc[binary, "lp_ft"] == f.loc[binary, "lp_ft"] + 1).all()


def test_norms_of_kernels_give_the_ratios_that_were_worked_out_from_them():
    f, p = wide("table2", "f_frobenius"), wide("table2", "p_frobenius")["pretrained"]
    share = f.div(f.add(p, axis=0)).loc[["cb", "rte", "boolq", "wic"]]
    expected = {
        "ft": [0.214, 0.215, 0.217, 0.232],
        "lp_ft": [0.993, 0.988, 0.990, 0.999],
        "lp_lora": [0.228, 0.139, 0.160, 0.694],
    }
    for method, values in expected.items():
        np.testing.assert_allclose(share[method], values, atol=0.0006)


def test_table_3_is_that_of_rte_in_tables_14_and_15():
    third = read("table3").set_index(["method", "quantity"])["value"]
    others = pd.concat([read("table14"), read("table15")])
    rte = others[others["set"] == "rte"].set_index(["method", "quantity"])["value"]
    pd.testing.assert_series_equal(third.sort_index(), rte.sort_index())


def test_how_often_calibration_is_as_the_text_says():
    gains = {}
    for name, quantity, over_ft, over_lora in (("table14", "ece", 6, 8), ("table15", "mce", 7, 7)):
        before, after = wide(name, quantity), wide(name, f"{quantity}_scaled")
        assert (before["lp_ft"] > before["ft"]).sum() == over_ft
        assert (before["lp_lora"] > before["lora"]).sum() == over_lora
        gains[quantity] = before - after
        assert len(before) == 8
    assert [(gain.idxmax(axis=1) == "lp_ft").sum() for gain in gains.values()] == [4, 4]
    assert [(gain["lp_ft"] > gain["ft"]).sum() for gain in gains.values()] == [6, 7]


def test_features_move_less_after_lp():
    table = wide("table12", "difference")
    ratio = table["ft"] / table["lp_ft"]
    assert len(ratio) == 12
    assert 1.24 < ratio.min() < 1.26
    assert 11 < ratio.max() < 11.5
    assert (table["lp_lora"] < table["lora"]).sum() == 11


def test_similarities_rise_by_as_much_as_was_worked_out():
    both = pd.concat([wide(name, "cosine_similarity") for name in ("table1", "table11")])
    gain = both["lp_ft"] - both["ft"]
    assert gain.min() == pytest.approx(0.27, abs=0.001)
    assert gain.max() == pytest.approx(0.682, abs=0.001)
    ratio = wide("table11", "discriminant_ratio")
    assert (ratio["lp_ft"] > ratio["ft"])[SHIFTED].sum() == 1


def test_accuracy_of_lp_ft_over_ft():
    own = pd.concat([wide("table8", "accuracy"), wide("table8", "matthews")]).loc[BENCHMARKS]
    gain = own["lp_ft"] - own["ft"]
    assert gain.min() == pytest.approx(-0.80)
    assert gain.max() == pytest.approx(3.21)
    assert (gain > 0).sum() == 5
    assert gain["wsc"] == 0
    shifted = wide("table10", "accuracy").loc[SHIFTED]
    np.testing.assert_allclose(shifted["lp_ft"] - shifted["ft"], [1.08, -0.24, 1.26], atol=1e-9)
    assert (shifted["lp_lora"] < shifted["lora"]).all()


def test_norms_of_heads():
    table = wide("table13", "norm")
    assert len(table) == 9
    assert (table["ft"] < table["pretrained"]).sum() == 4
    assert (table["lp"] / table["lora"] > 8.25).sum() == 8
    # A random head of entries with deviation .02: .02 sqrt(C h), and 15 % around it.
    classes = pd.Series({"cb": 3, "amazon": 3}).reindex(table.index, fill_value=2)
    expected = 0.02 * np.sqrt(768 * classes)
    np.testing.assert_allclose(table["pretrained"], expected, rtol=0.02)
