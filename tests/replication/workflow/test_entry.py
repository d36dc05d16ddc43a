"""What is made where no target is named, from the root and from where the catalog looks."""

from pathlib import Path

import pytest
from conftest import FIGURE, JOBS, Template

ENTRIES = {"Snakefile": "plain", "workflow/Snakefile": "all"}
"""Each with its default target."""
CHEAP = [
    f"figures/{name}.pdf" for name in JOBS.figure_paths("scan_and_snap") if name != "sensitivity"
]


def test_a_plain_run_judges_all_claims_and_draws_what_costs_little(project):
    wanted = project.planned("verdicts", *CHEAP)
    del wanted["verdicts"]
    for entry, target in ENTRIES.items():
        planned = project.planned("--snakefile", entry, "--cores", "1")
        assert planned == {**wanted, target: 1}
    everything = project.planned("everything")
    assert everything["table"] == wanted["table"] + 1
    assert everything["page"] == 1


@pytest.mark.parametrize("words", [[FIGURE], ["--lint"]])
def test_a_python_without_the_packages_of_the_project_is_one_sentence(template, words):
    (template.folder / "src/replication/plan/configuration.py").write_text("import packed_away\n")
    output = template.run(*words, succeed=False)
    assert ", which runs Snakemake, has no module packed_away: run `make environment` in" in output
    assert "ModuleNotFoundError" not in output


@pytest.mark.thorough
def test_a_home_that_cannot_be_written_needs_another_cache(template, monkeypatch):
    monkeypatch.setitem(template.environment, "HOME", "/dev/null")
    monkeypatch.delitem(template.environment, "XDG_CACHE_HOME", raising=False)
    assert "/dev/null/.cache" in template.run(FIGURE, "--dry-run", succeed=False)
    monkeypatch.setitem(template.environment, "XDG_CACHE_HOME", str(template.folder / "cache"))
    assert template.planned(FIGURE)["figure"] == 1


@pytest.mark.thorough
def test_with_another_directory_nothing_is_written_into_the_project(template, tmp_path_factory):
    def there() -> set[Path]:
        return {path for path in template.folder.rglob("*") if "__pycache__" not in path.parts}

    before, elsewhere = there(), tmp_path_factory.mktemp("elsewhere")
    template.run(FIGURE, "--directory", str(elsewhere))
    assert (elsewhere / FIGURE).is_file()
    assert there() == before


def test_a_project_may_lie_below_a_path_with_spaces(tmp_path: Path):
    assert Template(tmp_path / "my own papers").planned(FIGURE)["figure"] == 1


def test_a_folder_of_results_alone_is_unlocked(template: Template, tmp_path_factory):
    """As `--directory` makes it, without a Snakefile."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    lock = elsewhere / ".snakemake/locks/0.input.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    template.run("--unlock", "--directory", str(elsewhere))
    assert not lock.exists()
