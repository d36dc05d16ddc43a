"""Tests of properties are never red by luck: every run draws the same examples."""

from importlib import import_module

import pytest
from hypothesis import HealthCheck, given, is_hypothesis_test, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase


def is_steady(used: settings) -> bool:
    """Whether neither chance, earlier runs nor a slow machine can change an outcome."""
    return (
        used.derandomize
        and used.database is None
        and used.deadline is None
        and HealthCheck.too_slow in used.suppress_health_check
    )


def test_every_property_is_steady(request):
    """Of all tests that are run together with this one."""
    lucky = [
        item.nodeid
        for item in request.session.items
        if is_hypothesis_test(getattr(item, "obj", None))
        and not is_steady(item.obj._hypothesis_internal_use_settings)
    ]
    assert lucky == [], "take out the settings of their own; tests/conftest.py has those of all"


@pytest.mark.parametrize(
    "own",
    [
        {"derandomize": False},
        {"derandomize": False, "database": InMemoryExampleDatabase()},
        {"deadline": 200},
        {"suppress_health_check": [HealthCheck.filter_too_much]},
    ],
    ids=["other examples", "kept examples", "a limit of time", "a limit of time to draw"],
)
def test_settings_that_bring_luck_are_found(own):
    assert not is_steady(settings(settings.get_profile("quick"), **own))


def test_only_who_explores_draws_other_examples():
    assert is_steady(settings.get_profile("quick"))
    assert is_steady(settings.get_profile("thorough"))
    explore = settings.get_profile("explore")
    assert not explore.derandomize
    assert is_steady(settings(explore, derandomize=True))
    assert explore.print_blob


def test_no_example_depends_on_what_is_imported(tmp_path, monkeypatch):
    """Hypothesis draws constants of this project's modules, too, if it is let."""

    def examples() -> list[int]:
        drawn = []

        @settings(max_examples=200)
        @given(st.integers())
        def draw(number):
            drawn.append(number)

        draw()
        return drawn

    before = examples()
    assert len(before) == 200
    numbers = ", ".join(map(str, range(1000, 1500)))
    (tmp_path / "imported_later.py").write_text(f"NUMBERS = [{numbers}]\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_module("imported_later")
    assert examples() == before
