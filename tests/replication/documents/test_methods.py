"""Methods show what the configuration holds, and tell of all of it."""

import pytest

from replication.documents.methods import (
    method_value,
    methods_table,
    unknown_settings,
    unnamed_settings,
)
from replication.study.registry import Method, Registry

SETTINGS = {
    "experiments": {
        "slow": {"rate": 0.001, "kinds": ["a", "b"], "training": {"clip": None, "decay": False}},
        "fast": {"rate": 0.1, "kinds": ["a", "b"], "training": {"clip": 1.0, "decay": False}},
    },
    "width": 48,
    "penalties": {},
    "figures": {"fig1": {"kind": "fig1"}},
}


def method(*keys: str) -> Method:
    return Method(text="A choice.", settings=[*keys], why="It was made.")


def registry(*methods: Method) -> Registry:
    return Registry(title="T", authors="A", venue="V", figures={}, claims=[], methods=[*methods])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("width", "48"),
        ("penalties", "none"),
        ("experiments.*.rate", "0.001 (slow), 0.1 (fast)"),
        ("experiments.*.kinds", "a, b"),
        ("experiments.*.training", "clip none (slow), 1 (fast); decay no"),
        ("experiments.slow.training", "clip none; decay no"),
        ("experiments.f*.rate", "0.1"),
    ],
)
def test_a_choice_shows_what_the_configuration_holds(key, value):
    assert method_value(method(key), SETTINGS) == value


def test_values_of_several_keys_stand_side_by_side_and_many_names_are_not_all_told():
    assert (
        method_value(method("width", "experiments.slow.rate"), SETTINGS) == "width 48; rate 0.001"
    )
    assert method_value(method(), SETTINGS) == ""
    many = {"rates": {f"n{number}": 1 + number // 10 for number in range(11)}}
    named = ", ".join(f"n{number}" for number in range(8))
    assert method_value(method("rates.*"), many) == f"1 ({named} and 2 more), 2 (n10)"
    listed = {"panels": [{"size": 1, "kinds": ["a", "b"]}, {"size": 2, "kinds": []}]}
    assert method_value(method("panels"), listed) == "(size 1, kinds a, b), (size 2, kinds none)"


def test_a_setting_that_is_not_there_is_left_out_and_found():
    keys = ["experiment.*.rate", "experiments.*.rates", "width.x"]
    assert {method_value(method(key), SETTINGS) for key in keys} == {"left out"}
    assert unknown_settings(registry(method(*keys, "width")), SETTINGS) == keys


def test_settings_that_no_choice_names_are_found_and_figures_are_none():
    some = registry(method("experiments.*.rate"), method("width", "experiments.*.training"))
    assert unnamed_settings(some, SETTINGS) == [
        "experiments.slow.kinds", "experiments.fast.kinds", "penalties"
    ]  # fmt: skip
    assert unnamed_settings(registry(method("experiments", "width", "penalties")), SETTINGS) == []


def test_the_table_has_the_papers_value_beside_ours():
    chosen = Method(text="Width.", settings=["width"], paper="512", why="Small.", figures=["fig1"])
    assert methods_table(registry(chosen, method()), SETTINGS)[6:-1] == [
        "| Width. | 48 | 512 | Small. | `width` | fig1 |",
        "| A choice. |  | not stated | It was made. |  | all |",
    ]
