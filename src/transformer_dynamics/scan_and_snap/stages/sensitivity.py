"""Bring the verdicts of all claims under all variants into one table."""

from pathlib import Path

import click
import numpy as np
import pandas as pd

from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import write_csv
from transformer_dynamics.scan_and_snap.claims.settings import Cell, Cells
from transformer_dynamics.verification.judgement import Verdict
from transformer_dynamics.verification.scorecard import read_verdict


@click.command(help=__doc__)
@click.option("--figure", help="Settings of the figure as JSON; not needed.")
@click.option("--cells", required=True, help="Cells as JSON.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
@click.argument("verdicts", nargs=-1, required=True, type=click.Path(path_type=Path))
def main(figure: str, cells: str, output: Path, verdicts: tuple[Path, ...]) -> None:
    """Write one row per claim and variant."""
    listed = Cells.parse_json(cells, "--cells").cells
    rows = [_row(cell, read_verdict(path)) for cell, path in zip(listed, verdicts, strict=True)]
    write_csv(output, pd.DataFrame(rows))


def _row(cell: Cell, verdict: Verdict) -> dict[str, object]:
    """What is shown of one cell.

    `estimate` and `effect`, in standard deviations of one seed, are medians of comparisons.
    """
    if verdict.claim != cell.claim:
        raise InputError(f"the verdict on {verdict.claim} was given in place of {cell.claim}")
    effects = [item.effect for item in verdict.comparisons if item.effect is not None]
    return {
        **cell.model_dump(),
        "verdict": verdict.verdict,
        "comparisons": len(verdict.comparisons),
        "holding": sum(item.decision == "holds" for item in verdict.comparisons),
        "estimate": float(np.median([item.estimate for item in verdict.comparisons])),
        "effect": float(np.median(effects)) if effects else None,
        "seeds": verdict.seeds,
    }


if __name__ == "__main__":
    main()
