"""What training costs, and where it is refused."""

import pytest

from replication.configuration import Computation
from replication.cost import CORE, DAY, MOST_DAYS, refuse_without_gpu
from replication.errors import InputError
from replication.strict import Strict
from replication.study import Experiment, Job


def experiment(days):
    job = Job("runs", Strict(), operations=days * DAY * CORE)
    return Experiment(runs={"one": job, "other": job}, metrics={})


def test_training_of_many_days_needs_a_gpu():
    few, many = experiment(MOST_DAYS / 4), experiment(MOST_DAYS)
    refuse_without_gpu("study", [few, few], Computation())
    told = r"^study: training would take one core about 250 days, .* computation > device: cuda$"
    with pytest.raises(InputError, match=told):
        refuse_without_gpu("study", [many, few], Computation())
    refuse_without_gpu("study", [many, few], Computation(device="cuda"))
