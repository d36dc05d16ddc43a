"""The bundle of a run, read from the files that the workflow made, and the machine that made them.

Processor and packages decide the last bits of a result.
"""

import platform
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from replication.base.code_digest import installed_versions, reach
from replication.base.errors import InputError
from replication.base.keys import remedy
from replication.base.process import arithmetic_variables
from replication.base.storage import (
    checksum_file,
    key_in,
    read_csv,
    read_table,
    refuse_changed_table,
)
from replication.bundle.bundle import (
    EVIDENCE,
    EVIDENCE_COLUMNS,
    EVIDENCE_NUMBERS,
    FINGERPRINTS,
    RARE_COLUMNS,
    Bundle,
    collect_fingerprints,
    figure_path,
    read_numbers,
)
from replication.bundle.judged import test_digests
from replication.judge.comparisons import UNMEASURED
from replication.judge.scorecard import read_verdict
from replication.plan.jobs import Jobs
from replication.plan.study_jobs import StudyJobs
from replication.plan.targets import PICTURE_KINDS
from replication.study.evidence import words_of

NUMERICAL_PACKAGES = ("numpy", "pandas", "scipy", "torch")
"""Packages that compute numbers; those that only draw are left out."""
CPUINFO = Path("/proc/cpuinfo")


def due_runs(study: StudyJobs) -> pd.DataFrame:
    """Return experiment and seed of all runs of a study that have fingerprints."""
    runs = [(name, seed) for name in study.files.fingerprints for seed in study.seeds(name)]
    return pd.DataFrame(runs, columns=["experiment", "seed"])


def read_computed(jobs: Jobs, study: str, folder: Path) -> tuple[Bundle, dict[str, str]]:
    """Return the results of a study in a folder, and by path why a file cannot be used.

    Such a file is damaged, or of other settings or code.
    """
    wrong = "made by another configuration or other code, or changed after it was made"
    refused = {path: f"{path}: {wrong}; {remedy(path)}" for path in _stale(jobs, study, folder)}

    def read(files: dict[str, str], reader: Callable[[Path, str], Any]) -> dict[str, Any]:
        """Return contents by name of the files that are there and can be used."""
        found = {}
        for name, path in files.items():
            try:
                if path not in refused and (folder / path).is_file():
                    found[name] = reader(folder / path, jobs.key(path))
            except InputError as error:
                refused[path] = error.message.replace(str(folder / path), path)
        return found

    files = jobs.studies[study].files
    figures = read(files.tables, lambda path, _: read_numbers(path))
    verdicts = read(files.verdicts, lambda path, _: read_verdict(path))
    tables = {figure_path(name): table for name, table in figures.items()}
    if evidence := read(files.evidence, read_table):
        tables[EVIDENCE] = collect_evidence(evidence)
    if runs := read(files.fingerprints, read_table):
        tables[FINGERPRINTS] = collect_fingerprints(runs)
    return Bundle(tables, verdicts, dependencies(jobs, study)), refused


def read_finished(study: StudyJobs, folder: Path) -> Bundle:
    """Return the figures' numbers and the verdicts of a run that has made all of them.

    An `InputError` if one is missing, damaged, or changed after it was made.
    """
    tables = {}
    for name in study.figures:
        path = study.table(name)
        tables[figure_path(name)] = read_csv(folder / path, ())
        refuse_changed_table(folder / path, folder / checksum_file(path))
    verdicts = {claim: read_verdict(folder / path) for claim, path in study.files.verdicts.items()}
    return Bundle(tables, verdicts, {"machine": machine()})


def _stale(jobs: Jobs, name: str, folder: Path) -> Iterator[str]:
    """Yield the files for readers that are there, and not what the plan has.

    These are figures, their tables, verdicts, the scorecard, and a page that was changed.
    """
    study = jobs.studies[name]
    card, page = study.study.scorecard, study.study.page
    figures = jobs.figure_paths(name)
    pictures = [f"figures/{figure}.{kind}" for figure in figures for kind in PICTURE_KINDS]
    made = [*study.files.tables.values(), *study.files.verdicts.values(), *pictures, card]
    for path in made:
        if (folder / path).is_file() and jobs.is_made_otherwise(path, folder):
            yield path
    if (folder / page).is_file() and not key_in([folder / page]):
        yield page


def collect_evidence(evidence: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the evidence of all measured claims as one table, see `EVIDENCE_COLUMNS`."""
    empty = pd.DataFrame(columns=list(EVIDENCE_COLUMNS))
    tables = [
        table.assign(claim=claim).reindex(columns=[*EVIDENCE_COLUMNS, *RARE_COLUMNS])
        for claim, table in evidence.items()
        if UNMEASURED not in table
    ]
    together = pd.concat(
        [table.astype(EVIDENCE_NUMBERS) for table in tables or [empty]], ignore_index=True
    )
    rare = [name for name in RARE_COLUMNS if name in together]
    return together.drop(columns=[name for name in rare if not words_of(together, name).any()])


def dependencies(jobs: Jobs, study: str) -> dict[str, dict[str, str]]:
    """Return digests of settings and code, and the machine, see `Manifest`."""
    modules: dict[str, str] = {}
    for program in {step.program for _, step in jobs.closure(jobs.studies[study].files.all)}:
        modules |= reach(program).modules
    return {
        "settings": settings_digests(jobs, study),
        "code": dict(sorted(modules.items())),
        "machine": machine(),
    }


def settings_digests(jobs: Jobs, study: str) -> dict[str, str]:
    """Return a digest for every figure, claim, experiment and test of a study.

    A claim's is of the settings of its evidence, a test's of the way in which the claim is judged.
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


def machine() -> dict[str, str]:
    """Return processor, version of Python, and versions of the packages that compute numbers."""
    versions = installed_versions(NUMERICAL_PACKAGES)
    return {"processor": processor(), "python": platform.python_version(), **versions}


def processor() -> str:
    """Return the processor's name and model: processors with the same text compute the same bits.

    Environment variables can have it compute as another one would, see `replication.base.process`.
    """
    return " ".join(
        [own_processor(), *(f"{name}={value}" for name, value in arithmetic_variables().items())]
    )


def own_processor() -> str:
    """Return the processor's name and model, without the processor that it emulates."""
    if not CPUINFO.is_file():
        return f"{platform.machine()} {platform.processor()}".strip()
    names = ("model name", "cpu family", "model", "stepping")
    lines = re.findall(r"^([^\t:]+)\s*: (.*)$", CPUINFO.read_text(encoding="utf-8"), re.MULTILINE)
    # The first processor stands for all.
    found = dict(reversed(lines))
    return " ".join([platform.machine(), *(found[name] for name in names if name in found)])


def system() -> str:
    """Return the operating system and its C library, without the kernel and the machine's name."""
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:  # not a Linux, or one that does not say which
        name = f"{platform.system()} {platform.mac_ver()[0]}".strip()
    return ", ".join([name, *filter(None, [" ".join(platform.libc_ver()).strip()])])


def gpu() -> str:
    """Return the GPU that PyTorch computes on, and the version of CUDA."""
    import torch  # takes a second, and few compute there

    if not torch.cuda.is_available():
        return "none here"
    return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"
