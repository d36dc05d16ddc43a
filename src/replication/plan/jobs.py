"""The table of jobs: every file that a configuration can make, and the step that makes it.

The table decides the inputs and programs of rules, the files that rerun, the provenance that a file
must have, the files that are compared with the reference, and the figures of a page.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from replication.base.errors import InputError
from replication.base.keys import FORMAT, differences, digest, digest_of_code
from replication.base.places import SOURCE
from replication.base.storage import key_in, read_record
from replication.base.strict import shorten, unknown_key
from replication.plan.configuration import Configuration
from replication.plan.steps import (
    MADE_BY_NONE,
    Input,
    Step,
    provenance,
    seeds_by_recipe,
)
from replication.plan.study_jobs import StudyJobs
from replication.plan.study_settings import study_jobs
from replication.plan.study_steps import study_steps
from replication.study.seeds import format_seeds
from replication.study.studies import Study

PICTURE_CHANGED = "the way to draw it, or a table as printed, changed"
"""Difference of a picture whose table is current; a picture says its key alone."""
PAGE_CHANGED = "something that it shows, or the code that writes it, changed"
COLLECTING = frozenset({"scorecard", "page", "index"})
"""Stages that bring results together."""
SETTINGS_UNTOLD = COLLECTING | {"verdict", "figure"}
"""Stages whose files do not say their settings."""
MOST_SETTINGS = 5
"""Largest number of settings that are told; of the rest only their number is."""
LONGEST_VALUE = 40
"""Largest number of letters of a value that is told."""


@dataclass(frozen=True)
class Jobs:
    """The table of all jobs."""

    configuration: Configuration
    """Configuration of all studies."""
    studies: dict[str, StudyJobs]
    """Jobs of each study, by its name."""
    steps: dict[str, Step] = field(default_factory=dict)
    """Steps by path of the file that is made; a figure's has no ending."""
    figures: dict[str, tuple[StudyJobs, str]] = field(default_factory=dict)
    """Study and name of a figure, by path below `figures/` without ending."""
    _recipes: dict[str, str] = field(default_factory=dict)
    _keys: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        configuration: Configuration,
        studies: dict[str, Study],
        add: Callable[[StudyJobs], StudyJobs] = lambda study: study,
    ) -> "Jobs":
        """Return the table of a configuration; `add` adds to the registry of a study.

        An `InputError` if a study's parts do not fit together, or two make the same file, or files
        whose names differ in upper and lower case alone.
        """
        jobs = cls(
            configuration,
            {name: add(study_jobs(study, configuration)) for name, study in studies.items()},
        )
        # Some file systems take FIG1 and fig1 for the same.
        made: dict[str, tuple[str, str]] = {}
        for name, study in jobs.studies.items():
            for path, step in study_steps(study).items():
                other, owner = made.setdefault(path.casefold(), (path, name))
                if (other, owner) != (path, name):
                    raise InputError(
                        f"configuration: {name}: {path} cannot be told from {other} of {owner};"
                        " rename one of the two"
                    )
                jobs.steps[path] = step
            for figure in study.figures:
                below = study.table(figure).removeprefix("figures/").removesuffix(".csv")
                jobs.figures[below] = (study, figure)
        return jobs

    @cached_property
    def batches(self) -> dict[tuple[str, str, str], list[str]]:
        """Paths of the files that one job makes together, by stage, study and batch."""
        found: dict[tuple[str, str, str], list[str]] = {}
        for path, step in self.steps.items():
            if step.batch:
                found.setdefault((step.stage, path.split("/")[1], step.batch), []).append(path)
        return found

    def figure_paths(self, study: str, *, costly: bool = True) -> list[str]:
        """Return a study's paths below `figures/`, without ending; costly figures if asked for."""
        return [
            below
            for below, (jobs, name) in self.figures.items()
            if jobs.study.name == study and (costly or not jobs.figures[name].is_costly)
        ]

    def selected_studies(self, choice: object) -> list[str]:
        """Return the studies of targets that name no study.

        The choice is a list of names, or names separated by commas; None stands for the studies of
        a plain run and those whose verdicts are all there. An `InputError` names an unknown study.
        """
        if choice is None:
            return [
                name
                for name, study in self.studies.items()
                if study.study.is_default or all(map(os.path.exists, study.files.verdicts.values()))
            ]
        if not self.studies:
            raise InputError(
                f"{SOURCE}: has no study; run this in the folder of a project: a clone, or what"
                " `replication new` made"
            )
        given = ",".join(map(str, choice)) if isinstance(choice, list) else str(choice)
        names = [name.strip() for name in given.split(",")]
        for name in names:
            if name not in self.studies:
                raise InputError(unknown_key(name, list(self.studies), "study", "studies"))
        return list(dict.fromkeys(names))

    def is_figure(self, path: str) -> bool:
        """Say whether the table has a figure under this path, which has no ending there."""
        return path in self.steps and self.steps[path].stage == "figure"

    def path_of(self, output: str) -> str:
        """Return the path in the table of a file: of a picture, that without ending."""
        return output if output in self.steps else os.path.splitext(output)[0]

    def ready(self, path: str, outputs: Sequence[str] = (), inputs: Sequence[str] = ()) -> Step:
        """Return the step of a file, ready to be carried out: with its keys and its inputs' keys.

        Its outputs and its inputs, in the order of the table, may stand in other places.
        """
        step = self.steps[path]
        places = inputs or [each.path for each in step.inputs]
        return replace(
            step,
            outputs=tuple(outputs) or step.outputs,
            inputs=tuple(map(self._input, step.inputs, places)),
            key=self.key(path),
            code=digest_of_code(step.programs),
        )

    def _input(self, item: Input, place: str) -> Input:
        path = self.path_of(item.path)
        if item.role in MADE_BY_NONE or path not in self.steps:
            return replace(item, path=place)
        made = self.steps[path]
        is_metric = made.stage == "metrics"
        return Input(
            place, item.role, self.key(path), self.recipe(path), made.seeds,
            made.settings if is_metric else None, made.program if is_metric else "",
        )  # fmt: skip

    def recipe(self, path: str) -> str:
        """Return the digest of the way to make a file, whatever its seeds."""
        if path not in self._recipes:
            step = self.steps[path]
            reads = dict.fromkeys(map(self._recipe_of_input, step.inputs))
            code = digest_of_code(step.programs)
            parts = [step.program, step.function, step.digest, code, [*reads], FORMAT]
            self._recipes[path] = digest(parts)
        return self._recipes[path]

    def _recipe_of_input(self, item: Input) -> str:
        path = self.path_of(item.path)
        return self.recipe(path) if path in self.steps else item.key

    def key(self, path: str) -> str:
        """Return the key of a file: a digest of all that it is made from.

        It does not depend on how the seeds of its inputs are cut into files.
        """
        if path not in self._keys:
            step = self.steps[path]
            made = ((self.path_of(item.path), item.role) for item in step.inputs)
            inputs = (
                Input(each, role, recipe=self.recipe(each), seeds=self.steps[each].seeds)
                for each, role in made
                if each in self.steps
            )
            self._keys[path] = digest([self.recipe(path), step.seeds, seeds_by_recipe(inputs)])
        return self._keys[path]

    def is_made_otherwise(self, output: str, folder: Path = Path()) -> bool:
        """Say whether an output below a folder has another key than planned, or is damaged."""
        path = self.path_of(output)
        files = [folder / each for each in (output, *self.steps[path].outputs[1:])]
        try:
            return key_in(files) != self.key(path)
        except Exception:
            # A damaged byte can make any reader fail in any way.
            return True

    def difference(self, output: str) -> str:
        """Return in words how a file was made otherwise than planned; empty if its inputs were.

        Settings are left to `differing_settings`.
        """
        path = self.path_of(output)
        stage = self.steps[path].stage
        if stage == "figure":
            return "" if self.is_made_otherwise(self.steps[path].reads[0]) else PICTURE_CHANGED
        if stage in COLLECTING:
            return PAGE_CHANGED
        try:
            found = read_record(Path(output))
        except Exception:
            return "it is damaged"
        return ", ".join(differences(found, provenance(self.ready(path))))

    def closure(self, paths: Iterable[str]) -> Iterator[tuple[str, Step]]:
        """Yield path and step of some files and of all that they are made from, each once."""
        seen: set[str] = set()
        waiting = list(paths)
        while waiting:
            path = self.path_of(waiting.pop())
            if path not in seen and path in self.steps:
                seen.add(path)
                yield path, self.steps[path]
                waiting.extend(self.steps[path].reads)

    def settings_digest(self, path: str) -> str:
        """Return a digest of all settings and seeds of a file, however seeds are cut into jobs."""
        seeds: dict[str, set[int]] = {}
        for _, step in self.closure([path]):
            key = digest([step.program, step.settings])
            seeds.setdefault(key, set()).update(step.seeds)
        published = [
            digest(each.file.read_text(encoding="utf-8"))
            for each in self.steps[path].of_role("published")
        ]
        return digest([sorted((key, sorted(found)) for key, found in seeds.items()), published])


def differing_keys(data: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield each key below a path whose values differ, and both values."""
    if isinstance(data, dict) and isinstance(other, dict):
        for key in other | data:
            place = f"{path} > {key}" if path else f"{key}"
            yield from differing_keys(data.get(key), other.get(key), place)
    elif data != other:
        yield path, data, other


def differing_settings(jobs: Jobs, paths: Iterable[str]) -> str:
    """Return the settings by which files of the table were made, where others are planned now.

    Verdicts, pictures and damaged files do not say their settings.
    """
    # Whatever differs from the paper's settings, in words, is told as itself.
    alike = {"unlike_published": None}
    told: dict[str, None] = {}
    for path in paths:
        step = jobs.steps[path]
        if step.stage in SETTINGS_UNTOLD or not step.file.is_file():
            continue
        try:
            found = read_record(step.file)
            made = found["settings"] | {"seeds": format_seeds(found["seeds"])}
        except Exception:
            continue
        now = step.settings | {"seeds": format_seeds(step.seeds)}
        for key, *values in differing_keys(made | alike, now | alike):
            there, here = (shorten(str(each), LONGEST_VALUE) for each in values)
            told[f"{key} {there} in place of {here}"] = None
    more = len(told) - MOST_SETTINGS
    return ", ".join([*told][:MOST_SETTINGS]) + (f" and {more} more" if more > 0 else "")


def note_on_replaced(jobs: Jobs, outputs: Iterable[str]) -> str:
    """Return the sentence on files of other settings that a run replaces, if there are some.

    `outputs` are those of all planned jobs.
    """
    there = list(filter(os.path.exists, outputs))
    settings = differing_settings(jobs, (path for path in there if path in jobs.steps))
    if not settings:
        return ""
    return (
        f"{len(there)} file{'s' * (len(there) > 1)} here will be replaced, as they are of other"
        f" settings: {settings}; to keep both, add `--directory FOLDER` to this command, which then"
        " computes there"
    )


def refuse_other_settings(jobs: Jobs, studies: Iterable[str]) -> None:
    """Refuse to compare results of other settings; an `InputError` names the settings."""
    for name in studies:
        behind = jobs.closure(jobs.studies[name].files.all)
        if settings := differing_settings(jobs, sorted(path for path, _ in behind)):
            raise InputError(
                f"the results of {name} here are of other settings: {settings}; give this command"
                " the settings that they were made with, replace them by"
                f" `snakemake {name}` with the present settings, or add `--directory FOLDER`, which"
                " keeps them and computes in another folder"
            )
