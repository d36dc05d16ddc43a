"""Made-up tables of metrics, and what the registry's tests say of the evidence from them."""

from random import Random
from types import SimpleNamespace

import numpy as np
import pandas as pd
from evidence_of_claims import evidence_of

from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.study.contract import Measured
from replication.study.registry import read_registry
from replication.study.studies import find_studies

STUDY = find_studies()["lp_ft"]
REGISTRY = read_registry(STUDY.folder / "registry.yaml")
CLAIMS = {claim.id: claim for claim in REGISTRY.claims}
ROBUSTNESS = [each.cells for each in REGISTRY.robustness]
SEEDS = range(1, 6)
ARM = {
    "optimiser": "adamw", "clip": 1.0, "rate": 3e-5, "batch_size": 16, "norm_of": "own",
    "factor": 1.0,
}  # fmt: skip
"""Columns of a trained run, unless a row says otherwise."""


def noise(name):
    """Mean 0 and standard deviation 1, by name."""
    values = np.array([Random(f"{name} {index}").gauss(0, 1) for index in SEEDS])
    return (values - values.mean()) / values.std(ddof=1)


def trained(*rows, spread=0.02):
    """A metric of trained runs: a row per seed of each given one, whose numbers scatter.

    Args:
        rows: columns; `values` has those that scatter around what is given, by a part of it.
        spread: this part.
    """
    found = []
    for row in rows:
        columns = ARM | {name: value for name, value in row.items() if name != "values"}
        known = repr(sorted(columns.items()))
        drawn = {name: noise(known + name) for name in row["values"]}
        for place, seed in enumerate(SEEDS):
            own = {
                name: value * (1 + spread * drawn[name][place])
                for name, value in row["values"].items()
            }
            found.append(columns | {"seed": seed} | own)
    return Measured(pd.DataFrame(found), SimpleNamespace(runs={}))


def of_set(name, *rows, spread=0.02):
    """The same of kernels or heads of one set, whose job says which."""
    runs = SimpleNamespace(texts=SimpleNamespace(name=name))
    job = SimpleNamespace(runs=runs, rank_tolerance=1e-3, long_probe=2.0)
    table = trained(*rows, spread=spread).table.drop(columns=list(ARM))
    return Measured(table, job)


def without(measured, **values):
    """The table without some rows."""
    table = measured.table
    for column, value in values.items():
        table = table[table[column] != value]
    return Measured(table, measured.job)


def measured_by(number, *tables):
    """The evidence of a claim."""
    return evidence_of(STUDY, CLAIMS[number], *tables)


def judged(number, *tables):
    """The verdict on a claim in a family of its own, by the study's rule of which sets count."""
    evidence = measured_by(number, *tables)
    return judge([Judged(number, CLAIMS[number].test, evidence, ROBUSTNESS)])[number]


def verdict(number, *tables):
    """What a claim's test says."""
    return judged(number, *tables).verdict


def said(number, *tables):
    """What the comparisons say that count: the words of their decisions."""
    return {each.decision for each in judged(number, *tables).counted}


def means(number, *tables):
    """Mean over seeds by comparison, or the value."""
    evidence = measured_by(number, *tables)
    assert not evidence.duplicated([name for name in ("cell", "seed") if name in evidence]).any()
    return evidence.groupby("cell", sort=False)["value"].mean().to_dict()
