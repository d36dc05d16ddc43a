"""The registries of data sets, and the rule that fetches them."""

from pathlib import Path

import pytest
import yaml
from archive_server import CERTIFICATE, CONTENT, WHOLE, ArchiveServer, archive_of, left
from conftest import Template

from replication.base.errors import InputError
from replication.study.datasets import Content, Dataset, dataset_folders, find_datasets
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
    for fetched in find_datasets(dataset_folders()):
        downloads = fetched.dataset.downloads.values()
        assert downloads
        assert all(each.requirement or each.url.startswith("https://") for each in downloads)
        assert all(path.startswith(f"results/datasets/{fetched.name}/") for path in fetched.outputs)


def test_data_sets_of_several_studies_are_found_and_may_be_shared(tmp_path):
    texts = entry("https://example.org/texts.zip")
    one = write(tmp_path / "one", texts=texts, more=texts)
    other = write(tmp_path / "other", texts=texts)
    (tmp_path / "none").mkdir()
    found = find_datasets([one, tmp_path / "none", other])
    assert [fetched.name for fetched in found] == ["more", "texts"]
    assert found[1].outputs == [
        f"results/datasets/texts/{split}.txt" for split in ("test", "train", "valid")
    ]
    write(other, texts=texts | {"title": "Other texts"})
    with pytest.raises(InputError, match="there is another data set texts; rename it"):
        find_datasets([one, other])


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["archive", "url"], "http://example.org/a.zip", "archive > url: String should match"),
        (["archive", "url"], "https://example.org/a.tar", "archive > url: String should match"),
        (["archive", "url"], "https://example.org/..zip", "archive > url: String should match"),
        (["archive", "sha256"], "abc", "archive > sha256: String should match"),
        (["archive", "bytes"], 0, "archive > bytes: Input should be greater than or equal to 1"),
        (["archive", "files"], {}, "archive > files: must not be empty"),
        (["archive", "files", "../a.txt"], {"path": "a"}, "String should match pattern"),
        (["archive", "flies"], {}, "did you mean 'files'?"),
        (["files"], {"a": {}}, "files > a > url: Field required"),
        (["files"], FILES, "must have either archive or files"),
        (["archive"], None, "must have either archive or files"),
        (["files"], {"../a": FILES["a"]}, "String should match pattern"),
        (["archive", "files", "texts.zip"], {"path": "a"}, "texts.zip and texts.zip would be one"),
        (["archive", "files", "Texts.ZIP"], {"path": "a"}, "texts.zip and Texts.ZIP would be one"),
        (["archive", "files", "texts.zip.part"], {"path": "a"}, "texts.zip.part would be one file"),
        (["archive", "files", "TRAIN.txt"], {"path": "a"}, "TRAIN.txt and train.txt would be one"),
        (["licence"], "", "licence: must not be empty"),
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
    (found,) = find_datasets([write(tmp_path, words=known | {"files": FILES})])
    assert found.outputs == ["results/datasets/words/a"]
    assert found.dataset.content.downloads == found.dataset.files


@pytest.mark.parametrize("name", ["A", "a.part", "A.PART"])
def test_files_that_overwrite_each_other_are_refused(name):
    with pytest.raises(InputError, match="would be one file; give one of the data set"):
        Content.parse({"files": {**FILES, name: FILES["a"]}}, "here")
    for one, other in (("é", "e\u0301"), ("ß", "SS")):
        with pytest.raises(InputError, match="would be one file"):
            Content.parse({"files": {f"a{one}": FILES["a"], f"a{other}": FILES["a"]}}, "here")


@pytest.mark.parametrize("text", ["", "datasets: [", "datasets: {../up: {}}"])
def test_unreadable_registry_is_named(tmp_path, text):
    (tmp_path / "datasets.yaml").write_text(text)
    with pytest.raises(InputError, match=r"datasets\.yaml: "):
        find_datasets([tmp_path])


def test_rule_fetches_a_data_set_once(server, template: Template):
    """From an interrupted download to what is made of it, through the workflow."""
    project = template
    write(project.folder / EXAMPLE, texts=entry(server.url))
    project.edit(
        f"{EXAMPLE}/study.py",
        'DATA = "problem"\n',
        'DATA = "problem"\nSOURCES = ("results/datasets/texts/train.txt",)\n',
    )
    folder = project.folder / "results/datasets/texts"
    target = "results/example/data/printed/1-5.npz"

    server.stops_at = 300_000
    output = project.run(target, succeed=False)
    assert "Fetching results/datasets/texts/" in output
    assert "(log: logs/datasets/texts.log)" in output
    assert f"Error: {server.url}: the download stopped at" in output
    assert (
        "or put the file at results/datasets/texts/texts-v1.zip by hand, or set the.key to a"
        " folder\n" in output
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
    project.edit(f"{EXAMPLE}/datasets.yaml", "title: Texts (words)", "title: Texts")
    assert project.planned(target) == {}
    project.edit("src/replication/run/fetch.py", "PIECE = 1 << 16", "PIECE = 1 << 17")
    (folder / "valid.txt").unlink()
    output = project.run(target)
    assert "Fetching results/datasets/texts/" in output
    assert left(folder) == WHOLE
    assert len(server.asked) == 2, "the archive stays, so that nothing is fetched twice"


def test_rule_knows_only_the_registries_names(template: Template):
    output = template.run("results/datasets/nowhere/train.txt", "--dry-run", succeed=False)
    assert "results/datasets/nowhere/train.txt: is no target" in output
