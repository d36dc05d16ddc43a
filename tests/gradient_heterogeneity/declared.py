"""Verdicts on claims as the registry declares them, from tables that are made up.

A claim is judged on the tables that its `data` name, in their order: a registry that swaps two
experiments gives other verdicts.
"""

from collections.abc import Mapping
from math import log
from random import Random

import numpy as np
import pandas as pd
from configured import SETTINGS
from evidence_of_claims import evidence_of

from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.study.claims import Claim
from replication.study.contract import Measured
from replication.study.registry import read_registry
from replication.study.studies import find_studies

STUDY = find_studies()["gradient_heterogeneity"]
CLAIMS = {claim.id: claim for claim in read_registry(STUDY.folder / "registry.yaml").claims}
SEEDS = range(1, 6)
Tables = Mapping[tuple[str, str], pd.DataFrame]
"""By experiment and metric."""


def evidence(number: str, tables: Tables) -> pd.DataFrame:
    """What a claim's measure makes of its tables."""
    claim: Claim = CLAIMS[number]
    given = [Measured(tables[item.experiment, item.metric], None) for item in claim.data]
    uses = {key: getattr(SETTINGS, key) for key in claim.uses}
    return evidence_of(STUDY, claim, *given, **uses)


def verdict(number: str, tables: Tables) -> str:
    """What its test says of them, in a family of its own."""
    return judge([Judged(number, CLAIMS[number].test, evidence(number, tables))])[number].verdict


def said(number: str, tables: Tables) -> set[str]:
    """What its comparisons say, each in a family of its own."""
    judged = judge([Judged(number, CLAIMS[number].test, evidence(number, tables))])[number]
    return {item.decision for item in judged.comparisons}


def means(found: pd.DataFrame) -> dict[str, float]:
    """Over seeds, by comparison."""
    return found.groupby("cell", sort=False)["value"].mean().round(9).to_dict()


def noise(name: str, count: int = len(SEEDS)) -> np.ndarray:
    """Mean 0 and standard deviation 1, by name."""
    values = np.array([Random(f"{name} {index}").gauss(0, 1) for index in range(count)])
    return (values - values.mean()) / values.std(ddof=1)


def spread(rows: list[dict], sd: float = 0.01) -> pd.DataFrame:
    """The metric `spread`: of every row, its `value` for all seeds, whose mean is exact.

    Rows name what differs from MiniLM on TREC before fine-tuning.
    """
    usual = {
        "net": "minilm", "task": "trec6", "ln": "post", "depth": 6, "deviation": 0.0,
        "state": "pretrained", "set": "matrices", "blocks": 11, "metric": "gini_norm",
    }  # fmt: skip
    found = []
    for place, row in enumerate(rows):
        whole = usual | row
        values = whole["value"] + sd * noise(f"{place} {whole}")
        found += [whole | {"seed": s, "value": v} for s, v in zip(SEEDS, values, strict=True)]
    return pd.DataFrame(found)


def endpoints(rows: list[dict], sd: float = 0.01) -> pd.DataFrame:
    """The metric `endpoint`, in the beginning and in the end, from losses over ln C."""
    usual = {
        "case": "cola", "net": "minilm", "task": "cola", "optimiser": "adam", "rate": 1e-4,
        "schedule": "linear", "clip": 1.0, "epsilon": np.nan, "batch": 16, "exponent": 0.0,
        "block_rates": False, "classes": 2,
    }  # fmt: skip
    found = []
    for place, row in enumerate(rows):
        whole = usual | row
        if whole["optimiser"] in {"adam", "rmsprop"} and "epsilon" not in row:
            whole["epsilon"] = 1e-8
        ends = whole.pop("value") + sd * noise(f"{place} {whole}")
        for seed, end in zip(SEEDS, ends, strict=True):
            told = whole | {"seed": seed}
            found.append(told | {"step": 0, "is_last": False, "endpoint": log(whole["classes"])})
            found.append(
                told | {"step": 200, "is_last": True, "endpoint": end * log(whole["classes"])}
            )
    return pd.DataFrame(found)
