"""What training depends on: it trains anew only if a number may change."""

import pytest
from settings_of_the_paper import STUDY

from replication.base.code_digest import reach

pytestmark = pytest.mark.numerical


@pytest.mark.parametrize("program", ["data.sequences", "training.loop"])
def test_neither_metrics_nor_wording_are_part_of_training(program):
    """A new metric's name or other words of an error change no digest of what is trained."""
    reached = {*reach(f"{STUDY.package}.{program}").modules}
    assert f"{STUDY.package}.settings.training" in reached
    own = (
        "settings.metrics",
        "settings.experiments",
        "metrics.attention",
        "metrics.tables",
        "study",
    )
    wording = {"replication.base.errors", "replication.base.strict", "replication.study.contract"}
    assert not reached & {*wording, *(f"{STUDY.package}.{name}" for name in own)}
