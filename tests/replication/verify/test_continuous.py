"""What is verified continuously."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from replication.bundle.bundle import find_references

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_pin_actions_and_run_what_exists(path):
    """Actions by full commit, no rights beyond reading by default, and no value of an event in a
    shell command."""
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]), step
            else:
                assert "${{" not in step["run"]
                for module in re.findall(r"-m (replication[\w.]*)", step["run"]):
                    place = ROOT / "src" / Path(*module.split("."))
                    assert place.with_suffix(".py").is_file() or (place / "__main__.py").is_file()
                for script in re.findall(r"\.github/\w+|\.ci/run", step["run"]):
                    assert os.access(ROOT / script, os.X_OK)


def test_every_study_with_a_reference_is_re_verified(tmp_path):
    texts = {path.stem: path.read_text() for path in WORKFLOWS}
    assert ".github/verify hash $(ls results/reference)" in texts["pull_request"]
    assert ".github/verify seed" in texts["nightly"]
    weekly = yaml.safe_load(texts["weekly"])["jobs"]
    full = weekly["full"]
    assert full["continue-on-error"] == "${{ matrix.packages == 'newest' }}"
    assert full["strategy"]["matrix"] == {
        "study": "${{ fromJSON(needs.studies.outputs.names) }}",
        "packages": ["encoders", "newest"],
    }
    assert not full["strategy"]["fail-fast"]
    commands = [step.get("run") for step in full["steps"]]
    assert '.github/verify full "$STUDY"' in commands
    (kept,) = [step["with"] for step in full["steps"] if "upload-artifact" in step.get("uses", "")]
    assert "receipt.json" in kept["path"].split()
    (command,) = [step["run"] for step in weekly["studies"]["steps"] if "run" in step]
    output = tmp_path / "output"
    environment = os.environ | {"GITHUB_OUTPUT": str(output)}
    subprocess.run(["bash", "-c", command], cwd=ROOT, env=environment, check=True)
    names = json.loads(output.read_text().removeprefix("names="))
    assert names == find_references(ROOT)


def test_a_package_that_cannot_be_audited_fails_the_audit():
    """As it does not by itself: what the service does not know passes without --strict."""
    rule = (ROOT / "Makefile").read_text().split("\naudit:")[1].split("\n\n")[0]
    assert "pip-audit --strict" in rule
