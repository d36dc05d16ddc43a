"""A claim that decides a sentence of an abstract can hold, and can fail, with the seeds it has."""

import numpy as np
import pandas as pd
import pytest
from conftest import JOBS, ROOT

from replication.bundle.bundle import EVIDENCE, read_bundle, reference_folder
from replication.bundle.judged import judge_again
from replication.judge.verdicts import HOLDING
from replication.study.claims import Equivalence, Interval, Published, Test

STUDIES = [name for name, study in JOBS.studies.items() if study.registry.abstracts]
FAR = 1000
"""Distance of what is far, in units of the largest number of a test."""


def moved(rows: pd.DataFrame, test: Test, *, is_inside: bool) -> pd.DataFrame:
    """Return evidence with the same comparisons and seeds, and values far inside the range or not.

    Seeds differ a little, as a test over seeds needs that.
    """
    place = rows.groupby("cell").cumcount().to_numpy() / len(rows)
    known = rows.drop(columns="diverged", errors="ignore")
    if isinstance(test, Published):
        return known.assign(value=rows["published"] + (0 if is_inside else 2 * test.tolerance))
    if isinstance(test, Equivalence):
        # Both samples have equal numbers of seeds, so that equal ranks make equal means.
        shift = 0 if is_inside else FAR
        return known.assign(value=rows["seed"].rank() + shift * (rows["sample"] == "ours"))
    ends = [end for end in (test.lower, test.upper) if end is not None]
    effect = (test.smallest_effect if isinstance(test, Interval) else None) or 0
    far = FAR * max(1e-3, effect, *map(abs, ends))
    if is_inside and len(ends) == 2:
        return known.assign(value=np.mean(ends) + (place - 0.5) * (ends[1] - ends[0]) / FAR)
    is_above = (test.upper is None) == is_inside
    return known.assign(value=ends[-1] + (far if is_above else -far) * (1 + place / FAR))


def verdicts_far(study, evidence, tests, *, is_inside):
    parts = [
        moved(rows, tests[claim], is_inside=is_inside)
        for claim, rows in evidence.groupby("claim")
        if claim in tests
    ]
    families = [
        {claim: tests[claim] for claim in each if claim in tests} for each in study.families
    ]
    robustness = [rule.cells for rule in study.registry.robustness]
    return judge_again(pd.concat(parts), families, robustness)


def deciding_tests(study):
    """Return the tests of the families of claims that decide sentences, and these claims."""
    sentences = (each for abstract in study.registry.abstracts for each in abstract.sentences)
    deciding = {
        claim
        for each in sentences
        if not each.mark
        for claim in each.claims
        if study.claims.get(claim) and study.claims[claim].test
    }
    together = {claim for family in study.families if deciding & {*family} for claim in family}
    return {claim: study.claims[claim].test for claim in together}, deciding


@pytest.mark.parametrize("name", STUDIES)
def test_a_claim_that_decides_a_sentence_can_hold_and_can_fail(name):
    """No number of seeds, correction or range makes one answer impossible."""
    study = JOBS.studies[name]
    evidence = read_bundle(reference_folder(ROOT, name))[0].tables[EVIDENCE]
    tests, deciding = deciding_tests(study)
    assert deciding
    inside = verdicts_far(study, evidence, tests, is_inside=True)
    outside = verdicts_far(study, evidence, tests, is_inside=False)
    assert {
        claim: inside[claim].summary for claim in deciding if inside[claim].verdict not in HOLDING
    } == {}
    assert {
        claim: outside[claim].summary
        for claim in deciding
        if outside[claim].verdict != "does not hold"
    } == {}


def test_a_claim_with_too_few_seeds_for_its_family_cannot_hold():
    rows = pd.DataFrame({"claim": "T1", "cell": "a", "seed": range(5), "value": 0.0})
    test = Interval(kind="interval", lower=0, center="median")
    given = pd.concat([moved(rows.assign(claim=name), test, is_inside=True) for name in "AB"])
    assert judge_again(given, [{"A": test}])["A"].verdict == "replicated"
    assert judge_again(given, [{"A": test, "B": test}])["A"].verdict == "open"


def test_samples_that_are_equal_or_far_apart():
    rows = pd.DataFrame({"claim": "A", "cell": "a", "seed": range(20), "value": 0.0})
    rows["sample"] = ["ours", "paper"] * 10
    rows["seed"] //= 2
    tests = {"A": Equivalence(kind="equivalence", margin=2)}
    for is_inside, verdict in ((True, "replicated"), (False, "does not hold")):
        given = moved(rows, tests["A"], is_inside=is_inside)
        assert judge_again(given, [tests])["A"].verdict == verdict
