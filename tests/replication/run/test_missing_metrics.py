"""Metrics that a study names, and its program does not have."""

import importlib
from dataclasses import replace
from functools import wraps

import pytest
from conftest import JOBS

from replication.base.errors import InputError
from replication.run.stages import make_output

PATH = "results/example/metrics/printed/error.parquet"


def measure(monkeypatch, key):
    """Measure the example by a function that asks a dictionary for a key."""
    order = JOBS.ready(PATH)
    program = importlib.import_module(order.program)
    failing = wraps(program.measure)(lambda *_: {}[key])
    monkeypatch.setattr(program, "measure", failing)
    make_output(replace(order, inputs=()))


def test_a_metric_that_measure_does_not_have_is_named(monkeypatch):
    with pytest.raises(InputError) as caught:
        measure(monkeypatch, "error")
    assert caught.value.message == (
        "metric error: `measure` of transformer_dynamics.example.metrics has none of this name; add"
        " it there, or take it out of METRICS in study.py"
    )


def test_another_key_is_a_mistake_of_the_program(monkeypatch):
    with pytest.raises(KeyError):
        measure(monkeypatch, "weights")
