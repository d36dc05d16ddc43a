"""The table of experiments tells each one's own settings, and those that vary between its runs."""

from conftest import STUDIES

from replication.documents.configuration_page import experiment_rows
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs


def _rows(study, **experiments):
    jobs = Jobs.of(configure({study: {"experiments": experiments}}, STUDIES), STUDIES)
    return {row[0]: row[1:] for row in experiment_rows(jobs.studies[study])}


def test_own_settings_are_those_in_which_most_experiments_differ():
    slow = {
        "seeds": {"first": 7, "count": 1},
        "training": {
            "problem": {"variances": [8, 7, 6, 5, 4, 3, 2, 1], "samples": 1000, "noise": 0.1},
            "learning_rate": 0.001,
            "updates": 200,
        },
    }
    rows = _rows("example", slow=slow)
    assert rows["`printed`"] == ("1-5", "1", "", "")
    assert rows["`slow`"] == ("7", "1", "problem.variances 8, 7, 6, …, 1; learning_rate 0.001", "")


def test_settings_that_vary_are_named_once():
    _, _, own, varied = _rows("lp_ft")["`scale_sgd`"]
    assert "tuning.optimiser.kind sgd" in own.split("; ")
    assert varied.split(", ") == ["method", "tuning.factor", "tuning.optimiser.clip"]
    *_, varied = _rows("lp_ft")["`main`"]
    assert varied.split(", ")[-1] == "tuning"
