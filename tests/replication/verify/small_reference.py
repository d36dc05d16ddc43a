"""A reference of one claim, and comparisons with it."""

import pandas as pd

from replication.bundle.bundle import Bundle
from replication.bundle.computed import collect_evidence
from replication.bundle.judged import judge_again
from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.study.claims import Interval
from replication.verify.comparison import compare_with_reference, missing_parts

TEST = Interval(kind="interval", upper=0)
EVIDENCE = pd.DataFrame({"cell": "a", "seed": range(1, 6), "value": [-1.1, -1.3, -0.9, -1.0, -1.2]})
FIGURE = pd.DataFrame({"eta_z": [0.5, 1.0], "name": ["x", "y"], "entropy_mean": [2.0, 1 / 3]})
RUNS = pd.DataFrame(
    {"seed": [1, 2], "mixture": "m", "digest": ["ab", "cd"], "loss": [0.25, 0.5], "experiment": "e"}
)
PARTS = ["figure fig6", "claim T1", "test T1", "experiment e"]
KEYS = ["experiment", "seed", "mixture"]
FAMILIES = [{"T1": TEST}]


def small_reference() -> Bundle:
    return Bundle(
        tables={
            "figures/fig6.csv": FIGURE,
            "evidence.csv": collect_evidence({"T1": EVIDENCE}),
            "fingerprints.csv": RUNS,
        },
        verdicts={"T1": judge([Judged("T1", TEST, EVIDENCE)])["T1"]},
        depends={"settings": {"figure fig6": "1"}, "code": {"m": "1"}, "machine": {"cpu": "a"}},
    )


def changed(reference: Bundle, **parts: object) -> Bundle:
    return Bundle(**vars(reference) | parts)


def with_table(reference: Bundle, name: str, table: pd.DataFrame) -> Bundle:
    return changed(reference, tables=reference.tables | {name: table})


def elsewhere(found: Bundle) -> Bundle:
    """The same from another processor."""
    return changed(found, depends=found.depends | {"machine": {"cpu": "b"}})


def rows(found: Bundle, reference: Bundle) -> list[dict[str, object]]:
    again = judge_again(reference.tables["evidence.csv"], FAMILIES)
    return [row._asdict() for row in compare_with_reference(found, reference, again)]


def absent(there: Bundle, runs: pd.DataFrame = RUNS[KEYS]) -> list[str]:
    return [row.quantity for row in missing_parts("results", there, PARTS, runs)]
