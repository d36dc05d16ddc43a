"""Computed results of a study, in the form of its reference."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from replication.base.code_digest import installed_versions, reach
from replication.base.errors import InputError
from replication.base.stamp import files_beside, read_stamp
from replication.base.tables import read_table
from replication.judge.scorecard import read_verdict
from replication.plan.collecting import Scorecards
from replication.plan.jobs import Jobs
from replication.plan.stale_files import with_remedy
from replication.plan.study_jobs import StudyJobs
from replication.plan.targets import PICTURE_KINDS
from replication.verify.differences import ACROSS_PROCESSORS, OTHER_SEEDS, Difference, Tolerances
from replication.verify.judged_reference import test_digests
from replication.verify.machine import machine
from replication.verify.reference import (
    EVIDENCE,
    FINGERPRINTS,
    Expected,
    Reference,
    collect_evidence,
    collect_fingerprints,
    figure_path,
    read_numbers,
)

COMPARISON_MODULE = "replication.verify.comparison"
"""Module that every number of a reference depends on: it says which numbers are equal."""
NOT_AS_MADE = "made by another configuration or other code, or changed after it was made"
"""Words for a file that is not what the plan has."""
A_NUMBER = "a number"
"""Words for the expected content of a cell that holds a text."""


def collect_results(jobs: Jobs, study: str, folder: Path) -> tuple[Reference, dict[str, str]]:
    """Collect the computed results of a study in a folder.

    Args:
        jobs: how it is computed.
        study: its name.
        folder: where the workflow ran.

    Returns:
        The results, and by path the reason why a file cannot be used: it is damaged, or of other
        settings or code.
    """
    stale = _stale_for_people(jobs, study, folder)
    refused = {path: with_remedy(f"{path}: {NOT_AS_MADE}", path) for path in stale}

    def read(files: dict[str, str], reader: Callable[[str], Any]) -> dict[str, Any]:
        """Return contents by name of the files that are there and can be used."""
        found = {}
        for name, path in files.items():
            if (folder / path).is_file():
                try:
                    found[name] = reader(path)
                except InputError as error:
                    refused[path] = with_remedy(error.message, path)
        return found

    def made(path: str) -> pd.DataFrame:
        return read_table(folder / path, jobs.recipe(path), list(jobs.tasks[path].seeds))

    def current(path: str) -> Path:
        if jobs.is_made_otherwise(path, path, folder):
            raise InputError(f"{folder / path}: {NOT_AS_MADE}")
        return folder / path

    files = jobs.studies[study].files
    figures = read(files.tables, lambda path: read_numbers(current(path)))
    tables = {figure_path(name): table for name, table in figures.items()}
    if evidence := read(files.evidence, made):
        tables[EVIDENCE] = collect_evidence(evidence)
    if runs := read(files.fingerprints, made):
        tables[FINGERPRINTS] = collect_fingerprints(runs)
    verdicts = read(files.verdicts, lambda path: read_verdict(current(path)))
    return Reference(tables, verdicts, dependencies(jobs, study)), refused


def _stale_for_people(jobs: Jobs, study: str, folder: Path) -> Iterator[str]:
    """Yield the pictures, scorecards and pages of a study that are not what the plan has.

    A page counts if it, or a file in its folder, was changed after it was made.
    """
    for figure in jobs.figure_paths(study):
        for kind in PICTURE_KINDS:
            picture = f"figures/{figure}.{kind}"
            is_there = (folder / picture).is_file()
            if is_there and jobs.is_made_otherwise(picture, f"figures/{figure}", folder):
                yield picture
    yield from Scorecards(jobs).stale(study, folder)
    page = folder / jobs.studies[study].study.page
    if page.is_file() and not read_stamp(page.read_bytes(), page.suffix, files_beside(page)):
        yield jobs.studies[study].study.page


def texts_among_numbers(found: Reference, reference: Reference) -> Iterator[Difference]:
    """Yield the cells, of either side, whose text makes a column of numbers one of texts.

    No cell of such a column equals its like, so that its table cannot be compared.
    """
    for name in [name for name in found.tables if name in reference.tables]:
        here, there = found.tables[name], reference.tables[name]
        for column in there.columns.intersection(here.columns):
            for row in _unlike_cells(here[column], there[column]):
                yield Difference(name, f"{column} in row {row + 1}", A_NUMBER, here[column][row])
            for row in _unlike_cells(there[column], here[column]):
                yield Difference(name, f"{column} in row {row + 1}", there[column][row], A_NUMBER)


def _unlike_cells(column: "pd.Series[Any]", like: "pd.Series[Any]") -> "pd.Index[Any]":
    """Return the rows of a column of texts that do not fit a like column, if other rows do."""
    is_text, is_like_text = map(pd.api.types.is_string_dtype, (column, like))
    if not is_text or is_like_text:
        return column.index[:0]
    if pd.api.types.is_bool_dtype(like):
        is_like = column.isin(["True", "False"])
    else:
        is_like = pd.to_numeric(column, errors="coerce").notna()
    return column.index[column.notna() & ~is_like & bool(is_like.any())]


def expected_reference(study: StudyJobs) -> Expected:
    """Return the contents that a whole reference of a study has."""
    runs = [(name, seed) for name in study.files.fingerprints for seed in study.seeds(name)]
    return Expected(
        tables={EVIDENCE, FINGERPRINTS, *map(figure_path, study.files.tables)},
        claims=set(study.claims),
        runs=pd.DataFrame(runs, columns=["experiment", "seed"]),
    )


def dependencies(jobs: Jobs, study: str) -> dict[str, dict[str, str]]:
    """Return digests of settings and code, and the machine, see `Manifest`."""
    return {
        "settings": settings_digests(jobs, study),
        "code": code_digests(jobs, study),
        "machine": machine(),
    }


def settings_digests(jobs: Jobs, study: str) -> dict[str, str]:
    """Return a digest for every figure, claim, experiment and test of a study.

    A claim's digest is of the settings of its evidence, with its table of published values. A
    test's digest is of the way in which the claim is judged.
    """
    files = jobs.studies[study].files
    kinds = {"figure": files.tables, "claim": files.evidence, "experiment": files.fingerprints}
    digests = {
        f"{kind} {name}": jobs.settings_digest(path)
        for kind, paths in kinds.items()
        for name, path in paths.items()
    }
    return digests | {
        f"test {name}": found for name, found in test_digests(jobs.studies[study]).items()
    }


def code_digests(jobs: Jobs, study: str) -> dict[str, str]:
    """Return the digest of every module that a number of a study, or its comparison, depends on."""
    made = {task.program for _, task in jobs.closure(jobs.studies[study].files.all)}
    modules: dict[str, str] = {}
    for program in (*made, COMPARISON_MODULE):
        modules |= reach(program).modules
    return dict(sorted(modules.items()))


def package_versions(jobs: Jobs, study: str) -> dict[str, str]:
    """Return the version of Python and of every package that a number or figure depends on."""
    made = {task.program for _, task in jobs.closure(jobs.studies[study].files.all)}
    reached = {package for program in made for package in reach(program).packages}
    own = {name: version for name, version in machine().items() if name != "processor"}
    return own | installed_versions(tuple(sorted(reached - own.keys())))


def names_of_counts(study: StudyJobs) -> set[str]:
    """Return the tables and claims of a study whose numbers are compared like counts."""
    names = set(study.registry.compared_as_counts)
    key = study.registry.text_key
    figures = (name for name, figure in study.figures.items() if key(name, figure.kind) in names)
    return {*(names & study.claims.keys()), *map(figure_path, figures)}


def tolerances_of_study(study: StudyJobs) -> Tolerances:
    """Return the tolerances between processors for all numbers of a study that are no counts."""
    return OTHER_SEEDS if study.registry.amplifies_rounding else ACROSS_PROCESSORS


def tests_by_family(study: StudyJobs) -> Iterator[dict[str, Any]]:
    """Yield each family: tests, by claim, that are corrected together for many tests."""
    for names in study.families:
        yield {name: study.claims[name].test for name in names}
