"""The jobs of one study: experiments, figures and claims, and the paths of their files."""

from collections import defaultdict
from dataclasses import dataclass, field
from fnmatch import filter as matching
from functools import cached_property
from typing import Any, NamedTuple

from replication.judge.scorecard_figure import Scorecard
from replication.study.claims import Claim
from replication.study.contract import Experiment, Figure, Variant
from replication.study.registry import SCORECARD, FigureText, Registry
from replication.study.studies import Study

KINDS = {
    "data": "npz",
    "runs": "npz",
    "metrics": "parquet",
    "evidence": "parquet",
    "verdicts": "json",
}
"""Endings of results by stage."""


class StudyFiles(NamedTuple):
    """Paths of the files that make a study's reference."""

    tables: dict[str, str]
    """Paths of the tables that figures draw, by figure, except the scorecard's."""
    evidence: dict[str, str]
    """Paths of the evidence, by claim."""
    verdicts: dict[str, str]
    """Paths of the verdicts, by claim."""
    fingerprints: dict[str, str]
    """Paths of the fingerprints of runs, by experiment."""

    @property
    def all(self) -> list[str]:
        """Paths of all of these files."""
        return [path for paths in self for path in paths.values()]


@dataclass(frozen=True)
class StudyJobs:
    """The jobs of one study."""

    study: Study
    """Study whose jobs these are: its name, folder and programs."""
    settings: Any
    """Settings of the study: its section of the configuration."""
    experiments: dict[str, Experiment]
    """Jobs of the study that train and measure, by name of the experiment."""
    variants: dict[str, Variant]
    """Other readings that some claims are judged under."""
    registry: Registry
    """Registry of the study, with a user's own claims and departures from the paper's settings."""
    unlike_published: dict[str, str] = field(default_factory=dict)
    """Differences from the settings of the published values, by `figure NAME` or `claim NUMBER`.

    A figure that differs shows no published values.
    """

    @cached_property
    def claims(self) -> dict[str, Claim]:
        """Claims that have a test, by number."""
        return {claim.id: claim for claim in self.registry.claims if claim.test}

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Figures of the study by name, and a scorecard if the paper has an abstract."""
        own: dict[str, Figure] = self.settings.figures
        # Of two studies that have a folder of figures in common, that of a plain run has it.
        is_second = self.study.figures == "figures" and not self.study.is_default
        has_scorecard = self.registry.abstracts and not is_second
        return {**own, SCORECARD: Scorecard()} if has_scorecard else own

    def text(self, figure: str) -> FigureText | None:
        """Return the texts of a figure, or else of its kind: a user's own or the registry's."""
        texts: dict[str, FigureText] = self.registry.figures | self.settings.texts
        return texts.get(figure) or texts.get(self.figures[figure].kind)

    @cached_property
    def files(self) -> StudyFiles:
        """Paths of the files that make the study's reference."""
        return StudyFiles(
            tables={name: self.table(name) for name in self.figures if name != SCORECARD},
            evidence={name: self.path("evidence", name) for name in self.claims},
            verdicts={name: self.verdict(name) for name in self.claims},
            fingerprints={
                name: self.path("metrics", f"{name}/fingerprint")
                for name, experiment in self.experiments.items()
                if "fingerprint" in experiment.metrics
            },
        )

    def path(self, stage: str, name: str, variant: str = "") -> str:
        """Return the path of a result, under a variant if named."""
        whole = f"{name}-{variant}" if variant else name
        return f"results/{self.study.name}/{stage}/{whole}.{KINDS[stage]}"

    def table(self, figure: str) -> str:
        """Return the path of the table that a figure draws."""
        return f"{self.study.figures}/{figure}.csv"

    def verdict(self, claim: str) -> str:
        """Return the path of the verdict on a claim."""
        return self.path("verdicts", claim)

    def seeds(self, *experiments: str) -> tuple[int, ...]:
        """Return all seeds of some experiments, ascending."""
        jobs = (job for name in experiments for job in self.experiments[name].runs.values())
        return tuple(sorted({seed for job in jobs for seed in job.seeds}))

    def number_of_seeds(self, figure: str) -> int | str:
        """Return the number of seeds of every kind of run that a figure shows.

        It is a text, such as 5 to 10, where parts of the figure have numbers of their own.
        """
        seeds: dict[tuple[str, str], set[int]] = defaultdict(set)
        for source in {name for name, _ in self.figures[figure].sources()}:
            for job in self.experiments[source].runs.values():
                seeds[source, job.settings.model_dump_json()] |= {*job.seeds}
        least, *_, most = sorted(map(len, seeds.values())) * 2 or (0, 0)
        return most if least == most else f"{least} to {most}"

    def sources(self, claim: str, variant: str = "") -> list[tuple[str, str]]:
        """Return experiment and metric of every table of a claim, under a variant if named.

        A name that ends with `*` is the beginning of several experiments. A name that no experiment
        has is returned as it is: who reads it refuses it.
        """
        varied = self.variants[variant].experiments if variant else {}
        return [
            (varied.get(name, name), item.metric)
            for item in self.claims[claim].data
            for name in matching(self.experiments, item.experiment) or [item.experiment]
        ]

    def family(self, claim: str, variant: str = "") -> list[str]:
        """Return the claims that share the correction for many tests with one, itself included.

        Under a variant these are all that are judged under it.
        """
        own = self.claims[claim].family
        return [
            name
            for name, other in self.claims.items()
            if (other.sensitivity if variant else other.family == own)
        ]

    @property
    def families(self) -> list[tuple[str, ...]]:
        """Families of claims that share the correction for many tests, each once."""
        return list(dict.fromkeys(tuple(self.family(claim)) for claim in self.claims))
