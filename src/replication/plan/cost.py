"""Cost of a study: as recorded, or foreseen from the multiplications of its training."""

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping

from replication.base.errors import InputError
from replication.base.strict import Strict
from replication.plan.configuration import Computation
from replication.plan.recorded_times import Records
from replication.plan.study_jobs import StudyJobs
from replication.study.contract import Experiment

CORE = 5e10
"""Floating-point operations a second of one core, on matrices of a few hundred rows."""
GPU = 7e12
"""Floating-point operations a second of one GPU, in 32 bits.

`python -m benchmarks.devices` measured this of an H200 that trains recurrent attention at paper
scale: about a tenth of the rate that the card's maker states.
"""
MOST_DAYS = 100
"""Longest time of a study on one core, in days; a longer one is for GPUs."""
DAY = 86_400
REST = "data, evidence, verdicts, figures"
"""Name of the work of a study besides its experiments."""
NOT_RECORDED = "not recorded"
MEASURED = (
    "A recorded time is that of the job's last run, on a machine that had other work, too. A job"
    " without a record is estimated: it takes as long for a seed as the recorded jobs of the same"
    " experiment, or else as long as the operations of its training. Memory is that of recorded"
    " jobs. Metrics that no figure and no claim reads are not counted. `snakemake -n` tells the"
    " time of all jobs that are still to run."
)
"""Sentences above the table of costs, on where its numbers come from."""
HEADER = (
    "what", "runs", "minutes of one core", "of these estimated", "most memory of a job, GiB",
)  # fmt: skip


def refuse_without_gpu(
    where: str, experiments: Collection[Experiment], computation: Computation
) -> None:
    """Refuse experiments that would take processors too long.

    Args:
        where: names the study in the configuration.
        experiments: their jobs say how many operations they take.
        computation: the device that computes them.

    Raises:
        InputError: if processors would compute them, for more than `MOST_DAYS`.
    """
    data = {name: job for each in experiments for name, job in each.data.items()}
    jobs = [*data.values()]
    for each in experiments:
        jobs += [*each.runs.values(), *each.metrics.values()]
    days = sum(job.operations for job in jobs) / CORE / DAY
    if computation.device == "cpu" and days > MOST_DAYS:
        raise InputError(
            f"{where}: training would take one core about {days:,.0f} days, with data and metrics;"
            " train less, or set computation > device: cuda where there is a GPU"
        )


class Cost(Strict):
    """Time and memory of the jobs of one kind."""

    what: str
    """Name of the jobs' experiment, or of the other files that they make."""
    runs: int
    """Number of files of training runs; 0 if the jobs make other files."""
    minutes: float
    """Minutes of one core, summed over the jobs whose time is recorded or foreseen."""
    foreseen: float
    """Minutes among them that are foreseen."""
    unknown: int
    """Number of jobs that nobody has recorded."""
    mib: float | None
    """Most memory of one of the jobs, in MiB; none if that of no job is known."""


def costs(study: StudyJobs, records: Records) -> list[Cost]:
    """Return the cost of every experiment of a study, then of the rest, then the sum.

    Variants of an experiment, named after it and a hyphen, count as one. Experiments and metrics
    that no figure and no claim reads do not count, as the workflow does not make them. A job that
    is not recorded takes as long as those beside it, or as its operations say. What Snakemake
    measured in this folder does not count: the documents that tell the costs are the same
    everywhere.

    Args:
        study: its jobs.
        records: recorded times and memory.
    """
    name = study.study.name
    jobs: dict[str, dict[str, float]] = {}
    data: dict[str, None] = {}
    runs: Counter[str] = Counter()
    for experiment, parts in study.experiments.items():
        metrics = {
            part: job
            for part, job in parts.metrics.items()
            if (experiment, part) in study.metrics_read
        }
        if not metrics:
            continue
        base, hyphen, _ = experiment.partition("-")
        what = f"variants of {base}" if hyphen else base
        runs[what] += len(parts.runs)
        jobs.setdefault(what, {}).update(
            (f"logs/{name}/{stage}/{experiment}/{part}", job.operations)
            for stage, made in (("runs", parts.runs), ("metrics", metrics))
            for part, job in made.items()
        )
        data |= dict.fromkeys(f"logs/{name}/data/{part}" for part in parts.data)
    figures = {f"logs/{study.table(each).removesuffix('.csv')}" for each in study.figures}
    rest = (each for each in records.seconds if _is_rest(each, name, figures))
    jobs[REST] = dict.fromkeys([*data, *rest], 0.0)
    kinds = [(what, runs[what], each) for what, each in jobs.items()]
    everything = {job: operations for each in jobs.values() for job, operations in each.items()}
    kinds.append(("all", runs.total(), everything))
    return [_cost(*kind, records) for kind in kinds]


def _is_rest(job: str, study: str, figures: Container[str]) -> bool:
    made = job.removeprefix(f"logs/{study}/").partition("/")[0]
    return made in {"evidence", "verdict"} or job.rpartition(".")[0] in figures


def _cost(what: str, runs: int, jobs: Mapping[str, float], records: Records) -> Cost:
    seconds = [seconds_on_core(records.told(job), done) for job, done in jobs.items()]
    known = [each for each in seconds if each is not None]
    total, recorded = sum(known), sum(records.seconds.get(job, 0.0) for job in jobs)
    return Cost(
        what=what,
        runs=runs,
        minutes=total / 60,
        foreseen=(total - recorded) / 60,
        unknown=len(jobs) - len(known),
        mib=max(filter(None, map(records.mib.get, jobs)), default=None),
    )


def seconds_on_core(seconds: float | None, operations: float) -> float | None:
    """Return what a job takes: as is known, or else as its operations say; none if neither does.

    Args:
        seconds: that are known of it.
        operations: floating-point operations of its training; 0 if nobody has counted.
    """
    return operations / CORE if seconds is None and operations else seconds


def cost_rows(found: Iterable[Cost]) -> list[tuple[str, ...]]:
    """Return the rows of a table with `HEADER`."""
    return [
        (each.what, str(each.runs or ""), _minutes(each), _foreseen(each), _gib(each))
        for each in found
    ]


def count_jobs(jobs: int) -> str:
    """Return a number of jobs in words."""
    return "1 job" if jobs == 1 else f"{jobs} jobs"


def _minutes(cost: Cost) -> str:
    known = [f"{cost.minutes:.1f}"] if cost.minutes else []
    return "; ".join(known + [f"{count_jobs(cost.unknown)} {NOT_RECORDED}"] * bool(cost.unknown))


def _foreseen(cost: Cost) -> str:
    return f"{cost.foreseen:.1f}" if round(cost.foreseen, 1) > 0 else ""


def _gib(cost: Cost) -> str:
    return NOT_RECORDED if cost.mib is None else f"{cost.mib / 1024:.1f}"
