"""This repository as a module of somebody else's workflow."""

import subprocess
import sys

SNAKEFILE = """
module td:
    snakefile:
        "{snakefile}"
    config:
        config

use rule * from td as td_*

rule mine:
    default_target: True
    input:
        "figures/example/fig1.csv",
    output:
        "rows.txt",
    shell:
        "wc -l < {{input}} > {{output}}"
"""


def test_a_rule_of_another_workflow_takes_a_figure(project, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "Snakefile").write_text(SNAKEFILE.format(snakefile=project.folder / "Snakefile"))
    (outside / "config.yaml").write_text("example: {experiments: {printed: {seeds: {count: 3}}}}\n")
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--configfile", "config.yaml", "--cores", "1"],
        cwd=outside,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "localrules directive" not in done.stderr
    header, *rows = (outside / "figures/example/fig1.csv").read_text().splitlines()
    assert header.startswith("variance,update")
    assert int((outside / "rows.txt").read_text()) == 1 + len(rows)
    assert (outside / "results/example/runs/printed/1-3.npz").is_file()
