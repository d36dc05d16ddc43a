"""The configuration refuses what it does not know, and what is generated from it is current."""

import json
import re
import shlex
from functools import reduce
from pathlib import Path
from typing import Annotated, Literal

import jsonschema
import pytest
import yaml
from click.testing import CliRunner
from conftest import DEFAULTS, JOBS, ROOT, STUDIES, changed
from pydantic import Field

from replication.base.errors import InputError
from replication.base.strict import REMOVABLE, Name, Strict, read_yaml
from replication.plan import show_settings
from replication.plan.configuration import configuration_type, configure, merge
from replication.plan.jobs import Jobs
from replication.study.studies import find_studies


def test_default_file_changes_nothing():
    assert configure(read_yaml(ROOT / "config/config.yaml"), STUDIES) == DEFAULTS


OVERLAYS = {
    "nothing": {},
    "what all studies share": read_yaml(ROOT / "config/config.yaml"),
    "every study": {name: read_yaml(each.folder / "config.yaml") for name, each in STUDIES.items()},
    "one key": {"example": {"experiments": {"printed": {"training": {"updates": 3}}}}},
    "one key of a figure": {"example": {"figures": {"fig1": {"experiment": "replication"}}}},
    **{
        str(path.relative_to(ROOT)): read_yaml(path)
        for study in STUDIES.values()
        for path in sorted(study.folder.glob("*_scale.yaml"))
    },
}


def commands() -> list[tuple[str, Path]]:
    """What the heads of overlays say how to run them, with the overlay."""
    paths = [ROOT / "config/quick.yaml", *(ROOT / "src").glob("*/*/*.yaml")]
    return [
        (command, path)
        for path in sorted(paths)
        for command in re.findall(r"^# +(snakemake .*)$", path.read_text(), re.MULTILINE)
    ]


@pytest.mark.parametrize(("command", "path"), commands(), ids=lambda value: str(value)[-60:])
def test_the_command_in_the_head_of_an_overlay_can_be_planned(command, path):
    """With all that it needs, such as a GPU."""
    _, target, *options = shlex.split(command)
    given = {}
    for word in options:
        if word.startswith("--"):
            given[word] = []
        else:
            given[[*given][-1]].append(word)
    paths = [ROOT / each for each in given["--configfile"]]
    assert paths[-1] == path
    overlay = reduce(merge, map(read_yaml, paths))
    for item in given.get("--config", []):
        key, _, value = item.partition("=")
        overlay[key] = yaml.safe_load(value)
    studies = {target: STUDIES[target]} if target in STUDIES else STUDIES
    assert target in {*STUDIES, "figures"}
    Jobs.of(configure(overlay, studies), studies)


@pytest.fixture(scope="module")
def schema():
    printed = CliRunner().invoke(show_settings.main, ["--schema"], catch_exceptions=False)
    return jsonschema.Draft202012Validator(json.loads(printed.output))


class Removing(Strict):
    """A section with mappings of both kinds."""

    by_pattern: Annotated[dict[Name, int], REMOVABLE] = {}
    by_choice: Annotated[dict[Literal["a", "b"], int], Field(min_length=1), REMOVABLE] = {"a": 1}


def test_null_removes_a_name():
    given = {"by_pattern": {"x": None, "y": 1}, "by_choice": {"a": None, "b": 2}}
    found = Removing.parse(given, "here")
    assert (found.by_pattern, found.by_choice) == ({"y": 1}, {"b": 2})
    with pytest.raises(InputError, match="by_choice: Dictionary should have at least 1"):
        Removing.parse({"by_choice": {"a": None}}, "here")


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_schema_takes_overlays(schema, name):
    configure(OVERLAYS[name], STUDIES)
    assert list(schema.iter_errors(OVERLAYS[name])) == []


@pytest.mark.parametrize(
    "overlay",
    [
        {"exmple": {}},
        {"computation": {"device": "gpu"}},
        {"example": {"experiments": {"printed": {"training": {"update": 3}}}}},
        {"example": {"experiments": {"printed": {"training": {"updates": 0}}}}},
        {"example": {"figures": {"fig1": {"experimnt": "replication"}}}},
    ],
)
def test_the_schema_refuses_what_a_run_refuses(schema, overlay):
    with pytest.raises(InputError):
        configure(overlay, STUDIES)
    assert not schema.is_valid(overlay)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("exmple", {}, "unknown key 'exmple'; did you mean 'example'?"),
        ("example.experimnts", {}, "unknown key 'experimnts'; did you mean 'experiments'?"),
        ("computation.devices", "cpu", "unknown key 'devices'; did you mean 'device'?"),
        ("computation.device", "gpu", "'cpu' or 'cuda'"),
        ("computation.seeds_per_job", 0, "greater than or equal to 1"),
        ("example.experiments.printed.training.updates", 0, "printed > training > updates: "),
    ],
)
def test_wrong_value_is_named(path, value, message):
    with pytest.raises(InputError) as error:
        configuration_type(STUDIES).parse(changed(path, value), "configuration")
    assert message in error.value.message
    assert error.value.message.startswith("configuration: ")


def test_the_schema_tells_limits_and_meanings_and_is_one_whole(schema):
    text = json.dumps(schema.schema)
    (seeds,) = re.findall(r'"seeds_per_job": ({.*?}), "?', text)
    assert '"minimum": 1' in seeds
    assert "Seeds that one job draws or trains" in text
    assert {*STUDIES} <= {*schema.schema["properties"]}
    referred = {*re.findall(r'"\$ref": "#/\$defs/(\w+)"', text)}
    assert referred <= {*schema.schema["$defs"]}
    assert '"$ref": "../' not in text


def test_environment_file_says_the_same_as_the_lock():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    python, pip, packages = environment["dependencies"]
    assert (python, pip) == ("python=3.11", "pip")
    assert packages == {"pip": ["-r requirements.lock", "-e ."]}


def test_lock_pins_every_package_once():
    lines = [
        line
        for line in (ROOT / "requirements.lock").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    names = [line.split("==")[0] for line in lines]
    assert all("==" in line for line in lines)
    assert len(set(names)) == len(names)
    assert "torch==2.13.0" in lines


@pytest.mark.parametrize("name", ["computation", "digest", "section"])
def test_a_study_with_the_name_of_something_else_is_refused(name):
    with pytest.raises(InputError, match=f"a study cannot be called {name}; rename the folder"):
        configuration_type({name: find_studies()["example"]})


@pytest.mark.parametrize("choice", [123, True, "exampel", "example,", ["exampel"], []])
def test_an_unknown_study_is_refused(choice):
    with pytest.raises(InputError, match="unknown study"):
        JOBS.selected_studies(choice)


def test_keys_that_exclude_one_another_are_taken_away_by_null():
    """An overlay has one of them, and the defaults the other."""
    training = {"epochs": 1}
    changes = {"scan_and_snap_text": {"experiments": {"wikitext_maps": {"training": training}}}}
    with pytest.raises(InputError, match=r"and null for the other if the defaults have it$"):
        configure(changes, find_studies())
    training["updates"] = None
    configure(changes, find_studies())


def test_studies_are_chosen_by_name():
    both = ["example", "scan_and_snap"]
    assert JOBS.selected_studies(" example,scan_and_snap, example") == both
    assert JOBS.selected_studies(["example", "scan_and_snap"]) == both


@pytest.mark.parametrize(
    "text", ["a: 1\nb: 2\na: 3\n", "x: {lower: 1, upper: 2, lower: 3}\n", "[{k: 1}, {k: 1, k: 1}]"]
)
def test_a_key_that_stands_twice_is_refused(tmp_path, text):
    (tmp_path / "my.yaml").write_text(text)
    with pytest.raises(InputError, match=r"my\.yaml: cannot be read \(the key .* stands twice"):
        read_yaml(tmp_path / "my.yaml")


def test_merged_and_repeated_parts_are_no_key_that_stands_twice(tmp_path):
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [*a, {z: 1}], x: 4}\n"
    (tmp_path / "my.yaml").write_text(text)
    assert read_yaml(tmp_path / "my.yaml")["b"] == {"x": 1, "y": 3}
