"""What a change reruns, and what reruns nothing."""

import os
import re

import pytest
from conftest import EXAMPLE, FIGURE, FIGURES, RUNS, SEEDS, Template, counted

ENGINE = "src/replication"
PUBLISHED = f"{EXAMPLE}/published/fig1.csv"
DRAWS = {"table": 1, "figure": 1}
MEASURES = {"metrics": 1, **DRAWS}
TRAINS = {"runs": 1, **MEASURES}
ALL = {"data": 1, **TRAINS}


def test_touching_every_file_reruns_nothing(finished_project: Template):
    for path in finished_project.folder.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            path.touch()
    assert finished_project.planned(*FIGURES) == {}


def edit(project: Template, path: str, old: str, new: str) -> None:
    """Replace the first occurrence of a text in a file."""
    file = project.folder / path
    before = file.read_text()
    assert old in before, f"{path} lacks: {old}"
    file.write_text(before.replace(old, new, 1))


def test_what_no_number_depends_on_reruns_nothing(finished_project: Template):
    """All at once."""
    for path, old, new in (
        (f"{EXAMPLE}/training.py", "        residual", "        # a remark\n        residual"),
        (f"{EXAMPLE}/study.py", '"half_life")', '"half_life", "speed")'),
        (f"{EXAMPLE}/registry.yaml", "note: ", "note: It is so. "),
        (f"{ENGINE}/base/strict.py", "did you mean", "perhaps you mean"),
        (f"{ENGINE}/base/errors.py", '"""\n\n', '"""\n\nA_NEW_CONSTANT = 1\n\n'),
    ):
        edit(finished_project, path, old, new)
    names = "run/stages plan/jobs plan/steps plan/rules base/storage verify/command"
    for name in names.split():
        path = f"{ENGINE}/{name}.py"
        edit(finished_project, path, '"""\n\nimport ', '"""\n\nA_NEW_CONSTANT = 1\nimport ')
    assert finished_project.planned(*FIGURES) == {}


EDITS = {
    "data": (
        f"{EXAMPLE}/data.py",
        'generator(seed, "noise")',
        'generator(seed, "rounding")',
        ALL,
        "example.data",
    ),
    "training": (
        f"{EXAMPLE}/training.py",
        "- job.learning_rate",
        "- 2 * job.learning_rate",
        TRAINS,
        "example.training",
    ),
    "metric": (
        f"{EXAMPLE}/metrics.py",
        "1 - weights.ravel()",
        "2 - weights.ravel()",
        MEASURES,
        "example.metrics",
    ),
    "line of a figure": (
        f"{EXAMPLE}/figures/fig1.py",
        "linewidth=0.7",
        "linewidth=0.9",
        DRAWS,
        "example.figures.fig1",
    ),
    "published value": (
        PUBLISHED,
        "\n1,",
        "\n1.0,",
        {"figure": 1},
        "or a table as printed",
    ),
    "engine that computes": (
        f"{ENGINE}/base/random_streams.py",
        '"little"',
        '"big"',
        ALL,
        "replication.base.random_streams",
    ),
    "style of figures": (
        f"{ENGINE}/figures/style.py",
        '"savefig.dpi": 300',
        '"savefig.dpi": 310',
        DRAWS,
        "style",
    ),
}
"""File, text before and after, the jobs of the figure that rerun, and what their reasons name."""
TOGETHER = (
    ["data", "engine that computes"],
    ["training"],
    ["metric"],
    ["line of a figure", "style of figures"],
    ["published value"],
)
"""Edits that rerun the same jobs, so that one plan tells of all of them."""
EACH = [name for names in TOGETHER for name in names if len(names) > 1]


@pytest.mark.parametrize(
    "names",
    [
        *(pytest.param(names, id=", ".join(names)) for names in TOGETHER),
        *(pytest.param([name], id=name, marks=pytest.mark.thorough) for name in EACH),
    ],
)
def test_an_edit_reruns_what_it_reaches(finished_project: Template, names: list[str]):
    for name in names:
        path, old, new, *_ = EDITS[name]
        edit(finished_project, path, old, new)
    output = finished_project.run(FIGURE, "--dry-run", "--printshellcmds")
    reasons = re.findall("made anew, such as .*: (.*)", output)
    for name in names:
        *_, planned, named = EDITS[name]
        assert counted(output) == planned
        assert any(named in reason for reason in reasons), output


def test_a_changed_setting_reruns_what_depends_on_it(finished_project: Template):
    edit(finished_project, f"{EXAMPLE}/config.yaml", "updates: 200", "updates: 150")
    assert finished_project.planned(FIGURES[1]) == {**TRAINS, "runs": 2}


def make_old(*paths):
    """As after a clock was set back: the files look older than all there was before."""
    for path in paths:
        os.utime(path, (1, 1))


def test_an_edit_of_one_figure_reruns_no_other_whatever_its_time(finished_project: Template):
    edit(finished_project, PUBLISHED, "\n1,", "\n1.0,")
    make_old(finished_project.folder / PUBLISHED)
    output = finished_project.run(*FIGURES, "--dry-run", "--printshellcmds")
    assert re.findall(r"Drawing (\S+)", output) == [FIGURE]
    assert counted(output) == {"figure": 1}
    drawing = f"{EXAMPLE}/figures/fig2.py"
    edit(finished_project, drawing, 'Literal["fig2"]', 'Literal["fig2", "fig3"]')
    make_old(finished_project.folder / drawing)
    output = finished_project.run(*FIGURES, "--dry-run", "--printshellcmds")
    assert sorted(re.findall(r"Drawing (\S+)", output)) == sorted(FIGURES)
    assert counted(output) == {"table": 1, "figure": 2}


def test_what_was_made_anew_counts_whatever_its_time(finished_project: Template):
    runs = [f"{RUNS}/{seeds}.npz" for seeds in SEEDS]
    path, rate = f"{EXAMPLE}/training.py", "job.learning_rate"
    edit(finished_project, path, f"- {rate}", f"- 2 * {rate}")
    finished_project.run(*runs)
    make_old(*(finished_project.folder / path for path in runs))
    assert finished_project.planned(FIGURES[1]) == MEASURES
