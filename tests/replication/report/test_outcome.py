"""The lines that a run says at its end about the figures and verdicts that were asked for."""

import re

import pytest
from conftest import ROOT, Template

from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.report import outcome
from replication.report.outcome import outcome_lines
from replication.study.studies import find_studies

FIG1, VERDICT = "figures/example/fig1.pdf", "results/example/verdicts/C1.json"
SCORECARD = "results/example/verdicts.md"


@pytest.fixture
def jobs(finished_project: Template, monkeypatch) -> Jobs:
    monkeypatch.chdir(finished_project.folder)
    studies = {"example": find_studies()["example"]}
    return Jobs.of(configure({}, studies), studies)


def test_a_figure_tells_the_papers_numbers_and_its_verdicts(jobs):
    beside, verdict = outcome_lines(jobs, ROOT, [FIG1])
    assert beside.startswith("fig1 differs from the paper's numbers by at most: error_mean by ")
    assert verdict == "C1 reproduced: The mean error along every direction falls as Figure 1 shows."


def test_a_claim_that_is_not_judged_here_is_told_from_the_reference(jobs, finished_project):
    (finished_project.folder / VERDICT).unlink()
    _, verdict, command = outcome_lines(jobs, ROOT, [FIG1])
    assert verdict.startswith("C1 reproduced, in the reference: ")
    assert command == "`snakemake results/example/verdicts.md` judges the claims here"
    _, verdict, _ = outcome_lines(jobs, finished_project.folder / "nowhere", [FIG1])
    assert verdict.startswith("C1 not judged: ")


def test_a_verdict_of_other_settings_is_not_told(finished_project, monkeypatch):
    monkeypatch.chdir(finished_project.folder)
    studies = {"example": find_studies()["example"]}
    other = {"example": {"experiments": {"printed": {"seeds": {"count": 6}}}}}
    lines = outcome_lines(Jobs.of(configure(other, studies), studies), ROOT, [FIG1])
    assert any(line.startswith("C1 reproduced, in the reference: ") for line in lines)
    assert not any("differs from the paper's numbers" in line for line in lines)


def test_verdicts_that_are_asked_for_are_told_and_other_targets_are_silent(jobs):
    (line,) = outcome_lines(jobs, ROOT, [VERDICT])
    assert line.startswith("C1 reproduced: ")
    assert outcome_lines(jobs, ROOT, ["results/report/example.html"]) == []


def test_a_scorecard_tells_every_verdict_or_their_number_where_they_are_many(jobs, monkeypatch):
    claims = jobs.studies["example"].claims
    told = outcome_lines(jobs, ROOT, [VERDICT, SCORECARD])
    assert sorted(line.split()[0] for line in told) == sorted(claims)
    monkeypatch.setattr(outcome, "MOST_CLAIMS", 1)
    (line,) = outcome_lines(jobs, ROOT, [SCORECARD])
    assert line.startswith(f"example: of {len(claims)} claims ")
    assert line.endswith(f"; see {SCORECARD}")
    numbers = re.findall(r"(\d+) [a-z]", line.partition(" claims ")[2])
    assert sum(map(int, numbers)) == len(claims) > 1
