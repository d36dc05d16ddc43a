"""A second reference: a run at the paper's scale, kept beside the default one and shown with it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import JOBS, PAGE, STUDIES, Template

from replication.bundle.bundle import PAPER_SCALE, read_unchanged
from replication.bundle.judged import (
    is_paper_scale,
    judged_at_paper_scale,
    read_judged_reference,
    with_paper_scale,
)
from replication.bundle.judged import test_digests as digests_of_tests
from replication.documents.pages import StudyResults, claims_page
from replication.plan.configuration import configure, merge, read_overlay
from replication.plan.jobs import Jobs
from replication.report.command import main as report

STUDY = "example"
TRAINED = {"training": {"updates": 250}}
OVERLAY = {STUDY: {"experiments": {"printed": TRAINED, "replication": TRAINED}}}
ONE_SEED = {STUDY: {"experiments": {"replication": {"seeds": {"first": 101, "count": 1}}}}}
AT_SCALE = ("--configfile", "at_scale.yaml", "one_seed.yaml")
RUN = ("--study", STUDY, "--configuration", "results/config.yaml")
VERDICTS, DRAWN = f"results/{STUDY}/verdicts.md", f"figures/{STUDY}/scorecard.csv"
SECOND = f"results/reference/{STUDY}/{PAPER_SCALE}"
C2, C3 = (
    f"at the paper's scale: not tested, claim {claim} has 1 seed, but a test over seeds needs"
    for claim in ("C2", "C3")
)
OF_ONE = "at the paper's scale: not tested"


@pytest.fixture(scope="module")
def kept(finished: Template, tmp_path_factory: pytest.TempPathFactory) -> Template:
    """A project with two of three claims, by one of ten seeds, in its second reference."""
    project = finished.copied(tmp_path_factory.mktemp("kept"))
    folder = project.folder / f"src/transformer_dynamics/{STUDY}"
    for file in (folder / f"{PAPER_SCALE}.yaml", project.folder / "at_scale.yaml"):
        file.write_text(json.dumps(OVERLAY))
    (project.folder / "one_seed.yaml").write_text(json.dumps(ONE_SEED))
    for made in (f"results/{STUDY}", "results/report", "figures"):
        shutil.rmtree(project.folder / made)
    # C3 is corrected with C2.
    project.run(f"results/{STUDY}/verdicts/C2.json", *AT_SCALE)
    output = project.verify(*RUN, "--write", "--partly")
    assert f"The reference is kept in {SECOND}\n" in output
    return project


@pytest.fixture
def project(kept: Template, tmp_path: Path) -> Template:
    return kept.copied(tmp_path)


def pages(project: Template) -> tuple[int, str]:
    """Exit status of the command that writes pages from references, and what it says or writes."""
    output = project.folder / "pages"
    options = ["--reference", "--root", str(project.folder), "--output", str(output), STUDY]
    made = CliRunner().invoke(report, options)
    return made.exit_code, made.output if made.exit_code else (output / "example.html").read_text()


def claims(project: Template) -> str:
    """The document of claims."""
    alone = {STUDY: STUDIES[STUDY]}
    study = Jobs.of(configure({}, alone), alone, with_paper_scale(project.folder)).studies[STUDY]
    return claims_page(StudyResults(study, read_judged_reference(project.folder, study)))


def test_a_run_at_the_papers_scale_is_compared_with_the_second_reference(project):
    assert {*read_unchanged(project.folder / SECOND).verdicts} == {"C2", "C3"}
    output = project.verify(*RUN)
    assert f"Compared with {SECOND}\n" in output
    assert "Not in the reference: figure fig1, figure fig2, claim C1" in output
    assert "Equal to the reference: 0 figures, 2 verdicts" in output
    evidence = project.folder / SECOND / "evidence.csv"
    text = evidence.read_text()
    evidence.write_text(text.replace(",101,8.", ",101,9."))
    output = project.verify(*RUN, succeed=False)
    assert "reference: evidence.csv is changed by hand" in output
    assert "evidence.csv, claim C3: value in row 1 (C3, last over first" in output


def test_the_rest_of_a_second_reference_can_follow(project):
    project.run("reference", "--config", f"study={STUDY}", *AT_SCALE)
    whole = read_unchanged(project.folder / SECOND)
    assert {*whole.verdicts} == {"C1", "C2", "C3"}
    assert "Equal to the reference: 2 figures, 3 verdicts, 6 fingerprints" in project.verify(*RUN)
    for made in (f"results/{STUDY}", "figures"):
        shutil.rmtree(project.folder / made)
    assert "Computed here: nothing. All" in project.verify(*RUN, "--write", "--partly")
    assert read_unchanged(project.folder / SECOND).verdicts == whole.verdicts
    told = claims(project)
    assert "; at the paper's scale: reproduced, 16 of 16 hold" in told
    assert "the theory says; at the paper's scale: in part |" in told


def test_runs_of_other_seeds_are_neither_mixed_nor_lost(project):
    (project.folder / "one_seed.yaml").write_text(json.dumps(ONE_SEED).replace("101", "102"))
    project.run(f"results/{STUDY}/evidence/C1.parquet", *AT_SCALE)
    output = project.verify(*RUN, "--write", "--partly", succeed=False)
    assert "are of other settings: seeds 101 in place of 102; give this command" in output
    shutil.rmtree(project.folder / f"results/{STUDY}")
    project.run(f"results/{STUDY}/evidence/C1.parquet", *AT_SCALE)
    output = project.verify(*RUN, "--write", "--partly", succeed=False)
    assert "claim C2, claim C3: not computed here, and not in the reference with these" in output


def test_both_scales_stand_side_by_side(project):
    assert project.run(VERDICTS, DRAWN)
    text = (project.folder / VERDICTS).read_text()
    assert f"| here: replicated; {C2}" in text
    assert "**holds** <sup>1, 2</sup>: large directions first" in text
    drawn = (project.folder / DRAWN).read_text()
    document = claims(project)
    status, page = pages(project)
    assert status == 0, page
    beside = page.replace("&#39;", "'")
    for told in (C2, C3, OF_ONE):
        for place in (text, drawn, document, beside):
            assert told in place
    assert f"here: does not hold, 0 of 1; {C3}" in document
    assert "| reproduced, 16 of 16 |" in document, "C1 has no run there"


def test_the_default_reference_is_as_ever(project):
    project.run("reference", "--config", f"study={STUDY}")
    assert f"Compared with results/reference/{STUDY}\n" in project.verify("--study", STUDY)
    assert (project.folder / SECOND / "evidence.csv").is_file()


def test_without_a_second_reference_nothing_is_said_of_it(finished):
    status, page = pages(finished)
    assert status == 0
    for text in (page, claims(finished), (finished.folder / PAGE).read_text()):
        assert "the paper's scale" not in text.replace("&#39;", "'")
        assert ">here: " not in text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("notes.txt", "mine", "notes.txt changed after it was made; restore it with git\n"),
        ("verdicts.json", "{", "restore it with git, or delete it"),
        ("manifest.json", None, "is damaged, or no whole reference"),
    ],
)
def test_a_damaged_second_reference_is_one_sentence(project, name, content, said):
    file = project.folder / SECOND / name
    if content is None:
        file.unlink()
    else:
        file.write_text(content)
    status, output = pages(project)
    assert status == 1
    assert output.startswith(f"Error: {project.folder / SECOND}")
    assert said in output
    assert output.count("\n") == 1


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [
        ({}, True),
        ({"seeds": [1001], "fresh_kernels": {"cb": {"first": 3, "count": 1}}}, True),
        ({"experiments": {"main": {"seeds": [7]}}}, True),
        ({"encoder": {"name": "minilm"}}, False),
        ({"kernels": {"samples": 100}}, False),
    ],
)
def test_seeds_alone_may_differ_from_the_papers_scale(changes, is_same):
    study = STUDIES["lp_ft"]
    overlay = merge(read_overlay(study.folder / f"{PAPER_SCALE}.yaml"), {"lp_ft": changes})
    settings = configure(overlay, {"lp_ft": study}).section("lp_ft")
    assert is_paper_scale(replace(JOBS.studies["lp_ft"], settings=settings)) == is_same


def test_a_study_without_a_papers_scale_has_no_run_of_it():
    assert not is_paper_scale(JOBS.studies[STUDY])


def test_without_a_verdict_nothing_is_kept(project):
    shutil.rmtree(project.folder / SECOND)
    shutil.rmtree(project.folder / f"results/{STUDY}")
    output = project.verify(*RUN, "--write", "--partly", succeed=False)
    assert f"Error: {STUDY}: no verdict is computed here; compute one" in output
    assert not (project.folder / SECOND).exists()


def test_runs_can_follow(project):
    """Their table has rows and columns then."""
    project.run(f"results/{STUDY}/metrics/replication/fingerprint.parquet", *AT_SCALE)
    project.verify(*RUN, "--write", "--partly")
    assert "0 figures, 2 verdicts, 1 fingerprints of runs." in project.verify(*RUN)


@pytest.mark.parametrize("name", ["lp_ft", "recurrent_attention", "gradient_heterogeneity"])
def test_what_is_kept_is_judged_by_the_rules_of_its_scale(name):
    alone = {name: STUDIES[name]}
    overlay = read_overlay(STUDIES[name].folder / f"{PAPER_SCALE}.yaml")
    on_gpu = merge(overlay, {"computation": {"device": "cuda"}})
    run, here = (Jobs.of(configure(each, alone), alone).studies[name] for each in (on_gpu, {}))
    assert digests_of_tests(judged_at_paper_scale(here)) == digests_of_tests(run)
