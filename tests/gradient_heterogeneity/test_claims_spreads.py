"""Claims about heterogeneity: wrong conditions, definitions and states change verdicts."""

import numpy as np
import pytest
from declared import CLAIMS, evidence, means, said, spread, verdict
from scipy.special import stdtr

from replication.base.errors import UnmeasurableError

OF = ("heterogeneity", "spread")
PAIRS = ("pairs", "spread")
CNN = {"net": "efficientnet", "task": "fashion_mnist", "ln": "none", "blocks": 51}


def networks(metric, transformer, cnn, **more):
    """Before and after fine-tuning; ViT-S before it only."""
    vit = {"net": "vit_s", "task": "fashion_mnist", "ln": "pre", "blocks": 73}
    return [
        {"metric": metric, "value": value, "state": state} | own | more
        for own, value, states in (
            ({}, transformer, ("pretrained", "tuned")),
            (vit, transformer, ("pretrained",)),
            (CNN, cnn, ("pretrained", "tuned")),
        )
        for state in states
    ]


@pytest.mark.parametrize(
    ("number", "metric", "other"),
    [("H1a", "gini_norm", "gini_density"), ("H1b", "gini_density", "gini_norm")],
)
def test_transformers_beside_a_cnn(number, metric, other):
    # The other definition and all tensors have the opposite order.
    against = networks(other, 0.2, 0.6) + networks(metric, 0.2, 0.6, set="all")
    table = spread(networks(metric, 0.5, 0.3) + against)
    found = means(evidence(number, {OF: table}))
    corrected = 0.5 * 11 / 10 - 0.3 * 51 / 50
    assert found["minilm on trec6, pretrained"] == pytest.approx(corrected)
    assert [*found] == [
        "minilm on trec6, pretrained", "minilm on trec6, tuned",
        "vit_s on fashion_mnist, pretrained",
    ]  # fmt: skip
    assert verdict(number, {OF: table}) == "replicated"
    swapped = table.assign(ln=table["ln"].map({"post": "none", "pre": "none", "none": "post"}))
    with pytest.raises(UnmeasurableError, match="a seed has several values"):
        evidence(number, {OF: swapped})
    reverse = spread(networks(metric, 0.3, 0.5))
    assert "fails" in said(number, {OF: reverse})
    assert said(number, {OF: spread(networks(metric, 0.31, 0.33))}) == {"none"}
    # One network of three the other way.
    mixed = spread(networks(metric, 0.5, 0.3))
    mixed.loc[mixed["net"] == "vit_s", "value"] -= 0.4
    assert said(number, {OF: mixed}) == {"holds", "fails"}


@pytest.mark.parametrize(
    ("number", "metric", "other"),
    [("H1c", "gini_norm", "gini_density"), ("H1d", "gini_density", "gini_norm")],
)
def test_all_tensors_beside_a_cnn(number, metric, other):
    # The other definition, matrices and networks after fine-tuning have the opposite order.
    rows = networks(metric, 0.5, 0.3, set="all")
    against = networks(other, 0.2, 0.6, set="all") + networks(metric, 0.2, 0.6)
    after = [row | {"value": 0.8 - row["value"]} for row in rows if row["state"] == "tuned"]
    before = [row for row in rows if row["state"] == "pretrained"]
    table = spread(before + after + against)
    assert [*means(evidence(number, {OF: table}))] == [
        "minilm on trec6, pretrained", "vit_s on fashion_mnist, pretrained",
    ]  # fmt: skip
    assert verdict(number, {OF: table}) == "replicated"
    assert said(number, {OF: spread(networks(metric, 0.3, 0.5, set="all"))}) == {"fails"}


def test_ratios_and_advantages():
    both = [
        {"metric": metric, "value": value, "set": chosen} | own
        for chosen, factor in (("all", 3.0), ("matrices", 1.0))
        for own, ratio, gain in (({}, 2.0, 0.4), (CNN, 0.5, 3.0))
        for metric, value in (("ratio", ratio), ("advantage", factor * gain))
    ]
    vit = {"net": "vit_s", "task": "fashion_mnist", "ln": "pre", "metric": "ratio", "value": 5.0}
    tables = {OF: spread([*both, vit], sd=0.02)}
    assert means(evidence("H3a", tables)) == {
        "minilm on trec6, pretrained, all": pytest.approx(np.log(2), abs=0.001),
        "minilm on trec6, pretrained, matrices": pytest.approx(np.log(2), abs=0.001),
    }
    assert verdict("H3a", tables) == "replicated"
    assert "fails" in said("H3b", tables)
    assert means(evidence("H3d", tables)) == {
        "vit_s on fashion_mnist, pretrained, matrices": pytest.approx(np.log(5), abs=0.001)
    }
    assert verdict("H3d", tables) == "replicated"
    # Over all tensors, and in the CNN, signs gain more.
    assert means(evidence("H4b", tables)) == {
        "minilm on trec6, pretrained, matrices": pytest.approx(np.log(0.4), abs=0.01),
        "efficientnet on fashion_mnist, pretrained, matrices": pytest.approx(np.log(3), abs=0.01),
    }
    assert said("H4b", tables) == {"holds", "fails"}
    assert verdict("H4b", tables) == "in part"
    more = tables[OF].assign(value=4 * tables[OF]["value"])
    assert said("H4b", {OF: more}) == {"fails"}
    with pytest.raises(UnmeasurableError, match="there is no row where metric"):
        evidence("H3d", {OF: spread(both)})


PAIR_CLAIMS = {
    "H2a": ("gini_norm", "adam"),
    "H2b": ("log_spread", "adam"),
    "H2c": ("gini_norm", "initial"),
    "H2d": ("log_spread", "initial"),
    "H2e": ("gini_norm", "masked"),
    "H2f": ("log_spread", "masked"),
    "H2g": ("layer_log_spread", "signum"),
    "H2h": ("ratio", "sgd_momentum"),
    "H2i": ("gini_density", "adam"),
}


def pair(metric, state, post, pre, **more):
    return [
        {
            "net": "tiny", "set": "all", "metric": metric, "state": state, "ln": ln,
            "value": value, "depth": depth, "deviation": 0.05,
        } | more
        for depth in (6, 12)
        for ln, value in (("post", post), ("pre", pre))
    ]  # fmt: skip


@pytest.mark.parametrize("number", PAIR_CLAIMS)
def test_pairs(number):
    metric, state = PAIR_CLAIMS[number]
    states = {name for _, name in PAIR_CLAIMS.values()} | {"pretrained"}
    tuned = {"adam", "signum", "sgd_momentum"}
    alike = tuned if state in tuned else {state}
    metrics = {name for name, _ in PAIR_CLAIMS.values()}
    rows = [
        row
        for each in metrics
        for name in sorted(states)
        for row in pair(each, name, *((2.0, 1.0) if (each == metric and name in alike) else (1, 2)))
    ]
    rows += pair(metric, state, 1.0, 3.0, set="matrices")
    table = spread(rows)
    found = means(evidence(number, {PAIRS: table}))
    assert len(found) == 2 * len(alike)
    expected = np.log(2) if metric == "ratio" else 1.0
    assert all(value == pytest.approx(expected, abs=0.01) for value in found.values())
    assert verdict(number, {PAIRS: table}) == "replicated"
    swapped = table.assign(ln=table["ln"].map({"post": "pre", "pre": "post"}))
    assert said(number, {PAIRS: swapped}) == {"fails"}
    deep = table.copy()
    deep.loc[deep["depth"] == 12, "value"] = 1 + 0.001 * deep["seed"] * (deep["ln"] == "post")
    assert said(number, {PAIRS: deep}) == {"holds", "none"}
    assert verdict(number, {PAIRS: deep}) == "in part"
    with pytest.raises(UnmeasurableError, match="unknown value of ln 'pre'"):
        evidence(number, {PAIRS: table[table["ln"] == "post"]})
    lost = table[(table["ln"] == "post") | (table["seed"] > 1)]
    with pytest.raises(UnmeasurableError, match="different seeds"):
        evidence(number, {PAIRS: lost})


@pytest.mark.parametrize(("number", "metric"), [("H2o", "gini_norm"), ("H2p", "log_spread")])
def test_deep_pairs(number, metric):
    table = spread(pair(metric, "adam", 2.0, 1.0) + pair(metric, "masked", 1, 2))
    table.loc[(table["depth"] == 6) & (table["ln"] == "post"), "value"] = 0
    assert verdict(number, {PAIRS: table}) == "replicated"
    swapped = table.assign(ln=table["ln"].map({"post": "pre", "pre": "post"}))
    assert said(number, {PAIRS: swapped}) == {"fails"}
    mixed = table.copy()
    mixed.loc[(mixed["ln"] == "post") & mixed["seed"].isin([2, 4]), "value"] -= 2
    assert said(number, {PAIRS: mixed}) == {"open"}


@pytest.mark.parametrize(("number", "metric"), [("H2m", "gini_norm"), ("H2n", "gini_density")])
def test_pairs_in_either_direction(number, metric):
    table = spread(pair(metric, "adam", 2.0, 1.0) + pair(metric, "masked", 1.5, 1.5))
    swapped = table.assign(ln=table["ln"].map({"post": "pre", "pre": "post"}))
    mixed = table.copy()
    mixed.loc[(mixed["ln"] == "post") & mixed["seed"].isin([2, 4]), "value"] -= 2
    # Some seeds one way and some the other are as far from Pre-LN.
    for moved in (table, swapped, mixed):
        found = means(evidence(number, {PAIRS: moved}))
        assert [*found.values()] == [pytest.approx(1, abs=0.02)] * 2
        assert verdict(number, {PAIRS: moved}) == "replicated"
    equal = spread(pair(metric, "adam", 1.0, 1.0))
    assert "holds" not in said(number, {PAIRS: equal})


def test_distances_keep_the_level():
    """Where placement changes nothing, few samples of seeds pass, also beyond no margin."""
    test, seeds, draws = CLAIMS["H2m"].test, 7, 20_000
    random = np.random.default_rng(0)
    for deviation in (0.01, 0.05, 0.2):
        post, pre = deviation * random.normal(size=(2, draws, seeds))
        others = (pre.sum(axis=1, keepdims=True) - pre) / (seeds - 1)
        moved = abs(post - others) - abs(pre - others)
        error = moved.std(axis=1, ddof=1) / np.sqrt(seeds)
        for margin in (0, test.smallest_effect):
            t = (moved.mean(axis=1) - margin) / error
            assert (stdtr(seeds - 1, -t) <= test.level).mean() <= 0.05
