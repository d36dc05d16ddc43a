"""Claims about one step on networks, from losses that are known."""

import numpy as np
import pandas as pd
import pytest
from configured import MEASURING
from declared import SEEDS, evidence, means, noise, said, verdict

from replication.base.errors import UnmeasurableError
from transformer_dynamics.gradient_heterogeneity.claims.one_step import best_rates

OF = ("heterogeneity", "one_step")
FACTORS = MEASURING.factors
STARS = (1e-3, 1e-2, 1e-1)
"""eta* of three tasks."""


def steps(power=1.0, share=2.0, block=1.5):
    """Losses that are parabolas of the rate, lowest at eta*^power and `share` times as low there.

    The decrease of rates by block is `block` times as large.
    """
    rows = []
    for task, star in zip("abc", STARS, strict=True):
        for seed, shift in zip(SEEDS, noise(f"steps of {task}"), strict=True):
            for method in ("gradient", "sign", "block_rates"):
                best = star**power * np.exp(0.02 * shift)
                for factor in FACTORS:
                    x = factor * star / best
                    more = block * np.exp(0.01 * shift) if method == "block_rates" else 1
                    gain = share * x * (2 - x) * more
                    rows.append({
                        "net": "minilm", "task": task, "state": "pretrained", "batch": 0,
                        "set": "all", "seed": seed, "method": method, "factor": factor,
                        "rate": factor * star, "sure": factor * (2 - factor), "decrease": gain,
                    })  # fmt: skip
    return pd.DataFrame(rows)


def test_best_rates():
    own = steps().query("seed == 1 and task == 'b' and method == 'sign'")
    predicted, best = best_rates(own.sample(frac=1, random_state=0))
    assert predicted == pytest.approx(1e-2)
    assert best == pytest.approx(own["rate"].iloc[0] / own["factor"].iloc[0] * np.exp(
        0.02 * noise("steps of b")[0]
    ))  # fmt: skip
    rising = own.assign(decrease=own["factor"])
    assert best_rates(rising)[1] == pytest.approx(1e-2 * FACTORS[-1])


def test_promises():
    assert means(evidence("H7d", {OF: steps()})) == {"gradient": 1.0, "sign": 1.0}
    assert verdict("H7d", {OF: steps()}) == "verified"
    assert "fails" in said("H7d", {OF: steps(share=0.5)})
    # At larger rates a promise may be broken, and rates by block promise nothing.
    table = steps()
    other = (table["factor"] > 1) | (table["method"] == "block_rates")
    broken = table.assign(decrease=table["decrease"].mask(other, -1))
    assert verdict("H7d", {OF: broken}) == "verified"


def test_scaling():
    found = evidence("H8b", {OF: steps()})
    assert found["value"].mean() == pytest.approx(1, abs=0.05)
    assert verdict("H8b", {OF: steps()}) == "replicated"
    assert "fails" in said("H8b", {OF: steps(power=0.5)})
    # Only signs count.
    table = steps()
    table.loc[table["method"] == "gradient", "rate"] = 1.0
    assert verdict("H8b", {OF: table}) == "replicated"
    with pytest.raises(UnmeasurableError, match="three networks"):
        evidence("H8b", {OF: table[table["task"] != "c"]})


def test_gain_of_block_rates():
    found = evidence("H13b", {OF: steps()})
    assert found["value"].mean() == pytest.approx(np.log(1.5))
    assert verdict("H13b", {OF: steps()}) == "replicated"
    assert "fails" in said("H13b", {OF: steps(block=0.5)})
    assert said("H13b", {OF: steps(block=1.02)}) == {"none"}


def test_promises_need_the_rate_at_which_they_are_tested():
    rows = steps()
    with pytest.raises(UnmeasurableError, match=r"no step at 0\.25 times"):
        evidence("H7d", {OF: rows[rows["factor"] != 0.25]})
