"""Overlays and settings on Snakemake's command line."""

import os
import sys

import pytest
import yaml
from conftest import FIGURE, ROOT

from replication.base.errors import InputError
from replication.plan import command_line
from replication.plan.command_line import read_settings, refuse_repeated, refuse_unreadable

BEFORE = "so name targets before it: `snakemake TARGET {} ...`"
MEANT = [
    ("1", 1), ("-1", -1), ("0.5", 0.5), ("1.0e-3", 0.001), ("true", True), ("null", None),
    ("", None), ("[1, 2.5, null]", [1, 2.5, None]), ("{first: 1, of: {b: [false, true]}}", None),
    ("'1'", "1"), ("{a: '1', b: \"true\"}", {"a": "1", "b": "true"}), ("a,b", "a,b"),
]  # fmt: skip
"""Values as somebody types them. What stands in quotes is text."""


@pytest.mark.parametrize(("text", "meant"), MEANT)
def test_a_value_means_what_it_means_in_an_overlay(text, meant):
    read = read_settings([f"key={text}"])
    assert repr(read) == repr(yaml.safe_load(f"key: {text}"))
    assert read["key"] == meant or isinstance(read["key"], dict)


def test_numbers_of_the_command_line_reach_the_table_of_jobs(template):
    """Of a whole number, null and a list below a key, Snakemake itself makes text."""
    settings = "{experiments: {printed: {seeds: {first: 1, count: 4}, training: {updates: 3}}}}"
    words = ["--config", f"example={settings}", "computation={seeds_per_job: null}"]
    output = template.run("results/example/runs/printed/1-4.npz", "--dry-run", *words)
    assert "runs" in output
    wrong = settings.replace("count: 4", "count: '4'").replace("updates", "update")
    output = template.run(FIGURE, "--dry-run", "--config", f"example={wrong}", succeed=False)
    assert "unknown key 'update'; did you mean 'updates'? (in --config)" in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["study=a", "study=b"],
            "--config: the key study stands twice; write it once, as study=NA",
        ),
        (["of={a: 1}", "of={b: 2}"], "of stands twice; write it once, as of='{KEY: VALUE, KEY: VA"),
        (["figures/fig6.pdf"], BEFORE.format("--config")),
        (["a=1"], "a=1 is not of the form KEY=VALUE, with a key of two letters or more"),
        (["of={a: 1, a: 2}"], "--config of: cannot be read (the key a stands twice"),
        (["of={a: 1"], "--config of: cannot be read (while parsing a flow mapping"),
        (["of=&a [*a]"], "found unconstructable recursive node"),
    ],
)
def test_a_setting_that_is_none_is_refused_before_snakemake_reads_it(words, message):
    with pytest.raises(InputError) as error:
        refuse_unreadable(["-n", "--config", *words])
    assert message in error.value.message


@pytest.mark.parametrize(
    "words",
    [
        ["--config", "of=1", "--config", "of=2"],
        ["-C", "of=1", "--config=no=2"],
        ["--configfile", "a.yaml", "--configfiles", "b.yaml"],
    ],
)
def test_an_option_that_stands_twice_is_refused(words):
    with pytest.raises(InputError, match="stands twice, and Snakemake would take the last alone"):
        refuse_repeated(words)
    refuse_repeated(["--", *words])


def test_overlays_that_snakemake_cannot_read_are_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "good.yaml": b"example: {}",
        "loop.yaml": b"a: &a {b: *a}",
        "fig1.pdf": b"%PDF-1.4\n\xac\xdc",
        "fig1.csv": b"a,b\n1,2\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "figures").mkdir()
    os.mkfifo(tmp_path / "pipe")
    refuse_unreadable(["fig1.pdf", "--configfile", "good.yaml"])
    refuse_unreadable(["--configfile", "good.yaml", "--", "fig1.pdf", "--config"])
    for word, message in {
        "loop.yaml": "loop.yaml: cannot be read (found unconstructable recursive node",
        "none.yaml": "none.yaml: cannot be read (No such file or directory); name another file",
        "pipe": "pipe: is no file that can be read twice, as `<(...)` is none; write the overlay",
        **dict.fromkeys(
            ["fig1.pdf", "fig1.csv", "verify", "figures"], BEFORE.format("--configfile")
        ),
    }.items():
        with pytest.raises(InputError) as error:
            refuse_unreadable(["--configfile", "good.yaml", word])
        assert message in error.value.message
        assert error.value.message.startswith(word)


@pytest.mark.parametrize("path", sorted(ROOT.glob("profiles/*/config.yaml")), ids=str)
def test_every_profile_has_the_command_line_checked_first(path, monkeypatch):
    profile = yaml.safe_load(path.read_text())
    assert profile["__use_yte__"] is True
    monkeypatch.setattr(sys, "argv", ["snakemake", "--config", "study=a", "study=b"])
    [definition] = profile["__definitions__"]
    with pytest.raises(SystemExit, match="Error: --config: the key study stands twice"):
        exec(definition, {})
    monkeypatch.delattr(command_line, "check")
    monkeypatch.setitem(sys.modules, "replication.plan.command_line", None)
    exec(definition, {})  # the Snakefile says which module is missing


def test_a_target_behind_an_option_is_one_sentence(template):
    for option, value in (("--config", "study=example"), ("--configfile", "config/config.yaml")):
        output = template.run(option, value, FIGURE, succeed=False)
        assert BEFORE.format(option) in output
        assert "Traceback" not in output
