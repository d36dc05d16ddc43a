"""What of training on text is locked, and what each locked number depends on."""

from pathlib import Path
from typing import Any

import pandas as pd

from transformer_dynamics.digest import reach
from transformer_dynamics.scan_and_snap.wikitext.claims import MODULE
from transformer_dynamics.scan_and_snap.wikitext.plan import TextPlan
from transformer_dynamics.verification.collect import collect, figure_path
from transformer_dynamics.verification.lock import (
    EVIDENCE,
    FINGERPRINTS,
    Expected,
    Lock,
    settings_digest,
)
from transformer_dynamics.verification.machine import machine

STAGES = "transformer_dynamics.scan_and_snap.wikitext.stages"
PROGRAMS = (
    *(f"{STAGES}.{name}" for name in ("tokenise", "train", "measure", "tabulate", "fingerprint")),
    MODULE,
    "transformer_dynamics.verification.judge",
    "transformer_dynamics.verification.comparison",
)
COUNTS = ("figures/fig7.csv", "figures/wikitext_dynamics.csv", "T24b")
"""Tables and claims whose numbers differ much between processors: long training amplifies rounding
where attention is nearly one-hot."""


def found(plan: TextPlan, folder: Path, root: Path) -> Lock:
    """What is computed in a folder, as far as it is, in the form of a lock.

    Args:
        plan: how claims are judged.
        folder: where the workflow ran.
        root: the project's folder.

    Raises:
        InputError: if a file is damaged or made by another configuration or code.
    """
    depends = {"settings": settings(plan), "code": code(), "machine": machine()}
    return collect(plan.locked_files, plan.families, folder, depends)


def expected(plan: TextPlan) -> Expected:
    """What a whole lock holds."""
    runs = [
        (name, run.seed, run.variant)
        for name in plan.wikitext.experiments
        for run in plan.runs(name).runs
    ]
    return Expected(
        tables={EVIDENCE, FINGERPRINTS, *map(figure_path, plan.wikitext.figures)},
        claims=set(plan.claims),
        runs=pd.DataFrame(runs, columns=["experiment", "seed", "mixture"]),
    )


def settings(plan: TextPlan) -> dict[str, str]:
    """Digest of the settings of every figure, claim and experiment."""
    everything: dict[str, Any] = {
        **{
            f"figure {name}": plan.table_job(name).model_dump(mode="json")
            for name in plan.wikitext.figures
        },
        **{
            f"claim {name}": [
                plan.evidence_job(name).model_dump(mode="json"),
                claim.model_dump(mode="json", include={"test", "measure", "figure"}),
            ]
            for name, claim in plan.claims.items()
        },
        **{
            f"experiment {name}": plan.runs(name).model_dump(mode="json")
            for name in plan.wikitext.experiments
        },
    }
    return {name: settings_digest(item) for name, item in everything.items()}


def code() -> dict[str, str]:
    """Digest of every module that a locked number, or its verification, depends on."""
    modules: dict[str, str] = {}
    for program in PROGRAMS:
        modules |= reach(program).modules
    return dict(sorted(modules.items()))
