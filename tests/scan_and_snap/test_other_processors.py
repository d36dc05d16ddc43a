"""Verification on other processors: wrong numbers do not pass as theirs."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest
from conftest import JOBS, ROOT

from replication.bundle.bundle import EVIDENCE, FINGERPRINTS, Bundle, read_bundle, reference_folder
from replication.verify.comparison import compare_with_reference, tolerances_of_study

STUDIES = JOBS.studies
TEXT, SYNTHETIC = "scan_and_snap_text", "scan_and_snap"


@cache
def reference_of(study: str) -> Bundle:
    return read_bundle(reference_folder(ROOT, study))[0]


def unchanged(table: pd.DataFrame) -> pd.DataFrame:
    return table


@cache
def places(study: str, name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> set[str]:
    """Where a changed table of the reference, found on another processor, differs from it."""
    reference = reference_of(study)
    found = Bundle(
        tables={name: change(reference.tables[name].copy())},
        verdicts={},
        depends=reference.depends | {"machine": {"processor": "another"}},
    )
    tolerances = tolerances_of_study(STUDIES[study])
    return {row.place for row in compare_with_reference(found, reference, {}, *tolerances)}


def scaled(by: float, *columns: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.assign(**{column: table[column] * by for column in columns})


def exchanged(one: str, other: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """The numbers of two models, one in the place of the other."""

    def exchange(table: pd.DataFrame) -> pd.DataFrame:
        names = table["model"].replace({one: other, other: one})
        changed = table.assign(model=names).sort_values(["model", "seed", "iteration"])
        return changed.set_axis(
            table.sort_values(["model", "seed", "iteration"]).index
        ).sort_index()

    return exchange


def of_other_seeds(table: pd.DataFrame) -> pd.DataFrame:
    """As far from a table as other seeds are, but for what no update has touched."""
    random = np.random.default_rng(1)
    labels = ("claim", "cell", "model", "iteration", "experiment", "mixture")
    same = [name for name in labels if name in table]
    trained = table["iteration"] > 0 if "iteration" in table else True
    kept = ("learning_rate", "published", "sample", "first_loss")
    for name in table.select_dtypes("float").columns.difference(kept):
        spread = table.groupby(same)[name].transform("std").fillna(0)
        table[name] += random.standard_normal(len(table)) * spread * trained
    return table


@pytest.mark.parametrize("name", ["figures/wikitext_dynamics.csv", FINGERPRINTS, EVIDENCE])
def test_where_rounding_is_amplified_numbers_as_of_other_seeds_are_taken(name):
    assert places(TEXT, name, of_other_seeds) == set()


def moved(column: str, by: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.assign(**{column: table[column] + by})


def against_t26a(evidence: pd.DataFrame) -> pd.DataFrame:
    """The fall of the recall grows less with the ratio, by 0.098."""
    evidence.loc[evidence["claim"] == "T26a", "value"] -= 0.098
    return evidence


@pytest.mark.parametrize(
    ("study", "name", "change"),
    [
        pytest.param(
            TEXT, "figures/fig7.csv",
            lambda table: table.assign(attention=table["attention"] * (table["attention"] >= 0.05)),
            id="weights of Figure 7 below 0.05 are 0",
        ),
        pytest.param(
            TEXT, "figures/wikitext_dynamics.csv", moved("entropy_share", 0.049),
            id="wikitext_dynamics",
        ),
        pytest.param(
            TEXT, "figures/wikitext_dynamics.csv", scaled(1.05, "entropy", "entropy_share"),
            id="dropout while attention is measured",
        ),
        pytest.param(
            TEXT, "figures/wikitext_dynamics.csv", scaled(1.44, "entropy"), id="bits for nats"
        ),
        pytest.param(
            TEXT, "figures/wikitext_dynamics.csv", exchanged("one_layer", "three_layers"),
            id="one depth for the other",
        ),
        pytest.param(TEXT, "figures/fig10.csv", scaled(1.1, "learning_rate"), id="other rates"),
        pytest.param(
            TEXT, "figures/fig7.csv", lambda table: table.assign(attention=1 / 35),
            id="uniform attention in Figure 7",
        ),
        pytest.param(SYNTHETIC, "figures/fig11.csv", moved("recall_mean", 0.049), id="fig11"),
        pytest.param(SYNTHETIC, EVIDENCE, against_t26a, id="T26a"),
        pytest.param(
            SYNTHETIC, "figures/fig8.csv",
            lambda table: table.assign(h_continuous=table["h_continuous"] * 1.02),
            id="h of Figure 8",
        ),
    ],
)  # fmt: skip
def test_wrong_numbers_are_seen_on_another_processor(study, name, change):
    assert places(study, name, unchanged) == set()
    assert len(places(study, name, change)) == 1
