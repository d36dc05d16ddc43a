"""A module of somebody else's workflow that an address of git names.

Snakemake reads the Snakefile of such a module from git. All else is that of the clone that is
installed, so both have to be the same commit.
"""

import sys
from pathlib import Path

from replication.base.commit import run_git
from replication.base.errors import InputError
from replication.base.places import find_source


def find_installed_clone(address: str, repository: Path, version: str) -> Path:
    """Return the folder of the clone that is installed, if it is the commit of an address of git.

    `repository` is that of the address, or Snakemake's copy of it, and `version` a tag, branch or
    commit there. Raises an InputError if no such clone is installed, or the clone has changes.
    """
    source = find_source(sys.path)
    if source is None:
        raise InputError(
            f"{address}: the workflow runs a clone that is installed, and none is; clone the"
            " repository, run `make environment` there, then its `.venv/bin/snakemake`"
        )
    clone = source.parent
    commit = f"{version}^{{commit}}"
    named = run_git(repository, "rev-parse", "--verify", "--end-of-options", commit)
    installed = run_git(clone, "rev-parse", "HEAD")
    if named is None or installed != named:
        raise InputError(
            f"{address}: is commit {named}, and {clone}, which is installed, is at {installed};"
            " check out the first one there, then run `make environment`"
        )
    if run_git(clone, "status", "--porcelain", "--untracked-files=no"):
        raise InputError(
            f"{clone}: is installed and has changes, so that it is not what {address} names;"
            " commit them, or undo them"
        )
    return clone
