"""Rates of wrong verdicts: `python -m benchmarks.error_rates` writes error_rates.csv.

A family has three claims of four comparisons. Every comparison of the second claim, and all but one
of the third, lie where an answer is just not true; the others hold far from their bound. Seeds are
drawn with equal spreads, with spreads up to ten times as large, or skewed. Comparisons of a claim
share half of their variance, like metrics of one seed. For each question the table has two rates:
some comparison of a family got a wrong yes, and the second claim got a yes in all comparisons.
"""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import bdtrc, stdtr

from replication.judge.statistics import correct_p_values

Floats = NDArray[np.float64]
LEVEL = 0.05
FAMILIES = 4000
SEEDS = (5, 6, 8, 10)
COMPARISONS = 4
FAR = 50.0
"""Distance of a comparison that holds from its bound, in standard deviations."""
MATTERS = 1.0
"""Smallest effect, in standard deviations of one seed."""
SPREADS = {"equal": np.ones(COMPARISONS), "up to ten times": np.array([1.0, 0.1, 0.5, 1.0])}
SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Floats]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "skewness 2": lambda rng, shape: rng.exponential(size=shape) - 1,
    "skewness -2": lambda rng, shape: 1 - rng.exponential(size=shape),
}
MEDIANS = {"normal": 0.0, "skewness 2": np.log(2) - 1, "skewness -2": 1 - np.log(2)}
OUTPUT = Path(__file__).with_suffix(".csv")


def t_test_above(values: Floats, bound: float) -> Floats:
    """Return p of the t test, along the last axis."""
    n = values.shape[-1]
    error = values.std(axis=-1, ddof=1) / np.sqrt(n)
    return np.asarray(stdtr(n - 1, -(values.mean(axis=-1) - bound) / error))


def sign_test_above(values: Floats, bound: float) -> Floats:
    """Return p of the sign test, along the last axis."""
    above = np.count_nonzero(values > bound, axis=-1)
    return np.where(above > 0, bdtrc(above - 1, values.shape[-1], 0.5), 1.0)


# For claims that a value is above 0: the value where an answer is just not true, and p of a yes.
QUESTIONS: dict[str, tuple[float, Callable[[Callable[..., Floats], Floats], Floats]]] = {
    "holds": (MATTERS, lambda above, values: above(values, MATTERS)),
    "the opposite": (-MATTERS, lambda above, values: above(-values, MATTERS)),
    "no effect": (
        MATTERS,
        lambda above, values: np.maximum(above(values, -MATTERS), above(-values, -MATTERS)),
    ),
    "less than claimed": (MATTERS, lambda above, values: above(-values, -MATTERS)),
}


def error_rate_rows() -> Iterator[dict[str, object]]:
    """Yield one row per way to draw seeds, test, number of seeds and question."""
    tests = {"t": t_test_above, "sign": sign_test_above}
    for (shape, draw), (spread, scale), seeds in product(SHAPES.items(), SPREADS.items(), SEEDS):
        for test, above in tests.items():
            rng = np.random.default_rng(21)
            centre = MEDIANS[shape] if test == "sign" else 0.0
            both = [draw(rng, (FAMILIES, 3, size, seeds)) - centre for size in (COMPARISONS, 1)]
            values = (both[0] + both[1]) / np.sqrt(2) if shape == "normal" else both[0]
            values = values * scale[:, None]
            for question, (edge, p_of) in QUESTIONS.items():
                yes = -FAR if question in {"the opposite", "less than claimed"} else FAR
                centres = np.repeat([[yes], [edge], [edge]], COMPARISONS, axis=1)
                centres[2, 0] = 0 if question == "no effect" else yes
                if question == "no effect":
                    centres[0] = 0
                p = p_of(above, values + centres[:, :, None])
                wrong = [_wrong_answers(family) for family in p]
                any_wrong, whole = np.mean(wrong, axis=0)
                yield {
                    "shape": shape, "spreads": spread, "test": test, "seeds": seeds,
                    "question": question, "wrong_in_a_family": any_wrong, "wrong_claim": whole,
                }  # fmt: skip


def _wrong_answers(p: Floats) -> tuple[bool, bool]:
    """Say whether some comparison has a wrong yes, and whether all of the second claim have one."""
    yes = np.array(correct_p_values(list(p), [LEVEL] * len(p))) <= LEVEL
    return bool(yes[1].any() or yes[2, 1:].any()), bool(yes[1].all())


@click.command(help=__doc__)
def main() -> None:
    """Write the table."""
    table = pd.DataFrame(error_rate_rows())
    table.round(4).to_csv(OUTPUT, index=False, lineterminator="\n")
    click.echo(table.to_string())


if __name__ == "__main__":
    main()
