"""Texts cite tables, settings and verdicts, and say what they cannot cite."""

from types import SimpleNamespace

import pandas as pd
import pytest

from replication.base.errors import InputError
from replication.documents.texts import cite_figure
from replication.judge.templates import fill_template
from replication.judge.verdicts import Verdict
from replication.study.registry import FigureText

TABLE = pd.DataFrame({"rate": [0.5, 0.5, 1.0], "seed": [1, 2, 1], "mean": [0.1234, 0.1234, 12.0]})


def caption(template, names=None, verdicts=None):
    """The caption of a figure of that table."""
    study = SimpleNamespace(
        study=SimpleNamespace(name="paper", names=names or {}),
        settings=SimpleNamespace(model_dump=lambda mode: {"figures": {"fig1": {"seed": 3}}}),
        number_of_seeds=lambda figure: 10,
    )
    text = FigureText(label="L", title="T", drawn="A curve.", caption=template)
    return cite_figure(study, "fig1", text, TABLE, (verdicts or {}).get).caption


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('{{ cell(table, "mean", rate=0.5) | number(2) }}', "0.12"),
        ('{{ cell(table, "mean", rate=0.5) | percent(3) }}', "12.3 %"),
        ("{{ rows(table, seed=[1], rate=1).mean() | length }}", "3"),
        ("{{ table.rate | span }} and {{ table.seed | numbers }}", "0.5 to 1 and 1, 2, 1"),
        ("{{ rows(table, rate=1).rate | span }}", "1"),
        ("{{ table.seed.nunique() | words }} of {{ 1500 | words }}", "two of 1,500"),
        ("seed {{ figure.seed }} of {{ n_seeds }}", "seed 3 of 10"),
        ("{% set top = table['mean'].max() %}\n  {{ top | number }}.", "12."),
    ],
)
def test_a_caption_cites_its_table_and_settings(template, expected):
    assert caption(template) == expected


def test_a_caption_calls_values_as_the_study_does():
    assert caption('{{ called("cr") }} and {{ called("subj") }}', {"cr": "CR"}) == "CR and subj"


def test_a_caption_cites_a_verdict():
    verdict = Verdict(claim="T1", verdict="verified", summary="All.", seeds=10, comparisons=[])
    template = '{{ verdict("T1").verdict }} by {{ verdict("T1").seeds }}'
    assert caption(template, verdicts={"T1": verdict}) == "verified by 10"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ('{{ cell(table, "mean", rate=2) }}', "no row has rate 2; there is 0.5, 1.0"),
        ('{{ cell(table, "mean") }}', "mean has 2 values in all rows"),
        ('{{ cell(table, "meen", rate=1) }}', "there is no 'meen'"),
        ('{{ cell(table, "mean", rat=1) }}', "there is no 'rat'"),
        ("{{ table.seeds.max() }}", "DataFrame object' has no attribute 'seeds'"),
        ("{{ tabel.seed.max() }}", "'tabel' is undefined"),
        ("{{ figure.sed }}", "'dict object' has no attribute 'sed'"),
        ('{{ verdict("T9").verdict }}', "there is no verdict on claim T9"),
        ("{{ table.seed.max( }}", "unexpected '}'"),
        ("{{ cell(1, 'mean') }}", "'int' object is not subscriptable"),
        ("{{ 'a'.join(1) }}", "can only join an iterable"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "maximum recursion depth exceeded"),
        ("{{ table.mean }}", "a method is neither text nor a number; a method needs brackets"),
        ("{{ table.rate }}", "a Series is neither text nor a number"),
        ("{{ table.loc }}", "a _LocIndexer is neither text nor a number"),
        ("{{ none }}", "a NoneType is neither text nor a number"),
        ("{{ ''.__class__.mro() }}", "access to attribute '__class__' of 'str' object is unsafe"),
    ],
)
def test_what_cannot_be_cited_is_named(template, message):
    with pytest.raises(InputError) as error:
        caption(template)
    assert error.value.message.startswith("paper: figure fig1: caption: cannot be cited: ")
    assert message in error.value.message
    assert "\n" not in error.value.message


def test_what_a_template_does_is_said_by_its_error():
    with pytest.raises(InputError, match=r"^here: cannot be cited: division by zero;"):
        fill_template("{{ 1 / 0 }}", "here", {})
