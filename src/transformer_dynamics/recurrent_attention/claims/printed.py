"""What the paper prints of exponents, held against itself."""

from math import log, pi, sqrt

from replication.cases import Cases, evidence

CELLS, WIDTH = 81, 512
"""S and D of the paper's model of Sudoku."""
GAMMA = 0.811
"""|gamma| of Table S.3 at N = D, which no token's 2-norm exceeds."""
STEPS = 10_000
"""Steps of Figure S.5."""


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
