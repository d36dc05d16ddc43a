"""The registries of data sets, and the rule that fetches them."""

from pathlib import Path

import pytest
import yaml
from archive_server import CERTIFICATE, CONTENT, WHOLE, ArchiveServer, archive_of, left
from conftest import Template

from replication.base.errors import InputError
from replication.study.datasets import Dataset, dataset_folders, find_datasets
from replication.study.studies import find_studies

FILES = {"a": {"url": "https://example.org/a", "sha256": "0" * 64, "bytes": 1}}
EXAMPLE = "src/transformer_dynamics/example"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(CERTIFICATE))
    with ArchiveServer(CONTENT) as server:
        yield server


def entry(url: str) -> dict:
    """What a registry says of the texts of the server."""
    dataset = Dataset(
        title="Texts (words)",
        licence="none",
        citation="nobody",
        archive=archive_of(url, CONTENT),
        offline="set the.key to a folder",
    )
    return dataset.model_dump(mode="json", exclude_none=True)


def write(folder: Path, **datasets: dict) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "datasets.yaml").write_text(yaml.safe_dump({"datasets": datasets}))
    return folder


def test_registries_of_the_studies():
    with_one = {s.folder for s in find_studies().values() if (s.folder / "datasets.yaml").is_file()}
    assert with_one < {*dataset_folders()}
    for name, dataset in find_datasets(dataset_folders()).items():
        downloads = dataset.downloads.values()
        assert downloads
        assert all(each.is_wheel or each.url.startswith("https://") for each in downloads)
        assert all(path.startswith(f"results/datasets/{name}/") for path in dataset.paths(name))


def test_data_sets_of_several_studies_are_found_and_may_be_shared(tmp_path):
    texts = entry("https://example.org/texts.zip")
    one = write(tmp_path / "one", texts=texts, more=texts)
    other = write(tmp_path / "other", texts=texts)
    (tmp_path / "none").mkdir()
    found = find_datasets([one, tmp_path / "none", other])
    assert {*found} == {"more", "texts"}
    assert sorted(found["texts"].paths("texts")) == [
        f"results/datasets/texts/{split}.txt" for split in ("test", "train", "valid")
    ]
    write(other, texts=texts | {"title": "Other texts"})
    with pytest.raises(InputError, match="there is another data set texts; rename it"):
        find_datasets([one, other])


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["archive", "url"], "http://example.org/a.zip", "archive > url: String should match"),
        (["archive", "url"], "https://example.org/..", "archive > url: String should match"),
        (["archive", "sha256"], "abc", "archive > sha256: String should match"),
        (["archive", "bytes"], 0, "archive > bytes: Input should be greater than or equal to 1"),
        (["archive", "files"], {}, "archive > files: Dictionary should have at least 1"),
        (["archive", "files", "../a.txt"], "a", "String should match pattern"),
        (["archive", "flies"], {}, "did you mean 'files'?"),
        (["files"], {"a": {}}, "files > a > url: Field required"),
        (["files"], {"../a": FILES["a"]}, "String should match pattern"),
        (["licence"], "", "licence: String should have at least 1"),
    ],
)
def test_wrong_registry_is_named(tmp_path, path, value, message):
    data = entry("https://example.org/texts.zip")
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(InputError, match=r"datasets\.yaml: datasets > texts") as caught:
        find_datasets([write(tmp_path, texts=data)])
    assert message in caught.value.message


def test_files_need_no_archive(tmp_path):
    known = entry("https://example.org/texts.zip")
    del known["archive"]
    found = find_datasets([write(tmp_path, words=known | {"files": FILES})])
    assert found["words"].paths("words") == ["results/datasets/words/a"]
    assert found["words"].downloads == found["words"].files


@pytest.mark.parametrize("text", ["", "datasets: [", "datasets: {../up: {}}"])
def test_unreadable_registry_is_named(tmp_path, text):
    (tmp_path / "datasets.yaml").write_text(text)
    with pytest.raises(InputError, match=r"datasets\.yaml: "):
        find_datasets([tmp_path])


def test_rule_fetches_a_data_set_once(server, template: Template):
    """From a download that fails to what is made of it, through the workflow."""
    project = template
    write(project.folder / EXAMPLE, texts=entry(server.url))
    project.edit(
        f"{EXAMPLE}/study.py",
        'DATA = "problem"\n',
        'DATA = "problem"\nSOURCES = ("results/datasets/texts/train.txt",)\n',
    )
    folder = project.folder / "results/datasets/texts"
    target = "results/example/data/printed/1-5.npz"

    server.status = 404
    output = project.run(target, succeed=False)
    assert "Fetching results/datasets/texts/" in output
    assert "(log: logs/datasets/texts.log)" in output
    assert f"Error: {server.url}: cannot be fetched (404 Client Error" in output
    assert (
        "or put the file at results/datasets/texts/texts-v1.zip by hand, or set the.key to a"
        " folder\n" in output
    )
    assert "Traceback" not in output
    assert left(folder) == {}

    server.status = 200
    project.run(target)
    assert left(folder) == WHOLE
    assert (project.folder / target).is_file()
    asked = len(server.agents)

    # Neither words on a data set nor the code that fetches it change its content.
    project.edit(f"{EXAMPLE}/datasets.yaml", "title: Texts (words)", "title: Texts")
    project.edit("src/replication/run/fetch.py", "chunk_size=1 << 16", "chunk_size=1 << 17")
    assert project.planned(target) == {}
    (folder / "train.txt").unlink()
    output = project.run("results/datasets/texts/train.txt")
    assert "Fetching results/datasets/texts/" in output
    assert left(folder) == WHOLE
    assert len(server.agents) == asked, "the archive stays, so that nothing is fetched twice"


def test_rule_knows_only_the_registries_names(template: Template):
    output = template.run("results/datasets/nowhere/train.txt", "--dry-run", succeed=False)
    assert "results/datasets/nowhere/train.txt: is no target" in output
