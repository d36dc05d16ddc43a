r"""Compare results with the reference: do they still come out as they did?

\b
hash    the reference is whole, its verdicts follow from its evidence, settings and code are those
        that it was made with, and what is computed here equals it; takes seconds
figure  computes every figure and verdict again whose metrics are here, then as hash
seed    computes one seed of every experiment from nothing, drawn at random
full    computes everything from nothing, in a folder of its own
"""

import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pandas as pd

from replication.base.commit import run_git
from replication.base.errors import InputError
from replication.base.tables import write_csv
from replication.base.yaml_files import read_yaml
from replication.bundle.bundle import (
    EVIDENCE,
    EVIDENCE_COLUMNS,
    FINGERPRINTS,
    MANIFEST,
    PAPER_SCALE,
    Bundle,
    Expected,
    read_bundle,
    reference_folder,
    run_keys,
    write_bundle,
)
from replication.bundle.computed import expected_bundle
from replication.bundle.judged import judge_again, tests_by_family
from replication.judge.scorecard import counts as totals
from replication.judge.scorecard import scorecard
from replication.plan.configuration import configure
from replication.plan.other_settings import differing_keys
from replication.plan.study_jobs import StudyJobs
from replication.plan.study_steps import LONGEST_NAME
from replication.study.studies import find_studies
from replication.verify.changes import print_changes
from replication.verify.comparison import compare_with_reference, missing_parts, texts_among_numbers
from replication.verify.differences import Difference
from replication.verify.issue import Verified, issue_receipt
from replication.verify.new_reference import write_results
from replication.verify.project import Project, names_of_counts, tolerances_of_study
from replication.verify.receipt import Level, Signature, write_receipt
from replication.verify.recomputing import Draw, compute_results
from replication.verify.sentences import READABLE, difference_sentences

MOST_PRINTED = 30
"""Largest number of differences that are printed; the file has all of them."""
MOST_KEYS = 10
"""Largest number of an overlay's keys that are printed."""
MOST_PATHS = 3
"""Largest number of files of a command that is printed."""


@click.command(help=(__doc__ or "").replace(r"\b", "\b"))
@click.option(
    "--study", "names", multiple=True, help="Study to verify; without it, those of a plain run."
)
@click.option("--level", type=click.Choice(["hash", "figure", "seed", "full"]), default="hash")
@click.option("--draw", type=int, help="Number that repeats a random draw.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    help="Minutes of one processor that level seed may take, by recorded times; experiments are"
    " drawn at random. Without it, all experiments.",
)
@click.option(
    "--workflow-profile",
    "profile",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Snakemake profile that computes, such as profiles/slurm; for levels above hash.",
)
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="Project's folder.")
@click.option(
    "--configuration", type=click.Path(path_type=Path), help="File of the merged settings."
)
@click.option("--output", type=click.Path(path_type=Path), default=Path("results/differences.csv"))
@click.option("--found", type=click.Path(path_type=Path), help="New folder for the findings.")
@click.option("--receipt", type=click.Path(path_type=Path), help="New file for the receipt.")
@click.option("--by", help="Your name, ORCID or URL, for the receipt.")
@click.option(
    "--since",
    metavar="COMMIT",
    help="List what the references changed since a commit of git, and compare nothing else.",
)
@click.option(
    "--write", is_flag=True, help="Keep the results as the new reference, and compare nothing."
)
@click.option("--partly", is_flag=True, help="With --write: keep the rest of the old reference.")
@click.option(
    "--restamp",
    "restamped",
    is_flag=True,
    help="With --write: compute nothing, and keep all numbers with the present settings and code.",
)
def main(
    names: tuple[str, ...],
    level: Level,
    draw: int | None,
    minutes: float | None,
    profile: Path | None,
    root: Path,
    configuration: Path | None,
    output: Path,
    found: Path | None,
    receipt: Path | None,
    by: str | None,
    since: str | None,
    write: bool,
    partly: bool,
    restamped: bool,
) -> None:
    """Print the scorecard and every difference; fail if there is one."""
    for option, new in (("--found", found), ("--receipt", receipt)):
        _check_writable(new, option, is_new=True)
    # Level hash may run where nothing can be written.
    _check_writable(None if level == "hash" and not output.is_dir() else output, "--output")
    _check_written(write, partly, restamped)
    if profile and (write or level == "hash"):
        raise InputError("--workflow-profile: nothing is computed here; name a --level above hash")
    signature = Signature.parse({"by": by}, "--by")
    if since:
        print_changes(root, since, names, output)
        return
    studies = find_studies()
    whole = configure({}, studies)
    if configuration:
        whole = type(whole).parse(read_yaml(configuration), str(configuration))
    project = Project(root, studies, whole, profile)
    chosen = [name for name, study in studies.items() if study.is_default]
    if names:
        chosen = project.jobs.selected_studies([*names])
    if receipt and (write or len(chosen) != 1):
        raise InputError("--receipt: a receipt is about one study; name it with --study")
    if receipt and _is_second(project.reference_folder(chosen[0])):
        raise InputError("--receipt: is about the default settings; leave it out at another scale")
    if write:
        for name in chosen:
            write_results(project, name, partly, restamped)
        return
    drawn = _announce_draw(level, draw, minutes)
    rows: list[tuple[Any, ...]] = []
    for name in chosen:
        if len(chosen) > 1:
            click.echo(f"\n{name}\n")
        verified = _compare_study(project, name, level, drawn, found and found / name)
        rows += [(name, *difference) for difference in verified.differences]
    if receipt:
        told = issue_receipt(verified, level, signature.by, root, project.jobs, project.default)
        write_receipt(receipt, told)
        click.echo(f"The receipt is {receipt}")
    _refuse_differences(rows, output)


def _announce_draw(level: Level, seed: int | None, minutes: float | None) -> Draw:
    """Return the draw of a level, and print it if the level is `seed`.

    Raises:
        InputError: if there is a limit at another level.
    """
    if minutes and level != "seed":
        raise InputError("--minutes: only --level seed takes it; other levels take all experiments")
    draw = Draw(random.SystemRandom().randrange(10**6) if seed is None else seed, minutes)
    if level == "seed":
        which = "experiments" if minutes else "every experiment"
        click.echo(f"One seed of {which}, drawn with --draw {draw.seed}")
    return draw


def _check_writable(path: Path | None, option: str, is_new: bool = False) -> None:
    """Refuse, before anything is computed, a path that cannot be written in the end."""
    if path is None:
        return
    if is_new and os.path.lexists(path):
        raise InputError(f"{path}: is there already; delete it or name another one")
    folder = next(above for above in path.absolute().parents if above.exists())
    is_named = len(path.name) <= LONGEST_NAME and not path.is_dir()
    if not is_named or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(f"{path}: cannot be written; name another place with {option}")


def _refuse_differences(rows: list[tuple[Any, ...]], output: Path) -> None:
    """Refuse differences from the reference, after all of them are written.

    Without one, only a file of an earlier verification is written.
    """
    number = f"{len(rows)} difference{'s' * (len(rows) != 1)} from the reference"
    if rows or output.exists():
        try:
            write_csv(output, pd.DataFrame(rows, columns=["study", *Difference._fields]))
        except InputError as error:
            raise InputError(f"{number}; {error.message}, or name another --output") from None
    if rows:
        raise InputError(f"{number}; all are in {output}")


def _check_written(write: bool, partly: bool, restamped: bool) -> None:
    """Refuse a way to write a reference where none is written, and two ways at once."""
    if partly and restamped:
        raise InputError("--restamp: keeps the whole reference; leave out --partly")
    if (partly or restamped) and not write:
        option = "--partly" if partly else "--restamp"
        raise InputError(f"{option}: says how a reference is written; add --write")


def _compare_study(
    project: Project, study: str, level: str, draw: Draw, keep: Path | None
) -> Verified:
    """Compare a study with its reference, and print the differences."""
    folder = project.reference_folder(study)
    if not (is_second := _is_second(folder)):
        folder = reference_folder(project.root, study)
    if not folder.is_dir():
        raise InputError(
            f"{study} has no reference in {folder.resolve()}; change to the folder of the"
            f" repository, or make it with `snakemake reference --config study={study}`"
        )
    if not (is_second or (folder / MANIFEST).is_file()):
        raise InputError(
            f"{folder}: is no whole reference, as {MANIFEST} is missing; restore it with git, or"
            f" make it again with `snakemake reference --config study={study}`"
        )
    reference, changed = read_bundle(folder)
    click.echo(_compared_with(project.root, folder))
    if not project.is_default(study):
        _announce_other_settings(project, study)
    current, refused = compute_results(project, study, level, draw)
    jobs = project.jobs.studies[study]
    default = jobs if is_second else project.default.studies[study]
    whole, due = expected_bundle(default), expected_bundle(jobs)
    if is_second:
        whole = whole.within(reference)
    if project.is_default(study):
        runs = reference.tables[FINGERPRINTS]
        due = due._replace(runs=runs[run_keys(runs)])
    else:
        current, due = (
            _without_additions(current, reference),
            _expected_by_default_too(due, whole),
        )
    if keep:
        _write_found_results(keep, current)
    beside = default.registry.beside
    again = judge_again(reference.tables[EVIDENCE], tests_by_family(default), beside)
    texts = list(texts_among_numbers(current, reference))
    tables = {
        name: table
        for name, table in current.tables.items()
        if name not in {text.place for text in texts}
    }
    rows = [
        *missing_parts("reference", reference, whole),
        *(Difference("results", path, READABLE, why) for path, why in refused.items()),
        *texts,
        *compare_with_reference(
            replace(current, tables=tables),
            reference,
            changed,
            again,
            names_of_counts(jobs),
            tolerances_of_study(jobs),
        ),
        *missing_parts(
            "results", current, due if level == "full" else _expected_of_found(due, current, level)
        ),
    ]
    _print_report(default, current, reference, rows, level)
    if level in {"hash", "figure"} and project.is_default(study):
        for sentence in _sentences_on_absent(jobs):
            click.echo(sentence)
    return Verified(study, current, reference, rows)


def _is_second(folder: Path) -> bool:
    """Say whether a folder has a second reference."""
    return folder.name == PAPER_SCALE and folder.is_dir()


def _compared_with(root: Path, folder: Path) -> str:
    """Return in words which reference counts: the one in the folder, whether git has it or not."""
    place = ("--", str(folder.resolve()), f":(exclude){folder.resolve() / PAPER_SCALE}")
    if not run_git(root, "status", "--porcelain", *place):
        return f"Compared with {folder}"
    is_kept = run_git(root, "log", "--max-count=1", "--format=%h", *place)
    state = "it was changed after its last commit" if is_kept else "git has no commit of it yet"
    return f"Compared with {folder}, as it lies there: {state}"


def _announce_other_settings(project: Project, study: str) -> None:
    """Print the keys of a study whose values are not the default ones."""
    now, before = (
        each.configuration.section(study).model_dump(mode="json")
        for each in (project.jobs, project.default)
    )
    keys = [key for key, *_ in differing_keys(now, before, study)]
    more = f" and {len(keys) - MOST_KEYS} more" if len(keys) > MOST_KEYS else ""
    click.echo(f"Settings that differ from the defaults: {', '.join(keys[:MOST_KEYS])}{more}")


def _without_additions(current: Bundle, reference: Bundle) -> Bundle:
    """Return the results without the parts that the reference lacks, as an overlay adds them."""
    digests = current.depends["settings"]
    added = [name for name in digests if name not in reference.depends["settings"]]
    if shown := [name for name in added if not name.startswith("test ")]:
        click.echo(f"Not in the reference: {', '.join(shown)}")
    known = {name: digest for name, digest in digests.items() if name not in added}
    tables = {name: table for name, table in current.tables.items() if name in reference.tables}
    for name, kind in ((FINGERPRINTS, "experiment"), (EVIDENCE, "claim")):
        if name in tables:
            keep = [f"{kind} {part}" not in added for part in tables[name][kind]]
            tables[name] = tables[name][keep].reset_index(drop=True)
            if tables[name].empty:
                del tables[name]
    verdicts = {
        claim: verdict
        for claim, verdict in current.verdicts.items()
        if f"claim {claim}" not in added
    }
    return Bundle(tables, verdicts, current.depends | {"settings": known})


def _expected_by_default_too(due: Expected, default: Expected) -> Expected:
    """Return the expected parts that the default configuration has, too."""
    runs = due.runs[due.runs["experiment"].isin(default.runs["experiment"])]
    return Expected(due.tables & default.tables, due.claims & default.claims, runs)


def _expected_of_found(due: Expected, current: Bundle, level: str) -> Expected:
    """Return the expected runs of the experiments of which some runs were found.

    At the level `seed` none is expected, as its single seeds are drawn.
    """
    there = current.tables.get(FINGERPRINTS, due.runs.head(0))["experiment"]
    begun = due.runs["experiment"].isin(there) & (level != "seed")
    return Expected(set(), set(), due.runs[begun])


def _sentences_on_absent(jobs: StudyJobs) -> Iterator[str]:
    """Yield a sentence on each kind of files that are not here, with the command that makes them.

    Evidence without a verdict is not named: the verdict's command makes both.
    """
    study, files = jobs.study.name, jobs.files
    judged = {name for name, path in files.verdicts.items() if Path(path).is_file()}
    evidence = {name: path for name, path in files.evidence.items() if name in judged}
    everything = f"python -m replication verify --level full --study {study}"
    for kind, paths in (
        ("verdicts", files.verdicts),
        ("tables of evidence", evidence),
        ("tables of fingerprints of runs", files.fingerprints),
    ):
        absent = [path for path in paths.values() if not Path(path).is_file()]
        command = f"snakemake {' '.join(absent)}" if len(absent) <= MOST_PATHS else everything
        if kind == "verdicts":
            command = f"snakemake verify --config study={study}"
        if absent:
            yield (
                f"Not compared, as they are not here: {len(absent)} of {len(paths)} {kind};"
                f" `{command}` makes them"
            )


def _write_found_results(folder: Path, current: Bundle) -> None:
    """Write the results, with an empty table in place of one that was not computed."""
    empty = {
        EVIDENCE: pd.DataFrame(columns=list(EVIDENCE_COLUMNS)),
        FINGERPRINTS: pd.DataFrame(columns=["seed", "digest", "experiment"]),
    }
    write_bundle(folder, replace(current, tables=empty | current.tables))


def _print_report(
    jobs: StudyJobs, current: Bundle, reference: Bundle, rows: list[Difference], level: str
) -> None:
    kept = len(reference.verdicts.keys() - current.verdicts.keys())
    click.echo(f"Verdicts: {len(current.verdicts)} computed here, {kept} of the reference.\n")
    card = scorecard(jobs.registry, list((reference.verdicts | current.verdicts).values()))
    # Single seeds decide no claim: all verdicts are those of the reference.
    for claim in card.to_dict("records") if level != "seed" else ():
        click.echo(f"{claim['claim']:5} {claim['verdict']:13} {claim['summary']}")
    summary = (f"{number} {name}" for name, number in totals(card).items() if number)
    click.echo(f"\n{', '.join(summary)}")
    for kind, mine in current.depends["machine"].items():
        theirs = reference.depends["machine"].get(kind)
        if mine != theirs:
            click.echo(f"{kind}: {mine} here, {theirs} in the reference")
    if not rows and (current.tables or current.verdicts):
        counts = {
            "figure{}": sum(name.startswith("figures/") for name in current.tables),
            "verdict{}": len(current.verdicts),
            "fingerprint{} of runs": len(current.tables.get(FINGERPRINTS, ())),
        }
        found = ", ".join(f"{n} {name.format('s' * (n > 1))}" for name, n in counts.items() if n)
        same = current.depends["machine"] == reference.depends["machine"]
        within = "" if same else ", within the tolerance across processors"
        click.echo(f"Equal to the reference: {found}{within}.")
    elif not rows:
        click.echo("Nothing is computed here; the reference itself is whole.")
    for sentence in difference_sentences(rows)[:MOST_PRINTED]:
        click.echo(sentence, err=True)


if __name__ == "__main__":
    main()
