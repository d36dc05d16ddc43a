"""Say how many seeds would decide each claim that is open, and how long they would take.

The mean and the spread of the seeds at hand count as the truth. The number of seeds is the smallest
that answers one of the four questions (does it hold, is it the opposite, is there no effect, is it
less than claimed) with a probability of 90 %. Each question is asked at the level that is left if
no other claim of its family passes.

The seeds at hand are those of the reference. With an overlay, or without a reference, they are
those of the verdicts in this folder.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from replication.base.errors import InputError
from replication.base.markdown import table
from replication.base.strict import unknown_key
from replication.base.tables import read_table
from replication.bundle.bundle import EVIDENCE, Bundle, find_references, reference_folder
from replication.bundle.computed import collect_evidence
from replication.bundle.judged import read_judged_reference
from replication.figures.typeset import number
from replication.judge.scorecard import read_verdict
from replication.judge.statistics import pooled_std
from replication.judge.verdicts import FEWEST_SEEDS, PROBABILITY, Decision, Verdict
from replication.plan.configuration import configure, read_overlays
from replication.plan.jobs import Jobs
from replication.plan.study_jobs import StudyJobs
from replication.plan.times import Records
from replication.study.claims import Equivalence, Interval, Statistical
from replication.study.studies import find_studies

Floats = NDArray[np.float64]
ANSWERS: dict[Decision, str] = {
    "holds": "holds",
    "fails": "does not hold",
    "none": "no effect",
    "less": "less than claimed",
    "open": "open",
}
"""Words for the decision of a comparison, by decision."""
MOST_SEEDS = 1000
"""Largest number of seeds that is planned."""
SEED_NUMBERS = np.arange(FEWEST_SEEDS, MOST_SEEDS + 1)
CLAIM_HEADER = (
    "study", "claim", "verdict", "comparison", "spread", "seeds", "likely answer", "seeds needed",
    "processor minutes",
)  # fmt: skip


class Answer(NamedTuple):
    """An answer to one question, with the one-sided tests that have to pass for it."""

    decision: Decision
    """Decision that the answer makes."""
    edges: list[tuple[int, float]]
    """Places above which the seeds have to lie, or below which, if the sign before is -1."""
    ways: int = 1
    """Number of answers of this kind, among which the level is divided."""


class Sample(NamedTuple):
    """The seeds of one comparison."""

    mean: float
    """Mean of the seeds; of two samples, ours minus the paper's."""
    spread: float
    """Standard deviation of one seed."""
    others: int = 0
    """Number of seeds of the paper's sample, which stays the same; 0 without such a sample."""
    signed: Floats | None = None
    """Value of each seed, for sign tests; none for t tests."""


class Plan(NamedTuple):
    """Number of seeds that would decide a comparison."""

    comparison: str
    """Name of the comparison."""
    spread: float
    """Standard deviation of one seed."""
    decision: Decision
    """Decision with these seeds; `open` if no number of seeds up to `MOST_SEEDS` is enough."""
    seeds: int
    """Number of seeds; `MOST_SEEDS` + 1 if no number is enough."""


def plan_comparison(test: Statistical, rows: pd.DataFrame, cell: str, family: int) -> Plan:
    """Return the number of seeds that would decide a comparison, given its evidence.

    `family` is the number of claims that are corrected together.
    """
    sample, answers = (
        _two_samples(test, rows) if isinstance(test, Equivalence) else _one_sample(test, rows)
    )
    needed = [(_seeds_needed(sample, answer, test.level / family), answer) for answer in answers]
    seeds, answer = min(needed, key=lambda pair: pair[0])
    return Plan(cell, sample.spread, answer.decision if seeds <= MOST_SEEDS else "open", seeds)


def _one_sample(test: Statistical, rows: pd.DataFrame) -> tuple[Sample, list[Answer]]:
    assert isinstance(test, Interval)
    values = rows["value"].to_numpy(np.float64)
    signed = values if test.center == "median" else None
    sample = Sample(float(values.mean()), float(values.std(ddof=1)), signed=signed)
    matters = test.smallest_effect or 0
    bounds = [(1, test.lower), (-1, test.upper)]
    ends = [(sign, bound + sign * matters) for sign, bound in bounds if bound is not None]
    opposite = [(-sign, place - 2 * sign * matters) for sign, place in ends]
    answers = [Answer("holds", ends), *(Answer("fails", [end], len(ends)) for end in opposite)]
    if matters:
        within = [(-sign, place) for sign, place in (*ends, *opposite)]
        answers += [Answer("none", within), Answer("less", within[:1])]
    return sample, answers


def _two_samples(test: Equivalence, rows: pd.DataFrame) -> tuple[Sample, list[Answer]]:
    ours, paper = (
        rows.loc[rows["sample"] == name, "value"].to_numpy(np.float64) for name in ("ours", "paper")
    )
    spread = pooled_std(ours, paper)
    margin = test.margin * spread
    answers = [Answer("holds", [(1, -margin), (-1, margin)])]
    answers += [Answer("fails", [(sign, sign * margin)], 2) for sign in (1, -1)]
    return Sample(float((ours - paper.mean()).mean()), spread, others=paper.size), answers


def _seeds_needed(sample: Sample, answer: Answer, level: float) -> int:
    """Return the least number of seeds with which all tests pass; `MOST_SEEDS` + 1 if none is."""
    power = _t_test_power if sample.signed is None else _sign_test_power
    missed = sum(1 - power(sample, *edge, level / answer.ways) for edge in answer.edges)
    enough = SEED_NUMBERS[1 - missed >= PROBABILITY]
    return int(enough[0]) if enough.size else MOST_SEEDS + 1


def _t_test_power(sample: Sample, sign: int, place: float, level: float) -> Floats:
    """Return the probability that a t test passes, by number of seeds."""
    inside = sign * (sample.mean - place)
    if inside <= 0 or sample.spread == 0:
        return np.zeros(SEED_NUMBERS.size)
    others = sample.others
    error = np.sqrt(1 / SEED_NUMBERS + (1 / others if others else 0))
    dof = SEED_NUMBERS - 1 + max(others - 1, 0)
    critical = -scipy.special.stdtrit(dof, level)
    # Beyond some distance the noncentral distribution is not computed, and the test always passes.
    distance = np.minimum(inside / sample.spread / error, 30)
    return np.asarray(scipy.stats.nct.sf(critical, dof, distance))


def _sign_test_power(sample: Sample, sign: int, place: float, level: float) -> Floats:
    """Return the probability that a sign test passes, by number of seeds."""
    assert sample.signed is not None
    inside = np.count_nonzero(sign * sample.signed > sign * place)
    share = (inside + 0.5) / (sample.signed.size + 1)
    needed = scipy.stats.binom.isf(level, SEED_NUMBERS, 0.5) + 1
    return np.asarray(scipy.stats.binom.sf(needed - 1, SEED_NUMBERS, share))


def claim_rows(study: StudyJobs, reference: Bundle, records: Records) -> Iterator[tuple[str, ...]]:
    """Yield one row of `CLAIM_HEADER` per claim that is open, as a whole or in part.

    The comparison that needs most seeds stands for the claim. Evidence and verdicts are those of
    the reference.
    """
    evidence, verdicts = reference.tables[EVIDENCE], reference.verdicts
    for name, claim in study.claims.items():
        verdict, test = verdicts.get(name), claim.test
        if not verdict or verdict.verdict == "not tested" or not isinstance(test, Statistical):
            continue
        own = evidence[evidence["claim"] == name]
        family = sum(1 for other in study.family(name) if other in verdicts)
        planned = [
            plan_comparison(test, own[own["cell"] == item.cell], item.cell, family)
            for item in verdict.counted
            if item.decision == "open"
        ]
        if planned:
            worst = max(planned, key=lambda each: each.seeds)
            yield (
                study.study.name, name, verdict.verdict, worst.comparison, number(worst.spread),
                str(verdict.seeds), *_cells_of_need(study, verdict, worst, records),
            )  # fmt: skip


def _cells_of_need(
    study: StudyJobs, verdict: Verdict, found: Plan, records: Records
) -> tuple[str, str, str]:
    """Return decision, number of seeds and minutes of a plan, in words."""
    if found.spread == 0:
        return "open", "none: its seeds do not differ", ""
    if found.decision == "open":
        return "open", f"more than {MOST_SEEDS}: their mean lies near the edge of what is asked", ""
    seconds = _seconds_of_a_seed(study, verdict.claim, records)
    missing = max(found.seeds - verdict.seeds, 0)
    told = "not recorded" if seconds is None else number(missing * seconds / 60, 2)
    return ANSWERS[found.decision], str(found.seeds), told


def _seconds_of_a_seed(study: StudyJobs, claim: str, records: Records) -> float | None:
    """Return the seconds of a seed's training and metrics in all experiments behind a claim.

    None if one of them is not known.
    """
    sources = study.sources(claim)
    jobs = [(name, f"metrics/{name}/{metric}") for name, metric in sources]
    for name in dict.fromkeys(name for name, _ in sources):
        jobs += [(name, f"runs/{name}/{run}") for run in study.experiments[name].runs]
    total = 0.0
    for name, job in jobs:
        took = records.of_job(f"logs/{study.study.name}/{job}")
        if took is None:
            return None
        total += took / len(study.seeds(name))
    return total


def read_results(jobs: Jobs, name: str) -> Bundle:
    """Return verdicts and evidence of a study that were computed in this folder.

    Raises:
        InputError: if no verdict is here, or a file is damaged or of other settings.
    """
    files = jobs.studies[name].files
    paths = {claim: path for claim, path in files.verdicts.items() if Path(path).is_file()}
    # The scorecard brings the verdicts together that a run with these settings makes.
    remedy = f"run `snakemake {jobs.studies[name].study.scorecard}` with the same overlay, if any"
    if not paths:
        raise InputError(
            f"{name}: has no verdict here, and no reference of these settings; {remedy}"
        )
    for path in paths.values():
        if jobs.is_made_otherwise(path, path):
            raise InputError(f"{path}: is of other settings or code; {remedy}")
    tables = {
        claim: read_table(Path(files.evidence[claim]), jobs.key(files.evidence[claim]))
        for claim in paths
    }
    verdicts = {claim: read_verdict(Path(path)) for claim, path in paths.items()}
    return Bundle({EVIDENCE: collect_evidence(tables)}, verdicts, {})


@click.command(help=__doc__)
@click.option(
    "--study", "names", multiple=True,
    help="Study; if left out, those of the overlays, or all that have a reference.",
)  # fmt: skip
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="Project's folder.")
@click.option(
    "--configfile", "overlays", multiple=True, type=click.Path(path_type=Path),
    help="An overlay, as Snakemake takes it; several are merged in their order.",
)  # fmt: skip
def main(names: tuple[str, ...], root: Path, overlays: tuple[Path, ...]) -> None:
    """Print the table as Markdown."""
    studies = find_studies()
    changes = read_overlays(overlays)
    jobs = Jobs.of(configure(changes, studies), studies)
    # Of the default settings.
    records = Records() if overlays else Records.of(studies.values())
    kept = find_references(root)
    judged = [
        name
        for name, study in jobs.studies.items()
        if all(Path(path).is_file() for path in study.files.verdicts.values())
    ]
    changed_here = [name for name in changes if name in studies]
    chosen = dict.fromkeys(names or changed_here or kept or judged)
    if not chosen:
        folder = reference_folder(root, "")
        raise InputError(
            f"{folder}: has no reference, and no study has all its verdicts here; name the"
            " project's folder with --root, or run `snakemake verdicts` first"
        )
    found: list[tuple[str, ...]] = []
    for name in chosen:
        if name not in jobs.studies:
            raise InputError(unknown_key(name, [*jobs.studies], "study", "studies"))
        study = jobs.studies[name]
        is_kept = name in kept and not overlays
        reference = read_judged_reference(root, study) if is_kept else read_results(jobs, name)
        found += claim_rows(study, reference, records)
    if found:
        click.echo("\n".join(table(CLAIM_HEADER, found)))
    else:
        click.echo(f"No comparison of {', '.join(chosen)} is open: no seeds are missing.")
