"""Which files the experiments on text are made of, and how their claims are judged."""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, get_args

from transformer_dynamics.errors import InputError
from transformer_dynamics.registry import Claim, Registry
from transformer_dynamics.scan_and_snap.wikitext.claims import MODULE, TextEvidenceJob
from transformer_dynamics.scan_and_snap.wikitext.config import WikitextSettings
from transformer_dynamics.scan_and_snap.wikitext.experiments import (
    TextMeasureJob,
    TextMetric,
    TextRuns,
)
from transformer_dynamics.scan_and_snap.wikitext.stages.tabulate import TableJob
from transformer_dynamics.strict import unknown_key
from transformer_dynamics.verification.family import Family, Member

FOLDER = "results/scan_and_snap/wikitext"


def metrics_path(experiment: str, metric: str) -> str:
    """Where the workflow writes a metric of an experiment."""
    return f"{FOLDER}/{experiment}/metrics/{metric}.parquet"


@dataclass(frozen=True)
class TextPlan:
    """What is made of the configuration of training on text."""

    wikitext: WikitextSettings
    """The settings."""
    claims: dict[str, Claim]
    """The registry's claims that have a test, by number."""
    device: Literal["cpu", "cuda"]
    """Where training runs."""

    @classmethod
    def of(
        cls, wikitext: WikitextSettings, registry: Registry, device: Literal["cpu", "cuda"]
    ) -> "TextPlan":
        """The plan of a registry.

        Raises:
            InputError: if a claim names an experiment or a metric that is not there.
        """
        plan = cls(wikitext, {claim.id: claim for claim in registry.claims if claim.test}, device)
        for name, claim in plan.claims.items():
            for data in claim.data:
                if data.metric not in get_args(TextMetric):
                    known = unknown_key(data.metric, list(get_args(TextMetric)))
                    raise InputError(f"claim {name}: metric: {known}")
            plan.evidence_job(name)
        return plan

    @property
    def locked_files(self) -> dict[str, Path]:
        """Every file of the workflow that the lock is made of, by what it holds."""
        own, verdicts = Path(FOLDER), Path("results/verdicts")
        return {
            **{f"figure {name}": Path("figures") / f"{name}.csv" for name in self.wikitext.figures},
            **{f"verdict {claim}": verdicts / f"{claim}.json" for claim in self.claims},
            **{f"evidence {claim}": own / f"evidence/{claim}.parquet" for claim in self.claims},
            **{
                f"experiment {name}": own / name / "fingerprints.csv"
                for name in self.wikitext.experiments
            },
        }

    @property
    def needed(self) -> dict[str, list[str]]:
        """The tables of metrics that every locked figure and verdict follows from."""
        figures = {f"figure {name}": self.sources_of_figure(name) for name in self.wikitext.figures}
        verdicts = {
            f"verdict {claim}": [
                source for member in self.family(claim) for source in self.sources(member)
            ]
            for claim in self.claims
        }
        return figures | verdicts

    def one_seed(self, generator: Random) -> dict[str, Any]:
        """Overlay of the configuration that leaves one seed of every experiment."""
        experiments = {
            name: {"seeds": [generator.choice(experiment.seeds)]}
            for name, experiment in self.wikitext.experiments.items()
        }
        return {"wikitext": {"experiments": experiments}}

    def runs(self, experiment: str) -> TextRuns:
        """What the runs of an experiment depend on."""
        return self.wikitext.runs(experiment, self.device)

    def measure_job(self, experiment: str, metric: TextMetric) -> TextMeasureJob:
        """What a metric of an experiment depends on."""
        return self.wikitext.measure_job(experiment, metric, self.device)

    def table_job(self, figure: str) -> TableJob:
        """What the table of a figure depends on."""
        drawn = self.wikitext.figures[figure]
        sources = [self.measure_job(name, drawn.metric) for name in drawn.experiments]
        return TableJob(figure=drawn, sources=sources)

    def sources_of_figure(self, figure: str) -> list[str]:
        """The tables of metrics that a figure shows."""
        drawn = self.wikitext.figures[figure]
        return [metrics_path(name, drawn.metric) for name in drawn.experiments]

    def sources(self, claim: str) -> list[str]:
        """The tables of metrics that a claim takes."""
        return [metrics_path(data.experiment, data.metric) for data in self.claims[claim].data]

    def evidence_job(self, claim: str) -> TextEvidenceJob:
        """What the evidence of a claim depends on."""
        _, _, measure = str(self.claims[claim].measure).partition(".")
        return TextEvidenceJob(
            measure=measure,
            data=[
                self.measure_job(data.experiment, data.metric)  # type: ignore[arg-type]
                for data in self.claims[claim].data
            ],
        )

    def family(self, claim: str) -> list[str]:
        """The claims that share the correction for many tests with one, itself included."""
        family = self.claims[claim].family
        return [name for name, other in self.claims.items() if other.family == family]

    @property
    def families(self) -> list[Family]:
        """Every family once."""
        first = {tuple(self.family(claim)): claim for claim in reversed(self.claims)}
        return [self.family_settings(claim) for claim in reversed(first.values())]

    def family_settings(self, claim: str) -> Family:
        """What judging a claim depends on, besides the evidence."""
        members = [
            Member.model_validate(
                {
                    "claim": name,
                    "test": self.claims[name].test,
                    "program": MODULE,
                    "settings": self.evidence_job(name).model_dump(mode="json"),
                }
            )
            for name in self.family(claim)
        ]
        return Family(members=members)
