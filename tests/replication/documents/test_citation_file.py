"""What archives and catalogues read: CITATION.cff, and the licences of all downloads."""

import json
import re
import tomllib
from pathlib import Path

import check_jsonschema
import jsonschema
import yaml
from conftest import ROOT

from replication.base.project import CITATION

CITED = yaml.safe_load((ROOT / CITATION).read_text())
PACKAGES = ("pyproject.toml", "engine/pyproject.toml")


def schema(name: str) -> dict:
    folder = Path(check_jsonschema.__file__).parent / "builtin_schemas/vendor"
    return json.loads((folder / f"{name}.json").read_text())


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


def test_the_licence_of_everything_that_is_fetched_stands_in_the_documents():
    files = [*ROOT.glob("src/**/datasets.yaml")]
    entries = {
        name: entry
        for path in files
        for name, entry in yaml.safe_load(path.read_text())["datasets"].items()
    }
    document = (ROOT / "docs/data.md").read_text()
    document = document.partition("## Licences")[2].partition("*Not redistributable*")[0]
    rows = {line.split("`")[1]: line for line in document.splitlines() if line.startswith("| `")}
    assert rows.keys() == entries.keys()
    for name, row in rows.items():
        assert entries[name]["licence"] in row
        stated = not re.search("none stated|for research", entries[name]["licence"])
        assert ("allowed, under this licence" if stated else "not redistributable") in row
