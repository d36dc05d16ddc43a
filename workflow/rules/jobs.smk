# Functions of all rules: from the table of jobs they take the paths, inputs, programs and needs of jobs.
import gc
import os
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError

# The Snakefile found the engine; a package that the engine needs may still be missing.
try:
    # First, so that the others are loaded by their content.
    from replication.base.places import (
        name_user,
        refuse_foreign_packages,
        refuse_other_installation,
    )
    from replication.base import process as surroundings
    from replication.base.errors import InputError
    from replication.plan.command_line import read_settings, refuse_repeated
    from replication.plan.configuration import configure, merge, read_overlay
    from replication.plan.costs import Costs, Planned
    from replication.plan.jobs import Jobs, note_on_replaced, refuse_other_settings
    from replication.plan.progress import Brief, Forecast
    from replication.plan.rules import INDEX, name_pattern
    from replication.plan.slurm import prepare_run
    from replication.plan.steps import MADE_HERE
    from replication.plan.targets import (
        PICTURE_KINDS,
        from_here,
        refuse_target,
        unknown_targets,
    )
    from replication.report.steps import SiteSteps
    from replication.study.studies import find_studies
except ModuleNotFoundError as error:
    raise WorkflowError(
        f"{sys.executable}, which runs Snakemake, has no module {error.name}: run `make environment`"
        " in the folder of the project, then its `.venv/bin/snakemake`"
    ) from None

# Almost all objects live to the end of the run. Searching them for garbage again and again takes a
# fifth of the start.
gc.freeze()
gc.set_threshold(50_000)

IS_STORED = workflow.storage_settings.default_storage_provider
IS_MAIN = workflow.is_main_process
STARTED_HERE = IS_MAIN and "snakemake" in Path(sys.argv[0]).parts
IN_IMAGE = "apptainer" in map(str, workflow.deployment_settings.deployment_method)


def checked(function, *arguments):
    """Call a function; turn errors that a user should read into errors without a traceback."""
    try:
        return function(*arguments)
    except InputError as error:
        places = [*map(str, workflow.overwrite_configfiles)]
        places += ["--config"] if SETTINGS.keys() - {"study"} else []
        is_merged = places and error.message.startswith("configuration")
        raise WorkflowError(
            f"{error.message} (in {', '.join(places)})" if is_merged else error.message
        )


# Read overlays and settings again, although Snakemake has read them: it takes 010 for 8, the last value
# of a key that stands twice, and nested numbers of its command line for text. A pipe cannot be read again.
SETTINGS = {}
if workflow.modifier.is_main_snakefile():
    if STARTED_HERE:
        checked(refuse_repeated, sys.argv[1:])
    for overlay in filter(Path.is_file, workflow.overwrite_configfiles):
        checked(read_overlay, overlay)
    SETTINGS = checked(read_settings, workflow.config_settings.config_args)
    config.update(merge(config, SETTINGS))

name_user()
if IS_MAIN:
    checked(refuse_other_installation, PROJECT)
    checked(refuse_foreign_packages)
STUDIES = checked(find_studies)
CHOICE = config.pop("study", None)
CONFIGURATION = checked(configure, config, STUDIES)
# Verdicts at the paper's scale, where some are kept; to read them takes a second.
BESIDE = []
if any(PROJECT.glob("results/reference/*/paper_scale")):
    from replication.bundle.judged import with_paper_scale

    BESIDE = [with_paper_scale(PROJECT)]
JOBS = checked(Jobs.of, CONFIGURATION, STUDIES, *BESIDE)
# Studies that `--config study=...` names, or those of a plain run.
SELECTED = checked(JOBS.selected_studies, CHOICE)
# Pages link to those that are there or asked for; rules know these once they are asked for inputs.
SITE = SiteSteps(JOBS, PROJECT, SELECTED, lambda: workflow.dag_settings.targets)
# Variables by which a user's shell changes every other shell must not reach the shell of a job.
for name in surroundings.shell_variables():
    del os.environ[name]


def refuse_unknown_targets():
    """Refuse unknown targets with a suggestion, which Snakemake does not give.

    Nothing is refused in somebody else's workflow, where more rules may follow, and with a storage,
    where files have other names than on the command line.
    """
    if STARTED_HERE and workflow.modifier.is_main_snakefile() and not IS_STORED:
        named = [each.name for each in workflow.rules if not each.output]
        for word in unknown_targets(sys.argv[1:], can_be_made):
            refuse_target(JOBS, word, named)


def can_be_made(target):
    """Say whether a target can be made: rules of stages match more than the table of jobs has."""
    path = from_here(target)
    named = target if os.path.isabs(target) else path
    if workflow.is_rule(target) or named in JOBS.steps and not JOBS.is_figure(path):
        return True
    stages = {"data", "runs", "metrics"}
    others = [each for each in workflow.rules if each.name not in stages]
    if any(each.is_producer(named) for each in others):
        return True
    made = any(each.is_producer(path) for each in workflow.rules)
    return os.path.isfile(target) and not made


def python(wildcards, input):
    """Return the Python that runs Snakemake, even if its environment is not activated.

    An image has its own Python. The parameter `input` keeps the path out of Snakemake's records, so
    that another path reruns nothing.
    """
    return surroundings.python_command("python" if IN_IMAGE else sys.executable)


# End of a command whose output goes to its log. A program that a signal ends writes nothing, so the
# shell writes the signal to the log.
LOGGED = (
    " > {log:q} 2>&1 || {{ code=$?; [ $code -le 128 ] ||"
    ' echo "Error: ended by the signal $(kill -l $code)" >> {log:q}; exit $code; }}'
)


def kept(pattern):
    """Return a pattern of files that come back if the job that makes them anew fails.

    Snakemake deletes an output before its job begins, and the job may refuse a damaged input. From a
    storage Snakemake could not bring files back.
    """
    return pattern if IS_STORED else update(pattern)


def planned(job):
    """Return what a job takes, as far as that is known before it begins."""
    output, needs = next(iter(job.output), ""), job.resources
    path = JOBS.path_of(output)
    seconds = costs().seconds(path) if path in JOBS.steps else None

    def need(resource, otherwise):
        # Snakemake may have words in the place of a number that depends on files to come.
        value = needs.get(resource)
        return value if isinstance(value, int) else otherwise

    return Planned(
        output, seconds, need("runtime", 30), need("mem_mb", 0), need("gpu", 0) > 0
    )


@cache
def costs():
    """What jobs took when they were recorded."""
    return Costs(JOBS)


def verdicts_on(study):
    return list(JOBS.studies[study].files.verdicts.values())


@cache
def refuse_other_answers():
    """Refuse options by which Snakemake takes present files for the results of other settings."""
    dag, execution = workflow.dag_settings, workflow.execution_settings
    given = {
        "--touch": workflow.touch,
        "--omit-from": dag.omit_from,
        "--until": dag.until,
        "--batch": dag.batch,
        # Programs that collect do not check what made all of their inputs.
        "--allowed-rules": {*(dag.allowed_rules or ())}
        - {"data", "runs", "metrics", "table", "figure"},
        # Commands such as `--summary` execute nothing, and have no settings of execution.
        "--no-hooks": execution and execution.no_hooks,
    }
    for option in filter(given.get, given):
        raise WorkflowError(
            f"{option} would have results of other settings count as made, without a word; remove it"
            " from your command or your profile, and name what you want as targets"
        )


def asked(*paths):
    """Return the inputs of a target that a user names, after a check of the options."""

    def read(wildcards):
        if IS_MAIN:
            refuse_other_answers()
        return paths

    return read


# Outputs of all jobs that were planned; outputs that are there and are made anew, by the reason in words.
PLANNED, MADE_ANEW = set(), {}


def look_at_results(outputs):
    """Look at outputs of a job that have steps; say whether all may stay.

    Have an output made anew unless the file itself says that it is what the plan has. Nothing else
    decides. Nothing is checked in a storage, and by the jobs of a cluster.
    """
    PLANNED.update(outputs)
    if not IS_MAIN:
        return True
    refuse_other_answers()
    if IS_STORED:
        return True
    # A file is whole or not there, whatever marks and records Snakemake has of it.
    workflow.dag.ignore_incomplete = True
    workflow.dag_settings.rerun_triggers = frozenset()
    stale = [*filter(is_made_otherwise, outputs)]
    for output in stale:
        MADE_ANEW.setdefault(JOBS.difference(output), set()).add(output)
        workflow.dag.forcefiles.add(output)
    return not stale and all(map(os.path.exists, outputs))


def is_made_otherwise(output):
    """Say whether a file is there that the table of jobs would make otherwise."""
    return os.path.exists(output) and JOBS.is_made_otherwise(output)


def refuse_edited_results():
    """Refuse to end well if a result is not what was planned.

    The job of a cluster plans anew, on its machine, with the code that it finds there.
    """
    for output in filter(is_made_otherwise, PLANNED):
        raise WorkflowError(
            f"{output}: its code, or the file, changed while this run was under way; give the same"
            " command again"
        )


def mark(path, may_stay):
    """Mark an input: a file that the workflow does not make is here; no time of a current one counts.

    A job whose outputs may not stay waits for whatever is made anew, even if it is current.
    """
    if not path.startswith(MADE_HERE):
        return ancient(local(path))
    is_free = IS_MAIN and not IS_STORED and may_stay
    return (
        ancient(path)
        if is_free and not is_stale(path) and not is_forced(path)
        else path
    )


@cache
def is_stale(path):
    """Say whether an input is missing or made otherwise than the table of jobs says."""
    return JOBS.path_of(path) in JOBS.steps and (
        not os.path.exists(path) or JOBS.is_made_otherwise(path)
    )


@cache
def is_forced(path):
    """Say whether a user has a file, or one that it is made from, made anew by `--forcerun`.

    Snakemake does not look at jobs behind a forced one that all their inputs leave alone.
    """
    step = JOBS.steps.get(JOBS.path_of(path))
    forced = {*workflow.dag_settings.forcerun}
    return bool(forced and step) and (
        bool({path, step.stage} & forced) or any(map(is_forced, step.reads))
    )


def notes_on_results():
    """Say which results a run replaces, and why; of a storage nothing is said."""
    if IS_STORED:
        return ""
    changed = [
        f"{len(outputs)} file{'s' * (len(outputs) > 1)} made anew, such as {min(outputs)}: {reason}"
        for reason, outputs in MADE_ANEW.items()
        if reason
    ]
    planned_jobs = workflow.dag.needrun_jobs()
    outputs = [os.path.relpath(path) for job in planned_jobs for path in job.output]
    replaced = checked(note_on_replaced, JOBS, outputs)
    return "\n".join(filter(None, [*changed, replaced]))


wildcard_constraints:
    study="|".join(STUDIES),
    figure=name_pattern(JOBS.figures),
    kind="|".join(PICTURE_KINDS),
    name=".+",
