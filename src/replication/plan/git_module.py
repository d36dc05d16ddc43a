"""A module of somebody else's workflow that an address of git names.

Snakemake reads the Snakefile of such a module from git. All else is that of the clone that is
installed, so both have to be the same commit.
"""

import sys
from pathlib import Path

from replication.base.commit import run_git
from replication.base.errors import InputError
from replication.base.places import find_source

SHOWN = 8
"""Digits of a commit in messages."""


def find_installed_clone(address: str, repository: Path, version: str) -> Path:
    """Return the folder of the clone that is installed, if it is what an address of git names.

    Args:
        address: the address, for messages.
        repository: the repository of the address, or Snakemake's copy of it.
        version: tag, branch or commit of the address.

    Raises:
        InputError: if no clone is installed, or if it is at another commit or has changes.
    """
    source = find_source(sys.path)
    if source is None:
        raise InputError(
            f"{address}: the workflow runs a clone that is installed, and none is; clone the"
            " repository, run `make environment` there, then its `.venv/bin/snakemake`"
        )
    clone = source.parent
    named, installed = _read_commit(repository, version), _read_commit(clone, "HEAD")
    if installed != named:
        raise InputError(
            f"{address}: is commit {named[:SHOWN]}, and {clone}, which is installed, is at"
            f" {installed[:SHOWN]}; check out {named[:SHOWN]} there, then run `make environment`"
        )
    if _ask_git(clone, "status", "--porcelain", "--untracked-files=no"):
        raise InputError(
            f"{clone}: is installed and has changes, so that it is not what {address} names;"
            " commit them, or undo them"
        )
    return clone


def _read_commit(repository: Path, version: str) -> str:
    return _ask_git(
        repository, "rev-parse", "--verify", "--end-of-options", f"{version}^{{commit}}"
    )


def _ask_git(repository: Path, *words: str) -> str:
    """Return what git prints about a repository."""
    printed = run_git(repository, *words)
    if printed is None:
        raise InputError(f"{repository}: git cannot read {words[-1]} there, or is not installed")
    return printed
