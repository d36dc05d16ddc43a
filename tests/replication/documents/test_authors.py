"""Pages for the authors of papers: their programs run alone, and print what the pages say."""

import ast
import json
import re
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
import scipy
from conftest import JOBS, ROOT
from scripts_for_authors import imported

from replication.bundle.bundle import read_bundle, reference_folder
from replication.documents.authors import (
    INTERVALS,
    MOST_LINES,
    author_pages,
    disputed_claims,
    find_script,
    is_author_page,
)
from replication.documents.study_results import StudyResults
from replication.judge.statistics import sign_interval

ALLOWED = {"numpy", "scipy", "torch", "math", "itertools", "fractions"}
"""Packages that a program may need."""
RUN_ALL = """\
import contextlib, io, json, sys
printed = {}
for name, text in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
    printed[name] = stream.getvalue()
print(json.dumps(printed))
"""


@pytest.fixture(scope="module")
def told():
    return [
        StudyResults(study, read_bundle(reference_folder(ROOT, name))[0])
        for name, study in JOBS.studies.items()
        if study.registry.url
    ]


@pytest.fixture(scope="module")
def programs(told):
    found = {
        f"{each.name}/{claim.id}": find_script(each, claim)
        for each in told
        for claim in disputed_claims(each)
    }
    return {name: program for name, program in found.items() if program}


def test_every_program_prints_what_the_page_says(programs, tmp_path):
    texts = {name: program.text for name, program in programs.items()}
    done = subprocess.run(
        [sys.executable, "-P", "-c", RUN_ALL], input=json.dumps(texts), cwd=tmp_path, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {name: program.output for name, program in programs.items()}
    assert not [*tmp_path.iterdir()]


def test_every_program_is_short_and_stands_alone(programs):
    assert programs
    for name, program in programs.items():
        assert len(program.text.splitlines()) <= MOST_LINES, name
        tree = ast.parse(program.text)
        assert ast.get_docstring(tree), name
        assert {each.partition(".")[0] for each in imported(tree)} <= ALLOWED, name
        assert 1 < len(program.output.splitlines()) <= 12, name


def test_every_erratum_and_every_claim_that_does_not_hold_has_a_page_with_a_program(told, programs):
    for each in told:
        for claim in disputed_claims(each):
            text = author_pages(each)[f"docs/{each.name}/authors/{claim.id}.md"]
            assert claim.statement.split()[0] in text
            assert "## The authors' answer\n\nNone yet." in text
            assert ("```python" in text) == (f"{each.name}/{claim.id}" in programs)
            assert f"{each.name}/{claim.id}" in programs or claim.not_tested, claim.id


def test_an_answer_stands_on_the_page_and_in_the_list(told):
    each = told[0]
    claim = next(disputed_claims(each))
    answered = claim.model_copy(update={"answer": "It is a <b>misprint</b>."})
    claims = [answered if one is claim else one for one in each.jobs.registry.claims]
    registry = each.jobs.registry.model_copy(update={"claims": claims})
    found = author_pages(each._replace(jobs=replace(each.jobs, registry=registry)))
    shown = "It is a &lt;b>misprint&lt;/b>."
    folder = f"docs/{each.name}/authors"
    assert found[f"{folder}/{claim.id}.md"].endswith(f"answer\n\n{shown}\n")
    assert re.search(rf"^\| \[{claim.id}\].*\| {shown} \|$", found[f"{folder}/README.md"], re.M)
    assert answered.remarks.endswith("The authors: It is a <b>misprint</b>.")


@pytest.mark.parametrize("size", [4, 5, 6, 10])
def test_an_interval_for_the_median_is_that_of_the_sign_test(size):
    """The program and the page use other formulas."""
    values = [*map(float, range(size))]
    code = INTERVALS["median"].replace("{{", "{").replace("}}", "}")
    known = {"np": np, "stats": scipy.stats, "values": values, "n": size}
    exec(textwrap.dedent(code), known)
    assert (known["low"], known["high"]) == sign_interval(values, 0.95)
    assert np.isinf(known["low"]) == (size < 6)


def test_a_file_of_someone_else_is_no_page_for_authors(told):
    assert all(is_author_page(text) for text in author_pages(told[0]).values())
    assert not is_author_page("# A letter to the authors\n")
