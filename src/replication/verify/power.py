"""Say how many seeds would decide each claim that is open, and how long they would take.

The mean and the spread of the seeds of the reference count as the truth. The number of seeds is the
smallest that answers one of the four questions (does it hold, is it the opposite, is there no
effect, is it less than claimed) with a probability of 90 %. Each question is asked at the level
that is left if no other claim of its family passes.
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
from replication.bundle.bundle import EVIDENCE, Bundle, find_references
from replication.bundle.judged import read_judged_reference
from replication.figures.typeset import number
from replication.judge.statistics import pooled_std
from replication.judge.verdicts import FEWEST_SEEDS, PROBABILITY, Decision
from replication.plan.configuration import configure
from replication.plan.costs import Records
from replication.plan.jobs import Jobs
from replication.plan.study_jobs import StudyJobs
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


class Plan(NamedTuple):
    """Number of seeds that would decide a comparison."""

    seeds: int
    """Number of seeds; `MOST_SEEDS` + 1 if no number is enough."""
    decision: Decision
    """Decision with these seeds; `open` if no number of seeds up to `MOST_SEEDS` is enough."""
    comparison: str
    """Name of the comparison."""
    spread: float
    """Standard deviation of one seed."""


def plan_comparison(test: Statistical, rows: pd.DataFrame, cell: str, family: int) -> Plan:
    """Return the number of seeds that would decide a comparison, given its evidence.

    `family` is the number of claims that are corrected together. Each edge is a place above which
    the seeds have to lie, or below which, if the sign before is -1.
    """
    values, others, matters = rows["value"].to_numpy(np.float64), 0, 0.0
    mean, spread, is_by_sign = float(values.mean()), float(values.std(ddof=1)), False
    if isinstance(test, Equivalence):
        ours, paper = (values[rows["sample"] == name] for name in ("ours", "paper"))
        # The paper's sample stays as it is.
        mean, spread, others = (
            float(ours.mean() - paper.mean()),
            pooled_std(ours, paper),
            paper.size,
        )
        ends = [(sign, -sign * test.margin * spread) for sign in (1, -1)]
    else:
        assert isinstance(test, Interval)
        is_by_sign, matters = test.center == "median", test.smallest_effect or 0.0
        bounds = [(1, test.lower), (-1, test.upper)]
        ends = [(sign, bound + sign * matters) for sign, bound in bounds if bound is not None]

    def power(sign: int, place: float, level: float) -> Floats:
        """Return the probability that a one-sided test passes, by number of seeds."""
        if is_by_sign:
            share = (np.count_nonzero(sign * values > sign * place) + 0.5) / (values.size + 1)
            needed = scipy.stats.binom.isf(level, SEED_NUMBERS, 0.5)
            return np.asarray(scipy.stats.binom.sf(needed, SEED_NUMBERS, share))
        inside = sign * (mean - place)
        if inside <= 0 or spread == 0:
            return np.zeros(SEED_NUMBERS.size)
        error = np.sqrt(1 / SEED_NUMBERS + (1 / others if others else 0))
        dof = SEED_NUMBERS - 1 + max(others - 1, 0)
        critical = -scipy.special.stdtrit(dof, level)
        # Beyond some distance the noncentral distribution is not computed, and the test passes.
        distance = np.minimum(inside / spread / error, 30)
        return np.asarray(scipy.stats.nct.sf(critical, dof, distance))

    def seeds_needed(edges: list[tuple[int, float]], ways: int = 1) -> int:
        """Return the least number of seeds that pass all edges, one of some ways to answer."""
        missed = sum(1 - power(*edge, test.level / family / ways) for edge in edges)
        enough = SEED_NUMBERS[1 - missed >= PROBABILITY]
        return int(enough[0]) if enough.size else MOST_SEEDS + 1

    opposite = [(-sign, place - 2 * sign * matters) for sign, place in ends]
    needed: list[tuple[int, Decision]] = [(seeds_needed(ends), "holds")]
    needed += [(seeds_needed([end], len(ends)), "fails") for end in opposite]
    if matters:
        within = [(-sign, place) for sign, place in (*ends, *opposite)]
        needed += [(seeds_needed(within), "none"), (seeds_needed(within[:1]), "less")]
    seeds, decision = min(needed, key=lambda pair: pair[0])
    return Plan(seeds, decision if seeds <= MOST_SEEDS else "open", cell, spread)


def claim_rows(study: StudyJobs, reference: Bundle, records: Records) -> Iterator[tuple[str, ...]]:
    """Yield one row of `CLAIM_HEADER` per claim that is open, as a whole or in part.

    The comparison that needs most seeds stands for the claim.
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
        if not planned:
            continue
        worst = max(planned, key=lambda each: each.seeds)
        need, minutes = str(worst.seeds), ""
        if worst.spread == 0:
            need = "none: its seeds do not differ"
        elif worst.decision == "open":
            need = f"more than {MOST_SEEDS}: their mean lies near the edge of what is asked"
        else:
            seconds = _seconds_of_a_seed(study, name, records)
            missing = max(worst.seeds - verdict.seeds, 0)
            minutes = "not recorded" if seconds is None else number(missing * seconds / 60, 2)
        yield (
            study.study.name, name, verdict.verdict, worst.comparison, number(worst.spread),
            str(verdict.seeds), ANSWERS[worst.decision], need, minutes,
        )  # fmt: skip


def _seconds_of_a_seed(study: StudyJobs, claim: str, records: Records) -> float | None:
    """Return the seconds of a seed's training and metrics in all experiments behind a claim.

    None if one of them is not known.
    """
    jobs = {f"metrics/{name}/{metric}": name for name, metric in study.sources(claim)}
    for name in dict.fromkeys(jobs.values()):
        jobs |= {f"runs/{name}/{run}": name for run in study.experiments[name].runs}
    total = 0.0
    for job, name in jobs.items():
        took = records.of_job(f"logs/{study.study.name}/{job}")
        if took is None:
            return None
        total += took / len(study.seeds(name))
    return total


@click.command(help=__doc__)
@click.option(
    "--study", "names", multiple=True, help="Study; if left out, all that have a reference."
)
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="Project's folder.")
def main(names: tuple[str, ...], root: Path) -> None:
    """Print the table as Markdown."""
    studies = find_studies()
    jobs = Jobs.of(configure({}, studies), studies)
    if not (kept := [*(names or find_references(root))]):
        raise InputError(f"{root}: has no reference; name the project's folder with --root")
    chosen = jobs.selected_studies(kept)
    found = [
        row
        for study in (jobs.studies[name] for name in chosen)
        for row in claim_rows(study, read_judged_reference(root, study), Records.of([study.study]))
    ]
    if found:
        click.echo("\n".join(table(CLAIM_HEADER, found)))
    else:
        click.echo(f"No comparison of {', '.join(chosen)} is open: no seeds are missing.")
