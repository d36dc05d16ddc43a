"""Which cases of a test run every time, and which in thorough runs alone."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def quick_first(cases: Iterable[Any], quick: Collection[Any] = ()) -> list[Any]:
    """The cases that are named, or the first one, run every time; the others in thorough runs.

    Args:
        cases: values of a parameter, or tuples of those of several.
        quick: some of them.
    """
    cases = [*cases]
    quick = [*quick] or cases[:1]
    unknown = [case for case in quick if case not in cases]
    assert not unknown, f"no such cases: {unknown}"
    return [
        case
        if case in quick
        else pytest.param(
            *(case if isinstance(case, tuple) else [case]), marks=pytest.mark.thorough
        )
        for case in cases
    ]
