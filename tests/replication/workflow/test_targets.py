"""Words that are no target: what was meant, and what can be made."""

import os
import re
import shlex
from itertools import chain

import pytest
from conftest import FIGURES, JOBS, ROOT, STUDIES

from replication.base.errors import InputError
from replication.plan.configuration import configure, read_overlay
from replication.plan.jobs import Jobs
from replication.plan.targets import refuse_target, unknown_targets

KINDS = "(a figure can be pdf, png, svg or, its numbers, csv)"


@pytest.mark.parametrize(
    ("target", "meant"),
    [
        ("figures/fig66.pdf", "figures/fig6.pdf"),
        ("figures/fig6", "figures/fig6.pdf"),
        ("figures/fig6.jpg", "figures/fig6.pdf"),
        ("figures/fig66.png", "figures/fig6.png"),
        ("figures/Fig6.svg", "figures/fig6.svg"),
        ("figure/fig6.csv", "figures/fig6.csv"),
        ("fig6", "figures/fig6.pdf"),
        ("Fig6", "figures/fig6.pdf"),
        ("example/fig1", "figures/example/fig1.pdf"),
        (os.path.abspath("figures/fig6.pdf"), "figures/fig6.pdf"),
        (os.path.abspath("figures/fig66.png"), "figures/fig6.png"),
    ],
)
def test_the_figure_that_was_meant_is_named(target, meant):
    with pytest.raises(InputError) as error:
        refuse_target(JOBS, target, ["figures", "verify"])
    assert error.value.message == f"{target}: is no target; did you mean {meant}? {KINDS}"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("figurs", "did you mean figures?"),
        (
            "figures/zzzzz.pdf",
            "figures/zzzzz.pdf: is no target; targets are example, figures, verify",
        ),
        ("results/example/verdicts/C11.json", "did you mean results/example/verdicts/C1.json?"),
        ("results/example/verdict.md", "did you mean results/example/verdicts.md?"),
        ("results/exmple/verdicts.md", "did you mean results/example/verdicts.md?"),
        ("results/report/exampel.html", "did you mean results/report/example.html?"),
        ("report/example.html", "did you mean results/report/example.html?"),
        ("results/example/runs/printed/1-4.npz", "mean results/example/runs/printed/1-5.npz?"),
        ("results/example/runs/prnted/1-5.npz", "mean results/example/runs/printed/1-5.npz?"),
        ("figures/", "figures/: is no target; did you mean figures?"),
        (os.path.abspath("results/example"), "did you mean results/report/example.html?"),
        ("results", "results: is no target; targets are example, figures, verify, and the files"),
        ("", "an empty word: is no target; targets are example, figures, verify, and the files"),
        ("mine", "mine: is no target; targets are example, figures, verify, and the files that"),
        ("results/x", "results/x: is no target; targets are example, figures, verify, and the"),
    ],
)
def test_another_target_that_was_meant_is_named(target, message):
    with pytest.raises(InputError) as error:
        refuse_target(JOBS, target, ["example", "figures", "verify"])
    assert message in error.value.message


@pytest.mark.parametrize("target", ["figures/slow.pdf", "slow", "figures/Slwo.pdf"])
def test_a_figure_is_found_by_the_last_part_of_its_name(tmp_path, target):
    overlay = tmp_path / "my.yaml"
    overlay.write_text("example: {figures: {slow: {kind: fig2, experiment: printed}}}")
    example = {"example": STUDIES["example"]}
    jobs = Jobs.of(configure(read_overlay(overlay), example), example)
    with pytest.raises(InputError) as error:
        refuse_target(jobs, target, ["figures"])
    assert f"did you mean figures/example/slow.pdf? {KINDS}" in error.value.message


def test_values_of_options_are_no_targets():
    words = ["-n", "fig66", "--directory", "fig7", "figures", "--configfile", "fig8"]
    assert unknown_targets(words, "figures".__eq__) == ["fig66"]


def test_a_path_that_snakemake_does_not_know_is_not_taken_for_a_file_that_is_there(template):
    """It would end with "Nothing to be done", whatever the settings."""
    file = template.folder / FIGURES[0]
    file.parent.mkdir(parents=True)
    file.touch()
    (template.folder / "link").symlink_to(template.folder)
    said = {str(file): FIGURES[0], str(file.parents[2] / "link" / FIGURES[0]): FIGURES[0]}
    output = template.run(*said, succeed=False)
    assert f"{next(iter(said))}: is no target; did you mean {FIGURES[0]}?" in output


@pytest.mark.parametrize(("option", "is_value"), [("configfile", ".yaml"), ("config", "=")])
def test_no_example_has_its_target_where_snakemake_takes_it_for_a_value(option, is_value):
    commands = [
        command.partition("#")[0]
        for folder in (".", "config", "docs", "src")
        for path in (ROOT / folder).glob("*.md" if folder == "." else "**/*.[my][da]*")
        for command in re.findall(r"snakemake ([^`\n]*--.*?)[`\n]", path.read_text("utf-8"))
    ]
    found = [re.findall(rf"--{option} (.*?)(?= -|$)", command) for command in commands]
    values = [value for given in chain(*found) for value in shlex.split(given)]
    assert values
    assert [value for value in values if is_value not in value and value != "..."] == []
