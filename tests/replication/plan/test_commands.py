"""The commands that list targets and print the settings of an experiment."""

import yaml
from click.testing import CliRunner
from conftest import JOBS

from replication.__main__ import COMMANDS
from replication.plan import show_settings, targets
from replication.plan.costs import Costs, Records


def test_there_are_eight_commands():
    expected = {"generate", "new", "power", "quick", "report", "settings", "targets", "verify"}
    assert {*COMMANDS} == expected


def printed(command, *words):
    result = CliRunner().invoke(command, words, catch_exceptions=True)
    return result.exit_code, result.output, result.exception


def test_targets_name_every_figure_with_its_subject_and_minutes():
    code, output, _ = printed(targets.main)
    assert code == 0
    for below, (study, name) in JOBS.figures.items():
        (line,) = (line for line in output.splitlines() if f" figures/{below}.pdf " in line)
        assert study.text(name).title in line
        assert (" min " in line) != ("time not recorded" in line)
    for name, study in JOBS.studies.items():
        for target in (study.study.scorecard, study.study.page, name):
            assert f"  {target}  " in output


def test_minutes_of_a_target_count_each_job_once():
    seconds = {"runs/printed/1-5": 60.0}
    drawn = {"logs/figures/example/fig1.csv": 20.0, "logs/figures/example/fig1.pdf": 10.0}
    recorded = {f"logs/example/{job}": each for job, each in seconds.items()} | drawn
    lines = [*targets.target_lines(Costs(JOBS, Records(recorded)))]
    (fig1,) = (line for line in lines if "figures/example/fig1.pdf" in line)
    assert fig1.startswith("  figures/example/fig1.pdf  1.5 min  ")


def test_settings_of_an_experiment_are_those_of_its_jobs():
    code, output, _ = printed(show_settings.main, "example", "printed")
    assert code == 0
    found = yaml.safe_load(output)
    (job,) = JOBS.studies["example"].experiments["printed"].runs.values()
    assert found["runs"] == job.settings.model_dump(mode="json")
    assert found["seeds"] == "1-5"
    assert "differences" not in found


def test_runs_that_differ_are_told_by_their_differences():
    settings = show_settings.experiment_settings(JOBS.studies["lp_ft"].experiments["main"])
    names = [name for each in settings["differences"] for name in each.split(", ")]
    runs = JOBS.studies["lp_ft"].experiments["main"].runs
    assert sorted(names) == sorted(runs)
    for each, own in settings["differences"].items():
        for name in each.split(", "):
            whole = runs[name].settings.model_dump(mode="json")
            assert whole["method"] == own["method"]
            assert whole["texts"] == settings["runs"]["texts"] | own["texts"]


def test_an_overlay_changes_the_settings_that_are_shown(tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("example: {experiments: {printed: {training: {learning_rate: 0.5}}}}")
    _, output, _ = printed(show_settings.main, "--configfile", str(overlay), "example", "printed")
    assert yaml.safe_load(output)["runs"]["learning_rate"] == 0.5


def test_experiments_are_listed_and_a_wrong_name_is_answered():
    assert list(yaml.safe_load(printed(show_settings.main, "example")[1])) == [
        *JOBS.studies["example"].experiments
    ]
    for words, answer in (
        (["exmple"], "did you mean 'example'"),
        (
            ["example", "prnted"],
            "example: unknown experiment 'prnted'; did you mean 'printed'",
        ),
    ):
        code, output, error = printed(show_settings.main, *words)
        assert code != 0
        assert answer in output + str(error)


def test_an_overlay_may_name_the_study_that_snakemake_makes(tmp_path):
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("study: example")
    assert printed(show_settings.main, "--configfile", str(overlay), "example")[0] == 0


def test_an_overlay_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "broken.yaml").write_bytes(b"\x80\x00")
    for name, said in (
        ("broken.yaml", "broken.yaml: cannot be read ('utf-8' codec"),
        ("none.yaml", "none.yaml: cannot be read (No such file or directory); name another"),
    ):
        words = ("--configfile", str(tmp_path / name), "example")
        code, output, _ = printed(show_settings.main, *words)
        assert (code, said in output) == (1, True), output
