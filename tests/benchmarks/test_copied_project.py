"""Benchmarks run Snakemake in a copy of the project."""

import sys

import pytest

from benchmarks.speed import copy_project, time_command


@pytest.mark.thorough
def test_snakemake_runs_in_a_copy_of_the_project(tmp_path):
    environment = copy_project(tmp_path)
    words = [sys.executable, "-m", "snakemake", "--dry-run", "figures/fig6.pdf"]
    assert time_command(words, tmp_path, environment).processor > 0
