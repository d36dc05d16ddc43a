"""Marks of what is still to be written: no reference is kept while one is left."""

from types import SimpleNamespace

import pytest

from replication.base.errors import InputError
from replication.verify.reference import refuse_marks, write_reference


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study with three marks."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "registry.yaml").write_text('title: "TODO: the title."\nvenue: known\n')
    (tmp_path / "more.yml").write_text("# TODO(me): the years.\n")
    (tmp_path / "README.md").write_text("# TODO: a title\n")
    return SimpleNamespace(folder=tmp_path, readme=tmp_path / "README.md")


def test_every_mark_is_named(study):
    with pytest.raises(InputError) as error:
        refuse_marks(study)
    assert error.value.message.splitlines()[1:] == [
        "README.md, line 1: a title",
        "more.yml, line 1: the years",
        "registry.yaml, line 1: the title",
    ]
    study.readme.write_text("# A title\n")
    (study.folder / "registry.yaml").unlink()
    (study.folder / "more.yml").write_text("TODO_LIST: none\n")
    refuse_marks(study)


@pytest.mark.parametrize("partly", [False, True])
@pytest.mark.parametrize("restamp", [False, True])
def test_whoever_writes_a_reference_is_refused(study, partly, restamp):
    project = SimpleNamespace(jobs=SimpleNamespace(studies={"mine": SimpleNamespace(study=study)}))
    with pytest.raises(InputError, match="no reference is kept"):
        write_reference(project, "mine", partly=partly, restamp=restamp)
