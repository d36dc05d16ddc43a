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
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import click
import pandas as pd
import yaml

from replication.base.errors import InputError
from replication.base.tables import write_csv
from replication.base.yaml_files import read_yaml
from replication.judge.scorecard import counts as totals
from replication.judge.scorecard import scorecard
from replication.plan.configuration import Configuration, configure, merged
from replication.plan.jobs import Jobs
from replication.plan.study_jobs import StudyJobs
from replication.plan.tasks import LONGEST_NAME
from replication.study.contract import Study, find_studies
from replication.verify.collect import (
    collect_results,
    dependencies,
    expected_reference,
    names_of_counts,
    settings_digests,
    tests_by_family,
    texts_among_numbers,
    tolerances_of_study,
)
from replication.verify.comparison import compare_with_reference, missing_parts
from replication.verify.differences import Difference
from replication.verify.issue import Verified, issue_receipt
from replication.verify.receipt import Level, Signature, write_receipt
from replication.verify.reference import (
    EVIDENCE,
    EVIDENCE_COLUMNS,
    FINGERPRINTS,
    Expected,
    Reference,
    judge_again,
    read_reference,
    reference_folder,
    run_keys,
    write_reference,
)
from replication.verify.reference_summary import (
    ReferenceInShort,
    read_in_short,
    reference_digest,
)
from replication.verify.renewal import renew_reference
from replication.verify.reproductions import record_earlier
from replication.verify.sentences import READABLE, difference_sentences

JUDGING_STAGES = ("table", "evidence", "verdict")
"""What makes figures' numbers and verdicts from metrics."""
MOST_PRINTED = 30
"""Differences that are printed; the rest stands in the file."""
MOST_KEYS = 10
"""Of an overlay, that are printed."""


@dataclass(frozen=True)
class Project:
    """What is verified."""

    root: Path
    """Folder of the Snakefile and of the references."""
    studies: dict[str, Study]
    """All of them."""
    configuration: Configuration
    """What is computed."""
    profile: Path | None = None
    """Folder of the Snakemake profile that says where jobs run; if none is given, this machine."""

    @cached_property
    def jobs(self) -> Jobs:
        """How it is computed."""
        return Jobs.of(self.configuration, self.studies)

    @cached_property
    def default(self) -> Jobs:
        """How the references were computed."""
        return Jobs.of(configure({}, self.studies), self.studies)

    def is_default(self, study: str) -> bool:
        """Whether just what is in the reference of a study is computed."""
        return settings_digests(self.jobs, study) == settings_digests(self.default, study)

    def snakemake(
        self, configuration: Configuration, targets: Iterable[str], *options: str
    ) -> None:
        """Make targets with a configuration.

        Raises:
            InputError: if Snakemake fails; it has said why.
        """
        with self.folder() as folder:
            file = folder / "configuration.yaml"
            whole, default = configuration, self.default.configuration
            overlay = _overlay_with_removals(
                whole.model_dump(mode="json"), default.model_dump(mode="json")
            )
            # In its order, as a list of names in a table has that of its settings.
            text = yaml.safe_dump(overlay, sort_keys=False)
            file.write_text(text, encoding="utf-8")
            command = [sys.executable, "-m", "snakemake", *targets, "--quiet", "progress", *options]
            places = ["--snakefile", str(self.root / "Snakefile"), "--configfile", str(file)]
            profile = ["--workflow-profile", str(self.profile.resolve())] if self.profile else []
            if _wait_for_snakemake(subprocess.Popen([*command, *places, *profile])):
                raise InputError("computing the results again failed, see above")

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """Make a new folder that every machine that computes can see, and remove it in the end.

        With a profile it stands below `results/` of the working folder, as the machines of a
        cluster do not share `/tmp`. It then has a link to the project's `profiles`: commands of a
        profile may name files there.
        """
        shared = Path("results").absolute() if self.profile else None
        if shared:
            try:
                shared.mkdir(exist_ok=True)
            except OSError as error:
                raise InputError(
                    f"{shared}: no folder can be made here ({error.strerror}); start where one can"
                ) from error
        # A job that was cancelled may still write.
        with tempfile.TemporaryDirectory(
            prefix="verify-", dir=shared, ignore_cleanup_errors=True
        ) as name:
            folder = Path(name)
            if shared:
                (folder / "profiles").symlink_to((self.root / "profiles").absolute())
            yield folder


class Draw(NamedTuple):
    """What the level `seed` computes."""

    seed: int
    """Of the draw."""
    experiments: int | None
    """How many are drawn; all of them if none is given."""


@click.command(help=(__doc__ or "").replace(r"\b", "\b"))
@click.option("--study", "names", multiple=True, help="Which; those of a plain run if left out.")
@click.option("--level", type=click.Choice(["hash", "figure", "seed", "full"]), default="hash")
@click.option("--draw", type=int, help="Seed of the draw of seeds, to repeat one.")
@click.option(
    "--experiments",
    type=click.IntRange(min=1),
    help="Of level seed: how many experiments, drawn at random; all of them if left out.",
)
@click.option(
    "--workflow-profile",
    "profile",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Of levels above hash: a Snakemake profile, such as profiles/slurm, to compute with.",
)
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="Project's folder.")
@click.option("--configuration", type=click.Path(path_type=Path), help="Merged configuration.")
@click.option("--output", type=click.Path(path_type=Path), default=Path("results/differences.csv"))
@click.option("--found", type=click.Path(path_type=Path), help="New folder for what is found.")
@click.option("--receipt", type=click.Path(path_type=Path), help="New file that tells the outcome.")
@click.option("--by", help="Name, ORCID or URL of yours that the receipt may tell.")
@click.option("--write", is_flag=True, help="Keep what is computed as the reference instead.")
@click.option("--partly", is_flag=True, help="With --write: keep of the reference the rest.")
def main(
    names: tuple[str, ...],
    level: Level,
    draw: int | None,
    experiments: int | None,
    profile: Path | None,
    root: Path,
    configuration: Path | None,
    output: Path,
    found: Path | None,
    receipt: Path | None,
    by: str | None,
    write: bool,
    partly: bool,
) -> None:
    """Print the scorecard and every difference; fail if there is one."""
    for new in filter(None, (found, receipt)):
        _check_new(new)
    if partly and not write:
        raise InputError("--partly: says how a reference is written; add --write")
    if profile and (write or level == "hash"):
        raise InputError("--workflow-profile: nothing is computed here; name a --level above hash")
    signature = Signature.parse({"by": by}, "--by")
    studies = find_studies()
    whole = configure({}, studies)
    if configuration:
        whole = type(whole).parse(read_yaml(configuration), str(configuration))
    project = Project(root, studies, whole, profile)
    chosen = [name for name, study in studies.items() if study.is_default]
    if names:
        chosen = project.jobs.selected(",".join(names))
    if receipt and (write or len(chosen) != 1):
        raise InputError("--receipt: tells the verification of one study; name it with --study")
    if write:
        for name in chosen:
            write_results(project, name, partly)
        return
    drawn = _announce_draw(level, draw, experiments)
    rows: list[tuple[Any, ...]] = []
    for name in chosen:
        if len(chosen) > 1:
            click.echo(f"\n{name}\n")
        verified = _compare_study(project, name, level, drawn, found and found / name)
        rows += [(name, *difference) for difference in verified.differences]
    write_csv(output, pd.DataFrame(rows, columns=["study", *Difference._fields]))
    if receipt:
        told = issue_receipt(verified, level, signature.by, root, project.jobs, project.default)
        write_receipt(receipt, told)
        click.echo(f"The receipt is {receipt}")
    if rows:
        number = f"{len(rows)} difference{'s' * (len(rows) > 1)}"
        raise InputError(f"{number} from the reference; all are in {output}")


def _announce_draw(level: Level, seed: int | None, experiments: int | None) -> Draw:
    """What is drawn, which is printed.

    Raises:
        InputError: if nothing is.
    """
    if experiments and level != "seed":
        raise InputError("--experiments: is of --level seed; the other levels take all of them")
    draw = Draw(random.SystemRandom().randrange(10**6) if seed is None else seed, experiments)
    if level == "seed":
        which = f"{experiments} experiments" if experiments else "every experiment"
        click.echo(f"One seed of {which}, drawn with --draw {draw.seed}")
    return draw


def _check_new(path: Path) -> None:
    """Refuse, before anything is computed, what cannot be written in the end."""
    if os.path.lexists(path):
        raise InputError(f"{path}: is there already; delete it or name another one")
    folder = next(above for above in path.absolute().parents if above.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK) or len(path.name) > LONGEST_NAME:
        raise InputError(f"{path}: cannot be written; name a file that can")


def write_results(project: Project, study: str, partly: bool = False) -> None:
    """Keep what is computed of a study in the current folder as its reference.

    Args:
        project: whose study it is.
        study: its name.
        partly: whether the reference that is there keeps what is not computed, see `renew`.

    Raises:
        InputError: if something is neither computed nor kept, or not of the default configuration,
            or the reference that is to keep its part was changed by hand.
    """
    if not project.is_default(study):
        raise InputError(
            "only results of the default configuration become the reference; leave out overlays"
        )
    folder = reference_folder(project.root, study)
    found = (
        _renewed_reference(project, study, folder) if partly else _complete_results(project, study)
    )
    earlier = _read_earlier(folder)
    write_reference(folder, found)
    if earlier and earlier[0] != reference_digest(folder):
        record_earlier(project.root, study, *earlier)
    click.echo(f"The results are kept in {folder}")


def _complete_results(project: Project, study: str) -> Reference:
    absent = [path for path in project.jobs.studies[study].files.all if not Path(path).is_file()]
    if absent:
        raise InputError(f"{absent[0]} is not computed yet; run `snakemake reference`")
    found, refused = collect_results(project.jobs, study, Path())
    for reason in refused.values():
        raise InputError(reason)
    return found


def _renewed_reference(project: Project, study: str, folder: Path) -> Reference:
    kept, changed = read_reference(folder)
    if changed:
        raise InputError(
            f"{folder}: {', '.join(changed)} changed after it was made; restore it with git"
        )
    found, refused = collect_results(project.jobs, study, Path())
    renewal = renew_reference(project.jobs.studies[study], found, kept)
    for reason in refused.values():
        click.echo(f"Left as it was: {reason}")
    click.echo(
        f"Computed here: {', '.join(map(str, renewal.renewed)) or 'nothing'}; all was judged anew"
    )
    return renewal.reference


def _read_earlier(folder: Path) -> tuple[str, ReferenceInShort] | None:
    """The reference that is there and its digest; none if there is none yet, or a damaged one."""
    if not folder.is_dir():
        return None
    try:
        return read_in_short(folder)
    except InputError as error:
        click.echo(f"Receipts of the reference before can no longer be checked: {error.message}")
        return None


def _compare_study(
    project: Project, study: str, level: str, draw: Draw, keep: Path | None
) -> Verified:
    """A study and its reference; the differences are printed."""
    folder = reference_folder(project.root, study)
    if not folder.is_dir():
        raise InputError(
            f"{study} has no reference yet; make it with `snakemake reference --config"
            f" study={study}`"
        )
    reference, changed = read_reference(folder)
    current, refused = _compute_results(project, study, level, draw)
    default, jobs = project.default.studies[study], project.jobs.studies[study]
    due = expected_reference(jobs)
    if project.is_default(study):
        runs = reference.tables[FINGERPRINTS]
        due = due._replace(runs=runs[run_keys(runs)])
    else:
        now, before = (
            each.configuration.section(study).model_dump(mode="json")
            for each in (project.jobs, project.default)
        )
        keys = list(_other_keys(now, before, study))
        more = f" and {len(keys) - MOST_KEYS} more" if len(keys) > MOST_KEYS else ""
        click.echo(f"Other settings than by default: {', '.join(keys[:MOST_KEYS])}{more}")
        current, due = (
            _without_additions(current, reference),
            _expected_by_default_too(due, expected_reference(default)),
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
        *missing_parts("reference", reference, expected_reference(default)),
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
    _print_report(default, current, reference, rows)
    return Verified(study, current, reference, rows)


def _compute_results(
    project: Project, study: str, level: str, draw: Draw
) -> tuple[Reference, dict[str, str]]:
    """What is here, or, of the levels above `figure`, what is made in a folder of its own."""
    if level == "figure":
        _make_again(project, study)
    if level in {"hash", "figure"}:
        return collect_results(project.jobs, study, Path())
    configuration = project.configuration
    if level == "seed":
        drawn = random.Random(draw.seed)
        overlay = project.jobs.studies[study].one_seed(drawn)
        data = merged(configuration.model_dump(mode="json"), overlay)
        configuration = type(configuration).parse(data, "one seed of every experiment")
    jobs = Jobs.of(configuration, project.studies)
    files = jobs.studies[study].files
    targets: list[str] = list(files.all)
    if level == "seed":
        fingerprints = sorted(files.fingerprints.values())
        number = min(draw.experiments or len(fingerprints), len(fingerprints))
        targets = drawn.sample(fingerprints, number)
    with project.folder() as folder:
        project.snakemake(configuration, targets, "--directory", str(folder))
        found, refused = collect_results(jobs, study, folder)
    return replace(found, depends=dependencies(project.jobs, study)), refused


def _wait_for_snakemake(process: subprocess.Popen[bytes]) -> int:
    """Return the exit status of Snakemake.

    Ctrl-C reaches Snakemake, too, which then cancels its jobs. A second one ends it at once.

    Raises:
        KeyboardInterrupt: when Snakemake has ended after an interrupt.
    """
    try:
        return process.wait()
    except KeyboardInterrupt:
        try:
            process.wait()
        except KeyboardInterrupt:
            process.terminate()
        raise


def _make_again(project: Project, study: str) -> None:
    """Figures and verdicts whose metrics are not here are left out and named."""
    jobs, files = project.jobs, project.jobs.studies[study].files
    made = {
        **{f"figure {name}": path for name, path in files.tables.items()},
        **{f"verdict {name}": path for name, path in files.verdicts.items()},
    }
    left_out = {
        name: path
        for name, path in made.items()
        if any(
            task.stage == "metrics" and not Path(read).is_file()
            for read, task in jobs.closure([path])
        )
    }
    if left_out:
        click.echo(f"Left out, as their metrics are not here: {', '.join(left_out)}")
    here = [path for name, path in made.items() if name not in left_out]
    again = [path for path, task in jobs.closure(here) if task.stage in JUDGING_STAGES]
    project.snakemake(project.configuration, here, "--forcerun", *again)


def _without_additions(current: Reference, reference: Reference) -> Reference:
    """Without what an overlay adds, as the reference has nothing of it."""
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
    verdicts = {
        claim: verdict
        for claim, verdict in current.verdicts.items()
        if f"claim {claim}" not in added
    }
    return Reference(tables, verdicts, current.depends | {"settings": known})


def _other_keys(data: Any, default: Any, path: str) -> Iterator[str]:
    """Yield the keys below a path whose values are not the default ones."""
    if isinstance(data, dict) and isinstance(default, dict):
        for key in default | data:
            yield from _other_keys(data.get(key), default.get(key), f"{path} > {key}")
    elif data != default:
        yield path


def _expected_by_default_too(due: Expected, default: Expected) -> Expected:
    """Of what should be there that which the defaults have, too."""
    runs = due.runs[due.runs["experiment"].isin(default.runs["experiment"])]
    return Expected(due.tables & default.tables, due.claims & default.claims, runs)


def _expected_of_found(due: Expected, current: Reference, level: str) -> Expected:
    """Where not everything is computed: all runs of the experiments of which some were found."""
    there = current.tables.get(FINGERPRINTS, due.runs.head(0))["experiment"]
    begun = due.runs["experiment"].isin(there) & (level != "seed")
    return Expected(set(), set(), due.runs[begun])


def _write_found_results(folder: Path, current: Reference) -> None:
    """Keep what was found, with an empty table in place of one that was not computed."""
    empty = {
        EVIDENCE: pd.DataFrame(columns=list(EVIDENCE_COLUMNS)),
        FINGERPRINTS: pd.DataFrame(columns=["seed", "digest", "experiment"]),
    }
    write_reference(folder, replace(current, tables=empty | current.tables))


def _print_report(
    jobs: StudyJobs, current: Reference, reference: Reference, rows: list[Difference]
) -> None:
    kept = len(reference.verdicts.keys() - current.verdicts.keys())
    click.echo(f"{len(current.verdicts)} verdicts are computed here, {kept} are the reference's:\n")
    card = scorecard(jobs.registry, list((reference.verdicts | current.verdicts).values()))
    for claim in card.to_dict("records"):
        click.echo(f"{claim['claim']:5} {claim['verdict']:13} {claim['summary']}")
    summary = (f"{number} {name}" for name, number in totals(card).items() if number)
    click.echo(f"\n{', '.join(summary)}")
    for kind, mine in current.depends["machine"].items():
        theirs = reference.depends["machine"].get(kind)
        if mine != theirs:
            click.echo(f"{kind}: {mine}, of the reference {theirs}")
    if not rows and (current.tables or current.verdicts):
        figures = sum(name.startswith("figures/") for name in current.tables)
        runs = len(current.tables.get(FINGERPRINTS, ()))
        found = f"{figures} figures, {len(current.verdicts)} verdicts, {runs} fingerprints of runs"
        same = current.depends["machine"] == reference.depends["machine"]
        within = "" if same else ", within the tolerance across processors"
        click.echo(f"Equal to the reference: {found}{within}.")
    elif not rows:
        click.echo("Nothing is computed here; the reference itself is whole.")
    for sentence in difference_sentences(rows)[:MOST_PRINTED]:
        click.echo(sentence, err=True)


def _overlay_with_removals(data: Any, default: Any) -> Any:
    """With null for what only the defaults have, so that merged into them it gives the data."""
    if not (isinstance(data, dict) and isinstance(default, dict)):
        return data
    removed = {key: None for key in default if key not in data}
    return removed | {
        key: _overlay_with_removals(value, default.get(key)) for key, value in data.items()
    }


if __name__ == "__main__":
    main()
