"""A folder without a study."""

import pytest

from replication.base.errors import InputError
from replication.plan.configuration import configure
from replication.plan.jobs import Jobs


def test_a_study_that_is_asked_for_where_none_is_told_in_words():
    with pytest.raises(InputError, match="has no study; run this in the folder of a project"):
        Jobs.of(configure({}, {}), {}).selected_studies("example")
