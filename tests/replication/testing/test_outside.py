"""This repository as a module of somebody else's workflow."""

import subprocess
from pathlib import Path

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


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.org"]
    subprocess.run(["git", *identity, "-C", folder, *words], check=True, capture_output=True)


def test_a_module_from_git_is_refused_in_words(template, tmp_path):
    (template.folder / ".gitignore").write_text("*\n!Snakefile\n")
    for words in (["init", "--quiet"], ["add", "Snakefile"], ["commit", "--quiet", "-m", "a"]):
        git(template.folder, *words)
    address = f"git+file://{template.folder}/Snakefile@HEAD"
    (tmp_path / "Snakefile").write_text(SNAKEFILE.format(snakefile=address))
    (tmp_path / "config.yaml").write_text("{}")
    words = ["snakemake", "--configfile", "config.yaml", "--cores", "1", "--dry-run"]
    code, output = template.pythons.run(words, tmp_path, template.environment)
    assert code == 1
    assert "is no folder; clone the repository, run `make environment` there" in output
    assert "Traceback" not in output
