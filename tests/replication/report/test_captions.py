"""Captions in Snakemake's own report."""

import json
from pathlib import Path

import pytest

from replication.base.errors import InputError
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs
from replication.report.captions import Captions
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
    assert captions["example/few"].startswith(
        "Updates until half of the error along a direction is gone, on 7 seeds (101 to 107); dashes"
    )
    # As Snakemake does with its configuration, before anything is there.
    assert json.dumps(captions) == "{}"
    with pytest.raises(InputError, match=r"fig2\.csv"):
        captions["example/fig2"]
