"""Pages for the authors of papers: each has what shows its finding."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy
from conftest import JOBS, ROOT

from replication.bundle.bundle import read_bundle, reference_folder
from replication.documents.generate import GENERATED
from replication.documents.pages import (
    StudyResults,
    author_pages,
    disputed_claims,
    written_script,
)


@pytest.fixture(scope="module")
def told():
    return [
        StudyResults(study, read_bundle(reference_folder(ROOT, name))[0])
        for name, study in JOBS.studies.items()
        if study.registry.url
    ]


def test_every_erratum_and_every_claim_that_does_not_hold_has_a_page_that_shows_it(told):
    """By a script, which the tests of its study run, or by the values of the seeds."""
    shown = set()
    for each in told:
        for claim in disputed_claims(each):
            page = ROOT / f"docs/{each.name}/authors/{claim.id}.md"
            text = author_pages(each)[str(page.relative_to(ROOT))]
            assert claim.statement.split()[0] in text
            assert "## The authors' answer\n\nNone yet." in text
            if script := written_script(each, claim):
                (linked,) = re.findall(r"\]\((.*\.py)\) stands alone, and prints:", text)
                assert (page.parent / linked).resolve() == script
                assert script.with_suffix(".txt").read_text().rstrip() in text
            is_over_seeds = "| comparison | value of each seed |" in text
            assert bool(script) != is_over_seeds or claim.not_tested, claim.id
            shown |= {bool(script), not is_over_seeds}
    assert shown == {True, False}


def test_the_interval_of_seeds_is_that_of_their_test(told):
    (each,) = (each for each in told if each.name == "lp_ft")
    text = author_pages(each)["docs/lp_ft/authors/L16a.md"]
    assert "Is the mean of the seeds at least 0.01?" in text
    rows = re.findall(r"^\| (.*: LP-FT minus FT) \| (.*) \| (.*) \| (.*) to (.*) \|$", text, re.M)
    assert len(rows) == 3
    for _, seeds, *numbers in rows:
        values = [float(value) for value in seeds.split(", ")]
        expected = np.mean(values), *scipy.stats.ttest_1samp(values, 0).confidence_interval(0.95)
        np.testing.assert_allclose([*map(float, numbers)], expected, rtol=5e-3)


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


def test_a_file_of_someone_else_is_no_page_for_authors(told):
    assert all(GENERATED.search(text) for text in author_pages(told[0]).values())
    assert not GENERATED.search("# A letter to the authors\n")
