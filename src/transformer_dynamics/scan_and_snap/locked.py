"""What of this paper is locked, and what each locked number depends on."""

from pathlib import Path
from typing import Any

import pandas as pd

from transformer_dynamics.digest import reach
from transformer_dynamics.scan_and_snap.claims.plan import Plan
from transformer_dynamics.scan_and_snap.experiments import SampleJob, TrainJob
from transformer_dynamics.verification.collect import collect, figure_path
from transformer_dynamics.verification.lock import (
    EVIDENCE,
    FINGERPRINTS,
    Expected,
    Lock,
    settings_digest,
)
from transformer_dynamics.verification.machine import machine

PACKAGE = "transformer_dynamics"
PROGRAMS = (
    SampleJob.stage,
    TrainJob.stage,
    f"{PACKAGE}.scan_and_snap.stages.measure",
    f"{PACKAGE}.scan_and_snap.stages.fingerprint",
    f"{PACKAGE}.verification.judge",
    f"{PACKAGE}.verification.comparison",
)


COUNTS = (
    "figures/fig11.csv",
    "figures/fig12.csv",
    "figures/phase_transition.csv",
    "T7g",
    "T26a",
    "T26b",
)
"""Tables and claims whose numbers are counts or found on a grid."""


def found(plan: Plan, folder: Path, root: Path) -> Lock:
    """What is computed in a folder, as far as it is, in the form of a lock.

    Args:
        plan: how claims are judged.
        folder: where the workflow ran.
        root: the project's folder.

    Raises:
        InputError: if a file is damaged or made by another configuration or code.
    """
    depends = {"settings": settings(plan, root), "code": code(plan), "machine": machine()}
    return collect(plan.locked_files, plan.families, folder, depends)


def expected(plan: Plan) -> Expected:
    """What a whole lock holds."""
    runs = [
        (name, seed, mixture)
        for name in plan.locked_experiments
        for seed in plan.paper.experiment(name).seed_list
        for mixture in plan.paper.experiment(name).mixtures
    ]
    return Expected(
        tables={EVIDENCE, FINGERPRINTS, *map(figure_path, plan.paper.figures)},
        claims=set(plan.claims),
        runs=pd.DataFrame(runs, columns=["experiment", "seed", "mixture"]),
    )


def settings(plan: Plan, root: Path) -> dict[str, str]:
    """Digest of the settings of every figure, claim and experiment.

    A claim's include the content of its table of published values, below `root`.
    """
    figures = {f"figure {name}": _figure_settings(plan, name) for name in plan.paper.figures}
    claims = {
        f"claim {name}": [
            plan.evidence_job(name, "").model_dump(mode="json"),
            claim.model_dump(mode="json", include={"test", "measure", "figure"}),
            (root / claim.reference).read_text() if claim.reference else None,
        ]
        for name, claim in plan.claims.items()
    }
    experiments = {
        f"experiment {name}": [
            plan.paper.train_job(name, plan.device).model_dump(mode="json"),
            plan.paper.experiment(name).seed_list,
        ]
        for name in plan.locked_experiments
    }
    everything = {**figures, **claims, **experiments}
    return {name: settings_digest(item) for name, item in everything.items()}


def code(plan: Plan) -> dict[str, str]:
    """Digest of every module that a locked number, or its verification, depends on."""
    programs = {
        *PROGRAMS,
        *(f"{PACKAGE}.{figure.program}" for figure in plan.paper.figures.values()),
        *(f"{PACKAGE}.{plan.program(claim)}" for claim in plan.claims),
    }
    modules: dict[str, str] = {}
    for program in programs:
        modules |= reach(program).modules
    return dict(sorted(modules.items()))


def _figure_settings(plan: Plan, name: str) -> list[Any]:
    """Its own, and those of all that it shows."""
    figure = plan.paper.figures[name]
    shown = [
        [
            plan.paper.measure_job(*source, plan.device).model_dump(mode="json"),
            plan.paper.experiment(source[0]).seed_list,
        ]
        for source in plan.sources_of_figure(name)
    ]
    mixture = plan.paper.mixtures[figure.mixture].model_dump() if figure.drawing == "fig1" else None
    return [figure.model_dump(mode="json"), shown, mixture]
