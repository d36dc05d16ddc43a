"""Keep the results of a study as its reference."""

from pathlib import Path

import click

from replication.base.errors import InputError
from replication.bundle.bundle import PAPER_SCALE, Bundle, read_unchanged, write_bundle
from replication.bundle.computed import dependencies, empty_bundle, read_computed
from replication.judge.scorecard import refuse_wrong_tables
from replication.plan.other_settings import refuse_other_settings
from replication.verify.project import Project
from replication.verify.renewal import renew_reference, restamp_reference
from replication.verify.todo_marks import refuse_marks


def write_results(
    project: Project, study: str, partly: bool = False, restamped: bool = False
) -> None:
    """Write the results of a study in the current folder as its reference.

    Results of its `paper_scale.yaml`, with any seeds, become the second reference.

    Args:
        project: the project.
        study: name of the study.
        partly: whether parts that are not computed stay as in the reference, see
            `renew_reference`.
        restamped: whether all stays except digests, see `restamp_reference`.

    Raises:
        InputError: if a part is neither computed nor in the reference, if a claim's function
            returned a wrong table, if the configuration is another one, if a file of the study has
            a mark of what is still to be written, or if a reference of which parts stay was changed
            by hand.
    """
    refuse_marks(project.studies[study])
    folder = project.reference_folder(study)
    is_second = folder.name == PAPER_SCALE
    if not (is_second or project.is_default(study)):
        raise InputError(
            "only results of the default configuration become the reference; leave out overlays"
            " except the study's paper_scale.yaml, whose results become the second reference"
        )
    if is_second:
        click.echo(f"The settings are those of {PAPER_SCALE}.yaml, in all except seeds")
        refuse_other_settings(project.jobs, [study])
        if restamped:
            raise InputError("--restamp: is for the default reference; --partly judges this one")
    if restamped:
        found = _restamped_reference(project, study, folder)
    elif partly:
        found = _renewed_reference(project, study, folder)
    else:
        found = _complete_results(project, study)
    refuse_wrong_tables(project.jobs.studies[study].registry, found.verdicts.values())
    write_bundle(folder, found)
    click.echo(f"The {'reference is' if restamped else 'results are'} kept in {folder}")


def _complete_results(project: Project, study: str) -> Bundle:
    absent = [path for path in project.jobs.studies[study].files.all if not Path(path).is_file()]
    if absent:
        raise InputError(
            f"{absent[0]} is not computed yet; run `snakemake reference --config study={study}`"
        )
    found, refused = read_computed(project.jobs, study, Path())
    for reason in refused.values():
        raise InputError(reason)
    return found


def _restamped_reference(project: Project, study: str, folder: Path) -> Bundle:
    kept = read_unchanged(folder)
    depends = dependencies(project.jobs, study)
    found = restamp_reference(project.jobs.studies[study], depends, kept)
    new = {
        kind: len(dict(found.depends[kind].items() ^ kept.depends[kind].items()))
        for kind in ("settings", "code")
    }
    judged = [name for name, said in found.verdicts.items() if said != kept.verdicts[name]]
    click.echo(
        f"{study}: nothing was computed. Changed digests: {new['settings']} of settings,"
        f" {new['code']} of modules. All claims were judged anew; changed verdicts:"
        f" {', '.join(judged) or 'none'}"
    )
    return found


def _renewed_reference(project: Project, study: str, folder: Path) -> Bundle:
    found, refused = read_computed(project.jobs, study, Path())
    is_part = folder.name == PAPER_SCALE
    kept = empty_bundle() if is_part and not folder.is_dir() else read_unchanged(folder)
    renewal = renew_reference(project.jobs.studies[study], found, kept, is_part=is_part)
    if not renewal.reference.verdicts:
        raise InputError(f"{study}: no verdict is computed here; compute one with Snakemake first")
    for reason in refused.values():
        click.echo(f"{'Left out' if is_part else 'Kept as it was'}: {reason}")
    click.echo(
        f"Computed here: {', '.join(map(str, renewal.renewed)) or 'nothing'}."
        " All claims were judged anew"
    )
    return renewal.reference
