"""Texts in Snakemake's own report, which takes captions for reStructuredText."""

import json
import re
from html import unescape
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import jinja2
import pytest
from conftest import ROOT
from hypothesis import example, given, settings
from hypothesis import strategies as st
from snakemake.iocontainers import Namedlist
from snakemake.report import FileRecord

from replication.base.errors import InputError
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.plan.rule_inputs import in_script
from replication.report.captions import Captions, category_name, literal
from replication.study.studies import find_studies


def test_a_caption_under_an_overlay_has_the_numbers_of_the_overlay(tmp_path, monkeypatch):
    """The figure is called otherwise, and has other seeds and variances."""
    monkeypatch.chdir(tmp_path)
    overlay = {
        "example": {
            "experiments": {"replication": {"seeds": {"count": 7}}},
            "figures": {"few": {"kind": "fig2", "experiment": "replication"}},
        }
    }
    studies = {"example": find_studies()["example"]}
    jobs = Jobs.of(configure(overlay, studies), studies)
    table = Path("figures/example/few.csv")
    table.parent.mkdir(parents=True)
    table.write_text("seed,variance,half_life,theory\n101,1,13,13.5\n107,0.5,26,27.4\n")
    captions = Captions(jobs)
    assert shown(captions, "example/few").startswith(
        "Updates until half of the error along a direction is gone, on 7 seeds (101 to 107); dashes"
    )
    # As Snakemake does with its configuration, before anything is there.
    assert json.dumps(captions) == "{}"
    with pytest.raises(InputError, match=r"fig2\.csv"):
        captions["example/fig2"]


# Of Snakemake's call of docutils.
pytestmark = pytest.mark.filterwarnings("ignore:Argument .writer_name.:PendingDeprecationWarning")
CAPTION = ROOT / "workflow/report/figure.rst"
LINKS = "\n\n.. _Workflow: javascript:show_panel('workflow')\n.. _fig1.pdf: javascript:show()\n"
"""Links that Snakemake adds to a caption."""


def rendered(captions: dict[str, str], figure: str) -> str:
    """The HTML of a caption, by Snakemake's own code."""
    fields = ("input", "output", "params", "threads", "resources", "log")
    nothing = dict.fromkeys(fields, Namedlist())
    rule = SimpleNamespace(name="figure", module_globals={"config": {"captions": captions}})
    file = SimpleNamespace(
        raw_caption=SimpleNamespace(get_path_or_uri=lambda secret_free: str(CAPTION)),
        job=SimpleNamespace(rule=rule, **nothing),
        raw_wildcards=SimpleNamespace(figure=figure),
        workflow=SimpleNamespace(
            sourcecache=SimpleNamespace(open=lambda _: StringIO(CAPTION.read_text()))
        ),
    )
    environment = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)  # as Snakemake has it
    FileRecord.render(file, environment, LINKS, {}, [])
    return file.caption


def shown(captions: dict[str, str], figure: str) -> str:
    """The text of a caption: one paragraph without any tag."""
    html = rendered(captions, figure)
    found = re.fullmatch("<p>([^<]*)</p>\n", html)
    assert found, html
    return unescape(found[1])


HOSTILE = [
    ".. include:: /etc/hostname", ".. raw:: html <script>", ".. |a| replace:: b", ".. _a: b",
    ".. [1]", "`see <javascript:alert(1)>`_", "javascript:alert(1)",
    "Workflow_ `Workflow`_ fig1.pdf_ anonym__",
    ":raw-html:`<b>`", "<script>alert(1)</script>", "{{ 7 * 7 }} {% include '/etc/hostname' %}",
    "* a list", "1. a list", ":field: a", "-o an option", ">>> 1 + 1", "| a line", "====", "\\" * 4,
    "a code block::", "*a* **b** ``c`` |d| [1]_ [a]_ mail@example.org http://example.org", "+---+",
    "the bound $\\eta_Y < 1$: 5 %",
]  # fmt: skip
"""Texts that docutils would take for more than words."""


@pytest.mark.parametrize("text", HOSTILE)
def test_a_caption_is_shown_as_it_is_written(text):
    assert shown({"a": literal(text)}, "a") == text


LINES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=1)
MARKS = st.text(st.sampled_from(r""" ab1.:`_*|\\-=+~^"'<>()[]{}#%&@/"""), min_size=1)


@settings(derandomize=True, deadline=None)
@given(st.one_of(LINES, MARKS, st.lists(st.sampled_from(HOSTILE)).map(" ".join)))
@example("")
def test_no_caption_is_more_than_words(text):
    line = " ".join(text.split())
    assert not line or shown({"a": literal(line)}, "a") == line


def test_a_caption_of_an_overlay_includes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("secret").write_text("the secret")
    text = {"label": "a", "title": "b", "drawn": "c", "caption": f".. include:: {tmp_path}/secret"}
    overlay = {
        "example": {
            "experiments": {},
            "figures": {"own": {"kind": "fig2", "experiment": "replication"}},
            "texts": {"own": text},
        }
    }
    studies = {"example": find_studies()["example"]}
    jobs = Jobs.of(configure(overlay, studies), studies)
    table = Path("figures/example/own.csv")
    table.parent.mkdir(parents=True)
    table.write_text("seed,variance,half_life,theory\n101,1,13,13.5\n")
    assert shown(Captions(jobs), "example/own") == text["caption"]


def test_no_text_ends_the_script_that_has_it():
    """Snakemake writes categories and parameters of jobs into a script."""
    record = json.dumps({"statement": "</script><script>alert(1)"})
    assert "<" not in in_script(record)
    assert json.loads(in_script(record)) == json.loads(record)
    assert category_name("A title\n.. include:: b") == "A title .. include:: b"
    assert "<" not in category_name("</script>")
