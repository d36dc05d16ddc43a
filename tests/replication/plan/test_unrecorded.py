"""Nothing stale is served, whatever Snakemake is told, and if it has lost its records."""

import base64
import os
import shutil
from dataclasses import replace
from itertools import cycle, product
from pathlib import Path

import pytest
from conftest import EXAMPLE, FIGURE, FIGURES, JOBS, PAGE, Template
from tiers import quick_first

from replication.base.errors import InputError
from replication.bundle.computed import read_computed
from replication.plan.steps import texts
from replication.run.program import refuse_edited_code

RERUNS = {"data": 1, "runs": 1, "metrics": 1, "table": 1, "figure": 1}
TRAINS = {rule: 1 for rule in RERUNS if rule != "data"}
CHANGES = {
    "seeds": ("config.yaml", "{first: 1, count: 5}", "{first: 1, count: 4}", RERUNS),
    "training": ("config.yaml", "updates: 200", "updates: 150", TRAINS),
    "code of a metric": (
        "metrics.py", "return ", "return 1 and ", {"metrics": 1, "table": 1, "figure": 1},
    ),
    "code of a figure": (
        "figures/fig1.py", "xlabel=\"update\"", "xlabel=\"updates\"", {"table": 1, "figure": 1},
    ),
}  # fmt: skip
"""What is edited, and the jobs of the figure that run again."""
DATA = "results/example/data/printed/1-5.npz"
OVERLAY = "example: {experiments: {printed: {seeds: {first: 1, count: 4}}}}\n"


@pytest.fixture
def project(finished_project: Template) -> Template:
    (finished_project.folder / "other.yaml").write_text(OVERLAY)
    return finished_project


def forget(project: Template) -> None:
    """Lose what Snakemake knows of how its files were made."""
    shutil.rmtree(project.folder / ".snakemake")


@pytest.mark.parametrize("name", CHANGES)
def test_without_records_a_file_tells_by_itself_what_made_it(project, name):
    file, old, new, planned = CHANGES[name]
    path = project.folder / EXAMPLE / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with_records = project.planned(FIGURE)
    forget(project)
    assert project.planned(FIGURE) == with_records == planned


def test_without_records_what_is_current_stays(project):
    forget(project)
    assert project.planned(*FIGURES, PAGE) == {}


@pytest.mark.thorough
def test_a_file_that_came_after_its_record_tells_by_itself_what_made_it(project, finished):
    """As from a run without records, or copied from elsewhere; one that is the same stays."""
    project.run(FIGURE, "--configfile", "other.yaml")
    assert project.planned(FIGURE, "--configfile", "other.yaml") == {}
    shutil.copy(finished.folder / FIGURE, project.folder / FIGURE)
    assert project.planned(FIGURE, "--configfile", "other.yaml") == {"figure": 1}
    (finished.folder / FIGURE).touch()
    assert finished.planned(FIGURE) == {}


def test_marks_of_unfinished_files_count_for_nothing(project):
    """As a kill leaves them behind; a file is whole or not there."""
    (project.folder / FIGURE).unlink()
    for path in (DATA, DATA.replace("data", "runs")):
        name = base64.b64encode(path.encode()).decode()
        marks = project.folder / ".snakemake/incomplete"
        marks.mkdir(exist_ok=True)
        (marks / name).write_text('{"external_jobid": null}')
    assert project.planned(FIGURE) == {"figure": 1}


def test_a_job_that_a_user_forces_leaves_nothing_out(project):
    (project.folder / FIGURE).unlink()
    assert project.planned(FIGURE, "--forcerun", "data") == RERUNS
    assert project.planned(FIGURE, "--forcerun", DATA) == RERUNS
    assert project.planned(FIGURE, "--forcerun", "table") == {"table": 1, "figure": 1}


def test_damaged_files_are_made_anew(project):
    folder = project.folder / "results/example"
    paths = [folder / "runs/printed/1-5.npz", folder / "metrics/printed/error.parquet"]
    before = [path.read_bytes() for path in paths]
    for path in paths:
        path.write_bytes(path.read_bytes()[:100])
    project.run(FIGURE)
    assert [path.read_bytes() for path in paths] == before


EDITED = {
    "results/example/verdicts.md": "verdicts",
    "results/example/verdicts.parquet": "verdicts",
    "results/example/verdicts/C1.json": "verdicts",
    PAGE: PAGE,
    "results/report/example/fig1.csv": PAGE,
    FIGURE: FIGURE,
    "figures/example/fig1.svg": PAGE,
    "figures/example/fig1.csv": FIGURE,
}
"""Files that people read, and the targets that look at them."""


def edit_unseen(path: Path) -> None:
    """Change one bit of a file, and keep its size and its time."""
    times, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.thorough
def test_what_people_read_is_made_anew_if_somebody_edited_it(project):
    """And a comparison with the reference names it until then."""
    targets = [*dict.fromkeys(EDITED.values())]
    project.run("verdicts")
    before = {path: (project.folder / path).read_bytes() for path in EDITED}
    for path in EDITED:
        edit_unseen(project.folder / path)
    _, refused = read_computed(JOBS, "example", project.folder)
    assert refused.keys() == EDITED.keys() - {"results/report/example/fig1.csv"}
    assert all(f"`snakemake --force {path}` makes it" in why for path, why in refused.items())
    project.run(*targets)
    assert read_computed(JOBS, "example", project.folder)[1] == {}
    made_anew = {path: (project.folder / path).read_bytes() for path in EDITED}
    del made_anew[PAGE], before[PAGE]  # it says when its jobs ran
    assert made_anew == before
    assert project.planned(*targets) == {}


OTHERWISE = [
    ("--touch",), ("--omit-from", "runs"), ("--until", "data"), ("--batch", "figure=1/2"),
    ("--allowed-rules", "figure", "page"), ("--no-hooks",),
]  # fmt: skip
ASKED = (FIGURE, PAGE, "verdicts")


@pytest.mark.parametrize(
    ("target", "options"),
    # Each option every time, with one target after the other; all pairs in thorough runs.
    quick_first(product(ASKED, OTHERWISE), [*zip(cycle(ASKED), OTHERWISE, strict=False)]),
)
def test_what_would_serve_the_stale_is_refused(project, options, target):
    before = project.files("figures", "results")
    output = project.run(target, "--configfile", "other.yaml", *options, succeed=False)
    assert "results of other settings" in output
    assert project.files("figures", "results") == before


def test_arithmetic_of_another_processor_makes_everything_anew(project):
    assert project.planned(FIGURE) == {}
    project.environment["OPENBLAS_CORETYPE"] = "Nehalem"
    assert project.planned(FIGURE) == RERUNS | {"data": 1}


@pytest.mark.parametrize("triggers", ["mtime", "code", "params"])
def test_a_profile_of_the_user_that_names_triggers_counts_for_nothing(project, triggers):
    (project.folder / "mine").mkdir()
    (project.folder / "mine/config.yaml").write_text(f"rerun-triggers: [{triggers}]\n")
    planned = project.planned(FIGURE, "--configfile", "other.yaml", "--profile", "mine")
    assert planned == RERUNS
    asked = ("--rerun-triggers", triggers)
    assert project.planned(FIGURE, "--configfile", "other.yaml", *asked) == RERUNS
    for path in project.folder.rglob("*"):
        if path.is_file() and ".snakemake" not in path.parts:
            path.touch()
    assert project.planned(FIGURE, *asked) == {}


def test_a_table_of_other_settings_is_not_drawn(project):
    """Where all rules but one are left out, it counts as given."""
    drawn = project.folder / FIGURE
    before = drawn.read_bytes()
    options = ("--configfile", "other.yaml", "--allowed-rules", "figure", "--forcerun", "figure")
    output = project.run(FIGURE, *options, succeed=False)
    assert f"{Path(FIGURE).with_suffix('.csv')}: made by another configuration" in output
    assert drawn.read_bytes() == before


EDITS = """
metrics = Path(__file__).with_name("metrics.py")
metrics.write_text(metrics.read_text().replace("1 - weights", "2 - weights"))
"""
"""Code that edits the metrics when data are drawn, after all was planned."""
DAMAGES = f'xlabel=(open("{DATA}", "w").close(), "update")[1]'
"""Code that damages the data when a figure is drawn."""


def test_code_that_is_edited_while_a_run_goes_on_makes_nothing(template):
    """After the edit was undone, the same command goes on."""
    example = template.folder / EXAMPLE
    before = (example / "metrics.py").read_text()
    with (example / "data.py").open("a") as stream:
        stream.write(EDITS)
    output = template.run(FIGURE, succeed=False)
    assert (
        "error.parquet: the code of transformer_dynamics.example.metrics changed while this run was"
        " under way; give the same command again"
    ) in output
    (example / "metrics.py").write_text(before)
    template.run(FIGURE)
    # A result that changes while others are made is noticed at the end.
    template.edit(f"{EXAMPLE}/figures/fig1.py", 'xlabel="update"', DAMAGES)
    assert f"{DATA}: its code, or the file, changed" in template.run(FIGURE, succeed=False)


def test_texts_that_are_edited_while_a_run_goes_on_are_refused(tmp_path):
    template = tmp_path / "page.html"
    template.write_text("before")
    planned = replace(JOBS.ready("results/example/verdicts.md"), inputs=texts([template]))
    refuse_edited_code(planned)
    template.write_text("after")
    with pytest.raises(InputError, match=r"page\.html changed while this run was under way"):
        refuse_edited_code(planned)
    with pytest.raises(InputError, match=r"replication\.judge\.scorecard changed"):
        refuse_edited_code(replace(planned, inputs=(), code=""))


def test_results_of_other_settings_are_not_replaced_without_a_word(project):
    said = "of other settings: seeds 1-4 in place of 1-5; to keep both, add `--directory FOLDER`"
    project.run(FIGURE, "--configfile", "other.yaml")
    assert said in project.run(FIGURE, "--dry-run")
    before = project.files("figures", "results")
    refused = "the results of example here are of other settings: seeds 1-4 in place of 1-5"
    assert refused in project.run("verify", "--config", "study=example", succeed=False)
    assert refused in project.verify("--study", "example", succeed=False)
    assert project.files("figures", "results").items() >= before.items()
    assert said not in project.run(FIGURE, "--configfile", "other.yaml", "--dry-run")
