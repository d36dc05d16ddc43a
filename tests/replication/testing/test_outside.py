"""This repository as a module of somebody else's workflow."""

import subprocess
from pathlib import Path

import pytest

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


@pytest.fixture
def outside(template, tmp_path) -> Path:
    """A workflow whose module is the template, which is a clone, by an address of git."""
    (template.folder / ".gitignore").write_text("*\n!Snakefile\n")
    for words in (["init", "--quiet"], ["add", "Snakefile"], ["commit", "--quiet", "-m", "a"]):
        git(template.folder, *words)
    folder = tmp_path / "outside"
    folder.mkdir()
    address = f"git+file://{template.folder}/Snakefile@HEAD"
    (folder / "Snakefile").write_text(SNAKEFILE.format(snakefile=address))
    (folder / "config.yaml").write_text("example: {experiments: {printed: {seeds: {count: 3}}}}\n")
    return folder


def run(template, outside, *options):
    words = ["snakemake", "--configfile", "config.yaml", "--cores", "1", *options]
    return template.pythons.run(words, outside, template.environment)


def test_a_module_from_git_runs_the_clone_that_is_installed(template, outside):
    code, output = run(template, outside)
    assert code == 0, output
    _, *rows = (outside / "figures/example/fig1.csv").read_text().splitlines()
    assert int((outside / "rows.txt").read_text()) == 1 + len(rows)


def test_a_module_from_git_of_another_version_is_refused_in_words(template, outside, tmp_path):
    path = template.folder / "Snakefile"
    path.write_text(path.read_text() + "# A change.\n")
    code, output = run(template, outside, "--dry-run")
    assert code == 1
    assert f"{template.folder}: is installed and has changes" in output
    older = tmp_path / "older"
    git(tmp_path, "clone", "--quiet", str(template.folder), str(older))
    git(template.folder, "commit", "--quiet", "--all", "-m", "b")
    address = f"git+file://{older}/Snakefile@HEAD"
    (outside / "Snakefile").write_text(SNAKEFILE.format(snakefile=address))
    code, output = run(template, outside, "--dry-run")
    assert code == 1
    assert "which is installed, is at" in output
    assert "Traceback" not in output
