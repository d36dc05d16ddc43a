"""`python -m benchmarks.jacobians`: Jacobians of recurrent attention as matrices and as products.

Models are as they are before training, at two sizes: where matrices fit, both ways are compared;
at the paper's sizes only products fit. Each row is a process of its own, whose peak memory is told.
"""

import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from time import process_time
from typing import Any

import click
import torch

from replication.base.markdown import table
from replication.bundle.computed import processor
from replication.study.devices import device
from transformer_dynamics.recurrent_attention.settings.models import Network
from transformer_dynamics.recurrent_attention.theory import exponents, products, pseudo_energy
from transformer_dynamics.recurrent_attention.theory.jacobian import step_with_jacobian
from transformer_dynamics.recurrent_attention.theory.recurrence import (
    effective_weights,
    normalise_tokens,
)
from transformer_dynamics.recurrent_attention.training.initialization import initial_parameters

SIZES = {"4x4": (4, 48, 4), "9x9": (9, 528, 8)}
"""Digits, width D and heads H by board."""
KINDS: dict[str, dict[str, Any]] = {
    "itrsa": {"kind": "itrsa"},
    "akorn": {"kind": "akorn", "oscillator": 4},
}
SHARED = {
    "positions": "learned", "noise": 1.0, "omegas": "one", "readout_block": 4,
    "matrices": "linear", "eta": 1.0, "gamma": 1.0, "omega": 0.5,
}  # fmt: skip
LOOPS, LEADING, SHARE = 16, 16, 0.02
HEADER = ("boards", "model", "quantity", "way", "value", "seconds of a core", "MB")


def steps(size: str, name: str, by_products: bool, loops: int) -> list[Any]:
    """Return the steps of an untrained model from normal tokens."""
    digits, width, heads = SIZES[size]
    model = Network.parse(SHARED | KINDS[name] | {"width": width, "heads": heads}, name)
    drawn = initial_parameters(model, digits, seed=1)
    own = {key: torch.from_numpy(value).double() for key, value in drawn.items()}
    random = torch.Generator().manual_seed(3)
    inputs, noise = torch.randn(2, digits**2, width, generator=random, dtype=torch.float64)
    make = products.step_by_products if by_products else step_with_jacobian
    step = partial(make, model, own, effective_weights(model, own), inputs=inputs / width**0.5)
    return exponents.trajectory_steps(step, normalise_tokens(model, own, noise), loops)


def leading(found: list[Any], by_products: bool) -> float:
    """Return the mean of the largest exponents."""
    return float(exponents.leading_exponents(found, LEADING).mean())


def nonnull(found: list[Any], by_products: bool) -> float:
    """Return the mean of all exponents that are not null."""
    return (
        products.mean_exponent(found)[0] if by_products else float(exponents.mean_exponent(found))
    )


def radius(found: list[Any], by_products: bool) -> float:
    """Return the largest modulus of an eigenvalue of the last step."""
    jacobian = found[-1].jacobian
    values = (
        torch.from_numpy(products.largest_eigenvalues(jacobian, 8))
        if by_products
        else torch.linalg.eigvals(jacobian)
    )
    return float(values.abs().max())


def contribution(found: list[Any], by_products: bool) -> float:
    """Return the share of the last tokens in the leading directions of the last J + J^T."""
    way = products if by_products else pseudo_energy
    directions = way.leading_directions(found[-1].jacobian, SHARE)
    return pseudo_energy.contribution(found[-1].tokens, directions)


QUANTITIES: dict[str, tuple[Callable[[list[Any], bool], float], int]] = {
    "mean of the 16 largest exponents": (leading, LOOPS),
    "mean of all exponents": (nonnull, LOOPS),
    "spectral radius": (radius, 1),
    "share in 2 % of the directions": (contribution, 1),
}
"""Functions of the steps, and numbers of steps."""


@click.command(help=__doc__)
@click.option("--size", type=click.Choice(list(SIZES)), multiple=True)
@click.option("--quantity", type=click.Choice(list(QUANTITIES)), multiple=True)
def main(size: tuple[str, ...], quantity: tuple[str, ...]) -> None:
    """Print a table."""
    rows = []
    for board in size or SIZES:
        for name in KINDS:
            for each in quantity or QUANTITIES:
                for way in ("products", *(("matrices",) if board == "4x4" else ())):
                    words = [sys.executable, "-c", ONE, board, name, each, way]
                    done = subprocess.run(words, check=True, capture_output=True, text=True)
                    rows.append((board, name, each, way, *done.stdout.split()))
                    click.echo(rows[-1], err=True)
    click.echo(f"{processor()}, torch {torch.__version__}\n")
    click.echo("\n".join(table(HEADER, rows)))


ONE = "import sys; from benchmarks.jacobians import one; one(*sys.argv[1:])"
"""Program of a process that measures one row."""


def one(board: str, name: str, quantity: str, way: str) -> None:
    """Print value, seconds and peak memory in MB of one quantity."""
    device("cpu")
    measure, loops = QUANTITIES[quantity]
    begun = process_time()
    value = measure(steps(board, name, way == "products", loops), way == "products")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"{value:.12g} {process_time() - begun:.1f} {peak:.0f}")


if __name__ == "__main__":
    main()
