"""What claims take of votes, worked out by hand, and when they turn."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from registered import evidence, verdict_on

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured


def measured(solved, draws=32):
    """From {seed: {rule: share}}."""
    rows = [
        {"seed": seed, "rule": rule, "solved": share}
        for seed, by_rule in solved.items()
        for rule, share in by_rule.items()
    ]
    table = pd.DataFrame(rows).sample(frac=1, random_state=1, ignore_index=True)
    return Measured(table, SimpleNamespace(settings=SimpleNamespace(draws=draws)))


SOLVED = {
    3: {"single": 0.5, "majority": 0.6, "energy": 0.8, "last energy": 0.4, "any": 0.9},
    7: {"single": 0.3, "majority": 0.7, "energy": 0.5, "last energy": 0.6, "any": 0.8},
}


def test_gains_of_a_seed():
    for measure, expected in (
        (partial(evidence, "J26"), {3: 0.3, 7: 0.2}),
        (partial(evidence, "J26b"), {3: -0.1, 7: 0.3}),
        (partial(evidence, "J26c"), {3: 0.2, 7: -0.2}),
    ):
        found = measure(measured(SOLVED))
        assert dict(zip(found["seed"], found["value"], strict=True)) == pytest.approx(expected)


def test_conditions_with_other_seeds_count_together():
    other = measured({11: SOLVED[7]})
    found = evidence("J26", measured(SOLVED), other)
    gains = dict(zip(found["seed"], found["value"], strict=True))
    assert gains == pytest.approx({3: 0.3, 7: 0.2, 11: 0.2})
    assert {*found["cell"]} == {"energy against single"}
    with pytest.raises(UnmeasurableError, match="differ in more"):
        evidence("J26b", measured(SOLVED), measured(SOLVED, draws=16))


def test_one_draw_is_no_vote():
    with pytest.raises(UnmeasurableError, match="two draws"):
        evidence("J26", measured(SOLVED, draws=1))


def drawn(gain, rule, other):
    """Eight seeds in which a rule is so much better than another."""
    random = np.random.default_rng(0)
    shares = {seed: random.normal(0.5, 0.05) for seed in range(1, 9)}
    return measured(
        {
            seed: dict.fromkeys(SOLVED[3], share)
            | {other: share, rule: share + gain + random.normal(0, 0.005)}
            for seed, share in shares.items()
        }
    )


@pytest.mark.parametrize(
    ("claim", "rule", "other"),
    [
        ("J26", "energy", "single"),
        ("J26b", "last energy", "single"),
        ("J26c", "energy", "majority"),
    ],
)
def test_less_gain_turns_the_verdict(claim, rule, other):
    assert verdict_on(claim, drawn(0.05, rule, other)) == "replicated"
    assert verdict_on(claim, drawn(0.0, rule, other)) == "does not hold"
    assert verdict_on(claim, drawn(-0.05, rule, other)) == "does not hold"
