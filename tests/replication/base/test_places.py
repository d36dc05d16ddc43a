"""The project whose studies are run."""

from replication.base.places import find_source


def test_the_first_project_of_the_import_path_counts(tmp_path):
    """A folder of another name, or without a Snakefile beside it, is none."""
    first, second, without = (tmp_path / name / "src" for name in ("first", "second", "without"))
    for source in (first, second, without):
        source.mkdir(parents=True)
    (first.parent / "tests").mkdir()
    for project in (first.parent, second.parent):
        (project / "Snakefile").touch()
    others = [str(without), str(first.parent / "tests"), "/usr/lib", ""]
    assert find_source([*others, str(first), str(second)]) == first
    assert find_source(others) is None
