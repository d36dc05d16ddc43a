"""What was computed, told to others as an RO-Crate."""

import io
import json
import shutil
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
import requests
from click.testing import CliRunner
from conftest import FIGURE, Template

from replication.documents import crate
from replication.study.studies import find_studies

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
def computed(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """A run of one figure, and its crate."""
    project = Template(tmp_path_factory.mktemp("project"))
    project.run(FIGURE)
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


def metadata(project: Template) -> dict:
    return json.loads((project.folder / "ro-crate-metadata.json").read_text())


def entities(data: dict, kind: str | None = None) -> dict[str, dict]:
    graph = {entity["@id"]: entity for entity in data["@graph"]}
    return {name: entity for name, entity in graph.items() if kind in (None, entity["@type"])}


def issues(folder: Path) -> list[str]:
    """What an independent validator finds wrong with a crate."""
    from rocrate_validator.models import ValidationSettings
    from rocrate_validator.services import validate

    settings = ValidationSettings(
        rocrate_uri=str(folder), profile_identifier="process-run-crate", no_cache=True
    )
    return [str(issue.message) for issue in validate(settings).get_issues()]


@pytest.mark.filterwarnings("default")
def test_the_crate_is_valid(computed, no_network):
    assert issues(computed.folder) == []


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda graph: graph[f"#{FIGURE}"].pop("instrument"), "instrument"),
        pytest.param(
            lambda graph: graph["./"].pop("license"), "license", marks=pytest.mark.thorough
        ),
        pytest.param(
            lambda graph: graph["./"].update({"conformsTo": []}),
            "profile",
            marks=pytest.mark.thorough,
        ),
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


def test_every_file_leads_back_to_the_drawn_data(computed):
    data = metadata(computed)
    actions = entities(data, "CreateAction")
    maker = {result["@id"]: action for action in actions.values() for result in action["result"]}
    waiting, rules = [FIGURE], set()
    while waiting:
        action = maker.get(waiting.pop())
        if action:
            rules.add(action["name"].split(" of ")[0])
            waiting += [item["@id"] for item in action.get("object", [])]
    assert rules == {"data", "runs", "metrics", "table", "figure"}


def test_every_described_file_is_there_with_its_size(computed):
    files = entities(metadata(computed), "File")
    published = "src/transformer_dynamics/example/published/fig1.csv"
    assert {"figures/example/fig1.csv", published} <= files.keys()
    for name, file in files.items():
        assert (computed.folder / name).stat().st_size == int(file["contentSize"])


def test_actions_name_command_code_and_packages(computed):
    data = metadata(computed)
    everything = entities(data)
    (action,) = [
        action
        for action in entities(data, "CreateAction").values()
        if action["name"] == f"figure of {FIGURE}"
    ]
    command, told = action["description"].splitlines()
    assert " -m replication.run.program " in command
    assert json.loads(told)["settings"]["figure"]["kind"] == "fig1"
    tool = everything[action["instrument"]["@id"]]
    assert tool["name"] == "transformer_dynamics.example.figures.fig1"
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
    done = CliRunner().invoke(crate.main, [])
    assert done.exit_code == 1
    assert "nothing is computed here yet" in done.output
    assert not (tmp_path / "ro-crate-metadata.json").exists()


def test_a_damaged_record_is_named(computed, tmp_path, monkeypatch):
    for name in ("figures", ".snakemake/metadata"):
        shutil.copytree(computed.folder / name, tmp_path / name)
    name = urlsafe_b64encode(b"figures/example/fig1.csv").decode()
    record = next((tmp_path / ".snakemake/metadata").rglob(f"{name}*"))
    record.write_text("{")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(crate.InputError, match="truncated, damaged or not made"):
        crate.read_jobs(crate.RECORDS)


def test_each_program_of_the_run_is_named_with_its_version(computed):
    """One module runs all jobs; what a job did is what its order names."""
    tools = entities(metadata(computed), "SoftwareApplication")
    study = "transformer_dynamics.example"
    programs = {f"{study}.{name}" for name in ("data", "training", "metrics", "figures.fig1")}
    named = {tool["name"]: tool["softwareVersion"] for tool in tools.values()}
    assert programs <= named.keys()
    assert all(len(named[program]) == 12 for program in programs)
    assert "replication.run.program" not in named


def test_the_crate_is_called_by_the_paper(computed, tmp_path, monkeypatch):
    """As all studies are here, but not in the project."""
    monkeypatch.chdir(computed.folder)
    monkeypatch.setattr(crate, "OUTPUT", str(tmp_path / "crate.json"))
    done = CliRunner().invoke(crate.main, [])
    assert done.exit_code == 0, done.output
    root = entities(json.loads((tmp_path / "crate.json").read_text()))["./"]
    default = [study for study in find_studies().values() if study.is_default]
    assert root["name"].startswith("Replication of ")
    for study in default:
        assert crate.read_registry(study.folder / "registry.yaml").title in root["name"]
