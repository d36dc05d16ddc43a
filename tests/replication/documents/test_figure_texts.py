"""The texts of every figure cite what the reference has."""

import pytest
from conftest import JOBS, ROOT

from replication.bundle.bundle import figure_path, find_references, read_bundle, reference_folder
from replication.documents.texts import cite_figure
from replication.judge.scorecard_figure import table_of_verdicts
from replication.study.registry import SCORECARD

FIGURES = [(study, name) for study in find_references(ROOT) for name in JOBS.studies[study].figures]


@pytest.mark.parametrize(("study", "name"), FIGURES)
def test_every_text_is_cited_from_the_reference(study, name):
    jobs = JOBS.studies[study]
    reference, _ = read_bundle(reference_folder(ROOT, study))
    tables = reference.tables
    if name == SCORECARD:
        tables[figure_path(name)] = table_of_verdicts(jobs.registry, reference.verdicts)
    table = tables[figure_path(name)]
    template = jobs.text(name)
    texts = cite_figure(jobs, name, template, table, reference.verdicts.get)
    for part in (texts.drawn, texts.caption):
        assert part
        assert not {"{", "nan", "None"} & {*part, *part.split()}
