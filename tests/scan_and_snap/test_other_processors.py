"""Verification on other processors: wrong numbers do not pass as theirs."""

from collections.abc import Callable

import pandas as pd
import pytest
from conftest import DEFAULTS, ROOT

from replication.jobs import Jobs
from replication.study import find_studies
from replication.verification.collect import counts, others
from replication.verification.comparison import compare
from replication.verification.reference import EVIDENCE, Reference, read_reference, reference_folder

STUDIES = Jobs.of(DEFAULTS, find_studies()).studies
TEXT, SYNTHETIC = "scan_and_snap_text", "scan_and_snap"


def places(study: str, name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> set[str]:
    """Where a changed table of the reference, found on another processor, differs from it."""
    reference = read_reference(reference_folder(ROOT, study))[0]
    found = Reference(
        tables={name: change(reference.tables[name].copy())},
        verdicts={},
        depends=reference.depends | {"machine": {"processor": "another"}},
    )
    jobs = STUDIES[study]
    found_differences = compare(found, reference, [], {}, counts(jobs), others(jobs))
    return {row.place for row in found_differences}


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
    assert places(study, name, lambda table: table) == set()
    assert len(places(study, name, change)) == 1
