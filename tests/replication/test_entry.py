"""What is made where no target is named, from the root and from where the catalog looks."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import FIGURE, JOBS, Template

from replication import recover

ENTRIES = {"Snakefile": "plain", "workflow/Snakefile": "all"}
"""Each with its default target."""
CHEAP = [f"figures/{name}.pdf" for name in JOBS.shown("scan_and_snap") if name != "sensitivity"]


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
    (template.folder / "src/replication/configuration.py").write_text("import packed_away\n")
    output = template.run(*words, succeed=False)
    assert ", which runs Snakemake, has no module packed_away: run `make environment` in" in output
    assert "ModuleNotFoundError" not in output


def test_a_project_may_lie_below_a_path_with_spaces(tmp_path: Path):
    assert Template(tmp_path / "my own papers").planned(FIGURE)["figure"] == 1


@pytest.mark.usefixtures("warm_python")
def test_a_folder_of_results_alone_is_recovered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As `--directory` makes it, without a Snakefile."""
    monkeypatch.chdir(tmp_path)
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True)
    (locks / "0.input.lock").touch()
    done = CliRunner().invoke(recover.main, [])
    assert done.exit_code == 0, done.output
    assert not (locks / "0.input.lock").exists()
