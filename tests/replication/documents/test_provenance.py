"""What was computed, told to others: the RO-Crate, the CODECHECK manifest and the checklist."""

import io
import json
import shutil
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
import requests
import yaml
from click.testing import CliRunner
from conftest import FIGURE, JOBS, ROOT, Template

from replication.bundle.bundle import read_bundle, reference_folder
from replication.documents import crate
from replication.study.claims import SHOWN, THEORY
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
    maker = {
        result["@id"]: action
        for name, action in actions.items()
        if name != "#run"
        for result in action["result"]
    }
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
    assert " -m replication.run.program --job " in command
    assert json.loads(told)["orders"][0]["function"] == "draw"
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
    assert crate.RUN_MODULE not in named


def test_the_crate_is_called_by_the_paper(computed, tmp_path, monkeypatch):
    """As all studies are here, but not in the project."""
    monkeypatch.chdir(computed.folder)
    written = tmp_path / "crate.json"
    done = CliRunner().invoke(crate.main, ["--output", str(written)])
    assert done.exit_code == 0, done.output
    root = entities(json.loads(written.read_text()))["./"]
    default = [study for study in find_studies().values() if study.is_default]
    assert root["name"].startswith("Replication of ")
    for study in default:
        assert crate.read_registry(study.folder / "registry.yaml").title in root["name"]


@pytest.fixture(scope="module")
def home() -> list:
    """The studies of the paper whose figures stand in `figures/` itself."""
    studies = JOBS.studies.values()
    return [study for study in studies if study.study.is_home]


def test_codecheck_lists_every_figure_and_no_file_twice(home):
    written = yaml.safe_load((ROOT / "codecheck.yml").read_text())
    files = [item["file"] for item in written["manifest"]]
    assert len(files) == len(set(files))
    for study in home:
        assert f"results/{study.study.name}/verdicts.md" in files
        for name in study.figures:
            assert {f"figures/{name}.pdf", f"figures/{name}.csv"} <= set(files)
    assert "figures/fig7.pdf" in files
    assert "figures/fig10.pdf" in files
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
        places = item["where"] if isinstance(item["where"], list) else [item["where"]]
        assert places
        assert [place for place in places if not (ROOT / place).exists()] == []
        assert item["answer"] == "yes" or item["reason"]


def test_the_checklist_counts_the_runs_of_the_reference(home):
    """Independently of the fingerprints: by the seeds behind a figure's numbers."""
    import pandas as pd

    (runs,) = [item["runs"] for item in checklist_items() if "runs" in item]
    assert runs.keys() == {study.study.name for study in home}
    table = pd.read_csv(ROOT / "results/reference/scan_and_snap/figures/fig6.csv")
    cells = len(table[["eta_z", "ratio"]].drop_duplicates())
    assert runs["scan_and_snap"]["syn_medium"] * cells == table["n_seeds"].sum()


def test_the_notes_count_every_claim_once_and_show_the_headlines(home):
    text = (ROOT / "docs/scan_and_snap/notes.md").read_text()
    tables = [part for part in text.split("\n\n") if part.startswith("|")]
    headlines, failing, counts = tables[:3]
    cells = (cell.strip() for row in counts.splitlines()[2:] for cell in row.split("|"))
    numbers = [int(cell) for cell in cells if cell.isdigit()]
    (study,) = (study for study in home if study.study.name == "scan_and_snap")
    claims = study.registry.claims
    assert sum(numbers) == len(claims)
    headed = [claim.headline for claim in claims if claim.headline]
    assert len(headed) == len(headlines.splitlines()) - 2 == 6
    assert all(words in headlines for words in headed)
    assert not any(claim.headline for claim in claims if claim.group not in (SHOWN, THEORY))
    verdicts = read_bundle(reference_folder(ROOT, study.study.name))[0].verdicts
    named = [row.split("|")[-2].strip() for row in failing.splitlines()[2:]]
    assert named == [
        f"[{claim.id}](claims.md#{claim.id})"
        for claim in claims
        if claim.group in (SHOWN, THEORY)
        and claim.id in verdicts
        and verdicts[claim.id].verdict in {"in part", "does not hold", "open"}
    ]
