# The table of jobs, the rules of every stage, and the targets that a user asks for. The Snakefile of a
# project includes this file last, with its default target. Before that stand rules of its own and,
# relative to its folder, an IMAGE of its environment.
import os
import sys
from pathlib import Path

from replication.plan.interruption import Interruption
from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

min_version("9.27")

# First of all, as planning takes seconds.
if workflow.is_main_process:
    interruption = Interruption(lambda: workflow.scheduler)
    interruption.listen()
    logger.addFilter(interruption)

# Folder of the Snakefile that includes this one.
HOME = workflow.included_stack[-2].get_basedir()

# Snakemake looks for modules in these folders first, and would take a file random.py for Python's.
sys.path[:] = [
    path for path in sys.path if path not in {f"{HOME}", f"{workflow.current_basedir}"}
]

# A module from an address of git has no folder, and no environment.
if not Path(f"{HOME}").is_dir():
    raise WorkflowError(
        f"{HOME}: is no folder; clone the repository, run `make environment` there, and name the path of"
        " its Snakefile"
    )
PROJECT = Path(os.path.relpath(f"{HOME}"))

if (PROJECT / "config/config.yaml").is_file():

    configfile: PROJECT / "config/config.yaml"


include: "rules/jobs.smk"


# The image is used only with `--software-deployment-method apptainer`; otherwise the active
# environment runs. Its path must have no spaces: a path with spaces is named only if somebody asks
# for the image.
IMAGE = globals().get("IMAGE") and os.path.abspath(PROJECT / IMAGE)
if IMAGE and (IN_IMAGE or not any(map(str.isspace, IMAGE))):

    container: IMAGE


include: "rules/datasets.smk"
include: "rules/stages.smk"
include: "rules/collect.smk"


# Not in collect.smk: an included file cannot define the default target.
rule plain:
    default_target: True
    input:
        rules.verdicts.input,
        expand(
            "figures/{figure}.pdf",
            figure=[f for s in SELECTED for f in JOBS.figure_paths(s, costly=False)],
        ),


# Here, as all rules must be known.
checked(refuse_unknown_targets)

logger.addFilter(Brief(workflow))
logger.addHandler(
    Forecast(
        lambda: {
            job.jobid: planned(job) if job.benchmark else None
            for job in workflow.dag.needrun_jobs()
        },
        notes_on_results,
    )
)


onstart:
    checked(prepare_run, Path.cwd(), workflow.executor_plugin)
    checked(CONFIGURATION.write, Path("results/config.yaml"))
    if workflow.executor_plugin.name == "local" and any(
        job.resources.get("gpu") for job in workflow.dag.needrun_jobs()
    ):
        from replication.study.devices import device

        # A missing GPU is an error now, not after hours of jobs that need none.
        checked(device, "cuda")


onerror:
    # Of a file that Snakemake restores it records that the failed job made it. Without a record the
    # file itself says how it was made, see `look`.
    for job in workflow.scheduler.failed:
        workflow.persistence.cleanup(job)
    if told := surroundings.lack_of_memory(
        Path(log) for job in workflow.scheduler.failed for log in job.log
    ):
        logger.error(told)


onsuccess:
    # What was asked for has an answer: the verdict, or our number beside the paper's.
    from replication.report.outcome import outcome_lines

    if not IS_STORED:
        if IS_MAIN:
            refuse_edited_results()
        # Of a rule that only collects, such as the plain run, the scorecards that it asks for.
        collected = (job.input for job in workflow.dag.targetjobs if job.is_norun)
        cards = (
            file for files in collected for file in files if file.endswith("s.md")
        )
        named = sorted({*map(str, workflow.dag.targetfiles), *map(str, cards)})
        for line in checked(outcome_lines, JOBS, PROJECT, named):
            logger.info(line)
