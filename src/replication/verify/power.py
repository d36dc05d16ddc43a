"""Say how many seeds would decide each claim that is open, and how long they would take.

The mean and the spread of the seeds at hand count as the truth. The number of seeds is the smallest
that answers one of the four questions (does it hold, is it the opposite, is there no effect, is it
less than claimed) with a probability of 90 %. Each question is asked at the level that is left if
no other claim of its family passes.

A second table has the sentences of the abstracts whose marks such seeds would change.

The seeds at hand are those of the reference. With an overlay, or without a reference, they are
those of the verdicts in this folder.
"""

from collections.abc import Iterator, Mapping
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
from replication.judge.abstract import mark_sentences
from replication.judge.judgement import outcome
from replication.judge.scorecard import read_verdict
from replication.judge.statistics import pooled_std
from replication.judge.verdicts import FEWEST_SEEDS, PROBABILITY, Decision, Verdict
from replication.plan.configuration import configure, read_overlays
from replication.plan.jobs import Jobs
from replication.plan.study_jobs import StudyJobs
from replication.plan.times import Records
from replication.study.claims import Equivalence, Interval, Statistical
from replication.study.evidence import known_ends
from replication.study.registry import without_latex
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
SENTENCE_HEADER = (
    "study", "sentence of the abstract", "mark", "it would have", "by claims", "seeds needed",
    "processor minutes",
)  # fmt: skip


class Edge(NamedTuple):
    """A one-sided test that an answer needs to pass."""

    sign: int
    """1 if the seeds have to lie above, -1 if below."""
    place: float
    """Bound above or below which the seeds have to lie."""


class Answer(NamedTuple):
    """An answer to one question, with the tests that have to pass for it."""

    decision: Decision
    """Decision that the answer makes."""
    edges: list[Edge]
    """One-sided tests that have to pass for the answer."""
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
    known_ends: tuple[Floats, Floats] | None = None
    """Known ends of each value, for sign tests; none for t tests."""


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
    """Return the number of seeds that would decide a comparison.

    Args:
        test: the test of the claim.
        rows: evidence of the comparison.
        cell: name of the comparison.
        family: number of claims that are corrected together.
    """
    sample, answers = (
        _two_samples(test, rows) if isinstance(test, Equivalence) else _one_sample(test, rows)
    )
    needed = [(_seeds_needed(sample, answer, test.level / family), answer) for answer in answers]
    seeds, answer = min(needed, key=lambda pair: pair[0])
    decision = answer.decision if seeds <= MOST_SEEDS else "open"
    return Plan(cell, sample.spread, decision, seeds)


def _one_sample(test: Statistical, rows: pd.DataFrame) -> tuple[Sample, list[Answer]]:
    assert isinstance(test, Interval)
    values = rows["value"].to_numpy(np.float64)
    known = known_ends(rows) if test.center == "median" else None
    sample = Sample(float(values.mean()), float(values.std(ddof=1)), known_ends=known)
    matters = test.smallest_effect or 0
    bounds = [(1, test.lower), (-1, test.upper)]
    ends = [Edge(sign, bound + sign * matters) for sign, bound in bounds if bound is not None]
    opposite = [Edge(-end.sign, end.place - 2 * end.sign * matters) for end in ends]
    answers = [Answer("holds", ends), *(Answer("fails", [end], len(ends)) for end in opposite)]
    if matters:
        (needed,), (beyond,) = ends, opposite
        within = [Edge(-needed.sign, needed.place), Edge(-beyond.sign, beyond.place)]
        answers += [Answer("none", within), Answer("less", within[:1])]
    return sample, answers


def _two_samples(test: Equivalence, rows: pd.DataFrame) -> tuple[Sample, list[Answer]]:
    ours, paper = (
        rows.loc[rows["sample"] == name, "value"].to_numpy(np.float64) for name in ("ours", "paper")
    )
    spread = pooled_std(ours, paper)
    margin = test.margin * spread
    answers = [Answer("holds", [Edge(1, -margin), Edge(-1, margin)])]
    answers += [Answer("fails", [Edge(sign, sign * margin)], 2) for sign in (1, -1)]
    difference = float((ours - paper.mean()).mean())
    return Sample(difference, spread, others=paper.size), answers


def _seeds_needed(sample: Sample, answer: Answer, level: float) -> int:
    """Return the least number of seeds with which all tests pass; `MOST_SEEDS` + 1 if none is."""
    power = _sign_test_power if sample.known_ends else _t_test_power
    missed = sum(1 - power(sample, edge, level / answer.ways) for edge in answer.edges)
    enough = SEED_NUMBERS[1 - missed >= PROBABILITY]
    return int(enough[0]) if enough.size else MOST_SEEDS + 1


def _t_test_power(sample: Sample, edge: Edge, level: float) -> Floats:
    """Return the probability that a t test passes, by number of seeds."""
    inside = edge.sign * (sample.mean - edge.place)
    if inside <= 0 or sample.spread == 0:
        return np.zeros(SEED_NUMBERS.size)
    others = sample.others
    error = np.sqrt(1 / SEED_NUMBERS + (1 / others if others else 0))
    dof = SEED_NUMBERS - 1 + max(others - 1, 0)
    critical = -scipy.special.stdtrit(dof, level)
    # Beyond some distance the noncentral distribution is not computed, and the test always passes.
    distance = np.minimum(inside / sample.spread / error, 30)
    return np.asarray(scipy.stats.nct.sf(critical, dof, distance))


def _sign_test_power(sample: Sample, edge: Edge, level: float) -> Floats:
    """Return the probability that a sign test passes, by number of seeds."""
    assert sample.known_ends is not None
    low, high = sample.known_ends
    inside = np.count_nonzero(low > edge.place if edge.sign > 0 else high < edge.place)
    share = (inside + 0.5) / (low.size + 1)
    needed = scipy.stats.binom.isf(level, SEED_NUMBERS, 0.5) + 1
    return np.asarray(scipy.stats.binom.sf(needed - 1, SEED_NUMBERS, share))


def plan_open_claims(study: StudyJobs, reference: Bundle) -> dict[str, list[Plan]]:
    """Return the plans of all open comparisons, by number of the claim.

    Args:
        study: the study of the claims.
        reference: its evidence and verdicts.
    """
    evidence, verdicts = reference.tables[EVIDENCE], reference.verdicts
    found = {}
    for name, claim in study.claims.items():
        verdict, test = verdicts.get(name), claim.test
        if verdict is None or not isinstance(test, Statistical):
            continue
        undecided = [item.cell for item in verdict.counted if item.decision == "open"]
        if verdict.verdict == "not tested" or not undecided:
            continue
        own = evidence[evidence["claim"] == name]
        family = sum(1 for other in study.family(name) if other in verdicts)
        found[name] = [
            plan_comparison(test, own[own["cell"] == cell], cell, family) for cell in undecided
        ]
    return found


def claim_rows(
    study: StudyJobs,
    planned: Mapping[str, list[Plan]],
    verdicts: Mapping[str, Verdict],
    records: Records,
) -> Iterator[tuple[str, ...]]:
    """Yield one row of `CLAIM_HEADER` per claim that is open, as a whole or in part.

    The comparison that needs most seeds stands for the claim.

    Args:
        study: the study of the claims.
        planned: plans by claim, see `plan_open_claims`.
        verdicts: verdicts in its reference, by number of the claim.
        records: recorded times of jobs elsewhere.
    """
    for name, each in planned.items():
        verdict, worst = verdicts[name], _costliest_plan(each)
        yield (
            study.study.name, name, verdict.verdict, worst.comparison, number(worst.spread),
            str(verdict.seeds), *_cells_of_need(study, verdict, worst, records),
        )  # fmt: skip


def _costliest_plan(planned: list[Plan]) -> Plan:
    """Return the plan of a claim that needs most seeds."""
    return max(planned, key=lambda each: each.seeds)


def sentence_rows(
    study: StudyJobs,
    planned: Mapping[str, list[Plan]],
    verdicts: Mapping[str, Verdict],
    records: Records,
) -> Iterator[tuple[str, ...]]:
    """Yield one row of `SENTENCE_HEADER` per sentence of an abstract whose mark would change.

    Args:
        study: the study of the abstract.
        planned: plans by claim, see `plan_open_claims`.
        verdicts: verdicts in its reference, by number of the claim.
        records: recorded times of jobs elsewhere.
    """
    decided = {
        name: _decided_verdict(study, verdicts[name], each) for name, each in planned.items()
    }
    registry = study.registry
    for abstract in registry.abstracts:
        now = mark_sentences(registry, abstract, verdicts)
        then = mark_sentences(registry, abstract, {**verdicts, **decided})
        for before, after in zip(now, then, strict=True):
            if before.mark != after.mark:
                changed = [
                    name
                    for name in before.sentence.claims
                    if name in decided and decided[name].verdict != verdicts[name].verdict
                ]
                needs = [
                    _cells_of_need(study, verdicts[name], _costliest_plan(planned[name]), records)[
                        1:
                    ]
                    for name in changed
                ]
                yield (
                    study.study.name, without_latex(before.sentence.words), str(before.mark),
                    str(after.mark), ", ".join(changed), *map(", ".join, zip(*needs, strict=True)),
                )  # fmt: skip


def _decided_verdict(study: StudyJobs, verdict: Verdict, planned: list[Plan]) -> Verdict:
    """Return the verdict on a claim with the decisions that more seeds would give."""
    said = {each.comparison: each.decision for each in planned}
    comparisons = [
        item.model_copy(update={"decision": said.get(item.cell, item.decision)})
        for item in verdict.comparisons
    ]
    test = study.claims[verdict.claim].test
    assert test is not None
    changes = {"comparisons": comparisons, "verdict": outcome(test, comparisons)}
    return verdict.model_copy(update=changes)


def _cells_of_need(
    study: StudyJobs, verdict: Verdict, found: Plan, records: Records
) -> tuple[str, str, str]:
    """Return decision, number of seeds and minutes of a plan, in words."""
    if found.spread == 0:
        return "open", "none: its seeds do not differ", ""
    if found.decision == "open":
        return "open", f"more than {MOST_SEEDS}: their mean lies near the edge of what is asked", ""
    minutes = _minutes_of_seeds(study, verdict, found.seeds, records)
    told = "not recorded" if minutes is None else number(max(minutes, 0), 2)
    return ANSWERS[found.decision], str(found.seeds), told


def _minutes_of_seeds(
    study: StudyJobs, verdict: Verdict, seeds: int, records: Records
) -> float | None:
    """Return the processor minutes of the missing seeds of all experiments behind a claim.

    They are the minutes of training and of the metrics; none if one of them is not known.
    """
    sources = study.sources(verdict.claim)
    jobs = [(name, f"metrics/{name}/{metric}") for name, metric in sources]
    for name in dict.fromkeys(name for name, _ in sources):
        jobs += [(name, f"runs/{name}/{run}") for run in study.experiments[name].runs]
    total = 0.0
    for name, job in jobs:
        took = records.told(f"logs/{study.study.name}/{job}")
        if took is None:
            return None
        total += took / len(study.seeds(name))
    return (seeds - verdict.seeds) * total / 60


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
    evidence = {claim: files.evidence[claim] for claim in paths}
    tables = {claim: read_table(Path(path), jobs.key(path)) for claim, path in evidence.items()}
    verdicts = {claim: read_verdict(Path(path)) for claim, path in paths.items()}
    return Bundle({EVIDENCE: collect_evidence(tables)}, verdicts, {})


def _is_judged_here(study: StudyJobs) -> bool:
    return all(Path(path).is_file() for path in study.files.verdicts.values())


@click.command(help=__doc__)
@click.option(
    "--study",
    "names",
    multiple=True,
    help="Study; if left out, those of the overlays, or all that have a reference.",
)
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="Project's folder.")
@click.option(
    "--configfile", "overlays", multiple=True, type=click.Path(path_type=Path),
    help="An overlay, as Snakemake takes it; several are merged in their order.",
)  # fmt: skip
def main(names: tuple[str, ...], root: Path, overlays: tuple[Path, ...]) -> None:
    """Print the tables as Markdown."""
    studies = find_studies()
    changes = read_overlays(overlays)
    jobs = Jobs.of(configure(changes, studies), studies)
    # Of the default settings.
    records = Records() if overlays else Records.of(studies.values())
    found: list[tuple[str, ...]] = []
    changed: list[tuple[str, ...]] = []
    kept = find_references(root)
    judged = [name for name, study in jobs.studies.items() if _is_judged_here(study)]
    changed_here = [name for name in changes if name in studies]
    chosen = dict.fromkeys(names or changed_here or kept or judged)
    if not chosen:
        folder = reference_folder(root, "")
        raise InputError(
            f"{folder}: has no reference, and no study has all its verdicts here; name the"
            " project's folder with --root, or run `snakemake verdicts` first"
        )
    for name in chosen:
        if name not in jobs.studies:
            raise InputError(unknown_key(name, [*jobs.studies], "study", "studies"))
        study = jobs.studies[name]
        is_kept = name in kept and not overlays
        reference = read_judged_reference(root, study) if is_kept else read_results(jobs, name)
        planned = plan_open_claims(study, reference)
        found += claim_rows(study, planned, reference.verdicts, records)
        changed += sentence_rows(study, planned, reference.verdicts, records)
    if not found:
        click.echo(f"No comparison of {', '.join(chosen)} is open: no seeds are missing.")
        return
    for line in (*table(CLAIM_HEADER, found), "", *table(SENTENCE_HEADER, changed)):
        click.echo(line)
