"""Which program measures a claim, on which tables, and what both depend on."""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

from transformer_dynamics.errors import InputError
from transformer_dynamics.registry import Claim, Registry
from transformer_dynamics.scan_and_snap.claims.settings import EvidenceJob, Source
from transformer_dynamics.scan_and_snap.config import ScanAndSnap, SeedRange
from transformer_dynamics.scan_and_snap.experiments import Metric
from transformer_dynamics.scan_and_snap.figure_settings import FromRuns, SensitivityTable
from transformer_dynamics.seeds import format_seeds
from transformer_dynamics.strict import unknown_key
from transformer_dynamics.verification.family import Family, Member

BASELINE = "baseline"
"""The variant in which the experiments' own settings stay."""


def metrics_path(experiment: str, metric: str) -> str:
    """Where the workflow writes a metric of an experiment."""
    return f"results/scan_and_snap/{experiment}/metrics/{metric}.parquet"


@dataclass(frozen=True)
class Plan:
    """How the claims of this paper are measured and judged.

    A variant is "" for the claim itself and `-<name>` for one of the sensitivity's variants.
    """

    paper: ScanAndSnap
    """The paper's settings."""
    claims: dict[str, Claim]
    """The registry's claims that have a test, by number."""
    device: Literal["cpu", "cuda"]
    """Where training ran."""

    @classmethod
    def of(cls, paper: ScanAndSnap, registry: Registry, device: Literal["cpu", "cuda"]) -> "Plan":
        """The plan of a registry.

        Raises:
            InputError: if a claim names an experiment or a metric that is not there.
        """
        plan = cls(paper, {claim.id: claim for claim in registry.claims if claim.test}, device)
        for name, claim in plan.claims.items():
            for data in claim.data:
                if data.metric not in get_args(Metric):
                    known = unknown_key(data.metric, list(get_args(Metric)))
                    raise InputError(f"claim {name}: metric: {known}")
            plan.evidence_job(name, "")
        return plan

    @property
    def variants(self) -> list[str]:
        """The sensitivity's variants, the baseline first."""
        return [BASELINE, *self.paper.sensitivity.variants]

    @property
    def varied(self) -> list[str]:
        """The claims that are judged under every variant."""
        return [name for name, claim in self.claims.items() if claim.sensitivity]

    @property
    def varied_cells(self) -> list[tuple[str, str]]:
        """Claim and `-<variant>` of every cell of the sensitivity table."""
        return [(claim, f"-{name}") for claim in self.varied for name in self.variants]

    @property
    def locked_experiments(self) -> list[str]:
        """All experiments, those of the variants included."""
        return [*self.paper.experiments, *self.paper.varied_experiments]

    @property
    def locked_files(self) -> dict[str, Path]:
        """Every file of the workflow that the lock is made of, by what it holds."""
        results = Path("results")
        own = results / "scan_and_snap"
        return {
            **{f"figure {name}": Path("figures") / f"{name}.csv" for name in self.paper.figures},
            **{f"verdict {claim}": results / "verdicts" / f"{claim}.json" for claim in self.claims},
            **{f"evidence {claim}": own / "evidence" / f"{claim}.parquet" for claim in self.claims},
            **{
                f"experiment {name}": own / name / "fingerprints.csv"
                for name in self.locked_experiments
            },
        }

    @property
    def needed(self) -> dict[str, list[str]]:
        """The tables of metrics that every locked figure and verdict follows from."""
        figures = {f"figure {name}": self.sources_of_figure(name) for name in self.paper.figures}
        verdicts = {
            f"verdict {claim}": [
                source for member in self.family(claim, "") for source in self.sources(member, "")
            ]
            for claim in self.claims
        }
        return {
            name: [metrics_path(*source) for source in sources]
            for name, sources in (figures | verdicts).items()
        }

    def one_seed(self, generator: Random) -> dict[str, Any]:
        """Overlay of the configuration that leaves one seed of every experiment."""

        def one_of(seeds: SeedRange) -> dict[str, int]:
            return {"first": seeds.first + generator.randrange(seeds.count), "count": 1}

        experiments = {
            name: {"seeds": one_of(experiment.seeds)}
            for name, experiment in self.paper.experiments.items()
            if isinstance(experiment.seeds, SeedRange)
        }
        variants = {"seeds": one_of(self.paper.sensitivity.seeds)}
        return {"scan_and_snap": {"experiments": experiments, "sensitivity": variants}}

    def program(self, claim: str) -> str:
        """The module that measures a claim, without the package's name."""
        module, _, _ = str(self.claims[claim].measure).partition(".")
        return f"scan_and_snap.claims.{module}"

    def sources(self, claim: str, variant: str) -> list[tuple[str, Any]]:
        """Experiment and metric of every table that a claim takes."""
        return [
            (
                self.paper.varied_name(data.experiment, variant[1:])
                if variant
                else data.experiment,
                data.metric,
            )
            for data in self.claims[claim].data
        ]

    def sources_of_figure(self, figure: str) -> list[tuple[str, Any]]:
        """Experiment and metric of every table that a figure shows; none if it is theory."""
        drawn = self.paper.figures[figure]
        if isinstance(drawn, SensitivityTable):
            every = (self.sources(*cell) for cell in self.varied_cells)
            return list(dict.fromkeys(source for sources in every for source in sources))
        return [(drawn.experiment, drawn.metric)] if isinstance(drawn, FromRuns) else []

    def evidence_job(self, claim: str, variant: str) -> EvidenceJob:
        """What the evidence of a claim depends on."""
        _, _, measure = str(self.claims[claim].measure).partition(".")
        return EvidenceJob(
            measure=measure,
            data=[
                Source(
                    job=self.paper.measure_job(experiment, metric, self.device),
                    seeds=format_seeds(self.paper.experiment(experiment).seed_list),
                )
                for experiment, metric in self.sources(claim, variant)
            ],
        )

    def family(self, claim: str, variant: str) -> list[str]:
        """The claims that share the correction for many tests with one, itself included."""
        return [
            name
            for name, other in self.claims.items()
            if other.family == self.claims[claim].family and (other.sensitivity or not variant)
        ]

    @property
    def families(self) -> list[Family]:
        """Every family once."""
        first = {tuple(self.family(claim, "")): claim for claim in reversed(self.claims)}
        return [self.family_settings(claim, "") for claim in reversed(first.values())]

    def family_settings(self, claim: str, variant: str) -> Family:
        """What judging a claim depends on, besides the evidence."""
        members = [
            Member.model_validate(
                {
                    "claim": name,
                    "test": self.claims[name].test,
                    "program": f"transformer_dynamics.{self.program(name)}",
                    "settings": self.evidence_job(name, variant).model_dump(mode="json"),
                }
            )
            for name in self.family(claim, variant)
        ]
        return Family(members=members)
