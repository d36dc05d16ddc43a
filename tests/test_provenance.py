"""What was computed, told to others: the RO-Crate, the CODECHECK manifest and the checklist."""

import io
import json
import shutil
from pathlib import Path

import pytest
import requests
import yaml
from click.testing import CliRunner
from conftest import Project

from transformer_dynamics import crate
from transformer_dynamics.generate import DEFAULTS

ROOT = Path(__file__).parents[1]
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
ENTITIES = "https://bioschemas.org/"
CHANGED_SINCE = {
    "ComputationalWorkflow": f"{ENTITIES}ComputationalWorkflow",
    "FormalParameter": f"{ENTITIES}FormalParameter",
    "input": f"{ENTITIES}ComputationalWorkflow#input",
    "output": f"{ENTITIES}ComputationalWorkflow#output",
}
"""Terms that version 1.3 of the context, which the library brings, maps to something else."""


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A quick run of Figure 6, and its crate."""
    project = Project(tmp_path_factory.mktemp("project"))
    project.run("figures/fig6.pdf")
    project.run("provenance")
    return project


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is fetched; the one context that the crate names comes from the library."""
    import rocrate
    import urllib3

    path = Path(rocrate.__file__).parent / "data/ro-crate.jsonld"
    known = json.loads(path.read_text())
    known["@context"] |= CHANGED_SINCE

    def send(adapter, request, **options):
        if request.url != CONTEXT:
            raise requests.ConnectionError(f"no network for {request.url}")
        headers = {"Content-Type": "application/ld+json"}
        body = io.BytesIO(json.dumps(known).encode())
        response = urllib3.HTTPResponse(body, headers, status=200, preload_content=False)
        return adapter.build_response(request, response)

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)


def metadata(project: Project) -> dict:
    return json.loads((project.folder / "ro-crate-metadata.json").read_text())


def entities(data: dict, kind: str | None = None) -> dict[str, dict]:
    graph = {entity["@id"]: entity for entity in data["@graph"]}
    return {name: entity for name, entity in graph.items() if kind in (None, entity["@type"])}


def issues(folder: Path) -> list[str]:
    """What an independent validator finds wrong with a crate."""
    from rocrate_validator.models import ValidationSettings
    from rocrate_validator.services import validate

    settings = ValidationSettings(
        rocrate_uri=str(folder), profile_identifier="provenance-run-crate", no_cache=True
    )
    return [str(issue.message) for issue in validate(settings).get_issues()]


@pytest.mark.filterwarnings("default")
def test_the_crate_is_valid(computed, no_network):
    assert issues(computed.folder) == []


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda graph: graph["#run"].pop("instrument"), "instrument"),
        (lambda graph: graph["./"].pop("license"), "license"),
        (lambda graph: graph["./"].update({"conformsTo": []}), "profile"),
    ],
)
def test_the_validator_sees_damage(computed, no_network, tmp_path, damage, said):
    data = metadata(computed)
    damage(entities(data))
    for part in entities(data)["./"]["hasPart"]:
        (tmp_path / part["@id"]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(computed.folder / part["@id"], tmp_path / part["@id"])
    (tmp_path / "ro-crate-metadata.json").write_text(json.dumps(data))
    assert any(said in issue for issue in issues(tmp_path))


def test_every_file_leads_back_to_the_drawn_sequences(computed):
    data = metadata(computed)
    actions = entities(data, "CreateAction")
    maker = {
        result["@id"]: action
        for name, action in actions.items()
        if name != "#run"
        for result in action["result"]
    }
    waiting, rules = ["figures/fig6.pdf"], set()
    while waiting:
        action = maker.get(waiting.pop())
        if action:
            rules.add(action["name"].split(" of ")[0])
            waiting += [item["@id"] for item in action.get("object", [])]
    assert rules == {"sequences", "training", "metrics", "figure_table", "figure"}


def test_every_described_file_is_there_with_its_size(computed):
    files = entities(metadata(computed), "File")
    assert {"figures/fig6.csv", "papers/scan_and_snap/fig6_published.csv"} <= files.keys()
    for name, file in files.items():
        assert (computed.folder / name).stat().st_size == int(file["contentSize"])


def test_actions_name_command_code_and_packages(computed):
    data = metadata(computed)
    everything = entities(data)
    (action,) = [
        action
        for action in entities(data, "CreateAction").values()
        if action["name"] == "figure of figures/fig6.pdf"
    ]
    assert "python -m transformer_dynamics.scan_and_snap.figures.fig6" in action["description"]
    tool = everything[action["instrument"]["@id"]]
    assert tool["name"] == "transformer_dynamics.scan_and_snap.figures.fig6"
    assert len(tool["softwareVersion"]) == 12
    packages = {everything[item["@id"]]["name"] for item in tool["softwareRequirements"]}
    assert {"matplotlib", "numpy", "pandas"} <= packages
    assert action["startTime"] <= action["endTime"]


def test_the_same_run_is_described_by_the_same_bytes(computed):
    before = (computed.folder / "ro-crate-metadata.json").read_bytes()
    computed.run("provenance")
    assert (computed.folder / "ro-crate-metadata.json").read_bytes() == before


def test_nothing_computed_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Snakefile").write_text("")
    (tmp_path / "papers").symlink_to(ROOT / "papers")
    done = CliRunner().invoke(crate.main, [])
    assert done.exit_code == 1
    assert "nothing is computed here yet" in done.output
    assert not (tmp_path / "ro-crate-metadata.json").exists()


def test_a_damaged_record_is_named(computed, tmp_path, monkeypatch):
    for name in ("figures", ".snakemake/metadata"):
        shutil.copytree(computed.folder / name, tmp_path / name)
    record = next((tmp_path / ".snakemake/metadata").rglob("ZmlndXJlcy9maWc2LmNzdg*"))
    record.write_text("{")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(crate.InputError, match="truncated, damaged or not made"):
        crate.read_jobs(crate.RECORDS)


def test_codecheck_lists_every_figure_and_no_file_twice():
    written = yaml.safe_load((ROOT / "codecheck.yml").read_text())
    files = [item["file"] for item in written["manifest"]]
    assert len(files) == len(set(files))
    for name in DEFAULTS.scan_and_snap.figures:
        assert {f"figures/{name}.pdf", f"figures/{name}.csv"} <= set(files)
    assert written["paper"]["authors"][0] == {"name": "Yuandong Tian"}
    assert (ROOT / "codecheck.yml").read_text().count("\n---\n") == 1


def checklist_items() -> list[dict]:
    written = yaml.safe_load((ROOT / "docs/reproducibility_checklist.yaml").read_text())
    return [item for section in written.values() if isinstance(section, list) for item in section]


def test_the_checklist_answers_everything_and_points_to_files():
    items = checklist_items()
    assert len(items) == 21
    for item in items:
        assert item["answer"] in {"yes", "no", "not applicable"}
        assert (ROOT / item["where"]).exists(), item["where"]
        assert item["answer"] == "yes" or item["reason"]


def test_the_checklist_counts_the_locked_runs():
    """Independently of the configuration: by the evidence and the figure in the lock."""
    import pandas as pd

    (runs,) = [item["runs"] for item in checklist_items() if "runs" in item]
    table = pd.read_csv(ROOT / "results/reference/figures/fig6.csv")
    assert runs["syn_medium"] == table["n_seeds"].sum()
