"""Claims in the workflow: from metrics to verdicts, and what goes wrong."""

import json

import yaml
from conftest import JOBS, PAGE, Template

VERDICT = "results/example/verdicts/C2.json"
EVIDENCE = "results/example/evidence/C2.parquet"
JUDGING = "verdict_example_fig2"
"""The rule that judges the claims of its figure."""
REFUSING = "from replication.base.errors import InputError, UnmeasurableError\n"
EXAMPLE = "src/transformer_dynamics/example"


def test_verdict_says_what_it_comes_from(finished):
    record = json.loads((finished.folder / VERDICT).read_text())
    assert record["claim"] == "C2"
    assert record["seeds"] == 10
    assert record["comparisons"][0]["cell"] == "variance 0.5"
    assert "replication.judge.judgement" in record["provenance"]["code"]
    assert record["provenance"]["packages"].keys() >= {"numpy", "pandas"}
    read = JOBS.ready(VERDICT).inputs
    assert record["provenance"]["reads"].keys() == {JOBS.recipe(item.path) for item in read}
    assert record["provenance"]["key"] == JOBS.key(VERDICT)


def test_only_what_a_claim_depends_on_is_judged_again(finished_project):
    judged = finished_project
    registry = judged.folder / EXAMPLE / "registry.yaml"
    data = yaml.safe_load(registry.read_text())
    claim = next(claim for claim in data["claims"] if claim["id"] == "C2")
    claim["note"] = "Another note."
    registry.write_text(yaml.safe_dump(data))
    assert judged.planned(VERDICT) == {}
    claim["test"]["upper"] = 2.1
    registry.write_text(yaml.safe_dump(data))
    assert judged.planned(VERDICT) == {JUDGING: 1}
    claim["statement"] = ""
    registry.write_text(yaml.safe_dump(data))
    refused = judged.run(VERDICT, succeed=False)
    assert "statement: String should have at least 1" in refused


def test_damaged_evidence_is_made_anew(finished_project):
    judged = finished_project
    evidence, verdict = judged.folder / EVIDENCE, judged.folder / VERDICT
    whole, before = evidence.read_bytes(), verdict.read_bytes()
    evidence.write_bytes(whole[:500])
    judged.run(VERDICT)
    assert (evidence.read_bytes(), verdict.read_bytes()) == (whole, before)


def test_claim_on_an_unknown_experiment_is_refused(template: Template):
    project = template
    project.edit(f"{EXAMPLE}/registry.yaml", "{experiment: printed,", "{experiment: prnted,")
    output = project.run(VERDICT, succeed=False)
    assert "unknown key 'prnted'; did you mean 'printed'?" in output


def test_a_claim_that_cannot_be_measured_stops_nothing_else(finished_project):
    """The other claims of its module and of its figure, the scorecard and the page are made."""
    project = finished_project
    reason = "the training must record update 9"
    learning = f"{EXAMPLE}/claims/learning.py"
    project.edit(learning, "import pandas as pd\n", f"import pandas as pd\n{REFUSING}")
    project.edit(
        learning, "    ratios = ", f'    raise UnmeasurableError("{reason}")\n    ratios = '
    )
    project.run(PAGE, "results/example/verdicts.md")
    record = json.loads((project.folder / VERDICT).read_text())
    assert (record["verdict"], record["summary"]) == ("not tested", reason)
    other = json.loads((project.folder / VERDICT.replace("C2", "C3")).read_text())
    assert other["verdict"] == "does not hold"
    card = (project.folder / "results/example/verdicts.md").read_text()
    assert f"| not tested | {reason} |" in card
    assert f"<b>Why not:</b> {reason}." in (project.folder / PAGE).read_text()
    said = project.verify("--study", "example", succeed=False)
    assert f"verdict on C2: not tested ({reason}), expected replicated by 10 seeds" in said
    assert "C3 " in said


def test_an_error_of_a_measure_stops(finished_project):
    project = finished_project
    learning = f"{EXAMPLE}/claims/learning.py"
    project.edit(learning, "import pandas as pd\n", f"import pandas as pd\n{REFUSING}")
    project.edit(learning, "    ratios = ", '    raise InputError("no such file")\n    ratios = ')
    assert "Error: no such file" in project.run(VERDICT, succeed=False)
