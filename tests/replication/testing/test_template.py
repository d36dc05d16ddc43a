"""A new paper is a copy of the template's folder: what docs/extend.md tells its reader to do."""

import json
import subprocess

import pytest
from conftest import FIGURE, ROOT, Template

FIGURES = (FIGURE, FIGURE.replace("example", "mypaper"))


def documented() -> list[str]:
    """The commands of the section on a new paper."""
    text = (ROOT / "docs/extend.md").read_text().split("\n## A new paper")[1]
    return text.split("```\n")[1].splitlines()


def sources(project: Template) -> dict[str, bytes]:
    """The files of the product that people write."""
    found = project.files("src", "workflow", "profiles", "config")
    return {path: content for path, content in found.items() if "__pycache__" not in path}


@pytest.fixture(scope="module")
def with_new_paper(finished, tmp_path_factory):
    """A copy of the product in which these commands were typed."""
    project = finished.copied(tmp_path_factory.mktemp("product"))
    before = sources(project)
    *copying, last = documented()
    for command in copying:
        subprocess.run(command, shell=True, check=True, cwd=project.folder)
    project.run(*last.removeprefix("snakemake ").split())
    new = {path for path, content in sources(project).items() if before.get(path) != content}
    assert all(path.startswith("src/transformer_dynamics/mypaper/") for path in new), new
    return project


def test_last_command_makes_a_figure(with_new_paper):
    assert documented()[-1] == f"snakemake {FIGURES[1]}"
    assert (with_new_paper.folder / FIGURES[1]).read_bytes().startswith(b"%PDF")


@pytest.mark.thorough
def test_equal_names_in_two_studies_do_not_collide(with_new_paper):
    """Both have a claim C1 and a figure fig1; what one of them changes is not seen in the other."""
    folder = with_new_paper.folder
    (folder / "other.yaml").write_text(
        "mypaper: {experiments: {printed: {training: {learning_rate: 0.1}}}}\n"
    )
    verdicts = [f"results/{study}/verdicts/C1.json" for study in ("example", "mypaper")]
    with_new_paper.run(*FIGURES, *verdicts, "--configfile", "other.yaml")
    own, other = ((folder / path).with_suffix(".csv").read_text() for path in FIGURES)
    assert own != other
    judged = [json.loads((folder / path).read_text())["verdict"] for path in verdicts]
    assert judged == ["reproduced", "not tested"]


@pytest.fixture
def copy(with_new_paper, tmp_path):
    return with_new_paper.copied(tmp_path)


def refusal(project: Template) -> str:
    """Why the studies cannot be planned."""
    words = ["replication", "targets"]
    code, output = project.pythons.run(words, project.folder, project.environment)
    assert code == 1, output
    assert "Traceback" not in output
    return output


@pytest.mark.parametrize("name", ["2024paper", "class", "report", "index"])
def test_a_name_with_another_meaning_is_refused(copy, name):
    package = copy.folder / "src/transformer_dynamics"
    (package / "mypaper").rename(package / name)
    message = refusal(copy)
    assert message.rstrip().endswith(f"{name}: a study cannot be called {name}; rename the folder")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "training.py",
            "def train(",
            "def trian(",
            "training: has no function train of its own; it has trian",
        ),
        (
            "figures/fig1.py",
            "def draw(",
            "def drwa(",
            "fig1: has no function draw of its own; it has",
        ),
        (
            "registry.yaml",
            "learning.last_over_first",
            "learning.last",
            "no function last of its own; it has",
        ),
        ("training.py", "def train(", "def train((", "training.py, line 12: "),
        ("study.py", "import Figure,", "import Figurs,", "mypaper: cannot be imported: cannot"),
        (
            "config.yaml",
            "experiment: printed",
            "experiment: print",
            "mypaper > figures > fig1: exp",
        ),
        ("registry.yaml", "metric: half_life", "metric: life", "mypaper: claim C2: metric of"),
    ],
)
def test_a_mistake_is_named_before_anything_runs(copy, file, old, new, message):
    path = copy.folder / "src/transformer_dynamics/mypaper" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert message in refusal(copy)
