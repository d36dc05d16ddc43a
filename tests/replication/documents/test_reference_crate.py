"""The references as an RO-Crate, for an archive."""

import hashlib
import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import ROOT
from rocrate.rocrate import ROCrate
from test_provenance import no_network  # noqa: F401

from replication.base.errors import InputError
from replication.bundle.bundle import find_references
from replication.documents import reference_crate


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The crate, unpacked."""
    folder = tmp_path_factory.mktemp("crate")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        for name in ("first.zip", "second.zip"):
            arguments = ["--output", str(folder / name)]
            done = CliRunner().invoke(reference_crate.main, arguments)
            assert done.exit_code == 0, done.output
    assert (folder / "first.zip").read_bytes() == (folder / "second.zip").read_bytes()
    with zipfile.ZipFile(folder / "first.zip") as archive:
        archive.extractall(folder / "crate")
    return folder / "crate"


def entities(folder: Path) -> dict[str, dict]:
    graph = json.loads((folder / "ro-crate-metadata.json").read_text())["@graph"]
    return {each["@id"]: each for each in graph}


def test_every_file_of_every_reference_is_in_it(packed):
    found = entities(packed)
    for path in (ROOT / "results/reference").rglob("*.*"):
        name = str(path.relative_to(ROOT))
        assert (packed / name).read_bytes() == path.read_bytes()
        assert found[name]["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_every_study_names_its_paper_and_its_verdicts(packed):
    found = entities(packed)
    for study in find_references(ROOT):
        entity = found[f"results/reference/{study}/"]
        assert entity["@type"] == "Dataset"
        assert re.match(r"Verdicts on claims: \d+ ", entity["description"])
        assert "processor" in entity["description"]
        if study != "example":
            assert found[entity["citation"]["@id"]]["@type"] == "ScholarlyArticle"


def test_a_table_that_quotes_data_has_their_licence(packed):
    found = entities(packed)
    quoting = {name: each["license"]["@id"] for name, each in found.items() if "license" in each}
    assert quoting == {
        "./": "https://spdx.org/licenses/MIT",
        "results/reference/scan_and_snap_text/figures/fig7.csv": (
            "https://creativecommons.org/licenses/by-sa/3.0/"
        ),
    }


@pytest.mark.usefixtures("no_network")
@pytest.mark.filterwarnings("default")  # the validator's libraries have some
def test_an_independent_validator_finds_nothing_wrong(packed):
    from rocrate_validator.models import ValidationSettings
    from rocrate_validator.services import validate

    settings = ValidationSettings(
        rocrate_uri=str(packed), profile_identifier="ro-crate-1.1", no_cache=True
    )
    assert [str(issue.message) for issue in validate(settings).get_issues()] == []


def test_a_reference_that_was_changed_is_refused(tmp_path):
    shutil.copytree(ROOT / "results/reference/example", tmp_path / "results/reference/example")
    with (tmp_path / "results/reference/example/figures/fig1.csv").open("a") as stream:
        stream.write("1\n")
    with pytest.raises(InputError, match="restore it with git"):
        reference_crate.describe_references(tmp_path)


def test_a_project_without_references_has_nothing_to_pack(tmp_path):
    with pytest.raises(InputError, match="no study has a reference"):
        reference_crate.describe_references(tmp_path)


def test_a_project_of_a_person_names_the_person_and_its_licence():
    citation = {"license": "Apache-2.0", "authors": [{"family-names": "Doe"}, {"name": "We"}]}
    crate = ROCrate()
    reference_crate.describe_root(crate, citation)
    root = crate.root_dataset
    assert root["license"]["@id"] == "https://spdx.org/licenses/Apache-2.0"
    assert [(each["name"], each.type) for each in root["author"]] == [
        ("Doe", "Person"),
        ("We", "Organization"),
    ]


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(reference_crate.main, ["--output", str(tmp_path)])
    assert done.exit_code == 1
    assert f"Error: {tmp_path}: cannot be written" in done.output
