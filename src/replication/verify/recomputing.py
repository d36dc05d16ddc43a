"""Compute the results of a study again, as far as a level of verification asks for."""

import random
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click

from replication.base.errors import InputError
from replication.bundle.bundle import Bundle
from replication.bundle.computed import dependencies, read_computed
from replication.plan.configuration import merge
from replication.plan.jobs import Jobs
from replication.plan.other_settings import refuse_other_settings, settings_here
from replication.plan.times import Records
from replication.verify.project import Project

MOST_MISSING = 10
"""Largest number of missing results that are named."""
JUDGING_STAGES = ("table", "evidence", "verdict")
"""Stages that make figures' numbers and verdicts from metrics."""


class Draw(NamedTuple):
    """Random choice of the seeds and experiments that the level `seed` computes."""

    seed: int
    """Seed of the random choice."""
    minutes: float | None
    """Minutes of one processor that the experiments may take; without a limit if none are given."""


def compute_results(
    project: Project, study: str, level: str, draw: Draw
) -> tuple[Bundle, dict[str, str]]:
    """Return the results at a level, and by path the reason why a file cannot be used.

    Levels above `figure` are computed in a new folder.

    Args:
        project: the project.
        study: name of the study.
        level: level of the verification.
        draw: choice of the level `seed`.
    """
    if level in {"hash", "figure"}:
        refuse_other_settings(project.jobs, [study])
    elif settings := settings_here(project.jobs, study):
        click.echo(
            f"The results of {study} here, which are of other settings, do not count: {settings}"
        )
    if level == "figure":
        _make_again(project, study)
    elif level == "hash":
        _announce_missing(project, study)
    if level in {"hash", "figure"}:
        return read_computed(project.jobs, study, Path())
    configuration = project.configuration
    if level == "seed":
        drawn = random.Random(draw.seed)
        overlay = project.jobs.studies[study].one_seed(drawn)
        data = merge(configuration.model_dump(mode="json"), overlay)
        configuration = type(configuration).parse(data, "one seed of every experiment")
    jobs = Jobs.of(configuration, project.studies)
    files = jobs.studies[study].files
    targets: list[str] = list(files.all)
    if level == "seed":
        targets = _draw_experiments(jobs, study, drawn, draw.minutes)
    with project.new_folder() as folder:
        project.run_snakemake(configuration, targets, "--directory", str(folder))
        found, refused = read_computed(jobs, study, folder)
    return replace(found, depends=dependencies(project.jobs, study)), refused


def _draw_experiments(
    jobs: Jobs, study: str, drawn: random.Random, minutes: float | None
) -> list[str]:
    """Return the fingerprints of experiments that fit into the minutes, in a random order.

    Times are the recorded ones, so that a draw is the same on every machine.

    Raises:
        InputError: if no experiment fits.
    """
    fingerprints = jobs.studies[study].files.fingerprints
    names = sorted(fingerprints)
    drawn.shuffle(names)
    records = Records.of([jobs.studies[study].study])
    fitting: list[str] = []
    for name in names:
        paths = [fingerprints[each] for each in [*fitting, name]]
        if minutes is None or sum(jobs.seconds_of(paths, records)) <= minutes * 60:
            fitting.append(name)
    left_out = sorted({*names} - {*fitting})
    if left_out and not fitting:
        raise InputError(f"--minutes {minutes:g}: no experiment of {study} fits; name more minutes")
    targets = [fingerprints[name] for name in fitting]
    total = sum(jobs.seconds_of(targets, records)) / 60
    longest = jobs.longest_chain(targets, records) / 60
    click.echo(
        f"{len(fitting)} of {len(names)} experiments of {study} will take about {total:.3g} minutes"
        f" of one processor, and at least {longest:.3g} on any number, by recorded times"
    )
    if left_out:
        click.echo(f"Left out, as they do not fit: {', '.join(left_out)}")
    return targets


def _announce_missing(project: Project, study: str) -> None:
    """Print which results are not here, if some are."""
    files = project.jobs.studies[study].files
    kinds = {
        "figure": files.tables, "evidence of": files.evidence, "verdict on": files.verdicts,
        "runs of": files.fingerprints,
    }  # fmt: skip
    made = {f"{kind} {name}": path for kind, paths in kinds.items() for name, path in paths.items()}
    missing = [name for name, path in made.items() if not Path(path).is_file()]
    if 0 < len(missing) < len(made):
        more = len(missing) - MOST_MISSING
        also = f" and {more} more" if more > 0 else ""
        click.echo(f"Not compared, as not here: {', '.join(missing[:MOST_MISSING])}{also}")


def _make_again(project: Project, study: str) -> None:
    """Make figures' tables and verdicts again; print the names of those without metrics here."""
    jobs, files = project.jobs, project.jobs.studies[study].files
    made = {
        **{f"figure {name}": path for name, path in files.tables.items()},
        **{f"verdict {name}": path for name, path in files.verdicts.items()},
    }
    left_out = {
        name: path
        for name, path in made.items()
        if any(
            step.stage == "metrics" and not Path(read).is_file()
            for read, step in jobs.closure([path])
        )
    }
    if left_out:
        click.echo(f"Not compared, as their metrics are not here: {', '.join(left_out)}")
    here = [path for name, path in made.items() if name not in left_out]
    again = [path for path, step in jobs.closure(here) if step.stage in JUDGING_STAGES]
    project.run_snakemake(project.configuration, here, "--forcerun", *again)
