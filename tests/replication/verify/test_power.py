"""Planned seeds decide as often as they are said to, and no number is planned where none can."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from statsmodels.stats.power import TTestPower
from tiers import quick_first

from replication.base.errors import InputError
from replication.bundle.bundle import EVIDENCE, Bundle, reference_folder
from replication.bundle.judged import read_judged_reference
from replication.judge.comparisons import Judged
from replication.judge.judgement import judge
from replication.plan.configuration import configure
from replication.plan.costs import Records
from replication.plan.jobs import Jobs
from replication.study.claims import Equivalence, Interval
from replication.study.studies import find_studies
from replication.verify.power import (
    MOST_SEEDS,
    claim_rows,
    main,
    plan_comparison,
)

ROOT = Path(__file__).parents[3]


PLANNED_QUICKLY = [(-0.5, {"lower": 0}, "fails"), (0.2, {"lower": 0, "smallest_effect": 1}, "none")]


def seeds(mean: float, sd: float = 1, n: int = 6) -> pd.DataFrame:
    values = np.random.default_rng(0).normal(size=n)
    values = mean + sd * (values - values.mean()) / values.std(ddof=1)
    return pd.DataFrame({"cell": "a", "seed": range(n), "value": values})


def interval(**test: object) -> Interval:
    return Interval.parse({"kind": "interval", **test}, "test")


@pytest.mark.parametrize(("mean", "family"), [(0.4, 1), (0.8, 1), (0.8, 4)])
def test_seeds_of_a_t_test_are_those_of_statsmodels(mean, family):
    expected = TTestPower().solve_power(mean, None, 0.05 / family, 0.9, "larger")
    found = plan_comparison(interval(lower=0), seeds(mean), "a", family)
    assert found.seeds == int(np.ceil(expected))
    assert (found.decision, found.comparison) == ("holds", "a")
    assert found.spread == pytest.approx(1)


@pytest.mark.parametrize(
    ("mean", "test", "decision"),
    quick_first(
        [
            (0.5, {"lower": 0}, "holds"),
            (-0.5, {"lower": 0}, "fails"),
            (0.2, {"lower": 0, "smallest_effect": 1}, "none"),
            (0.0, {"upper": 0, "smallest_effect": 1}, "less"),
            (0.3, {"lower": -1, "upper": 1}, "holds"),
            (1.4, {"lower": -1, "upper": 1}, "fails"),
        ],
        PLANNED_QUICKLY,
    ),
)
def test_planned_seeds_decide_so(mean, test, decision):
    """Of new seeds with the mean and spread at hand nine in ten sets say what was planned."""
    declared = interval(**test)
    found = plan_comparison(declared, seeds(mean), "a", 1)
    assert found.decision == decision
    drawn = np.random.default_rng(6).normal(mean, 1, (300, found.seeds))
    said = []
    for values in drawn:
        evidence = pd.DataFrame({"cell": "a", "seed": range(found.seeds), "value": values})
        said += [judge([Judged("T1", declared, evidence)])["T1"].comparisons[0].decision]
    answers = {decision, "none"} if decision == "less" else {decision}
    assert np.mean([each in answers for each in said]) > 0.85


def test_signs_need_more_seeds_than_means():
    table = seeds(0.9, n=10)
    by_mean = plan_comparison(interval(lower=0), table, "a", 1).seeds
    by_median = plan_comparison(interval(lower=0, center="median"), table, "a", 1).seeds
    assert by_mean < by_median < MOST_SEEDS


@pytest.mark.parametrize(
    ("table", "test"), [(seeds(0.0), {"lower": 0}), (seeds(1, 0), {"lower": 1.0})]
)
def test_where_no_number_of_seeds_is_enough_none_is_planned(table, test):
    found = plan_comparison(interval(**test), table, "a", 1)
    assert (found.decision, found.seeds) == ("open", MOST_SEEDS + 1)


def test_the_paper_has_no_more_seeds_than_it_has():
    def samples(n: int, m: int) -> pd.DataFrame:
        return pd.concat(
            [seeds(0.1, n=n).assign(sample="ours"), seeds(0, n=m).assign(sample="paper")]
        )

    test = Equivalence(kind="equivalence", margin=1.0)
    assert (
        plan_comparison(test, samples(6, 40), "a", 1).seeds
        < plan_comparison(test, samples(6, 20), "a", 1).seeds
    )
    assert plan_comparison(test, samples(6, 5), "a", 1).decision == "open"


def test_only_what_is_open_is_planned_by_its_worst_comparison():
    studies = find_studies()
    study = Jobs.of(configure({}, studies), studies).studies["example"]
    claim = "C2"
    table = pd.concat([seeds(1.0), seeds(1.5, 3).assign(cell="b"), seeds(2, 0.01).assign(cell="c")])
    table["value"] += study.claims[claim].test.lower
    verdicts = judge([Judged(claim, study.claims[claim].test, table)])
    reference = Bundle({EVIDENCE: table.assign(claim=claim)}, verdicts, {})
    found = list(claim_rows(study, reference, Records()))
    if verdicts[claim].verdict == "replicated":
        assert found == []
    else:
        (row,) = found
        assert row[:2] == ("example", claim)
        assert row[3] in {"a", "b"}


def test_the_command_prints_a_table_and_refuses_what_is_no_study():
    done = CliRunner().invoke(main, ["--root", str(ROOT), "--study", "lp_ft"])
    assert done.exit_code == 0, done.output
    header, _, *lines = done.output.splitlines()
    assert header.startswith("| study | claim | verdict | comparison | spread | seeds |")
    assert lines
    assert all(line.startswith("| lp_ft | ") for line in lines)
    refused = CliRunner().invoke(main, ["--study", "lpft"])
    assert refused.exit_code == 1
    decided = CliRunner().invoke(main, ["--root", str(ROOT), "--study", "example"])
    assert decided.output == "No comparison of example is open: no seeds are missing.\n"


def test_a_reference_that_is_not_there_or_was_changed_is_refused(tmp_path):
    refused = CliRunner().invoke(main, ["--root", str(tmp_path)])
    assert "name the project's folder with --root" in refused.output
    folder = reference_folder(tmp_path, "example")
    shutil.copytree(reference_folder(ROOT, "example"), folder)
    evidence = folder / "evidence.csv"
    evidence.write_text(evidence.read_text().replace("1", "2"))
    refused = CliRunner().invoke(main, ["--root", str(tmp_path)])
    assert "evidence.csv changed after it was made; restore it" in refused.output


def test_verdicts_of_another_test_are_refused():
    studies = find_studies()
    study = Jobs.of(configure({}, studies), studies).studies["example"]
    assert read_judged_reference(ROOT, study).verdicts
    claims = [
        claim.model_copy(update={"test": interval(lower=claim.test.lower / 2)})
        if claim.id == "C2"
        else claim
        for claim in study.registry.claims
    ]
    other = replace(study, registry=study.registry.model_copy(update={"claims": claims}))
    with pytest.raises(InputError, match="another test for C2; judge again with"):
        read_judged_reference(ROOT, other)
