"""Claims about heads: swapped optimisers, wrong batches and laws change verdicts."""

import numpy as np
import pandas as pd
import pytest
from configured import TRAINING
from declared import SEEDS, evidence, means, noise, said, verdict

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from transformer_dynamics.gradient_heterogeneity.claims.heads import norms

OF, WHOLE, LONG = ("heads", "heads"), ("heads_full", "heads"), ("long_heads", "heads")
SMALL = ["C=77, m=8", "C=77, m=32", "C=150, m=8", "C=150, m=32"]


def heads(sign, signum, other=None):
    """Numbers of an optimiser by column; lengths are over 3 at the start."""
    numbers = {("signsgd", 0.0): sign, ("signum", 0.9): signum, ("signum", 0.5): other or sign}
    still = {"drift": 0.0, "common": 1.0, "centred": 1.0, "total": 1.0}
    numbers |= {("sgd", 0.0): still, ("sgd_momentum", 0.9): still}
    rows = []
    for classes in (2, 77, 150):
        for batch in (8, 32, 160):
            for (optimiser, beta), values in numbers.items():
                for seed, shift in zip(SEEDS, noise(f"{classes} {batch}"), strict=True):
                    moved = 0.0 if optimiser.startswith("sgd") or classes == 2 else 1.0
                    told = {"task": f"of {classes}", "classes": classes, "batch": batch}
                    told |= {"optimiser": optimiser, "beta": beta, "seed": seed, "bound": -0.3}
                    ends = {
                        name: (3.0 if name != "drift" else moved) * value
                        + 0.01 * shift * moved * (1 if optimiser == "signsgd" else 0.5)
                        for name, value in values.items()
                    }
                    start = {"common": 0.3, "centred": 2.98, "total": 3.0, "drift": np.nan}
                    rows += [told | {"step": 0} | start, told | {"step": 800} | ends]
    return pd.DataFrame(rows)


SIGN = {"drift": -0.6, "common": 2.5, "centred": 1.2, "total": 2.8}
SIGNUM = {"drift": -0.1, "common": 0.8, "centred": 2.9, "total": 3.1}


def test_drift_and_norms():
    table = heads(SIGN, SIGNUM)
    assert means(evidence("H9a", {OF: table})) == dict.fromkeys(SMALL, 0.5)
    assert means(evidence("H9b", {OF: table})) == dict.fromkeys(SMALL, pytest.approx(1.7))
    assert means(evidence("H9c", {OF: table})) == dict.fromkeys(SMALL, pytest.approx(-0.3))
    verdicts = {number: verdict(number, {OF: table}) for number in ("H9a", "H9b", "H9c", "H9d")}
    assert verdicts == {
        "H9a": "replicated", "H9b": "replicated", "H9c": "does not hold", "H9d": "replicated"
    }  # fmt: skip
    other = heads(SIGNUM, SIGN, other=SIGN)
    verdicts = {number: verdict(number, {OF: other}) for number in verdicts}
    assert verdicts == {
        "H9a": "does not hold", "H9b": "does not hold", "H9c": "replicated", "H9d": "does not hold"
    }  # fmt: skip
    assert verdict("H9i", {LONG: other}) == "replicated"
    assert said("H9i", {LONG: table}) == {"fails"}
    # Drift upwards is growth as well.
    up = table.assign(drift=table["drift"].abs())
    assert verdict("H9a", {OF: up}) == "replicated"
    with pytest.raises(UnmeasurableError, match="no condition"):
        evidence("H9a", {OF: table[table["batch"] == 160]})


def test_controls():
    table = heads(SIGN, SIGNUM)
    assert verdict("H9e", {OF: table}) == "verified"
    assert "signsgd, C=2" in means(evidence("H9e", {OF: table}))
    moved = table.copy()
    last = (moved["optimiser"] == "sgd_momentum") & (moved["step"] > 0) & (moved["seed"] == 2)
    moved.loc[last & (moved["classes"] == 77), "drift"] = 1e-6
    assert "fails" in said("H9e", {OF: moved})
    with pytest.raises(UnmeasurableError, match="two classes"):
        evidence("H9e", {OF: table[table["classes"] > 2]})


def test_absent_classes():
    table = heads(SIGN, SIGNUM)
    assert means(evidence("H9f", {OF: table})) == dict.fromkeys(SMALL, pytest.approx(-0.3))
    assert verdict("H9f", {OF: table}) == "replicated"
    # The bound is reached where every class of a batch has too little probability.
    equal = heads(SIGN | {"drift": -0.3}, SIGNUM)
    equal["drift"] = -0.3 + 0.01 * (equal["drift"] + 0.3)
    assert verdict("H9f", {OF: equal}) == "replicated"
    above = heads(SIGN | {"drift": -0.2}, SIGNUM)
    assert "fails" in said("H9f", {OF: above})


def whole(sign, signum):
    rows = []
    for rate in (1e-5, 1e-4):
        for optimiser, values in (("signsgd", sign), ("signum", signum)):
            for seed, shift in zip(SEEDS, noise(f"{rate} {optimiser}"), strict=True):
                told = {"rate": rate, "optimiser": optimiser, "seed": seed}
                start = {"step": 0, "drift": np.nan, "total": 3.0}
                end = {"step": 150, "drift": values["drift"] + 0.01 * shift}
                end["total"] = 3 * values["total"] + 0.01 * shift
                rows += [told | start, told | end]
    return pd.DataFrame(rows)


def test_whole_networks():
    tables = {WHOLE: whole(SIGN, SIGNUM)}
    found = means(evidence("H9g", tables))
    assert found == {"rate 1e-05": pytest.approx(0.5), "rate 0.0001": pytest.approx(0.5)}
    assert verdict("H9g", tables) == "replicated"
    assert "fails" in said("H9h", tables)
    other = {WHOLE: whole(SIGNUM, SIGN)}
    assert "fails" in said("H9g", other)
    assert verdict("H9h", other) == "replicated"


def test_the_usual_signum_is_that_of_all_trainings():
    table = heads(SIGN, SIGNUM, other=SIGN)
    averages = TRAINING.averages.model_copy(update={"signum": 0.5})
    other = TRAINING.model_copy(update={"averages": averages})
    found = [
        means(norms(Measured(table, None), each, column="common")) for each in (TRAINING, other)
    ]
    assert found[0] == dict.fromkeys(SMALL, pytest.approx(1.7))
    assert found[1] == dict.fromkeys(SMALL, pytest.approx(0, abs=0.01))
