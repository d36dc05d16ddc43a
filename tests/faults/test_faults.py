"""A few of the faults of `make faults`, on the small DAG: none may cost a finished result."""

import pytest

from faults import disks, signals, times, users


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("fault", "options"),
    [
        pytest.param(signals.killed, {"times": 2, "quick": True}, id="SIGKILL"),
        pytest.param(times.clock_set_back, {"jumps": (60,)}, id="clock set back"),
        pytest.param(disks.disk_full, {"shares": (0.5,)}, id="disk full"),
        pytest.param(users.two_users, {"times": 1}, id="two users"),
    ],
)
def test_a_fault_costs_no_finished_result(project, fault, options):
    outcome = fault(project, **options)
    assert outcome.injected == options.get("times", 1)
    assert (outcome.lost, outcome.duplicated, outcome.corrupt) == (0, 0, 0), outcome
