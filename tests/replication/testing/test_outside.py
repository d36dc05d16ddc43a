"""This repository as a module of somebody else's workflow."""

import shutil
import subprocess

from conftest import ROOT

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


def test_a_rule_of_another_workflow_takes_a_figure(template):
    outside = template.folder / "outside"
    outside.mkdir()
    (outside / "Snakefile").write_text(SNAKEFILE.format(snakefile=template.folder / "Snakefile"))
    (outside / "config.yaml").write_text("example: {experiments: {printed: {seeds: {count: 3}}}}\n")
    words = ["snakemake", "--configfile", "config.yaml", "--cores", "1"]
    code, output = template.pythons.run(words, outside, template.environment)
    assert code == 0, output
    assert "localrules directive" not in output
    header, *rows = (outside / "figures/example/fig1.csv").read_text().splitlines()
    assert header.startswith("variance,update")
    assert int((outside / "rows.txt").read_text()) == 1 + len(rows)
    assert (outside / "results/example/runs/printed/1-3.npz").is_file()


def test_a_module_from_git_is_refused_in_words(template, tmp_path):
    """It has no folder, and so not the package that is installed."""
    cloned, outside = tmp_path / "cloned", tmp_path / "outside"
    for folder in (cloned, outside):
        folder.mkdir()
    shutil.copy(ROOT / "Snakefile", cloned)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.org", "-C", cloned]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "a"]):
        subprocess.run([*git, *words], check=True)
    address = f"git+file://{cloned}/Snakefile@HEAD"
    (outside / "Snakefile").write_text(SNAKEFILE.format(snakefile=address))
    words = ["snakemake", "--dry-run", "rows.txt"]
    code, output = template.pythons.run(words, outside, template.environment)
    assert code == 1
    assert "is no folder, and the workflow runs what is installed from its own; clone the" in output
    assert "Traceback" not in output
