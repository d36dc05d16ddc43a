"""Refuse to build without the engine's rules; pyproject.toml says everything else."""

from pathlib import Path

from setuptools import setup

RULES = "replication/workflow/engine.smk"

if not Path(RULES).is_file():
    raise SystemExit(
        f"{RULES}: is not there, as this copy of the project has no symbolic links; clone it by"
        " `git clone -c core.symlinks=true`, or unpack it by a program that keeps links, then"
        " install it from there"
    )
setup()
