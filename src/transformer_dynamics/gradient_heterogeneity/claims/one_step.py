"""One step on networks, against the decrease that curvature promises."""

import numpy as np
import pandas as pd

from replication.base.errors import UnmeasurableError
from replication.study.contract import Measured
from replication.study.evidence import Cases, evidence, evidence_by_seed
from transformer_dynamics.gradient_heterogeneity.settings.metrics import MeasuredMetricJob

StepsOf = Measured[MeasuredMetricJob]
"""The metric `one_step` of measured networks."""
CAUTIOUS = 0.25
"""Factor f at which promises are tested, where curvature takes an eighth of the gain."""
STATE = ["net", "task", "state", "batch", "set"]
"""Columns of the state and batch that a step starts from."""


def _complete_steps(steps: StepsOf) -> pd.DataFrame:
    """Return all steps, and refuse seeds with different states."""
    rows = steps.table
    states = {frozenset(map(tuple, own[STATE].to_numpy())) for _, own in rows.groupby("seed")}
    if len(states) != 1:
        raise UnmeasurableError(
            "steps of no seed, or not from the same states of all seeds, were measured"
        )
    return rows


@evidence
def kept_promises(steps: StepsOf) -> Cases:
    """Measure the share of steps that keep their promise, over networks, states, sets and seeds."""
    rows = _complete_steps(steps)
    rows = rows[rows["factor"] == CAUTIOUS].dropna(subset="decrease")
    if rows.empty:
        raise UnmeasurableError(f"no step at {CAUTIOUS:g} times the predicted rate was measured")
    for method in ("gradient", "sign"):
        own = rows[rows["method"] == method]
        yield method, (own["decrease"] >= own["sure"]).mean()


def scaling_of_rates(steps: StepsOf) -> pd.DataFrame:
    """Measure the slope of the log of SignSGD's best rate on that of mean|g|/Lambda_P.

    Raises:
        UnmeasurableError: if there are fewer than three networks, tasks, states or sets.
    """
    slopes = {}
    rows = _complete_steps(steps)
    for seed, own in rows[rows["method"] == "sign"].groupby("seed"):
        found = [best_rates(part) for _, part in own.dropna().groupby(STATE)]
        predicted, best = np.log(np.array(found).reshape(-1, 2).T)
        if len(predicted) < 3:
            raise UnmeasurableError("a slope needs three networks, tasks, states or sets")
        slopes[seed] = float(np.polyfit(predicted, best, 1)[0])
    return evidence_by_seed({"slope": pd.Series(slopes)})


def best_rates(rows: pd.DataFrame) -> tuple[float, float]:
    """Return the predicted rate eta*, and the rate that gains most, between those tried.

    It is the top of the parabola through the best of those and its neighbours; at an end of what
    was tried it is the end.

    Args:
        rows: of one step, by factor.
    """
    rows = rows.sort_values("factor")
    factors, gains = rows["factor"].to_numpy(), rows["decrease"].to_numpy()
    top = int(gains.argmax())
    best = factors[top]
    if 0 < top < len(factors) - 1:
        near = slice(top - 1, top + 2)
        bend, slope, _ = np.polyfit(factors[near], gains[near], 2)
        best = -slope / (2 * bend)
    predicted = float((rows["rate"] / rows["factor"]).iloc[0])
    return predicted, predicted * float(best)


def gain_of_block_rates(steps: StepsOf) -> pd.DataFrame:
    """Measure the log of the best step with a rate by block over that with one rate, by set.

    Means over networks, tasks and states.
    """
    best = (
        _complete_steps(steps)
        .groupby([*STATE, "seed", "method"])["decrease"]
        .max()
        .unstack("method")
    )
    best = best.dropna()
    best = best[(best["gradient"] > 0) & (best["block_rates"] > 0)]
    best = best.assign(gain=np.log(best["block_rates"] / best["gradient"]))
    means = best.groupby(["set", "seed"])["gain"].mean()
    return evidence_by_seed({str(name): own.droplevel("set") for name, own in means.groupby("set")})
