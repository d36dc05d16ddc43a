"""The jobs of one study: experiments, figures and claims, and the paths of their files."""

from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Any, NamedTuple

from replication.judge.scorecard_figure import Scorecard
from replication.study.claims import Claim
from replication.study.contract import Experiment, Figure, Variant
from replication.study.registry import SCORECARD, FigureText, Registry
from replication.study.studies import Study


class StudyFiles(NamedTuple):
    """Paths of a study's files, by name."""

    tables: dict[str, str]
    """Paths of the tables of the study's figures."""
    evidence: dict[str, str]
    """Paths of the evidence of the study's claims."""
    verdicts: dict[str, str]
    """Paths of the verdicts on the study's claims."""
    fingerprints: dict[str, str]
    """Paths of the fingerprints of the runs of the study's experiments."""

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
        """Return the texts of a figure: a user's own, or the registry's, if any."""
        key = self.registry.text_key(figure, self.figures[figure].kind)
        own: dict[str, FigureText] = self.settings.texts
        return own.get(figure) or self.registry.figures.get(key)

    @cached_property
    def files(self) -> StudyFiles:
        """Paths of the files that make the study's reference."""
        return StudyFiles(
            # The scorecard's is made of verdicts, which the reference has.
            tables={name: self.table(name) for name in self.figures if name != SCORECARD},
            evidence={name: self.evidence(name) for name in self.claims},
            verdicts={name: self.verdict(name) for name in self.claims},
            fingerprints={
                name: self.metric(name, "fingerprint")
                for name, experiment in self.experiments.items()
                if "fingerprint" in experiment.metrics
            },
        )

    def path(self, stage: str, name: str, kind: str) -> str:
        """Return the path of a result."""
        return f"results/{self.study.name}/{stage}/{name}.{kind}"

    def table(self, figure: str) -> str:
        """Return the path of the table that a figure draws."""
        return f"{self.study.figures}/{figure}.csv"

    def run(self, experiment: str, name: str) -> str:
        """Return the path of a file of runs."""
        return self.path("runs", f"{experiment}/{name}", "npz")

    def metric(self, experiment: str, metric: str) -> str:
        """Return the path of a metric's table."""
        return self.path("metrics", f"{experiment}/{metric}", "parquet")

    def evidence(self, claim: str, variant: str = "") -> str:
        """Return the path of a claim's evidence, under a variant if named."""
        return self.path("evidence", f"{claim}-{variant}" if variant else claim, "parquet")

    def verdict(self, claim: str, variant: str = "") -> str:
        """Return the path of the verdict on a claim, under a variant if named."""
        return self.path("verdicts", f"{claim}-{variant}" if variant else claim, "json")

    def seeds(self, experiment: str) -> tuple[int, ...]:
        """Return all seeds of an experiment, ascending."""
        runs = self.experiments[experiment].runs.values()
        return tuple(sorted({seed for job in runs for seed in job.seeds}))

    def seeds_behind(self, figure: str) -> tuple[int, ...]:
        """Return all seeds that a figure shows, ascending."""
        shown = (self.seeds(source) for source, _ in self.figures[figure].sources())
        return tuple(sorted({seed for seeds in shown for seed in seeds}))

    def number_of_seeds(self, figure: str) -> int | str:
        """Return the number of seeds of every kind of run that a figure shows.

        It is a text, such as 5 to 10, where parts of the figure have numbers of their own.
        """
        counts: dict[tuple[str, str], set[int]] = {}
        for source in dict.fromkeys(source for source, _ in self.figures[figure].sources()):
            for job in self.experiments[source].runs.values():
                kind = source, job.settings.model_dump_json()
                counts.setdefault(kind, set()).update(job.seeds)
        numbers = sorted({len(seeds) for seeds in counts.values()})
        if len(numbers) > 1:
            return f"{numbers[0]} to {numbers[-1]}"
        return numbers[0] if numbers else 0

    def sources(self, claim: str, variant: str = "") -> list[tuple[str, str]]:
        """Return experiment and metric of every table of a claim, under a variant if named."""
        varied = self.variants[variant].experiments if variant else {}
        return [
            (varied.get(name, name), item.metric)
            for item in self.claims[claim].data
            for name in self._named(item.experiment)
        ]

    def _named(self, experiment: str) -> list[str]:
        """Return the experiments of a name; one that ends with `*` is the beginning of several."""
        if not experiment.endswith("*"):
            return [experiment]
        found = [name for name in self.experiments if name.startswith(experiment[:-1])]
        # With none of them, it is a name that no experiment has: who reads it refuses it.
        return found or [experiment]

    @cached_property
    def metrics_read(self) -> set[tuple[str, str]]:
        """Experiment and metric of every table that a figure or a claim reads, under variants too.

        The workflow makes no others unless they are asked for by name.
        """
        judged = [*((claim, "") for claim in self.claims), *self.varied_cells]
        by_claims = (source for cell in judged for source in self.sources(*cell))
        by_figures = (source for figure in self.figures.values() for source in figure.sources())
        return {*by_claims, *by_figures}

    def batch(self, claim: str, variant: str = "") -> str:
        """Return the name of the job that measures a claim: its module and experiments.

        A user's own claim has a job of its own, so that it reruns no other.
        """
        if self.claims[claim].kind == "own":
            return f"own-{claim}"
        row = self.claims[claim].evidence
        module, _, _ = ((row and row.table) or "rows").partition(".")
        experiments = dict.fromkeys(name for name, _ in self.sources(claim, variant))
        return "-".join([module, *experiments])

    def family(self, claim: str, variant: str = "") -> list[str]:
        """Return the claims that share the correction for many tests with one, itself included.

        Under a variant these are all that are judged under it.
        """
        if variant:
            return [name for name, other in self.claims.items() if other.sensitivity]
        own = self.claims[claim].family
        return [name for name, other in self.claims.items() if other.family == own]

    @property
    def families(self) -> list[tuple[str, ...]]:
        """Families of claims that share the correction for many tests, each once."""
        return list(dict.fromkeys(tuple(self.family(claim)) for claim in self.claims))

    @property
    def varied_cells(self) -> list[tuple[str, str]]:
        """Claim and variant of every cell of a table of sensitivity."""
        varied = [name for name, claim in self.claims.items() if claim.sensitivity]
        return [(claim, variant) for claim in varied for variant in self.variants]

    def varied_verdict(self, claim: str, variant: str) -> str:
        """Return the path of a verdict under a variant, or the first if it changes nothing."""
        first = next(iter(self.variants))
        same = self.sources(claim, variant) == self.sources(claim, first)
        return self.verdict(claim, first if same else variant)

    def one_seed(self, random: Random) -> dict[str, Any]:
        """Return an overlay of the configuration that leaves one seed of every experiment."""
        return {self.study.name: self.study.one_seed(self.settings, random)}
