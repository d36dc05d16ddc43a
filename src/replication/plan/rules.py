"""The rules of all stages, from the table of jobs: their inputs, keys, steps and needs."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from replication.base.storage import checksum_file
from replication.plan.jobs import Jobs
from replication.plan.steps import Step, StepsFile

IN_BATCHES = {"evidence": "Measuring", "verdict": "Judging"}
INDEX = "results/report/index.html"
"""Path of the page that lists all papers."""


@dataclass(frozen=True)
class Rule:
    """One rule; its functions take the wildcards of a job."""

    name: str
    paths: Sequence[str]
    """Patterns of the paths that the table has for the job's files."""
    log: str
    """Pattern of the log, without ending."""
    message: str
    more: Sequence[str] = ()
    """Patterns of the outputs beside them; of a picture, the pattern of the picture instead."""
    is_restored: bool = False
    """True if files come back when the job that makes them anew fails."""
    is_local: bool = False
    """True if the job takes seconds, and runs where the targets are known."""

    @property
    def outputs(self) -> list[str]:
        """Patterns of all outputs."""
        return [*self.more] if self.name == "figure" else [*self.paths, *self.more]


def all_rules(jobs: Jobs) -> Iterator[Rule]:
    """Yield the rules of all stages.

    Starting Python takes longer than most claims. So the claims of one module are measured
    together, and the claims of one figure, or of one module, are judged together.
    """
    for name, path, doing in (
        ("data", "data/{name}.npz", "Making data {wildcards.name}"),
        ("runs", "runs/{name}.npz", "Training {wildcards.name}"),
        ("metrics", "metrics/{name}.parquet", "Measuring {wildcards.name}"),
    ):
        log, _, _ = path.rpartition(".")
        yield Rule(
            name, [f"results/{{study}}/{path}"], f"logs/{{study}}/{log}",
            f"{doing} of {{wildcards.study}}", is_restored=True,
        )  # fmt: skip
    for (stage, study, batch), paths in jobs.batches.items():
        yield Rule(
            f"{stage}_{study}_{batch}", paths, f"logs/{study}/{stage}/{batch}",
            f"{IN_BATCHES[stage]} the claims {batch} of {study}",
        )  # fmt: skip
    table, picture = "figures/{figure}.csv", "figures/{figure}.{kind}"
    yield Rule(
        "table", [table], f"logs/{table}", "Tabulating {wildcards.figure}",
        [checksum_file(table)], is_restored=True,
    )  # fmt: skip
    yield Rule(
        "figure", ["figures/{figure}"], f"logs/{picture}", "Drawing {output}",
        [picture], is_restored=True,
    )  # fmt: skip
    yield Rule(
        "scorecard", ["results/{study}/verdicts.md"], "logs/{study}/scorecard",
        "Bringing the verdicts of {wildcards.study} together", ["results/{study}/verdicts.parquet"],
    )  # fmt: skip
    yield Rule(
        "page", ["results/report/{study}.html"], "logs/report/{study}",
        "Writing the page {output[0]}", ["results/report/{study}"], is_local=True,
    )  # fmt: skip
    yield Rule("index", [INDEX], "logs/report/index", "Writing the index of all papers",
               is_local=True)  # fmt: skip


@dataclass(frozen=True)
class RuleFunctions:
    """The functions of a rule."""

    rule: Rule
    jobs: Jobs
    prepare: Callable[[str], object]
    """Function that completes the table by a page, if a path is that of one."""
    mark: Callable[[str, bool], Any]
    """Function that marks an input for Snakemake, if the outputs may stay or not."""
    look: Callable[[list[str]], bool]
    """Function that says whether planned outputs may stay."""

    def inputs(self, wildcards: Any) -> list[Any]:
        """Return the files that the job reads, each once."""
        steps = self._steps(wildcards)
        may_stay = self.look(_fill(self.rule.outputs, wildcards)[: len(steps)])
        return [self.mark(path, may_stay) for path in _inputs_of(steps.values())]

    def key(self, wildcards: Any) -> list[str]:
        """Return the keys of the job's outputs, which alone decide what is current."""
        return [self.jobs.key(path) for path in self._steps(wildcards)]

    def steps(self, wildcards: Any, input: Any, output: Any) -> StepsFile:
        """Return the steps for the program, with the files where a storage has put them."""
        steps = self._steps(wildcards)
        places = dict(zip(_inputs_of(steps.values()), map(str, input), strict=True))
        size = len(output) // len(steps)
        return StepsFile(
            [
                self.jobs.ready(
                    path,
                    [*map(str, output[at * size : (at + 1) * size])],
                    [places[each.path] for each in step.inputs],
                )
                for at, (path, step) in enumerate(steps.items())
            ]
        )

    def memory(self, wildcards: Any, attempt: int) -> int:
        """Return the memory of the job in MB; more after every failure."""
        return max(step.memory for step in self._steps(wildcards).values()) * attempt

    def minutes(self, wildcards: Any, attempt: int) -> int:
        """Return the limit of the run time in minutes; more after every failure."""
        return max(step.minutes for step in self._steps(wildcards).values()) * attempt

    def gpus(self, wildcards: Any) -> int | None:
        """Return the number of GPUs that the job needs; none, not 0, if schedulers get no word."""
        return 1 if any(step.device == "cuda" for step in self._steps(wildcards).values()) else None

    def _steps(self, wildcards: Any) -> dict[str, Step]:
        paths = _fill(self.rule.paths, wildcards)
        for path in paths:
            self.prepare(path)
        return {path: self.jobs.steps[path] for path in paths}


def _inputs_of(steps: Iterable[Step]) -> dict[str, None]:
    """Return the paths of all inputs, each once."""
    return dict.fromkeys(each.path for step in steps for each in step.inputs)


def _fill(patterns: Iterable[str], wildcards: Any) -> list[str]:
    return [pattern.format_map(dict(wildcards.items())) for pattern in patterns]


def name_pattern(names: Iterable[str]) -> str:
    """Return a pattern that matches exactly some names."""
    return "|".join(map(re.escape, names)) or "(?!)"
