"""Nothing stale is served, whatever Snakemake is told, and if it has lost its records."""

import shutil
from itertools import cycle, product
from pathlib import Path

import pytest
from conftest import EXAMPLE, FIGURE, FIGURES, PAGE, Template
from tiers import quick_first

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
OVERLAY = "example: {experiments: {printed: {seeds: {first: 1, count: 4}}}}\n"
MTIME = ("--rerun-triggers", "mtime")


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
    """Except the page, which does not say what made it."""
    forget(project)
    assert project.planned(*FIGURES) == {}
    assert project.planned(*FIGURES, PAGE) == {"page": 1}


def test_a_file_that_came_after_its_record_tells_by_itself_what_made_it(project, finished):
    """As from a run without records, or copied from elsewhere; one that is the same stays."""
    project.run(FIGURE, "--configfile", "other.yaml")
    assert project.planned(FIGURE, "--configfile", "other.yaml") == {}
    shutil.copy(finished.folder / FIGURE, project.folder / FIGURE)
    assert project.planned(FIGURE, "--configfile", "other.yaml") == {"figure": 1}
    (finished.folder / FIGURE).touch()
    assert finished.planned(FIGURE) == {}


@pytest.mark.parametrize("kind", ["runs/printed/1-5.npz", "metrics/printed/error.parquet"])
def test_without_records_a_damaged_file_is_named(project, kind):
    forget(project)
    path = project.folder / "results/example" / kind
    path.write_bytes(path.read_bytes()[:100])
    reader = "table" if kind.startswith("metrics") else "metrics"
    output = project.run(FIGURE, "--forcerun", reader, succeed=False)
    assert f"{path.name}: truncated, damaged or not made by this project" in output


OTHERWISE = [
    ("--touch",), ("--drop-metadata",), MTIME, ("--omit-from", "runs"), ("--until", "data"),
    ("--batch", "figure=1/2"), ("--allowed-rules", "figure", "page"), ("--no-hooks",),
    ("--consider-ancient", "page=figures"),
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


def test_a_report_of_other_settings_describes_nothing(project):
    output = project.run(
        FIGURE, "--configfile", "other.yaml", "--report", "report.html", succeed=False
    )
    assert f"--report would describe {FIGURE}, which is of other settings" in output
    assert not (project.folder / "report.html").exists()


def test_arithmetic_of_another_processor_makes_everything_anew(project):
    assert project.planned(FIGURE) == {}
    project.environment["OPENBLAS_CORETYPE"] = "Nehalem"
    assert project.planned(FIGURE) == RERUNS | {"data": 1}


def test_a_profile_of_the_user_that_looks_at_times_alone_counts_for_nothing(project):
    (project.folder / "mine").mkdir()
    (project.folder / "mine/config.yaml").write_text("rerun-triggers: [mtime]\n")
    planned = project.planned(FIGURE, "--configfile", "other.yaml", "--profile", "mine")
    assert planned == RERUNS


def test_a_table_of_other_settings_is_not_drawn(project):
    """Where all rules but one are left out, it counts as given."""
    drawn = project.folder / FIGURE
    before = drawn.read_bytes()
    options = ("--configfile", "other.yaml", "--allowed-rules", "figure", "--forcerun", "figure")
    output = project.run(FIGURE, *options, succeed=False)
    assert f"{Path(FIGURE).with_suffix('.csv')}: made by another configuration" in output
    assert drawn.read_bytes() == before


def test_every_profile_names_all_triggers():
    root = Path(__file__).parents[3]
    for profile in root.glob("profiles/*/config.yaml"):
        text = profile.read_text()
        assert "\nrerun-triggers: [code, input, mtime, params, software-env]\n" in text, profile
