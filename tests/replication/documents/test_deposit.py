"""What archives and catalogues read: CITATION.cff, codemeta.json, .zenodo.json, licences."""

import json
import re
import shutil
import tomllib
from itertools import chain
from pathlib import Path

import check_jsonschema
import jsonschema
import pytest
import yaml
from conftest import ROOT

from replication.base.errors import InputError
from replication.documents.deposit import CITATION, deposit_files
from replication.documents.licences import ALLOWED, FORBIDDEN, licence_lines
from replication.study.datasets import dataset_folders

CITED = yaml.safe_load((ROOT / CITATION).read_text())
CODEMETA_TERMS = {
    "author", "codeRepository", "datePublished", "description", "identifier", "keywords",
    "license", "name", "programmingLanguage", "referencePublication", "runtimePlatform",
    "softwareRequirements", "url", "version",
}  # fmt: skip
"""Terms of CodeMeta 3.0 that are used, apart from the keywords of JSON-LD."""
CODEMETA_TYPES = {"Organization", "Person", "SoftwareApplication", "SoftwareSourceCode"}
"""Types that CodeMeta 3.0 names without a prefix; a processor drops others."""
ZENODO_KEYS = {
    "access_right", "creators", "description", "keywords", "license", "publication_date",
    "related_identifiers", "title", "upload_type", "version",
}  # fmt: skip
PACKAGES = ("pyproject.toml", "engine/pyproject.toml")
RELATIONS = {"cites", "isSupplementTo"}


def schema(name: str) -> dict:
    folder = Path(check_jsonschema.__file__).parent / "builtin_schemas/vendor"
    return json.loads((folder / f"{name}.json").read_text())


def test_descriptions_are_current():
    for path, text in deposit_files(ROOT).items():
        assert (ROOT / path).read_text() == text, "run python -m replication generate"


def test_the_citation_file_is_valid():
    jsonschema.validate(CITED, schema("citation-file-format"))


def test_every_paper_is_a_reference():
    registries = (yaml.safe_load(path.read_text()) for path in ROOT.glob("src/*/*/registry.yaml"))
    told = [paper for paper in registries if "url" in paper]
    papers = {paper["url"]: paper for paper in told}
    titles = {paper["title"] for paper in told}
    cited = {each["url"]: each for each in CITED["references"]}
    assert cited.keys() == papers.keys()
    for url, each in cited.items():
        assert each["identifiers"][0]["value"] == f"arXiv:{url.rpartition('/')[2]}"
        families = re.findall(r"(\w+)(?:,| and |$)", papers[url]["authors"])
        assert [author["family-names"] for author in each["authors"]] == families
        assert each["title"] in titles


def test_one_version_stands_everywhere():
    packages = [tomllib.loads(path.read_text()) for path in (ROOT / name for name in PACKAGES)]
    (newest, date), *_ = re.findall(
        r"^## \[([\d.]+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert {newest, *(each["project"]["version"] for each in packages)} == {CITED["version"]}
    assert date == CITED["date-released"]


def test_codemeta_has_terms_of_codemeta():
    found = json.loads((ROOT / "codemeta.json").read_text())
    assert found.pop("@context") == "https://w3id.org/codemeta/3.0"
    assert found.pop("@type") == "SoftwareSourceCode"
    assert found.keys() <= CODEMETA_TERMS
    assert all(found.values())
    parts = [found[term] for term in ("author", "referencePublication", "softwareRequirements")]
    for each in chain(*parts, *(paper["author"] for paper in found["referencePublication"])):
        assert each["@type"] in CODEMETA_TYPES | {"schema:ScholarlyArticle"}
        assert each.get("name") or each["familyName"]
    versions = {each["name"]: each.get("softwareVersion") for each in found["softwareRequirements"]}
    assert versions["torch"] == "==2.13.0"
    assert versions["pandas"] is None


def test_zenodo_has_keys_of_a_deposit():
    found = json.loads((ROOT / ".zenodo.json").read_text())
    assert found.keys() <= ZENODO_KEYS
    assert {"title", "description", "creators", "license", "upload_type"} <= found.keys()
    assert found["upload_type"] == "software"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["publication_date"])
    for each in found["related_identifiers"]:
        assert each["relation"] in RELATIONS
        assert each["identifier"].startswith("https://")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in (CITATION, "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_an_address_is_told_once_it_stands_in_the_citation_file(project):
    with (project / CITATION).open("a") as stream:
        stream.write(
            "repository-code: https://example.org/code\nurl: https://example.org\ndoi: 10.5/x\n"
        )
    found = {name: json.loads(text) for name, text in deposit_files(project).items()}
    assert found["codemeta.json"]["codeRepository"] == "https://example.org/code"
    assert found["codemeta.json"]["identifier"] == "https://doi.org/10.5/x"
    assert found[".zenodo.json"]["related_identifiers"][0]["relation"] == "isSupplementTo"


def test_persons_are_told_by_both_names(project):
    path = project / CITATION
    persons = "authors: [{family-names: Ek, given-names: Bo}, {family-names: Lee}]\n"
    path.write_text(re.sub(r"authors:\n  - name: .*\n", persons, path.read_text(), count=1))
    found = {name: json.loads(text) for name, text in deposit_files(project).items()}
    assert found[".zenodo.json"]["creators"] == [{"name": "Ek, Bo"}, {"name": "Lee"}]
    assert found["codemeta.json"]["author"][0]["givenName"] == "Bo"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("version: 1", "version: 2", "write the same into both"),
        ("license: MIT", "", "has no license; add it"),
    ],
)
def test_sources_that_lack_something_are_refused(project, before, after, message):
    path = project / CITATION
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(InputError, match=message):
        deposit_files(project)


def test_a_project_without_a_citation_file_has_none(tmp_path):
    assert deposit_files(tmp_path) == {}


def test_the_licence_of_everything_that_is_fetched_stands_in_the_documents():
    files = [*ROOT.glob("src/**/datasets.yaml")]
    entries = {
        name: entry
        for path in files
        for name, entry in yaml.safe_load(path.read_text())["datasets"].items()
    }
    rows = {line.split("`")[1]: line for line in licence_lines(dataset_folders())[2:]}
    assert rows.keys() == entries.keys()
    document = (ROOT / "docs/data.md").read_text()
    for name, row in rows.items():
        assert row in document
        stated = not re.search("none stated|for research", entries[name]["licence"])
        assert (ALLOWED if stated else FORBIDDEN) in row
