"""The registry of data sets, and the rule that fetches them."""

import hashlib

import pytest
import yaml
from archive_server import CERTIFICATE, CONTENT, TEXTS, WHOLE, ArchiveServer, archive_of, left
from conftest import ROOT, Project

from transformer_dynamics.datasets import read_datasets
from transformer_dynamics.errors import InputError

REGISTRY = ROOT / "papers/datasets.yaml"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(CERTIFICATE))
    with ArchiveServer(CONTENT) as server:
        yield server


def test_registry():
    datasets = read_datasets(REGISTRY)
    assert set(datasets) == {"wikitext2", "wikitext103"}
    for dataset in datasets.values():
        folder = dataset.archive.name.removesuffix("-v1.zip")
        for split, member in dataset.archive.files:
            assert member.path == f"{folder}/wiki.{split}.tokens"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["archive", "url"], "http://example.org/a.zip", "archive > url: String should match"),
        (["archive", "url"], "https://example.org/a.tar", "archive > url: String should match"),
        (["archive", "url"], "https://example.org/..zip", "archive > url: String should match"),
        (["archive", "sha256"], "abc", "archive > sha256: String should match"),
        (["archive", "bytes"], 0, "archive > bytes: Input should be greater than or equal to 1"),
        (["archive", "files", "tset"], {"path": "a"}, "did you mean 'test'?"),
        (["licence"], "", "licence: String should have at least 1 character"),
    ],
)
def test_wrong_registry_is_named(tmp_path, path, value, message):
    data = yaml.safe_load(REGISTRY.read_text())
    place = data["datasets"]["wikitext2"]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    (tmp_path / "datasets.yaml").write_text(yaml.safe_dump(data))
    with pytest.raises(InputError, match=r"datasets\.yaml: datasets > wikitext2") as caught:
        read_datasets(tmp_path / "datasets.yaml")
    assert message in caught.value.message


@pytest.mark.parametrize("text", [None, "datasets: [", "datasets: {../up: {}}"])
def test_unreadable_registry_is_named(tmp_path, text):
    path = tmp_path / "datasets.yaml"
    if text:
        path.write_text(text)
    with pytest.raises(InputError, match=r"datasets\.yaml: "):
        read_datasets(path)


def stand_in(project: Project, server: ArchiveServer) -> None:
    """WikiText-103 as a small archive of the same layout, and as a corpus of the configuration."""
    registry = project.folder / "papers/datasets.yaml"
    data = yaml.safe_load(registry.read_text())
    changes = archive_of(server.url, server.content).model_dump(include={"url", "sha256", "bytes"})
    data["datasets"]["wikitext103"]["archive"] |= changes
    registry.write_text(yaml.safe_dump(data))
    corpus = {
        split: {
            "name": f"wiki.{split}.tokens",
            "sha256": hashlib.sha256(TEXTS[split]).hexdigest(),
        }
        for split in ("train", "valid")
    }
    overlay = {"wikitext": {"corpora": {"wikitext103": corpus}}}
    (project.folder / "config/quick.yaml").write_text(yaml.safe_dump(overlay))


def test_rule_fetches_a_corpus_once(server, project: Project):
    """From an interrupted download to the numbers of the words, through the workflow."""
    stand_in(project, server)
    folder = project.folder / "results/data/wikitext103"
    target = "results/scan_and_snap/wikitext/tokens/wikitext103.npz"

    server.stops_at = 300_000
    output = project.run(target, succeed=False)
    assert "Fetching wikitext103 (log: logs/data/wikitext103.log)" in output
    assert f"Error: {server.url}: the download stopped at" in output
    assert (
        "or put the archive at results/data/wikitext103/texts-v1.zip by hand, or set"
        " wikitext.corpora.wikitext103.folder to a folder that has wiki.train.tokens and"
        " wiki.valid.tokens\n" in output
    )
    assert "Traceback" not in output
    assert set(left(folder)) == {"texts-v1.zip.part"}

    server.stops_at = None
    project.run(target)
    assert left(folder) == WHOLE
    assert (project.folder / target).is_file()
    assert server.asked[0] is None
    assert server.asked[1] is not None

    # What is only said of a data set changes nothing; the code that fetches it does.
    project.edit("papers/datasets.yaml", "title: WikiText-103 (words)", "title: WikiText-103")
    assert project.planned(target) == {}
    project.edit("src/transformer_dynamics/fetch.py", "PIECE = 1 << 16", "PIECE = 1 << 17")
    (folder / "valid.txt").unlink()
    output = project.run(target)
    assert "Fetching wikitext103" in output
    assert left(folder) == WHOLE
    assert len(server.asked) == 2, "the archive stays, so that nothing is fetched twice"


def test_rule_knows_only_the_registrys_names(project: Project):
    output = project.run("results/data/wikitext9/train.txt", "--dry-run", succeed=False)
    assert "MissingRuleException" in output
