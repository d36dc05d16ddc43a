"""The texts of every figure are checked, and cite what the reference has."""

import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from conftest import JOBS, ROOT

from replication.base.errors import InputError
from replication.bundle.bundle import figure_path, find_references, read_bundle, reference_folder
from replication.documents import generate
from replication.documents.figure_texts import CitedFigure
from replication.documents.generate import check_texts
from replication.documents.study_results import StudyResults
from replication.judge.scorecard_figure import table_of_verdicts
from replication.study.registry import SCORECARD

FIGURES = [(study, name) for study in find_references(ROOT) for name in JOBS.studies[study].figures]


@pytest.mark.parametrize(
    ("caption", "message"),
    [
        (
            "Of {{ table.half_lives.max() }}.",
            "fig2: caption: cannot be cited: 'pandas.DataFrame object' has no attribute 'half_l",
        ),
        ("Of {{ table.half_life.max( }}.", "example: figure fig2: caption: cannot be cited: unexp"),
        ("Of 31 seeds.", "example: figure fig2: the number in 'Of 31 seeds.' is typed; cite it"),
    ],
)
def test_the_text_of_every_figure_is_checked(monkeypatch, caption, message):
    jobs = JOBS.studies["example"]
    told = StudyResults(jobs, read_bundle(reference_folder(ROOT, "example"))[0])
    check_texts([told])
    text = jobs.registry.figures["fig2"]
    spoilt = text.model_copy(update={"caption": caption})
    monkeypatch.setitem(jobs.registry.figures, "fig2", spoilt)
    with pytest.raises(InputError, match=re.escape(message)):
        check_texts([told])
    check_texts([StudyResults(jobs, None)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"plain": "faster " * 13},
            "example: registry.yaml: abstracts: 'We show that it learns large dire",
        ),
        (
            {"plain": '{{ verdict("C9").seeds }}'},
            "plain: cannot be cited: there is no verdict on claim C9",
        ),
        ({"plain": "faster by 31"}, "plain: the number in 'faster by 31' is typed; cite it"),
        ({"departs": {"momentum": "None."}}, "paper_settings > regime in momentum; remove it"),
    ],
)
def test_what_stands_beside_a_mark_is_checked(changes, message):
    jobs = JOBS.studies["example"]
    told = StudyResults(jobs, read_bundle(reference_folder(ROOT, "example"))[0])
    check_texts([told])
    [abstract] = jobs.registry.abstracts
    sentence = abstract.sentences[1].model_copy(update=changes)
    abstract = abstract.model_copy(update={"sentences": [sentence]})
    registry = jobs.registry.model_copy(update={"abstracts": [abstract]})
    with pytest.raises(InputError, match=re.escape(message)):
        check_texts([told._replace(jobs=replace(jobs, registry=registry))])


def test_the_check_of_generated_files_checks_texts(monkeypatch):
    checked = []
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(generate, "generated_files", dict)
    monkeypatch.setattr(generate, "AUTHOR_PAGES", "none")
    monkeypatch.setattr(generate, "check_texts", checked.extend)
    monkeypatch.setattr(generate, "check_documents", checked.extend)
    assert CliRunner().invoke(generate.main, ["--check"]).exit_code == 0
    assert [told.jobs.study.name for told in checked] == 2 * [*JOBS.studies]


@pytest.mark.parametrize(("study", "name"), FIGURES)
def test_every_text_is_cited_from_the_reference(study, name):
    jobs = JOBS.studies[study]
    reference, _ = read_bundle(reference_folder(ROOT, study))
    tables = reference.tables
    if name == SCORECARD:
        tables[figure_path(name)] = table_of_verdicts(jobs.registry, reference.verdicts)
    table = tables[figure_path(name)]
    template = jobs.text(name)
    texts = CitedFigure.of(jobs, name, table, reference.verdicts.get).cite(template)
    for part in (texts.drawn, texts.caption):
        assert part
        assert not {"{", "nan", "None"} & {*part, *part.split()}
