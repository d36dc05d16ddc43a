"""What of this paper is locked, and what each locked number depends on."""

from pathlib import Path

import pandas as pd

from transformer_dynamics.digest import reach
from transformer_dynamics.frames import read_table
from transformer_dynamics.scan_and_snap.claims.plan import Plan
from transformer_dynamics.scan_and_snap.experiments import TrainJob
from transformer_dynamics.verification.lock import (
    Lock,
    collect_evidence,
    read_numbers,
    settings_digest,
)
from transformer_dynamics.verification.machine import machine
from transformer_dynamics.verification.scorecard import read_verdict

PACKAGE = "transformer_dynamics"
PROGRAMS = (
    TrainJob.stage,
    f"{PACKAGE}.scan_and_snap.stages.measure",
    f"{PACKAGE}.scan_and_snap.stages.fingerprint",
    f"{PACKAGE}.verification.judge",
)


COUNTS = ("figures/fig11.csv", "figures/fig12.csv", "T18b", "T26a", "T26b")
"""Tables and claims whose numbers are counts of tokens, classes or updates."""


def found(plan: Plan, folder: Path) -> Lock:
    """What is computed in a folder, as far as it is, in the form of a lock.

    Raises:
        InputError: if a file is damaged or made by another configuration or code.
    """
    there = {
        name: folder / path for name, path in plan.locked_files.items() if (folder / path).is_file()
    }

    def named(kind: str) -> dict[str, Path]:
        return {
            name.removeprefix(kind): path for name, path in there.items() if name.startswith(kind)
        }

    tables = {f"figures/{name}.csv": read_numbers(path) for name, path in named("figure ").items()}
    evidence = {}
    members = {member.claim: member for family in plan.families for member in family.members}
    for claim, path in named("evidence ").items():
        evidence[claim] = read_table(path, members[claim].provenance)
    if evidence:
        tables["evidence.csv"] = collect_evidence(evidence)
    fingerprints = [
        read_numbers(path).assign(experiment=name) for name, path in named("experiment ").items()
    ]
    if fingerprints:
        tables["fingerprints.csv"] = pd.concat(fingerprints, ignore_index=True)
    return Lock(
        tables=tables,
        verdicts={claim: read_verdict(path) for claim, path in named("verdict ").items()},
        depends={"settings": settings(plan), "code": code(plan), "machine": machine()},
    )


def settings(plan: Plan) -> dict[str, str]:
    """Digest of the settings of every figure, claim and experiment."""
    paper = plan.paper
    return {
        **{
            f"figure {name}": settings_digest(figure.model_dump(mode="json"))
            for name, figure in paper.figures.items()
        },
        **{
            f"claim {name}": settings_digest(
                [
                    plan.evidence_job(name, "").model_dump(mode="json"),
                    claim.model_dump(mode="json", include={"test", "reference", "figure"}),
                ]
            )
            for name, claim in plan.claims.items()
        },
        **{
            f"experiment {name}": settings_digest(
                [
                    paper.train_job(name, plan.device).model_dump(mode="json"),
                    paper.experiment(name).seed_list,
                ]
            )
            for name in plan.locked_experiments
        },
    }


def code(plan: Plan) -> dict[str, str]:
    """Digest of every module that a locked number depends on."""
    programs = {
        *PROGRAMS,
        *(f"{PACKAGE}.{figure.program}" for figure in plan.paper.figures.values()),
        *(f"{PACKAGE}.{plan.program(claim)}" for claim in plan.claims),
    }
    modules: dict[str, str] = {}
    for program in programs:
        modules |= reach(program).modules
    return dict(sorted(modules.items()))
