"""Make the table of a figure that follows from the theory alone."""

from pathlib import Path

import click

from transformer_dynamics.errors import InputError
from transformer_dynamics.frames import write_csv
from transformer_dynamics.scan_and_snap.experiments import Mixture
from transformer_dynamics.scan_and_snap.figure_settings import Fig1, Fig3, Fig8, Fig9, parse_figure
from transformer_dynamics.scan_and_snap.theory_tables import (
    fig1_table,
    fig3_table,
    fig8_table,
    fig9_table,
)


@click.command(help=__doc__)
@click.option("--figure", required=True, help="Settings of the figure as JSON.")
@click.option("--settings", help="Mixture as JSON, for Figure 1.")
@click.option("--output", required=True, type=click.Path(path_type=Path))
def main(figure: str, settings: str | None, output: Path) -> None:
    """Write exactly the numbers that the figure draws."""
    drawn = parse_figure(figure)
    match drawn:
        case Fig1():
            table = fig1_table(Mixture.parse_json(settings or "{}", "--settings"))
        case Fig3():
            table = fig3_table(drawn)
        case Fig8():
            table = fig8_table(drawn)
        case Fig9():
            table = fig9_table(drawn)
        case _:
            raise InputError(f"--figure: {drawn.drawing} does not follow from the theory alone")
    write_csv(output, table)


if __name__ == "__main__":
    main()
