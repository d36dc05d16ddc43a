r"""Compare results with the reference: do they still come out as they did?

\b
hash    the reference is whole, its verdicts follow from its evidence, settings and code are those
        that it was made with, and what is computed here equals it; takes seconds
seed    computes one seed of every experiment from nothing, drawn at random
full    computes everything from nothing, in a folder of its own
"""

import math
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import click
import pandas as pd
import yaml

from replication.base.errors import InputError
from replication.base.storage import write_csv, write_text
from replication.base.strict import read_yaml
from replication.bundle.bundle import (
    EVIDENCE,
    FINGERPRINTS,
    PAPER_SCALE,
    Bundle,
    combine,
    read_bundle,
    run_keys,
    write_bundle,
)
from replication.bundle.computed import dependencies, due_runs, read_computed, settings_digests
from replication.bundle.judged import judge_study, with_paper_scale
from replication.judge.scorecard import counts as totals
from replication.judge.scorecard import scorecard
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs, refuse_other_settings
from replication.plan.study_jobs import StudyJobs
from replication.study.studies import find_studies
from replication.verify.comparison import (
    READABLE,
    compare_with_reference,
    difference_sentence,
    missing_parts,
    tolerances_of_study,
)
from replication.verify.differences import Difference
from replication.verify.receipts import issue_receipt
from replication.verify.reference import Project, write_reference

Level = Literal["hash", "seed", "full"]
OUTPUT = Path("results/differences.csv")
MOST_PRINTED = 30
"""Largest number of differences that are printed; the file has all of them."""


@click.command(help=(__doc__ or "").replace(r"\b", "\b"))
@click.option(
    "--study", "names", multiple=True, help="Study to verify; without it, those of a plain run."
)
@click.option("--level", type=click.Choice(["hash", "seed", "full"]), default="hash")
@click.option("--draw", type=int, help="Number that repeats the random draw of level seed.")
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
@click.option("--found", type=click.Path(path_type=Path), help="New folder for the findings.")
@click.option("--receipt", type=click.Path(path_type=Path), help="File for the receipt.")
@click.option("--by", help="Your name, ORCID or URL, for the receipt.")
@click.option(
    "--write", is_flag=True, help="Keep the results as the new reference, and compare nothing."
)
@click.option("--partly", is_flag=True, help="With --write: keep the rest of the old reference.")
@click.option(
    "--restamp",
    is_flag=True,
    help="With --write: compute nothing, and keep all numbers with the present settings and code.",
)
def main(
    names: tuple[str, ...],
    level: Level,
    draw: int | None,
    profile: Path | None,
    root: Path,
    configuration: Path | None,
    found: Path | None,
    receipt: Path | None,
    by: str | None,
    write: bool,
    partly: bool,
    restamp: bool,
) -> None:
    """Print the scorecard and every difference; fail if there is one."""
    if profile if level == "hash" else write or configuration:
        raise InputError(
            "--level: seed and full compute by the default settings, where --workflow-profile says;"
            " hash, --write and --configuration compute nothing"
        )
    known = find_studies()
    wanted = [*names] or [name for name, study in known.items() if study.is_default]
    studies = {name: study for name, study in known.items() if name in wanted}
    # Settings of results are those of all studies, and so are suggestions for an unknown name.
    if configuration or studies.keys() != {*wanted}:
        studies = known
    default = configure({}, studies)
    whole = default
    if configuration:
        whole = type(default).parse(read_yaml(configuration), str(configuration))
    jobs = Jobs.of(whole, studies, with_paper_scale(root))
    of_default = jobs if whole == default else Jobs.of(default, studies)
    project = Project(root, jobs, of_default)
    chosen = jobs.selected_studies(wanted)
    if write:
        for name in chosen:
            write_reference(project, name, partly=partly, restamp=restamp)
        return
    if receipt and len(chosen) != 1:
        raise InputError("--receipt: a receipt is about one study; name it with --study")
    seed = random.SystemRandom().randrange(10**6) if draw is None else draw
    if level == "seed":
        click.echo(f"One seed of every experiment, drawn with --draw {seed}")
    rows: list[tuple[str, Difference]] = []
    for name in chosen:
        click.echo(f"\n{name}\n")
        folder = project.reference_folder(name)
        # Before hours of computing.
        kept = read_bundle(folder)
        click.echo(f"Compared with {folder}")
        results = _results(jobs, name, level, seed, profile, root)
        current, reference, differences = _compare_study(project, name, level, results, kept)
        rows += [(name, difference) for difference in differences]
        if found:
            tables = Bundle().tables | current.tables
            # A new folder: writing removes what a bundle does not have.
            (found / name).mkdir(parents=True)
            write_bundle(found / name, replace(current, tables=tables))
        if receipt:
            told = issue_receipt(project, name, level, by, current, reference, differences)
            write_text(receipt, told.model_dump_json(indent=1) + "\n")
            click.echo(f"The receipt is {receipt}")
    # Without a difference, level hash may run where nothing can be written.
    if rows or OUTPUT.exists():
        table = [(name, *difference) for name, difference in rows]
        write_csv(OUTPUT, pd.DataFrame(table, columns=["study", *Difference._fields]))
    if rows:
        number = f"{len(rows)} difference{'s' * (len(rows) != 1)}"
        raise InputError(f"{number} from the reference; all are in {OUTPUT}")


def _compare_study(
    project: Project,
    name: str,
    level: Level,
    results: tuple[Bundle, dict[str, str]],
    kept: tuple[Bundle, list[str]],
) -> tuple[Bundle, Bundle, list[Difference]]:
    """Return the results of a study, its reference and all differences; print the scorecard."""
    (current, refused), (reference, changed) = results, kept
    is_second = project.reference_folder(name).name == PAPER_SCALE
    study = project.jobs.studies[name]
    default = study if is_second else project.default.studies[name]
    parts = [*settings_digests(project.default, name)]
    if not project.is_default(name):
        current = _without_additions(current, reference)
    runs = reference.tables[FINGERPRINTS]
    due = due_runs(study).merge(runs[run_keys(runs)])
    # Of single seeds that are drawn none is due.
    due = due.head(0) if level == "seed" else due
    rows = [
        *(Difference("reference", path, "as it was made", "changed by hand") for path in changed),
        *missing_parts("reference", reference, [] if is_second else parts, due_runs(default)),
        *(Difference("results", path, READABLE, why) for path, why in refused.items()),
        *compare_with_reference(
            current,
            reference,
            judge_study(default, reference.tables[EVIDENCE]),
            *tolerances_of_study(study),
        ),
        *missing_parts("results", current, parts if level == "full" else [], due),
    ]
    _print_report(default, current, reference, rows, level)
    return current, reference, rows


def _without_additions(current: Bundle, reference: Bundle) -> Bundle:
    """Return the results without the parts that the reference lacks, as an overlay adds them."""
    known, now = reference.depends["settings"], current.depends["settings"]
    if added := [part for part in now if part not in known and not part.startswith("test ")]:
        click.echo(f"Not in the reference: {', '.join(added)}")
    sides = {part: current for part in current.parts if part in known}
    settings = {part: digest for part, digest in now.items() if part in known}
    return Bundle(
        {path: table for path, table in combine(sides, current).items() if len(table)},
        {claim: each for claim, each in current.verdicts.items() if f"claim {claim}" in known},
        current.depends | {"settings": settings},
    )


def _print_report(
    study: StudyJobs, current: Bundle, reference: Bundle, rows: list[Difference], level: str
) -> None:
    """Print the scorecard, the parts that were compared, and the first differences."""
    card = scorecard(study.registry, [*(reference.verdicts | current.verdicts).values()])
    # Single seeds decide no claim: all verdicts are those of the reference.
    for claim in card.to_dict("records") if level != "seed" else ():
        click.echo(f"{claim['claim']:5} {claim['verdict']:13} {claim['summary']}")
    click.echo("\n" + ", ".join(f"{n} {name}" for name, n in totals(card).items() if n))
    now, before = current.depends["machine"], reference.depends["machine"]
    for kind in now:
        if now[kind] != before.get(kind):
            click.echo(f"{kind}: {now[kind]} here, {before.get(kind)} in the reference")
    absent = [path for path in study.files.all if not Path(path).is_file()]
    if level == "hash" and absent:
        click.echo(
            f"{len(absent)} of {len(study.files.all)} files are not here, and not compared; `python"
            f" -m replication verify --level full --study {study.study.name}` computes all of them"
        )
    figures = sum("/" in path for path in current.tables)
    runs = len(current.tables.get(FINGERPRINTS, ()))
    found = f"{figures} figures, {len(current.verdicts)} verdicts, {runs} fingerprints of runs"
    found += ", within the tolerance across processors" * (now != before)
    if not (current.tables or current.verdicts):
        found = "nothing is computed here; the reference itself is whole"
    if not rows:
        click.echo(f"Equal to the reference: {found}.")
    for difference in sorted(rows, key=lambda each: math.isfinite(each.difference))[:MOST_PRINTED]:
        click.echo(difference_sentence(difference), err=True)


def _results(
    jobs: Jobs, study: str, level: Level, draw: int, profile: Path | None, root: Path
) -> tuple[Bundle, dict[str, str]]:
    """Return the results at a level, and by path the reason why a file cannot be used.

    Levels above `hash` compute by the default settings in a new folder: all, or one seed of each
    experiment, drawn by a random number.
    """
    if level == "hash":
        refuse_other_settings(jobs, [study])
        return read_computed(jobs, study, Path())
    overlay, made = {}, jobs
    if level == "seed":
        own = jobs.studies[study]
        overlay = {study: own.study.one_seed(own.settings, random.Random(draw))}
        studies = {name: each.study for name, each in jobs.studies.items()}
        made = Jobs.of(configure(overlay, studies), studies)
    files = made.studies[study].files
    # Single seeds decide no claim.
    targets = files.all if level == "full" else [*files.fingerprints.values()]
    # Every machine of a cluster sees a folder below `results/`; they do not share `/tmp`.
    shared = Path("results").absolute() if profile else None
    if shared:
        shared.mkdir(exist_ok=True)
    # A job that was cancelled may still write.
    with TemporaryDirectory(prefix="verify-", dir=shared, ignore_cleanup_errors=True) as folder:
        file = Path(folder, "configuration.yaml")
        file.write_text(yaml.safe_dump(overlay, sort_keys=False), encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", *targets, "--quiet", "progress"]
        command += ["--snakefile", str(root / "Snakefile")]
        command += ["--directory", folder, "--configfile", str(file)]
        if profile:
            command += ["--workflow-profile", str(profile.resolve())]
            # Its commands may name files there.
            Path(folder, "profiles").symlink_to((root / "profiles").absolute())
        if _wait_for_snakemake(subprocess.Popen(command)):
            raise InputError("computing the results failed, see above")
        found, refused = read_computed(made, study, Path(folder))
    return replace(found, depends=dependencies(jobs, study)), refused


def _wait_for_snakemake(process: "subprocess.Popen[bytes]") -> int:
    """Return the exit status of Snakemake, which gets a Ctrl-C, too, and then cancels its jobs.

    A second Ctrl-C ends it at once.
    """
    try:
        return process.wait()
    except KeyboardInterrupt:
        try:
            process.wait()
        except KeyboardInterrupt:
            process.terminate()
        raise


if __name__ == "__main__":
    main()
