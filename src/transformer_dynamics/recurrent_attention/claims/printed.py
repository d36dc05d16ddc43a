"""What the paper prints of exponents, held against itself."""

from math import log, pi, sqrt

import pandas as pd

from replication.cases import Cases, evidence
from transformer_dynamics.recurrent_attention.claims.exponents import spearman

HEADS = {
    "heads": (1, 2, 4, 8, 16, 32),
    "mean exponent": (-0.225, -0.09, -0.14, -0.105, -0.18, -0.165),
    "accuracy": (0.0, 0.05, 0.38, 0.54, 0.51, 0.39),
}
"""Points of Figure S.1 of the first version, read off the plot."""
CELLS, WIDTH = 81, 512
"""S and D of the paper's model of Sudoku."""
GAMMA = 0.811
"""|gamma| of Table S.3 at N = D, which no token's 2-norm exceeds."""
STEPS = 10_000
"""Steps of Figure S.5."""


@evidence
def correlation_of_heads() -> Cases:
    """|Spearman's correlation| of the mean exponent with accuracy, and with H."""
    points = {name: pd.Series(values) for name, values in HEADS.items()}
    for other in ("accuracy", "heads"):
        found = spearman(points["mean exponent"], points[other])
        yield f"mean exponent and {other}", abs(found)


@evidence
def growth_to_the_end() -> Cases:
    """The largest exponent at which a distance still grows after all steps of Figure S.5.

    The perturbation N(0, s^2) has an L1 norm of S D s sqrt(2/pi) on average; two tokens with
    |x_i| <= |gamma| are at most 2 sqrt(D) |gamma| apart. From one to the other an exponent of
    ln(ratio)/t takes t steps.
    """
    bound = 2 * CELLS * sqrt(WIDTH) * GAMMA
    for name, spread in (("standard deviation", 1e-3), ("variance", sqrt(1e-3))):
        start = CELLS * WIDTH * spread * sqrt(2 / pi)
        yield f"0.001 a {name}", log(bound / start) / STEPS
