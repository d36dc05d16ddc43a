"""The bundle of a run, read from the files that the workflow made."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from replication.base.code_digest import installed_versions, reach
from replication.base.errors import InputError
from replication.base.tables import read_csv, read_table
from replication.bundle.bundle import (
    EVIDENCE,
    EVIDENCE_COLUMNS,
    EVIDENCE_NUMBERS,
    FINGERPRINTS,
    RARE_COLUMNS,
    Bundle,
    Expected,
    figure_path,
    read_numbers,
)
from replication.bundle.judged import test_digests
from replication.bundle.machine import machine
from replication.judge.comparisons import UNMEASURED
from replication.judge.scorecard import read_verdict
from replication.plan.jobs import Jobs
from replication.plan.keys_in_files import (
    checksum_file,
    key_in,
    key_in_scorecard,
    refuse_changed_table,
    with_remedy,
)
from replication.plan.study_jobs import StudyJobs
from replication.plan.targets import PICTURE_KINDS
from replication.study.evidence import words_of

COMPARISON_MODULE = "replication.verify.comparison"
"""Module that every number of a reference depends on: it says which numbers are equal."""
NOT_AS_MADE = "made by another configuration or other code, or changed after it was made"
"""Words for a file that is not what the plan has."""


def expected_bundle(study: StudyJobs) -> Expected:
    """Return the contents that a whole bundle of a study has."""
    runs = [(name, seed) for name in study.files.fingerprints for seed in study.seeds(name)]
    return Expected(
        tables={EVIDENCE, FINGERPRINTS, *map(figure_path, study.files.tables)},
        claims=set(study.claims),
        runs=pd.DataFrame(runs, columns=["experiment", "seed"]),
    )


def read_computed(jobs: Jobs, study: str, folder: Path) -> tuple[Bundle, dict[str, str]]:
    """Return the results of a study in a folder, and by path why a file cannot be used.

    Such a file is damaged, or of other settings or code.
    """
    refused = {
        path: with_remedy(f"{path}: {NOT_AS_MADE}", path) for path in _stale(jobs, study, folder)
    }

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
        return read_table(folder / path, jobs.key(path))

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
    return Bundle(tables, verdicts, dependencies(jobs, study)), refused


def read_finished(study: StudyJobs, folder: Path) -> Bundle:
    """Return the figures' numbers and the verdicts of a run that has made all of them.

    Raises:
        InputError: if one is missing, damaged, or changed after it was made.
    """
    tables = {}
    for name in study.figures:
        path = study.table(name)
        tables[figure_path(name)] = read_csv(folder / path, ())
        refuse_changed_table(folder / path, folder / checksum_file(path))
    verdicts = {claim: read_verdict(folder / path) for claim, path in study.files.verdicts.items()}
    return Bundle(tables, verdicts, {"machine": machine()})


def _stale(jobs: Jobs, study: str, folder: Path) -> Iterator[str]:
    """Yield the pictures, scorecards and pages of a study that are not what the plan has.

    A page counts if it, or a file in its folder, was changed after it was made.
    """
    for figure in jobs.figure_paths(study):
        for kind in PICTURE_KINDS:
            picture = f"figures/{figure}.{kind}"
            is_there = (folder / picture).is_file()
            if is_there and jobs.is_made_otherwise(picture, f"figures/{figure}", folder):
                yield picture
    card = jobs.studies[study].study.scorecard
    for path in jobs.steps[card].outputs:
        with suppress(FileNotFoundError):
            if _key_in_scorecard(folder / path) != jobs.key(card):
                yield path
    page = jobs.studies[study].study.page
    if (folder / page).is_file() and not key_in([folder / page]):
        yield page


def _key_in_scorecard(path: Path) -> str | None:
    try:
        return key_in_scorecard(path)
    except FileNotFoundError:
        raise
    except Exception:
        # A damaged byte can make any reader fail in any way.
        return None


def collect_evidence(evidence: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the evidence of all measured claims as one table, see `EVIDENCE_COLUMNS`."""
    tables = [
        table.assign(claim=claim).reindex(columns=[*EVIDENCE_COLUMNS, *RARE_COLUMNS])
        for claim, table in evidence.items()
        if UNMEASURED not in table
    ]
    empty = pd.DataFrame(columns=list(EVIDENCE_COLUMNS))
    together = pd.concat(
        [table.astype(EVIDENCE_NUMBERS) for table in tables or [empty]], ignore_index=True
    )
    rare = [name for name in RARE_COLUMNS if name in together]
    return together.drop(columns=[name for name in rare if not words_of(together, name).any()])


def collect_fingerprints(fingerprints: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the fingerprints of all experiments as one table, with a column `experiment`.

    Numbers have 64 bits: then numbers of 32 bits are read back unchanged. A column that an
    experiment lacks is empty there, and whole numbers in it are read back with a fraction.
    """
    tables = [table.assign(experiment=name) for name, table in fingerprints.items()]
    empty = pd.DataFrame({"experiment": []})
    together = pd.concat(tables or [empty], ignore_index=True)
    return together.astype(dict.fromkeys(together.select_dtypes("float32"), "float64"))


def empty_bundle() -> Bundle:
    """Return a bundle that has no part yet."""
    tables = {EVIDENCE: collect_evidence({}), FINGERPRINTS: collect_fingerprints({})}
    return Bundle(tables, {}, {"settings": {}, "code": {}, "machine": {}})


def dependencies(jobs: Jobs, study: str) -> dict[str, dict[str, str]]:
    """Return digests of settings and code, and the machine, see `Manifest`."""
    return {
        "settings": settings_digests(jobs, study),
        "code": _code_digests(jobs, study),
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
    tests = test_digests(jobs.studies[study])
    return digests | {f"test {name}": found for name, found in tests.items()}


def _code_digests(jobs: Jobs, study: str) -> dict[str, str]:
    """Return the digest of every module that a number of a study, or its comparison, depends on."""
    modules: dict[str, str] = {}
    for program in (*_programs(jobs, study), COMPARISON_MODULE):
        modules |= reach(program).modules
    return dict(sorted(modules.items()))


def package_versions(jobs: Jobs, study: str) -> dict[str, str]:
    """Return the version of Python and of every package that a number or figure depends on."""
    reached = {package for each in _programs(jobs, study) for package in reach(each).packages}
    own = {name: version for name, version in machine().items() if name != "processor"}
    return own | installed_versions(tuple(sorted(reached - own.keys())))


def _programs(jobs: Jobs, study: str) -> set[str]:
    return {step.program for _, step in jobs.closure(jobs.studies[study].files.all)}
