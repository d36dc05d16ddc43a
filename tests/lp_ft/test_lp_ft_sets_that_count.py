"""Which sets count for verdicts over seeds follows from their sizes alone."""

import math

import pandas as pd
import pytest
import yaml
from claim_tables import CLAIMS, REGISTRY, ROBUSTNESS, STUDY

from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.plan.configuration import configure, merge
from replication.study.claims import Bounds
from transformer_dynamics.encoders.cost import SETS
from transformer_dynamics.encoders.settings import TextNumbers
from transformer_dynamics.lp_ft.claims.contrasts import SMALL_TEST_SETS
from transformer_dynamics.lp_ft.settings.labels import SET_LABELS, set_label
from transformer_dynamics.lp_ft.study import counted

VALIDATION, TESTED = 100, 500
"""The fewest samples of a set that counts."""
TEST = {
    "cb": 56, "rte": 277, "cola": 1043, "sst2": 872, "mrpc": 408, "trec6": 500, "cr": 1000,
    "sst2_sentences": 1821, "sst5": 2210,
}  # fmt: skip
"""Test samples as the readers of texts give them, see the tests of `encoders.texts`."""


def configured(overlay):
    """Samples by set, as the defaults and one overlay have them."""
    found = yaml.safe_load((STUDY.folder / "config.yaml").read_text())
    if overlay:
        changes = yaml.safe_load((STUDY.folder / f"{overlay}.yaml").read_text())["lp_ft"]
        found = merge(found, changes)
    return {name: TextNumbers.model_validate(own) for name, own in found["sets"].items()}


def validation(name, numbers):
    """What is drawn, or else what is left of all samples that there are."""
    if numbers.validation is not None:
        return numbers.validation
    return math.floor((1 - numbers.kept) * SETS[name].train)


@pytest.mark.parametrize("overlay", [None, "minimum", "full"])
def test_the_rule_names_the_sets(overlay):
    sets = configured(overlay)
    small = {
        set_label(name)
        for name, numbers in sets.items()
        if validation(name, numbers) < VALIDATION or TEST[name] < TESTED
    }
    assert small <= {*ROBUSTNESS}
    assert {set_label(name) for name in sets} & {*ROBUSTNESS} == small
    if overlay == "full":
        assert (
            small
            == {"CB", "RTE", "MRPC"}
            == {*ROBUSTNESS}
            == {set_label(name) for name in SMALL_TEST_SETS}
        )


@pytest.mark.parametrize("overlay", [None, "minimum", "full", "paper_scale"])
def test_small_sets_count_where_they_are_whole(overlay):
    """As at the paper's scale, where they are the paper's own."""
    path = STUDY.folder / f"{overlay}.yaml"
    changes = yaml.safe_load(path.read_text()) if overlay else {}
    settings = configure(changes, {"lp_ft": STUDY}).section("lp_ft")
    found = counted(settings)
    assert sorted(found) == (["CB", "MRPC", "RTE"] if overlay == "paper_scale" else [])
    kept = REGISTRY.with_own({}, found)
    assert kept.robustness_cells == [text for text in ROBUSTNESS if text not in found]
    assert kept.rules_of_robustness == ([] if found else REGISTRY.rules_of_robustness)


def test_sizes_of_tests_are_those_of_the_reference():
    path = STUDY.folder.parents[2] / "results/reference/lp_ft/figures"
    for name in ("table1", "table11"):
        rows = pd.read_csv(path / f"{name}.csv", usecols=["set", "samples"]).drop_duplicates()
        for own, samples in rows.itertuples(index=False):
            assert TEST[own] == samples


def test_the_texts_stand_in_no_other_comparison():
    """Names of other sets, of methods and of whatever else have none of them."""
    path = STUDY.folder.parents[2] / "results/reference/lp_ft/evidence.csv"
    evidence = pd.read_csv(path, dtype={"cell": str, "claim": str})
    over_seeds = evidence[evidence["seed"].notna()]
    for text in ROBUSTNESS:
        assert [name for name in SET_LABELS.values() if text in name] == [text]
        named = {cell for cell in over_seeds["cell"] if text in cell}
        assert all(cell == text or cell.startswith((f"{text}:", f"{text},")) for cell in named)
    assert {each.cells for each in REGISTRY.robustness} == {"CB", "RTE", "MRPC"}


def test_what_is_printed_of_small_sets_counts():
    """The rule is about seeds: a value that is printed is what it is, whatever its set."""
    assert isinstance(CLAIMS["B1a"].test, Bounds)
    cells = pd.DataFrame({"cell": ["CB, FT", "BoolQ, FT"], "value": [0.5, 0.0]})
    found = judge([Judged("B1a", CLAIMS["B1a"].test, cells, ROBUSTNESS)])["B1a"]
    assert found.verdict == "does not hold"
    assert not any(each.is_robustness for each in found.comparisons)
    only = judge([Judged("B1a", CLAIMS["B1a"].test, cells.assign(value=0.0)[:1], ROBUSTNESS)])
    assert only["B1a"].verdict == "verified"
    seeds = pd.DataFrame({"cell": "CB", "seed": range(5), "value": [0.9, 1.0, 1.1, 1.2, 1.3]})
    alone = judge([Judged("L5c", CLAIMS["L5c"].test, seeds, ROBUSTNESS)])["L5c"]
    assert alone.verdict == "not tested"
