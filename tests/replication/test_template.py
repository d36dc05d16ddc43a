"""A new paper is a copy of the template's folder: what docs/new_paper.md tells its reader to do."""

import json
import subprocess

import pytest
from conftest import ROOT, Project

FIGURES = ("figures/example/fig1.pdf", "figures/mypaper/fig1.pdf")


def documented() -> list[str]:
    """The commands of the first block of the document."""
    text = (ROOT / "docs/new_paper.md").read_text()
    return text.split("```\n")[1].splitlines()


def sources(project: Project) -> dict[str, bytes]:
    """The files of the product that people write."""
    found = project.files("src", "workflow", "profiles", "config")
    return {path: content for path, content in found.items() if "__pycache__" not in path}


@pytest.fixture(scope="module")
def with_new_paper(tmp_path_factory):
    """A copy of the product in which these commands were typed."""
    project = Project(tmp_path_factory.mktemp("product"))
    before = sources(project)
    *copying, last = documented()
    for command in copying:
        subprocess.run(command, shell=True, check=True, cwd=project.folder)
    project.run(*last.removeprefix("snakemake ").split(), quick=False)
    new = {path for path, content in sources(project).items() if before.get(path) != content}
    assert all(path.startswith("src/transformer_dynamics/mypaper/") for path in new), new
    return project


def test_last_command_makes_a_figure(with_new_paper):
    assert documented()[-1] == f"snakemake {FIGURES[1]}"
    assert (with_new_paper.folder / FIGURES[1]).read_bytes().startswith(b"%PDF")


def test_equal_names_in_two_studies_do_not_collide(with_new_paper):
    """Both have a claim C1 and a figure fig1; what one of them changes is not seen in the other."""
    folder = with_new_paper.folder
    (folder / "other.yaml").write_text(
        "mypaper: {experiments: {printed: {training: {learning_rate: 0.1}}}}\n"
    )
    verdicts = [f"results/{study}/verdicts/C1.json" for study in ("example", "mypaper")]
    with_new_paper.run(*FIGURES, *verdicts, "--configfile", "other.yaml", quick=False)
    own, other = ((folder / path).with_suffix(".csv").read_text() for path in FIGURES)
    assert own != other
    judged = [json.loads((folder / path).read_text())["verdict"] for path in verdicts]
    assert judged == ["reproduced", "contradicted"]
